//! Captures: begin, join, end, and everything that can be asked of an open one.
//!
//! 1. A capture is open from begin to end, whatever happens to it; an invalidated one only waits to be ended.
//! 2. Its graph belongs to the driver until a successful end. Any other end destroys it, even one that the caller made.
//! 3. The mode given to begin is fixed: the calling thread's interaction mode never changes who may end the capture.

use super::enqueue::Target;
use super::id::{GraphId, Id, Miss, NodeId, StreamId};
use super::legality::RELAXED;
use super::{Driver, Recorded, StreamKind};
use crate::code::{Code, Outcome};
use crate::report::Site;

/// A capture, by a number that no other one has had.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct CaptureId(pub(crate) u64);

/// The status of a stream that captures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    /// Work is recorded.
    Active,
    /// An error has ended the recording; the capture must still be ended.
    Invalidated,
}

/// An open capture.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) mode: u32,
    pub(crate) thread: u32,
    pub(crate) origin: StreamId,
    pub(crate) graph: GraphId,
    pub(crate) status: Status,
    /// What streams that were destroyed while they captured had as their dependencies.
    pub(crate) orphans: Vec<NodeId>,
    /// Nodes that the program has taken out of a stream's dependencies: they and what is before them need no join.
    pub(crate) dropped: Vec<NodeId>,
}

/// What `cuStreamGetCaptureInfo` has to say.
#[derive(Debug)]
pub(crate) enum Info {
    /// Not capturing.
    None,
    /// Capturing, but invalidated.
    Invalidated,
    /// Capturing: id, graph, and the address and length of the dependency array.
    Active { id: u64, graph: GraphId, deps: *const u64, count: usize },
}

impl Driver {
    /// `cuStreamBeginCapture`, into a graph of the caller's when one is given.
    pub(crate) fn begin_capture(&mut self, raw: u64, mode: u32, into: Option<Into>, by: Site) -> Outcome {
        let stream = self.stream(raw, by)?;
        if mode > RELAXED {
            return Err(Code::INVALID_VALUE);
        }
        let (context, kind) = self.at(stream).map(|stream| (stream.context, stream.kind))?;
        if kind == StreamKind::Legacy {
            self.legacy_use(context)?;
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        if self.capture_of(stream).is_some() {
            return Err(Code::ILLEGAL_STATE);
        }
        let (graph, deps) = match into {
            Some(into) => (into.graph, into.deps),
            None => (self.make_graph(context, by), Vec::new()),
        };
        let id = CaptureId(self.next_capture);
        self.next_capture += 1;
        if let Some(graph) = self.graphs.get_mut(graph) {
            graph.capture = Some(id);
            graph.sequence.get_or_insert(id.0);
        }
        let capture = Capture {
            mode,
            thread: by.thread,
            origin: stream,
            graph,
            status: Status::Active,
            orphans: Vec::new(),
            dropped: Vec::new(),
        };
        self.captures.insert(id, capture);
        if let Some(stream) = self.streams.get_mut(stream) {
            stream.capture = Some(id);
            stream.deps = deps;
        }
        Ok(())
    }

    /// `cuStreamEndCapture`: the finished graph.
    pub(crate) fn end_capture(&mut self, raw: u64, by: Site) -> Outcome<GraphId> {
        let stream = self.stream(raw, by)?;
        let (id, status) = self.capture_at(stream)?;
        let capture = self.captures.get(&id).ok_or(Code::ILLEGAL_STATE)?;
        let (mode, thread, origin, graph) = (capture.mode, capture.thread, capture.origin, capture.graph);
        if origin != stream {
            self.invalidate(id);
            return Err(Code::STREAM_CAPTURE_UNMATCHED);
        }
        let outcome = if status == Status::Invalidated {
            Err(Code::STREAM_CAPTURE_INVALIDATED)
        } else if self.has_unjoined_work(id, stream) {
            Err(Code::STREAM_CAPTURE_UNJOINED)
        } else if mode != RELAXED && thread != by.thread {
            Err(Code::STREAM_CAPTURE_WRONG_THREAD)
        } else {
            Ok(graph)
        };
        let last = self.at(stream).map(|stream| stream.deps.clone())?;
        self.close_capture(id, outcome.is_ok(), by);
        if outcome.is_ok() {
            self.ends_again(&last);
        }
        outcome
    }

    /// The capture that a stream must be in for a call; the legacy stream, which never is, counts as used.
    fn capture_at(&mut self, stream: StreamId) -> Outcome<(CaptureId, Status)> {
        let (context, kind) = self.at(stream).map(|stream| (stream.context, stream.kind))?;
        if kind == StreamKind::Legacy {
            self.legacy_use(context)?;
        }
        self.capture_of(stream).ok_or(Code::ILLEGAL_STATE)
    }

    /// Whether some other stream's latest captured work cannot be reached from the origin's, nor from anything that the program
    /// has dropped.
    fn has_unjoined_work(&self, id: CaptureId, origin: StreamId) -> bool {
        let Some(capture) = self.captures.get(&id) else { return false };
        let reached = match self.streams.get(origin) {
            Some(stream) => self.ancestors(&[stream.deps.as_slice(), &capture.dropped].concat()),
            None => return false,
        };
        let others = self.streams.iter().filter(|(other, stream)| *other != origin && stream.capture == Some(id));
        let mut ends = others.flat_map(|(_, stream)| stream.deps.iter()).chain(&capture.orphans);
        ends.any(|node| !reached.contains(node))
    }

    /// Takes every stream out of the capture. The graph goes unless it is `kept`.
    pub(crate) fn close_capture(&mut self, id: CaptureId, kept: bool, by: Site) {
        let Some(capture) = self.captures.remove(&id) else { return };
        for (_, stream) in self.streams.iter_mut().filter(|(_, stream)| stream.capture == Some(id)) {
            stream.capture = None;
            stream.deps = Vec::new();
        }
        if let Some(graph) = self.graphs.get_mut(capture.graph) {
            graph.capture = None;
        }
        if !kept {
            self.drop_graph(capture.graph, by);
        }
    }

    /// A stream is destroyed: its capture ends with its origin, and remembers what a fork left behind.
    pub(crate) fn leave_capture(&mut self, stream: StreamId, by: Site) {
        let Some((id, _)) = self.capture_of(stream) else { return };
        let Some(capture) = self.captures.get_mut(&id) else { return };
        if capture.origin == stream {
            self.close_capture(id, false, by);
        } else if let Some(stream) = self.streams.get_mut(stream) {
            capture.orphans.append(&mut stream.deps);
            stream.capture = None;
        }
    }

    /// Whether a capture is open and sound.
    pub(crate) fn is_recording(&self, id: CaptureId) -> bool {
        self.captures.get(&id).is_some_and(|capture| capture.status == Status::Active)
    }

    /// A stream is to wait for an event of a capture: of no use when that is over or invalidated, and harmful to a stream that
    /// captures.
    pub(crate) fn waitable(&mut self, stream: StreamId, id: CaptureId) -> Outcome {
        if self.is_recording(id) {
            return Ok(());
        }
        if let Some(own) = self.streams.get(stream).and_then(|stream| stream.capture) {
            self.invalidate(own);
        }
        Err(Code::INVALID_VALUE)
    }

    /// A stream waits for an event that a capture recorded, which is [waitable](Driver::waitable).
    pub(crate) fn wait_captured(&mut self, stream: StreamId, id: CaptureId, nodes: Vec<NodeId>) -> Outcome {
        let own = self.streams.get(stream).and_then(|stream| stream.capture);
        if let Some(own) = own
            && own != id
        {
            self.invalidate(own);
            self.invalidate(id);
            return Err(Code::STREAM_CAPTURE_MERGE);
        }
        if self.at(stream)?.kind == StreamKind::Legacy {
            self.invalidate(id);
            return Err(Code::STREAM_CAPTURE_IMPLICIT);
        }
        let Some(stream) = self.streams.get_mut(stream) else { return Err(Code::INVALID_HANDLE) };
        stream.capture = Some(id);
        for node in nodes {
            if !stream.deps.contains(&node) {
                stream.deps.push(node);
            }
        }
        Ok(())
    }

    /// `cuStreamIsCapturing`: 0 none, 1 active, 2 invalidated.
    pub(crate) fn is_capturing(&mut self, raw: u64, by: Site) -> Outcome<u32> {
        let stream = self.stream(raw, by)?;
        self.status_allowed(stream)?;
        Ok(match self.capture_of(stream) {
            None => 0,
            Some((_, Status::Active)) => 1,
            Some((_, Status::Invalidated)) => 2,
        })
    }

    fn status_allowed(&self, stream: StreamId) -> Outcome {
        let stream = self.at(stream)?;
        match stream.kind {
            StreamKind::Legacy => self.legacy_status(stream.context),
            _ => Ok(()),
        }
    }

    /// `cuStreamGetCaptureInfo`.
    pub(crate) fn capture_info(&mut self, raw: u64, by: Site) -> Outcome<Info> {
        let stream = self.stream(raw, by)?;
        self.status_allowed(stream)?;
        let id = match self.capture_of(stream) {
            None => return Ok(Info::None),
            Some((_, Status::Invalidated)) => return Ok(Info::Invalidated),
            Some((id, Status::Active)) => id,
        };
        let graph = self.captures.get(&id).map(|capture| capture.graph).ok_or(Code::ILLEGAL_STATE)?;
        let number = self.graphs.get(graph).and_then(|graph| graph.sequence).unwrap_or(id.0);
        let Some(stream) = self.streams.get_mut(stream) else { return Err(Code::INVALID_HANDLE) };
        stream.shown = stream.deps.iter().map(|node| node.raw()).collect();
        Ok(Info::Active { id: number, graph, deps: stream.shown.as_ptr(), count: stream.shown.len() })
    }

    /// `cuStreamUpdateCaptureDependencies`: `flags` 0 adds, 1 replaces.
    pub(crate) fn update_dependencies(&mut self, raw: u64, nodes: &[u64], flags: u32, by: Site) -> Outcome {
        let stream = self.stream(raw, by)?;
        let (id, status) = self.capture_at(stream)?;
        if status == Status::Invalidated {
            return Err(Code::STREAM_CAPTURE_INVALIDATED);
        }
        if flags > 1 {
            return Err(Code::INVALID_VALUE);
        }
        let graph = self.captures.get(&id).map(|capture| capture.graph);
        let nodes = nodes.iter().map(|raw| self.node_of(*raw, graph)).collect::<Outcome<Vec<NodeId>>>()?;
        let Some(stream) = self.streams.get_mut(stream) else { return Err(Code::INVALID_HANDLE) };
        let dropped = if flags == 1 { std::mem::take(&mut stream.deps) } else { Vec::new() };
        for node in nodes {
            if !stream.deps.contains(&node) {
                stream.deps.push(node);
            }
        }
        if let Some(capture) = self.captures.get_mut(&id) {
            capture.dropped.extend(dropped);
        }
        Ok(())
    }

    /// A node by its handle, which must be in the graph where one is given.
    pub(crate) fn node_of(&self, raw: u64, graph: Option<GraphId>) -> Outcome<NodeId> {
        let node = self.nodes.find(raw).map_err(|_: Miss| Code::INVALID_VALUE)?;
        match graph {
            Some(graph) if self.nodes.get(node).is_none_or(|node| node.graph != graph) => Err(Code::INVALID_VALUE),
            _ => Ok(node),
        }
    }

    /// `cuStreamBeginCaptureToGraph`: the graph, which no other capture may be recording into, and nodes that the capture goes
    /// on from.
    pub(crate) fn capture_target(&self, graph: u64, nodes: &[u64]) -> Outcome<Into> {
        let graph = self.graph(graph)?;
        if self.graphs.get(graph).is_some_and(|graph| graph.capture.is_some()) {
            return Err(Code::ILLEGAL_STATE);
        }
        let mut deps = Vec::new();
        for raw in nodes {
            let node = self.node_of(*raw, Some(graph))?;
            // A node that is given twice counts once.
            if !deps.contains(&node) {
                deps.push(node);
            }
        }
        Ok(Into { graph, deps })
    }

    /// `cuEventRecord` on a stream that captures.
    pub(crate) fn record_captured(&self, stream: StreamId, capture: CaptureId) -> Outcome<Recorded> {
        Ok(Recorded::Captured { capture, nodes: self.at(stream)?.deps.clone() })
    }

    /// Work on a stream that cannot be captured: refused if the stream captures, and the capture is lost.
    pub(crate) fn uncaptured(&mut self, stream: StreamId) -> Outcome {
        match self.capture_of(stream) {
            Some((capture, _)) => Err(self.conflict(capture)),
            None => self.target(stream).map(|_| ()),
        }
    }

    /// Whether work on a stream runs or is captured; every reason to refuse it is checked.
    pub(crate) fn target(&mut self, stream: StreamId) -> Outcome<Target> {
        match self.capture_of(stream) {
            Some((_, Status::Invalidated)) => Err(Code::STREAM_CAPTURE_INVALIDATED),
            Some((id, Status::Active)) => Ok(Target::Captured(id)),
            None => {
                let (context, kind) = self.at(stream).map(|stream| (stream.context, stream.kind))?;
                if kind == StreamKind::Legacy {
                    self.legacy_use(context)?;
                }
                Ok(Target::Eager)
            }
        }
    }
}

/// Where a capture into a caller's graph goes on from.
#[derive(Debug)]
pub(crate) struct Into {
    graph: GraphId,
    deps: Vec<NodeId>,
}
