//! How much a stream's queue holds before the next call has to wait for room.
//!
//! 1. The call that finds no room has queued its work already and then waits until what is too much has run: so a queue
//!    holds one item more than it may for each thread that waits.
//! 2. What must run is the oldest, and what that depends on.

use super::{Body, Goal, Item, Lane, LaneId, Ticket};
use crate::model::Driver;
use crate::model::work::Work;

/// How many items may be queued on a stream: a call that queues one more blocks until the oldest have run.
///
/// The default is what was measured on an H200: behind a kernel that runs, 1,021 more kernels, or launches of a graph
/// of one kernel, are taken, and 57 launches of a graph with a host function. That other items count alike, and that a
/// larger graph counts as one item, is assumed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueDepth {
    /// Items of any kind: kernels, copies, fills, graph launches, records of events and waits for them.
    pub items: usize,
    /// Items that run a host function: itself, a callback, or a graph with such a node.
    pub host_functions: usize,
}

impl QueueDepth {
    /// Calls never wait for room.
    pub const UNLIMITED: QueueDepth = QueueDepth { items: usize::MAX, host_functions: usize::MAX };
}

impl Default for QueueDepth {
    fn default() -> QueueDepth {
        QueueDepth { items: 1022, host_functions: 57 }
    }
}

impl Item {
    /// Whether it runs a host function.
    pub(super) fn calls_host(&self) -> bool {
        match &self.body {
            Body::Unit(unit) => matches!(unit.work, Work::Host(_)),
            Body::Run(run) => run.calls_host,
            Body::Mark(_) => false,
        }
    }
}

impl Lane {
    /// The number of the last item that must have run for the queue to be no longer too long, if it is.
    fn surplus(&self) -> Option<u64> {
        let number = |item: &Item| item.seq;
        let items = self.len().checked_sub(self.depth.items).and_then(|over| over.checked_sub(1));
        let hosts = self.host_items().checked_sub(self.depth.host_functions).and_then(|over| over.checked_sub(1));
        let oldest = items.and_then(|at| self.items().nth(at)).map(number);
        let oldest_host = hosts.and_then(|at| self.items().filter(|item| item.calls_host()).nth(at)).map(number);
        oldest.max(oldest_host)
    }
}

impl Driver {
    /// A lane has got another item from a thread, whose call must wait if that is too many.
    pub(crate) fn mind_depth(&mut self, id: LaneId, thread: u32) {
        let Some(lane) = self.lanes.get(&id) else { return };
        if lane.len() > lane.depth.items || lane.host_items() > lane.depth.host_functions {
            self.crowded.push((thread, id));
        }
    }

    /// What the call of a thread must wait for because it found no room, with the lane.
    pub(crate) fn next_crowded(&mut self, thread: u32) -> Option<(LaneId, Goal)> {
        let at = self.crowded.iter().position(|(own, _)| *own == thread)?;
        let (_, id) = self.crowded.swap_remove(at);
        let surplus = self.lanes.get(&id).and_then(Lane::surplus);
        Some((id, Goal::all(surplus.map(|seq| Ticket { lane: id, seq }).into_iter().collect())))
    }

    /// Changes the depth of every queue of a device, and of those to come.
    pub(crate) fn set_queue_depth(&mut self, device: u32, depth: QueueDepth) {
        let lanes: Vec<LaneId> = self.lanes.keys().copied().collect();
        for id in lanes {
            let Some(lane) = self.lanes.get(&id) else { continue };
            if self.device_of_context(lane.context) == device
                && let Some(lane) = self.lanes.get_mut(&id)
            {
                lane.depth = depth;
            }
        }
        if let Some(device) = self.devices.get_mut(device as usize) {
            device.queue_depth = depth;
        }
    }
}
