//! Lanes: the queues behind streams.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Dep, Mark, QueueDepth, Run, Ticket, Unit};
use crate::model::id::{ContextId, ModuleId};
use crate::model::work::Work;
use crate::report::{Range, Site};

/// Names a lane; never reused. Lanes are in the order in which they were made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct LaneId {
    pub(crate) number: u64,
    /// The device on which its work runs.
    pub(crate) device: u32,
}

/// What an item does.
#[derive(Debug)]
pub(crate) enum Body {
    /// One piece of work.
    Unit(Unit),
    /// Completes a record of an event, or only waits for the dependencies.
    Mark(Option<Arc<Mark>>),
    /// A launch of an executable graph.
    Run(Box<Run>),
}

/// An entry of a queue.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) seq: u64,
    /// What it waits for; empty once it has started.
    pub(crate) deps: Vec<Dep>,
    pub(crate) body: Body,
    pub(crate) by: Site,
    /// The host's simulated time for the lane's device when it was queued.
    pub(crate) queued: u64,
}

/// A queue.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) context: ContextId,
    /// Whether the lane is ordered with the legacy stream of its context.
    pub(crate) blocking: bool,
    /// Whether its stream still exists.
    pub(crate) open: bool,
    /// Whether a test has stopped the lane.
    pub(crate) hung: bool,
    /// How many items it may hold.
    pub(crate) depth: QueueDepth,
    /// The simulated time up to which it has run.
    pub(crate) time: u64,
    last: u64,
    done: u64,
    queue: VecDeque<Item>,
    /// How many of the queued items run a host function.
    hosts: usize,
}

impl Lane {
    /// An empty queue.
    pub(crate) fn new(context: ContextId, blocking: bool, depth: QueueDepth) -> Lane {
        Lane {
            context,
            blocking,
            open: true,
            hung: false,
            depth,
            time: 0,
            last: 0,
            done: 0,
            queue: VecDeque::new(),
            hosts: 0,
        }
    }

    /// The number of the last item that has run.
    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    /// The number that the next item will get.
    pub(crate) fn upcoming(&self) -> u64 {
        self.last + 1
    }

    /// The last item, if it has not run yet.
    pub(crate) fn tail(&self, id: LaneId) -> Option<Ticket> {
        (self.last > self.done).then_some(Ticket { lane: id, seq: self.last })
    }

    /// Whether nothing is queued.
    pub(crate) fn is_idle(&self) -> bool {
        self.last == self.done
    }

    /// How many items are queued.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// How many of the queued items run a host function.
    pub(crate) fn host_items(&self) -> usize {
        self.hosts
    }

    /// Queues an item at a simulated time and returns its number.
    pub(crate) fn push(&mut self, deps: Vec<Dep>, body: Body, by: Site, queued: u64) -> u64 {
        self.last += 1;
        let item = Item { seq: self.last, deps, body, by, queued };
        self.hosts += usize::from(item.calls_host());
        self.queue.push_back(item);
        self.last
    }

    /// The item that runs next.
    pub(crate) fn front(&self) -> Option<&Item> {
        self.queue.front()
    }

    /// The item that runs next, to change it.
    pub(crate) fn front_mut(&mut self) -> Option<&mut Item> {
        self.queue.front_mut()
    }

    /// Takes the next item out, to work on it.
    pub(crate) fn pop(&mut self) -> Option<Item> {
        let item = self.queue.pop_front()?;
        self.hosts -= usize::from(item.calls_host());
        Some(item)
    }

    /// Puts an unfinished item back.
    pub(crate) fn put_back(&mut self, item: Item) {
        self.hosts += usize::from(item.calls_host());
        self.queue.push_front(item);
    }

    /// An item that was taken out is done.
    pub(crate) fn finish(&mut self, seq: u64) {
        self.done = self.done.max(seq);
    }

    /// Everything queued counts as done; returns what was dropped.
    pub(crate) fn discard(&mut self) -> Vec<Item> {
        self.done = self.last;
        self.hosts = 0;
        self.queue.drain(..).collect()
    }

    /// The queued items, in order.
    pub(crate) fn items(&self) -> impl Iterator<Item = &Item> {
        self.queue.iter()
    }

    /// The queued kernels of a module: their names and the calls that queued them.
    pub(crate) fn launches_of(&self, module: ModuleId) -> impl Iterator<Item = (String, Site)> {
        let of_module = move |work: &Work| match work {
            Work::Kernel(launch) if launch.module == module => Some(launch.code.name().to_owned()),
            _ => None,
        };
        self.queue.iter().flat_map(move |item| {
            let found: Vec<String> = match &item.body {
                Body::Unit(unit) => of_module(&unit.work).into_iter().collect(),
                Body::Run(run) => run.plan().nodes.iter().filter_map(|node| of_module(&node.work)).take(1).collect(),
                Body::Mark(_) => Vec::new(),
            };
            found.into_iter().map(|name| (name, item.by))
        })
    }

    /// The calls that queued work behind an item which names a block of memory.
    pub(crate) fn users_of(&self, block: Range, behind: u64) -> impl Iterator<Item = Site> {
        self.queue
            .iter()
            .filter(move |item| item.seq > behind)
            .filter(move |item| match &item.body {
                Body::Unit(unit) => unit.work.names(block),
                Body::Run(run) => run.names(block),
                Body::Mark(_) => false,
            })
            .map(|item| item.by)
    }
}
