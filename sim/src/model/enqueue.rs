//! Submitting work: to a lane, or into a graph.
//!
//! 1. Everything that may refuse the work is asked before anything is queued.
//! 2. The legacy stream of a context comes after all earlier work of its blocking streams, and they after it.

use std::sync::Arc;

use super::id::{ContextId, StreamId};
use super::work::{Place, Work};
use super::{CaptureId, Driver};
use crate::code::{Code, Outcome};
use crate::engine::{Body, Dep, Goal, LaneId, Mark, Ticket, Unit};
use crate::report::Site;

/// What becomes of work that is submitted to a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// It will run.
    Eager,
    /// It is recorded.
    Captured(CaptureId),
}

impl Driver {
    /// Submits work: queued on the stream's lane, or recorded as a node. The ticket of what was queued.
    pub(crate) fn submit(&mut self, stream: StreamId, work: Work, by: Site) -> Outcome<Option<Ticket>> {
        match self.target(stream)? {
            Target::Eager => {
                self.submit_body(stream, Vec::new(), |driver, context| driver.unit(work, context), by).map(Some)
            }
            Target::Captured(capture) => {
                self.record_node(stream, capture, work)?;
                Ok(None)
            }
        }
    }

    /// A piece of work, with a digest of the page-locked source that it will read.
    pub(crate) fn unit(&self, work: Work, context: ContextId) -> Body {
        let mut unit = Unit::new(work, context);
        if let Work::Copy(copy) = &unit.work
            && let Place::Pinned(address) = copy.src
        {
            unit.source = self.digest(address, copy.rows.extent(copy.rows.src_pitch));
        }
        Body::Unit(unit)
    }

    /// Queues an item on a stream that runs, behind what the legacy stream rule asks for and some dependencies of its own.
    pub(crate) fn submit_body(
        &mut self,
        stream: StreamId,
        mut deps: Vec<Dep>,
        body: impl FnOnce(&Driver, ContextId) -> Body,
        by: Site,
    ) -> Outcome<Ticket> {
        let (id, context) = self.at(stream).map(|stream| (stream.lane, stream.context))?;
        deps.extend(self.implicit_deps(stream)?.into_iter().map(Dep::Ticket));
        let body = body(self, context);
        let now = self.devices.get(id.device as usize).map_or(0, |device| device.now);
        let lane = self.lanes.get_mut(&id).ok_or(Code::INVALID_HANDLE)?;
        let seq = lane.push(deps, body, by, now);
        self.mind_depth(id, by.thread);
        Ok(Ticket { lane: id, seq })
    }

    /// What the legacy stream rule puts before the next item of a stream.
    pub(super) fn implicit_deps(&self, stream: StreamId) -> Outcome<Vec<Ticket>> {
        let stream = self.at(stream)?;
        let context = self.contexts.get(stream.context).ok_or(Code::CONTEXT_IS_DESTROYED)?;
        let legacy = self.at(context.legacy)?.lane;
        if stream.lane == legacy {
            let blocking = self.lanes.iter().filter(|(_, lane)| lane.context == stream.context && lane.blocking);
            return Ok(blocking.filter_map(|(id, lane)| lane.tail(*id)).collect());
        }
        match stream.blocking() {
            true => Ok(self.lanes.get(&legacy).and_then(|lane| lane.tail(legacy)).into_iter().collect()),
            false => Ok(Vec::new()),
        }
    }

    /// Queues a record of an event.
    pub(crate) fn submit_mark(&mut self, stream: StreamId, by: Site) -> Outcome<Arc<Mark>> {
        self.submit_mark_after(stream, Vec::new(), by)
    }

    /// Queues a record of an event behind more work than its own stream's.
    pub(crate) fn submit_mark_after(&mut self, stream: StreamId, after: Vec<Ticket>, by: Site) -> Outcome<Arc<Mark>> {
        let lane = self.at(stream)?.lane;
        let seq = self.lanes.get(&lane).ok_or(Code::INVALID_HANDLE)?.upcoming();
        let mark = Mark::new(Ticket { lane, seq });
        let body = Body::Mark(Some(Arc::clone(&mark)));
        self.submit_body(stream, after.into_iter().map(Dep::Ticket).collect(), |_, _| body, by)?;
        Ok(mark)
    }

    /// Queues a wait for a record.
    pub(crate) fn submit_wait(&mut self, stream: StreamId, mark: Arc<Mark>, by: Site) -> Outcome {
        if self.mark_done(&mark) {
            return Ok(());
        }
        self.submit_body(stream, vec![Dep::Mark(mark)], |_, _| Body::Mark(None), by).map(|_| ())
    }

    /// The last queued item of every lane of a context.
    pub(crate) fn context_tickets(&self, context: ContextId) -> Vec<Ticket> {
        let lanes = self.lanes.iter().filter(|(_, lane)| lane.context == context);
        lanes.filter_map(|(id, lane)| lane.tail(*id)).collect()
    }

    /// Everything that a lane has queued. For a legacy stream, everything that its next item would come after as well.
    pub(crate) fn lane_goal(&self, id: LaneId) -> Goal {
        let Some(lane) = self.lanes.get(&id) else { return Goal::default() };
        let mut tickets: Vec<Ticket> = lane.tail(id).into_iter().collect();
        let legacy = self.contexts.get(lane.context).and_then(|context| self.streams.get(context.legacy));
        if legacy.is_some_and(|legacy| legacy.lane == id) {
            let blocking = self.lanes.iter().filter(|(_, other)| other.context == lane.context && other.blocking);
            tickets.extend(blocking.filter_map(|(id, lane)| lane.tail(*id)));
        }
        Goal::all(tickets)
    }
}
