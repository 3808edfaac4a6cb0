//! Who runs next: of what a wait needs and what can run, the work that was submitted first.

use std::collections::{BTreeMap, BTreeSet};

use super::run::RunStep;
use super::{Body, Goal, Item, LaneId, Step, Ticket};
use crate::model::Driver;
use crate::model::work::HostCall;

/// A needed kernel that has had this many slices may be waiting for work that is not needed: that work gets turns, too.
const PATIENCE: u32 = 8;

/// Simulated nanoseconds that one call of [`Driver::advance`] runs for, so that the lock is not held for long.
const STRETCH: u64 = 1 << 20;

/// How far to go in one call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pace {
    /// As far as possible, with one slice for each kernel that takes longer.
    All,
    /// One item of one lane, or one slice.
    One,
}

/// A host function that a lane has come to.
#[derive(Debug)]
pub(crate) struct HostJob {
    ticket: Ticket,
    node: Option<u32>,
    /// What to call.
    pub(crate) call: HostCall,
}

/// What became of a call of [`Driver::advance`].
#[derive(Debug)]
pub(crate) enum Advance {
    /// The goal is reached.
    Done,
    /// Something has run; the goal may need more.
    Moved,
    /// The caller must run this without the lock, report it with [`Driver::host_done`], and come back.
    Host(HostJob),
    /// Nothing can run now.
    Stuck {
        /// Whether the device waits for a word of memory, which nobody may tell when it changes. Else a test has
        /// stopped a lane, or another thread runs a host function, and whoever ends that says so.
        polling: bool,
    },
}

/// One pass over the lanes.
struct Turn {
    pace: Pace,
    moved: bool,
    impatient: bool,
    polling: bool,
    /// The simulated time that was spent.
    spent: u64,
    host: Option<HostJob>,
}

impl Driver {
    /// Runs work that a goal needs.
    pub(crate) fn advance(&mut self, goal: &Goal, pace: Pace) -> Advance {
        if self.reached(goal) {
            self.observe(goal);
            return Advance::Done;
        }
        let mut turn = Turn { pace, moved: false, impatient: false, polling: false, spent: 0, host: None };
        let need = self.needed(goal);
        let mut stuck: BTreeSet<LaneId> = BTreeSet::new();
        while let Some(lane) = self.earliest(&need, &stuck) {
            if !self.run_head(lane, &mut turn) {
                stuck.insert(lane);
            }
            if turn.host.is_some() || (turn.moved && (pace == Pace::One || turn.spent > STRETCH)) {
                break;
            }
        }
        if turn.host.is_none() && (turn.impatient || !turn.moved) && !self.reached(goal) {
            self.widen(&need, &mut turn);
        }
        match turn {
            Turn { host: Some(job), .. } => Advance::Host(job),
            _ if self.reached(goal) => {
                self.observe(goal);
                Advance::Done
            }
            Turn { moved: true, .. } => Advance::Moved,
            Turn { polling, .. } => Advance::Stuck { polling },
        }
    }

    /// Up to which item each lane must run for a goal.
    pub(crate) fn needed(&self, goal: &Goal) -> BTreeMap<LaneId, u64> {
        let mut need: BTreeMap<LaneId, u64> = BTreeMap::new();
        let mut open: Vec<Ticket> = goal.deps().iter().map(super::Dep::ticket).collect();
        while let Some(Ticket { lane: id, seq }) = open.pop() {
            let Some(lane) = self.lanes.get(&id) else { continue };
            let known = need.get(&id).copied().unwrap_or(lane.done());
            if seq <= known {
                continue;
            }
            need.insert(id, seq);
            for item in lane.items().filter(|item| item.seq > known && item.seq <= seq) {
                open.extend(item.deps.iter().filter(|dep| !self.dep_done(dep)).map(super::Dep::ticket));
                if let Body::Run(run) = &item.body {
                    open.extend(run.waits.values().filter(|mark| !self.mark_done(mark)).map(|mark| mark.ticket));
                }
            }
        }
        need
    }

    /// Lets the other lanes of the devices in reach take one step each.
    fn widen(&mut self, need: &BTreeMap<LaneId, u64>, turn: &mut Turn) {
        let devices = self.in_reach(need);
        let others: Vec<LaneId> = self
            .lanes
            .iter()
            .filter(|(id, lane)| !need.contains_key(*id) && devices.contains(&self.device_of_context(lane.context)))
            .map(|(id, _)| *id)
            .collect();
        let pace = std::mem::replace(&mut turn.pace, Pace::One);
        for lane in others {
            if self.can_run(lane) {
                self.run_head(lane, turn);
            }
            if turn.host.is_some() {
                break;
            }
        }
        turn.pace = pace;
    }

    /// The devices of some lanes, and those whose memory they share or whose faults they share.
    fn in_reach(&self, need: &BTreeMap<LaneId, u64>) -> Vec<u32> {
        let lanes = need.keys().filter_map(|lane| self.lanes.get(lane));
        let mut devices: Vec<u32> = lanes.map(|lane| self.device_of_context(lane.context)).collect();
        let mut at = 0;
        while let Some(device) = devices.get(at).copied() {
            at += 1;
            let peers = self.contexts.iter().flat_map(|(_, context)| {
                let peers = context.peers.iter().map(|peer| self.device_of_context(*peer));
                peers.map(move |peer| (context.device, peer))
            });
            let linked = peers.flat_map(|(a, b)| [(a, b), (b, a)]).filter(|(a, _)| *a == device).map(|(_, b)| b);
            let group = self.devices.get(device as usize).map(|device| device.group);
            let coupled = self.devices.iter().filter(|other| Some(other.group) == group).map(|other| other.ordinal);
            for other in linked.chain(coupled).collect::<Vec<_>>() {
                if !devices.contains(&other) {
                    devices.push(other);
                }
            }
        }
        devices
    }

    /// The needed lane whose next item was submitted first, of those that can run.
    fn earliest(&self, need: &BTreeMap<LaneId, u64>, but: &BTreeSet<LaneId>) -> Option<LaneId> {
        let heads = need.iter().filter(|(id, _)| !but.contains(*id)).filter_map(|(id, upto)| {
            let head = self.lanes.get(id).and_then(super::Lane::front)?;
            (head.seq <= *upto && self.can_run(*id)).then_some((head.by.call, *id))
        });
        heads.min().map(|(_, id)| id)
    }

    /// Whether the next item of a lane can run.
    fn can_run(&self, id: LaneId) -> bool {
        let Some(lane) = self.lanes.get(&id) else { return false };
        !lane.hung && lane.front().is_some_and(|item| item.deps.iter().all(|dep| self.dep_done(dep)))
    }

    /// Gives the next item of a lane one turn; whether it is done.
    fn run_head(&mut self, id: LaneId, turn: &mut Turn) -> bool {
        match self.lanes.get_mut(&id).and_then(super::Lane::pop) {
            Some(item) => self.run_item(id, item, turn),
            None => false,
        }
    }

    /// Gives an item that was taken out of its lane one turn; whether it is done.
    fn run_item(&mut self, id: LaneId, mut item: Item, turn: &mut Turn) -> bool {
        let mut node = None;
        let time = self.lanes.get(&id).map_or(0, |lane| lane.time);
        let after = item.deps.drain(..).map(|dep| self.dep_time(&dep)).fold(time.max(item.queued), u64::max);
        self.clock = after;
        let step = match &mut item.body {
            Body::Mark(mark) => {
                if let Some(mark) = mark {
                    mark.complete(self.clock);
                }
                Step::Done
            }
            Body::Unit(unit) => {
                let step = self.step_unit(unit, id, item.by);
                turn.impatient |= unit.slices >= PATIENCE;
                step
            }
            Body::Run(run) => {
                let step = self.step_run(run, id, turn.pace, item.by);
                turn.impatient |= run.patience() >= PATIENCE;
                match step {
                    RunStep::Done => Step::Done,
                    RunStep::Again => Step::Again,
                    RunStep::Blocked => Step::Blocked,
                    RunStep::Polling => Step::Polling,
                    RunStep::Fault(fault) => Step::Fault(fault),
                    RunStep::Host { node: index, call } => {
                        node = Some(index);
                        Step::Host(call)
                    }
                }
            }
        };
        turn.spent += self.clock - after;
        turn.moved |= !matches!(step, Step::Blocked | Step::Polling | Step::Hung);
        turn.polling |= matches!(step, Step::Polling);
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.time = self.clock;
        }
        match step {
            Step::Done => {
                self.finish_item(id, item);
                return true;
            }
            Step::Again | Step::Blocked | Step::Polling | Step::Hung => self.put_back(id, item),
            Step::Host(call) => {
                turn.host = Some(HostJob { ticket: Ticket { lane: id, seq: item.seq }, node, call });
                self.put_back(id, item);
            }
            Step::Fault(fault) => {
                self.put_back(id, item);
                self.raise(fault, id);
            }
        }
        false
    }

    fn put_back(&mut self, id: LaneId, item: Item) {
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.put_back(item);
        }
    }

    fn finish_item(&mut self, id: LaneId, item: Item) {
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.finish(item.seq);
            if !lane.open && lane.is_idle() {
                self.lanes.remove(&id);
            }
        }
        if let Body::Run(run) = item.body {
            self.release_run(*run, item.by);
        }
    }

    /// A host function has returned.
    pub(crate) fn host_done(&mut self, job: &HostJob) {
        self.host_runs += 1;
        let id = job.ticket.lane;
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        let Some(item) = lane.front_mut().filter(|item| item.seq == job.ticket.seq) else { return };
        let ended = match (&mut item.body, job.node) {
            (Body::Run(run), Some(node)) => run.host_done(node),
            (Body::Unit(unit), None) if unit.busy => Some((unit.doom(), unit.context)),
            _ => None,
        };
        let Some((doom, context)) = ended else { return };
        match self.meet_end(doom, context) {
            Step::Fault(fault) => self.raise(fault, id),
            _ if job.node.is_none() => {
                if let Some(item) = self.lanes.get_mut(&id).and_then(super::Lane::pop) {
                    self.finish_item(id, item);
                }
            }
            _ => {}
        }
    }
}
