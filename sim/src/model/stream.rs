//! Streams: the handles, and what each has to do with a capture.
//!
//! A stream is the host's end of a *lane*, the queue that the engine drains. Destroying a stream leaves its lane until the
//! work in it is done.
//!
//! 1. The two default streams of a context are streams like the others, reached by the handles 0, 1 and 2.
//! 2. `deps` is only used while the stream captures: the nodes that the next captured node will depend on.

use super::id::{ContextId, Id, Miss, NodeId, StreamId};
use super::{CaptureId, Driver, Status, device};
use crate::code::{Code, Outcome};
use crate::engine::{Lane, LaneId, QueueDepth};
use crate::report::{ObjectKind, Site};

/// `CU_STREAM_NON_BLOCKING`.
pub(crate) const NON_BLOCKING: u32 = 1;
/// The handles of the legacy default stream.
const LEGACY: [u64; 2] = [0, 1];
/// The handle of the per-thread default stream.
const PER_THREAD: u64 = 2;

/// What kind of stream it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StreamKind {
    /// The default stream that orders every blocking stream of its context.
    Legacy,
    /// The default stream of one thread.
    PerThread,
    /// Made by the caller.
    Created,
}

/// A stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) context: ContextId,
    pub(crate) kind: StreamKind,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    pub(crate) lane: LaneId,
    pub(crate) capture: Option<CaptureId>,
    pub(crate) deps: Vec<NodeId>,
    /// The dependency array that the last `cuStreamGetCaptureInfo` handed out.
    pub(crate) shown: Box<[u64]>,
    pub(crate) made: Site,
}

impl Stream {
    /// Whether the stream is ordered with the legacy stream of its context.
    pub(crate) fn blocking(&self) -> bool {
        self.kind != StreamKind::Legacy && self.flags & NON_BLOCKING == 0
    }
}

impl Driver {
    /// Makes a stream with an empty lane.
    pub(crate) fn make_stream(&mut self, context: ContextId, kind: StreamKind, flags: u32, by: Site) -> StreamId {
        let lane = LaneId { number: self.next_lane, device: self.device_of_context(context) };
        self.next_lane += 1;
        let blocking = kind != StreamKind::Legacy && flags & NON_BLOCKING == 0;
        let device = self.devices.get(lane.device as usize);
        let depth = device.map_or_else(QueueDepth::default, |device| device.queue_depth);
        self.lanes.insert(lane, Lane::new(context, blocking, depth));
        self.streams.insert(Stream {
            context,
            kind,
            flags,
            priority: 0,
            lane,
            capture: None,
            deps: Vec::new(),
            shown: Box::default(),
            made: by,
        })
    }

    /// The stream that a caller's handle names, whatever the state of its device.
    pub(crate) fn stream_any(&mut self, raw: u64, by: Site) -> Outcome<StreamId> {
        if LEGACY.contains(&raw) {
            let context = self.current_any(by.thread)?;
            return self.contexts.get(context).map(|context| context.legacy).ok_or(Code::INVALID_CONTEXT);
        }
        if raw == PER_THREAD {
            let context = self.current_any(by.thread)?;
            if let Some(stream) = self.contexts.get(context).and_then(|c| c.per_thread.get(&by.thread)) {
                return Ok(*stream);
            }
            let stream = self.make_stream(context, StreamKind::PerThread, 0, by);
            if let Some(context) = self.contexts.get_mut(context) {
                context.per_thread.insert(by.thread, stream);
            }
            return Ok(stream);
        }
        self.streams.find(raw).map_err(|miss| match miss {
            Miss::Stale(_) => Code::CONTEXT_IS_DESTROYED,
            Miss::Null | Miss::Unknown => Code::INVALID_HANDLE,
        })
    }

    /// The stream that a caller's handle names; its device must not have had a fault.
    pub(crate) fn stream(&mut self, raw: u64, by: Site) -> Outcome<StreamId> {
        let stream = self.stream_any(raw, by)?;
        self.healthy(self.device_of_stream(stream))?;
        Ok(stream)
    }

    /// The stream of a handle that was just resolved.
    pub(crate) fn at(&self, stream: StreamId) -> Outcome<&Stream> {
        self.streams.get(stream).ok_or(Code::INVALID_HANDLE)
    }

    /// The device of a stream.
    pub(crate) fn device_of_stream(&self, stream: StreamId) -> u32 {
        self.streams.get(stream).map_or(0, |stream| self.device_of_context(stream.context))
    }

    /// `cuStreamCreate` and its variant with a priority.
    pub(crate) fn stream_create(&mut self, flags: u32, priority: i32, by: Site) -> Outcome<StreamId> {
        let context = self.current(by.thread)?;
        if flags & !NON_BLOCKING != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let stream = self.make_stream(context, StreamKind::Created, flags, by);
        if let Some(stream) = self.streams.get_mut(stream) {
            stream.priority = priority.clamp(device::PRIORITIES.1, device::PRIORITIES.0);
        }
        Ok(stream)
    }

    /// `cuStreamDestroy`: the work already submitted still runs.
    pub(crate) fn stream_destroy(&mut self, raw: u64, by: Site) -> Outcome {
        if raw <= PER_THREAD {
            return Err(Code::INVALID_HANDLE);
        }
        if let Err(Miss::Stale(first)) = self.streams.find(raw) {
            self.destroyed_twice(ObjectKind::Stream, raw, first, by);
        }
        let stream = self.stream(raw, by)?;
        self.drop_stream(stream, by);
        Ok(())
    }

    /// Takes a stream out of its capture and away.
    pub(crate) fn drop_stream(&mut self, stream: StreamId, by: Site) {
        self.leave_capture(stream, by);
        if let Some(stream) = self.streams.remove(stream, by) {
            self.retire_lane(stream.lane);
        }
    }

    /// Forgets a lane whose stream is gone, once it is empty.
    pub(crate) fn retire_lane(&mut self, lane: LaneId) {
        if let Some(found) = self.lanes.get_mut(&lane) {
            found.open = false;
            if found.is_idle() {
                self.lanes.remove(&lane);
            }
        }
    }

    /// The capture that a stream is in, if any, and its status.
    pub(crate) fn capture_of(&self, stream: StreamId) -> Option<(CaptureId, Status)> {
        let id = self.streams.get(stream)?.capture?;
        self.captures.get(&id).map(|capture| (id, capture.status))
    }

    /// The number that `cuStreamGetId` gives: unique over the process.
    pub(crate) fn stream_number(&self, stream: StreamId) -> u64 {
        stream.raw() & 0xFFFF_FFFF_FFFF
    }
}
