//! Points in the queues: what an item depends on, and what a caller waits for.

use std::sync::{Arc, OnceLock};

use super::LaneId;
use crate::model::Driver;

/// An item of a lane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Ticket {
    pub(crate) lane: LaneId,
    pub(crate) seq: u64,
}

/// A record of an event: complete when the item that makes it has run, or earlier when the item is a graph and the node
/// that makes it has run.
#[derive(Debug)]
pub(crate) struct Mark {
    pub(crate) ticket: Ticket,
    time: OnceLock<u64>,
}

impl Mark {
    /// A record that this item will make.
    pub(crate) fn new(ticket: Ticket) -> Arc<Mark> {
        Arc::new(Mark { ticket, time: OnceLock::new() })
    }

    /// The simulated time at which it completed.
    pub(crate) fn time(&self) -> Option<u64> {
        self.time.get().copied()
    }

    /// It completes now; only the first time counts.
    pub(crate) fn complete(&self, time: u64) {
        self.time.get_or_init(|| time);
    }
}

/// Something that must be done first.
#[derive(Clone, Debug)]
pub(crate) enum Dep {
    /// An item.
    Ticket(Ticket),
    /// A record of an event.
    Mark(Arc<Mark>),
}

impl Dep {
    /// The item that brings it about.
    pub(crate) fn ticket(&self) -> Ticket {
        match self {
            Dep::Ticket(ticket) => *ticket,
            Dep::Mark(mark) => mark.ticket,
        }
    }
}

/// What a caller waits for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Goal {
    deps: Vec<Dep>,
}

impl Goal {
    /// All of these.
    pub(crate) fn all(tickets: Vec<Ticket>) -> Goal {
        Goal { deps: tickets.into_iter().map(Dep::Ticket).collect() }
    }

    /// A record of an event.
    pub(crate) fn mark(mark: Arc<Mark>) -> Goal {
        Goal { deps: vec![Dep::Mark(mark)] }
    }

    /// Its parts.
    pub(crate) fn deps(&self) -> &[Dep] {
        &self.deps
    }
}

impl Driver {
    /// Whether an item has run. An item of a lane that is gone has.
    pub(crate) fn ticket_done(&self, ticket: Ticket) -> bool {
        self.lanes.get(&ticket.lane).is_none_or(|lane| lane.done() >= ticket.seq)
    }

    /// Whether a record is complete.
    pub(crate) fn mark_done(&self, mark: &Mark) -> bool {
        mark.time().is_some() || self.ticket_done(mark.ticket)
    }

    /// Whether a dependency holds nothing up any more.
    pub(crate) fn dep_done(&self, dep: &Dep) -> bool {
        match dep {
            Dep::Ticket(ticket) => self.ticket_done(*ticket),
            Dep::Mark(mark) => self.mark_done(mark),
        }
    }

    /// The simulated time at which a dependency that is done was brought about, or a little later.
    pub(super) fn dep_time(&self, dep: &Dep) -> u64 {
        let of_lane = |ticket: Ticket| self.lanes.get(&ticket.lane).map_or(0, |lane| lane.time);
        match dep {
            Dep::Ticket(ticket) => of_lane(*ticket),
            Dep::Mark(mark) => mark.time().unwrap_or_else(|| of_lane(mark.ticket)),
        }
    }

    /// The host has seen that a goal is reached: what it queues from now on, on the devices of the goal and those coupled
    /// with them, comes after that. Others have nothing to do with each other, and so each its own time.
    pub(crate) fn observe(&mut self, goal: &Goal) {
        for dep in goal.deps() {
            let time = self.dep_time(dep);
            let Some(group) = self.devices.get(dep.ticket().lane.device as usize).map(|device| device.group) else {
                continue;
            };
            for device in self.devices.iter_mut().filter(|device| device.group == group) {
                device.now = device.now.max(time);
            }
        }
    }

    /// Whether everything in a goal is done.
    pub(crate) fn reached(&self, goal: &Goal) -> bool {
        goal.deps().iter().all(|dep| self.dep_done(dep))
    }
}
