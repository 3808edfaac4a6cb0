//! A launch of an executable graph on its way through the engine.
//!
//! 1. A run holds its plan: later updates of the executable, or its end, do not touch it.
//! 2. A node starts when all nodes before it are done; nodes that are ready take turns.
//! 3. What a run keeps alive (user objects, allocation nodes) it lets go of exactly once, when it is over or dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{LaneId, Mark, Pace, Step, Unit};
use crate::model::id::{ContextId, UserObjectId};
use crate::model::work::{HostCall, Work};
use crate::model::{Driver, Plan};
use crate::report::{Range, Site, WorkKind};

use super::fault::{DeviceFault, Doom};

/// The waiting count of a node that is done.
const DONE: u32 = u32::MAX;

/// A launch under way.
#[derive(Debug)]
pub(crate) struct Run {
    plan: Arc<Plan>,
    /// How many nodes each node still waits for.
    waiting: Vec<u32>,
    ready: BTreeSet<u32>,
    units: BTreeMap<u32, Unit>,
    left: usize,
    /// Whether one of the nodes is a host function.
    pub(super) calls_host: bool,
    /// Whether the launch has begun.
    begun: bool,
    /// The device fault that is to follow when it is over.
    doom: Doom,
    /// The records that event nodes make.
    pub(crate) records: BTreeMap<u32, Arc<Mark>>,
    /// The records that event nodes wait for.
    pub(crate) waits: BTreeMap<u32, Arc<Mark>>,
    /// User objects that this launch holds, with counts.
    pub(crate) objects: Vec<(UserObjectId, u32)>,
    /// Addresses of the allocation nodes.
    pub(crate) blocks: Vec<u64>,
}

/// What happened to a run in one turn.
#[derive(Debug)]
pub(super) enum RunStep {
    Done,
    Again,
    Blocked,
    /// As [`Step::Polling`].
    Polling,
    Host {
        node: u32,
        call: HostCall,
    },
    Fault(DeviceFault),
}

impl Run {
    /// A launch at its beginning.
    pub(crate) fn new(plan: Arc<Plan>) -> Run {
        let waiting: Vec<u32> = plan.nodes.iter().map(|node| node.deps.len() as u32).collect();
        let ready = (0u32..).zip(&waiting).filter(|(_, count)| **count == 0).map(|(node, _)| node).collect();
        Run {
            left: plan.nodes.len(),
            calls_host: plan.nodes.iter().any(|node| matches!(node.work, Work::Host(_))),
            begun: false,
            doom: None,
            plan,
            waiting,
            ready,
            units: BTreeMap::new(),
            records: BTreeMap::new(),
            waits: BTreeMap::new(),
            objects: Vec::new(),
            blocks: Vec::new(),
        }
    }

    /// The plan.
    pub(crate) fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Has a node run other work than the plan says, such as a copy from staged bytes.
    pub(crate) fn replace(&mut self, node: u32, unit: Unit) {
        self.units.insert(node, unit);
    }

    /// Whether work that has not run yet names a block of memory.
    pub(crate) fn names(&self, block: Range) -> bool {
        let unfinished = self.plan.nodes.iter().zip(&self.waiting).filter(|(_, waiting)| **waiting != DONE);
        unfinished.filter(|(node, _)| node.enabled).any(|(node, _)| node.work.names(block))
    }

    /// How many nodes are not done.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// A node that is under way, or else could be: the first one.
    pub(super) fn under_way(&self) -> Option<&Work> {
        let started = self.units.iter().find(|(_, unit)| unit.slices > 0 || unit.busy).map(|(_, unit)| &unit.work);
        started.or_else(|| {
            let node = self.ready.first().and_then(|node| self.plan.nodes.get(*node as usize))?;
            Some(&node.work)
        })
    }

    /// The most slices that a kernel under way has had.
    pub(super) fn patience(&self) -> u32 {
        self.units.values().map(|unit| unit.slices).max().unwrap_or(0)
    }

    /// A node is done; the nodes behind it may become ready.
    fn complete(&mut self, node: u32) {
        self.ready.remove(&node);
        self.units.remove(&node);
        self.left -= 1;
        let plan = Arc::clone(&self.plan);
        if let Some(waiting) = self.waiting.get_mut(node as usize) {
            *waiting = DONE;
        }
        for user in plan.nodes.get(node as usize).map_or(&[][..], |node| &node.users) {
            if let Some(waiting) = self.waiting.get_mut(*user as usize) {
                *waiting -= 1;
                if *waiting == 0 {
                    self.ready.insert(*user);
                }
            }
        }
    }

    /// The host function of a node has returned: the device fault that is to follow, if any, and the node's context.
    pub(super) fn host_done(&mut self, node: u32) -> Option<(Doom, ContextId)> {
        let unit = self.units.get_mut(&node).filter(|unit| unit.busy)?;
        let ended = (unit.doom(), unit.context);
        self.complete(node);
        Some(ended)
    }
}

impl Driver {
    /// Gives every ready node of a run one turn; with [`Pace::One`] only until one is done.
    pub(super) fn step_run(&mut self, run: &mut Run, lane: LaneId, pace: Pace, by: Site) -> RunStep {
        let Some(context) = self.lanes.get(&lane).map(|lane| lane.context) else { return RunStep::Done };
        if !run.begun {
            run.begun = true;
            match self.meet_work(Some(WorkKind::Graph), context, lane, &mut run.doom) {
                None => {}
                Some(Step::Fault(fault)) => return RunStep::Fault(fault),
                Some(_) => return RunStep::Blocked,
            }
        }
        let (mut moved, mut polling) = (false, false);
        let mut tried = BTreeSet::new();
        while let Some(node) = run.ready.iter().copied().find(|node| !tried.contains(node)) {
            tried.insert(node);
            match self.step_node(run, node, lane, by) {
                Step::Done => {
                    run.complete(node);
                    moved = true;
                    if pace == Pace::One {
                        break;
                    }
                }
                Step::Again => moved = true,
                Step::Blocked => {}
                Step::Polling => polling = true,
                Step::Hung => break,
                Step::Host(call) => return RunStep::Host { node, call },
                Step::Fault(fault) => return RunStep::Fault(fault),
            }
        }
        match (run.left, moved) {
            (0, _) => match self.meet_end(run.doom.take(), context) {
                Step::Fault(fault) => RunStep::Fault(fault),
                _ => RunStep::Done,
            },
            (_, true) => RunStep::Again,
            (_, false) if polling => RunStep::Polling,
            (_, false) => RunStep::Blocked,
        }
    }

    fn step_node(&mut self, run: &mut Run, index: u32, lane: LaneId, by: Site) -> Step {
        let plan = Arc::clone(&run.plan);
        let Some(node) = plan.nodes.get(index as usize) else { return Step::Done };
        if !node.enabled {
            return Step::Done;
        }
        match &node.work {
            Work::RecordEvent(_) => {
                if let Some(mark) = run.records.get(&index) {
                    mark.complete(self.clock);
                }
                Step::Done
            }
            Work::WaitEvent(_) => match run.waits.get(&index) {
                Some(mark) if !self.mark_done(mark) => Step::Blocked,
                Some(mark) => {
                    self.clock = self.clock.max(mark.time().unwrap_or(0));
                    Step::Done
                }
                None => Step::Done,
            },
            work => {
                let unit = run.units.entry(index).or_insert_with(|| Unit::new(work.clone(), node.context));
                self.step_unit(unit, lane, by)
            }
        }
    }

    /// A run is over, or dropped: it lets go of what it kept alive.
    pub(crate) fn release_run(&mut self, run: Run, by: Site) {
        for (object, count) in run.objects {
            self.release_object(object, count, by);
        }
        for block in run.blocks {
            self.disown_block(block, by);
        }
    }
}
