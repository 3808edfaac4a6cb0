//! Events: recorded eagerly, recorded in a capture, waited for, asked about.
//!
//! 1. An event knows its last record only. A captured event stays one until it is recorded anew, even when its capture is
//!    long over; it is then of no use to anybody.
//! 2. Recording in a capture makes no node unless it is asked to be external.

use std::sync::Arc;

use super::enqueue::Target;
use super::id::{ContextId, EventId, Miss, NodeId, StreamId};
use super::work::Work;
use super::{CaptureId, Driver};
use crate::code::{Code, Outcome};
use crate::engine::{Goal, Mark};
use crate::report::{ObjectKind, Site};

/// `CU_EVENT_DISABLE_TIMING`.
const DISABLE_TIMING: u32 = 2;
/// `CU_EVENT_BLOCKING_SYNC | DISABLE_TIMING | INTERPROCESS`.
const FLAGS: u32 = 7;
/// `CU_EVENT_RECORD_EXTERNAL` and `CU_EVENT_WAIT_EXTERNAL`.
const EXTERNAL: u32 = 1;

/// An event's last record.
#[derive(Clone, Debug)]
pub(crate) enum Recorded {
    /// There was none.
    Never,
    /// On a stream that runs, or by a node of a graph that was launched.
    Eager(Arc<Mark>),
    /// In a capture.
    Captured {
        /// Which capture, open or not.
        capture: CaptureId,
        /// The nodes that a waiting stream depends on.
        nodes: Vec<NodeId>,
    },
}

/// An event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) context: ContextId,
    pub(crate) flags: u32,
    pub(crate) last: Recorded,
    pub(crate) made: Site,
}

impl Driver {
    /// The event that a caller's handle names; its device must not have had a fault.
    pub(crate) fn event(&self, raw: u64) -> Outcome<EventId> {
        let id = self.events.find(raw).map_err(|_: Miss| Code::INVALID_HANDLE)?;
        let context = self.event_at(id)?.context;
        self.healthy(self.device_of_context(context))?;
        Ok(id)
    }

    /// The event of a handle that was just resolved.
    pub(crate) fn event_at(&self, event: EventId) -> Outcome<&Event> {
        self.events.get(event).ok_or(Code::INVALID_HANDLE)
    }

    /// `cuEventCreate`.
    pub(crate) fn event_create(&mut self, flags: u32, by: Site) -> Outcome<EventId> {
        let context = self.current(by.thread)?;
        if flags & !FLAGS != 0 {
            return Err(Code::INVALID_VALUE);
        }
        Ok(self.events.insert(Event { context, flags, last: Recorded::Never, made: by }))
    }

    /// `cuEventDestroy`.
    pub(crate) fn event_destroy(&mut self, raw: u64, by: Site) -> Outcome {
        if let Err(Miss::Stale(first)) = self.events.find(raw) {
            self.destroyed_twice(ObjectKind::Event, raw, first, by);
        }
        let event = self.event(raw)?;
        self.events.remove(event, by);
        Ok(())
    }

    /// `cuEventRecord`, with flags.
    pub(crate) fn event_record(&mut self, event: u64, stream: u64, flags: u32, by: Site) -> Outcome {
        let stream = self.stream(stream, by)?;
        let event = self.event(event)?;
        if flags & !EXTERNAL != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let target = self.target(stream)?;
        if flags == EXTERNAL {
            // A node may record an event of another context.
            return match target {
                Target::Captured(_) => self.submit(stream, Work::RecordEvent(event), by).map(|_| ()),
                Target::Eager => Err(Code::ILLEGAL_STATE),
            };
        }
        if self.event_at(event)?.context != self.at(stream)?.context {
            return Err(Code::INVALID_HANDLE);
        }
        let last = match target {
            Target::Captured(capture) => self.record_captured(stream, capture)?,
            Target::Eager => Recorded::Eager(self.submit_mark(stream, by)?),
        };
        if let Some(event) = self.events.get_mut(event) {
            event.last = last;
        }
        Ok(())
    }

    /// `cuStreamWaitEvent`.
    pub(crate) fn event_wait(&mut self, stream: u64, event: u64, flags: u32, by: Site) -> Outcome {
        let stream = self.stream(stream, by)?;
        let event = self.event(event)?;
        if flags & !EXTERNAL != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let target = self.target(stream)?;
        if let Recorded::Captured { capture, .. } = self.event_at(event)?.last {
            self.waitable(stream, capture)?;
        }
        if flags == EXTERNAL {
            return match target {
                Target::Captured(_) => self.submit(stream, Work::WaitEvent(event), by).map(|_| ()),
                Target::Eager => Err(Code::ILLEGAL_STATE),
            };
        }
        match (self.event_at(event)?.last.clone(), target) {
            (Recorded::Never, _) => Ok(()),
            (Recorded::Eager(mark), Target::Eager) => self.submit_wait(stream, mark, by),
            (Recorded::Eager(_), Target::Captured(own)) => {
                self.invalidate(own);
                Err(Code::STREAM_CAPTURE_ISOLATION)
            }
            (Recorded::Captured { capture, nodes }, _) => self.wait_captured(stream, capture, nodes),
        }
    }

    /// What must be done before an event counts as complete; an error if it may not be asked about.
    ///
    /// `None` is an event that was never recorded.
    pub(crate) fn event_goal(&mut self, raw: u64, by: Site) -> Outcome<Option<Arc<Mark>>> {
        let event = self.event(raw)?;
        match self.event_at(event)?.last.clone() {
            Recorded::Captured { capture, .. } => Err(self.captured_event(capture)),
            Recorded::Never => self.unsafe_call(by.thread).map(|()| None),
            Recorded::Eager(mark) => self.unsafe_call(by.thread).map(|()| Some(mark)),
        }
    }

    /// An event of a capture is used where only a record on a stream that runs will do: a sound capture is lost.
    fn captured_event(&mut self, capture: CaptureId) -> Code {
        match self.is_recording(capture) {
            true => {
                self.invalidate(capture);
                Code::CAPTURED_EVENT
            }
            false => Code::INVALID_VALUE,
        }
    }

    /// `cuEventElapsedTime`, in milliseconds of simulated time.
    pub(crate) fn event_elapsed(&self, start: u64, end: u64) -> Outcome<f32> {
        let mark = |raw: u64| {
            let event = self.event_at(self.event(raw)?)?;
            match &event.last {
                Recorded::Captured { capture, .. } if self.is_recording(*capture) => Err(Code::CAPTURED_EVENT),
                Recorded::Captured { .. } => Err(Code::INVALID_VALUE),
                _ if event.flags & DISABLE_TIMING != 0 => Err(Code::INVALID_HANDLE),
                Recorded::Never => Err(Code::INVALID_HANDLE),
                Recorded::Eager(mark) => Ok((mark, event.context)),
            }
        };
        let ((start, context), (end, other)) = (mark(start)?, mark(end)?);
        if context != other {
            return Err(Code::INVALID_HANDLE);
        }
        let (Some(start), Some(end)) = (start.time(), end.time()) else { return Err(Code::NOT_READY) };
        Ok((end as f64 - start as f64) as f32 / 1e6)
    }

    /// `cuCtxRecordEvent`: after all work of a context so far.
    pub(crate) fn context_record(&mut self, context: u64, event: u64, by: Site) -> Outcome {
        let context = self.context(context)?;
        let event = self.event(event)?;
        if self.event_at(event)?.context != context {
            return Err(Code::INVALID_HANDLE);
        }
        self.context_call(context)?;
        let legacy = self.contexts.get(context).map(|context| context.legacy).ok_or(Code::INVALID_CONTEXT)?;
        let mark = self.submit_mark_after(legacy, self.context_tickets(context), by)?;
        if let Some(event) = self.events.get_mut(event) {
            event.last = Recorded::Eager(mark);
        }
        Ok(())
    }

    /// `cuCtxWaitEvent`: all later work of a context waits.
    pub(crate) fn context_wait(&mut self, context: u64, event: u64, by: Site) -> Outcome {
        let context = self.context(context)?;
        let event = self.event(event)?;
        self.context_call(context)?;
        let mark = match self.event_at(event)?.last.clone() {
            Recorded::Never => return Ok(()),
            Recorded::Captured { capture, .. } => return Err(self.captured_event(capture)),
            Recorded::Eager(mark) => mark,
        };
        let streams: Vec<StreamId> = self.streams.select(|stream| stream.context == context);
        streams.into_iter().try_for_each(|stream| self.submit_wait(stream, Arc::clone(&mark), by))
    }

    /// `cuStreamSynchronize` and `cuStreamQuery`: what must be done, or why it may not be asked.
    pub(crate) fn stream_goal(&mut self, raw: u64, by: Site) -> Outcome<Goal> {
        let stream = self.stream(raw, by)?;
        self.uncaptured(stream)?;
        self.unsafe_call(by.thread)?;
        Ok(self.lane_goal(self.at(stream)?.lane))
    }

    /// `cuCtxSynchronize`: what must be done, or why it may not be asked.
    pub(crate) fn context_goal(&mut self, context: ContextId) -> Outcome<Goal> {
        self.healthy(self.device_of_context(context))?;
        self.context_call(context)?;
        Ok(Goal::all(self.context_tickets(context)))
    }
}
