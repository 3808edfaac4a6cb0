//! Stream capture.

use super::Call;
use super::args::{GraphArg, In, Out, StreamArg, handle};
use super::structs::EdgeData;
use crate::code::{Code, Outcome};
use crate::model::Info;

/// A limit on node lists, so that a count of garbage is refused and not believed.
pub(super) const MANY: usize = 1 << 24;

/// An array of node handles.
pub(super) fn nodes(list: In<u64>, count: usize) -> Outcome<Vec<u64>> {
    if count > MANY {
        return Err(Code::INVALID_VALUE);
    }
    list.array(count)
}

pub(super) fn cuStreamBeginCapture_v2(call: &mut Call, stream: StreamArg, mode: u32) -> Outcome {
    let by = call.by;
    call.begin_capture(stream.0, mode, None, by)
}

pub(super) fn cuStreamBeginCaptureToGraph(
    call: &mut Call,
    stream: StreamArg,
    graph: GraphArg,
    list: In<u64>,
    _edges: In<EdgeData>,
    count: usize,
    mode: u32,
) -> Outcome {
    let by = call.by;
    let list = nodes(list, count)?;
    let target = call.capture_target(graph.0, &list)?;
    call.begin_capture(stream.0, mode, Some(target), by)
}

/// A null pointer for the graph is accepted: the capture ends and the graph is gone.
pub(super) fn cuStreamEndCapture(call: &mut Call, stream: StreamArg, graph: Out<u64>) -> Outcome {
    let by = call.by;
    match call.end_capture(stream.0, by) {
        Ok(finished) => {
            if graph.is_null() {
                call.drop_graph(finished, by);
                return Ok(());
            }
            graph.set(handle(finished))
        }
        Err(code) => {
            graph.set_if_wanted(0);
            Err(code)
        }
    }
}

pub(super) fn cuStreamIsCapturing(call: &mut Call, stream: StreamArg, status: Out<u32>) -> Outcome {
    status.wanted()?;
    let by = call.by;
    status.set(call.is_capturing(stream.0, by)?)
}

pub(super) fn cuStreamGetCaptureInfo(call: &mut Call, stream: StreamArg, status: Out<u32>, id: Out<u64>) -> Outcome {
    status.wanted()?;
    let by = call.by;
    match call.capture_info(stream.0, by)? {
        Info::None => status.set(0),
        Info::Invalidated => status.set(2),
        Info::Active { id: number, .. } => {
            id.set_if_wanted(number);
            status.set(1)
        }
    }
}

pub(super) fn cuStreamGetCaptureInfo_v2(
    call: &mut Call,
    stream: StreamArg,
    status: Out<u32>,
    id: Out<u64>,
    graph: Out<u64>,
    list: Out<u64>,
    count: Out<usize>,
) -> Outcome {
    status.wanted()?;
    let by = call.by;
    match call.capture_info(stream.0, by)? {
        Info::None => {
            graph.set_if_wanted(0);
            status.set(0)
        }
        Info::Invalidated => {
            graph.set_if_wanted(0);
            status.set(2)
        }
        Info::Active { id: number, graph: captured, deps, count: length } => {
            id.set_if_wanted(number);
            graph.set_if_wanted(handle(captured));
            list.set_if_wanted(deps as u64);
            count.set_if_wanted(length);
            status.set(1)
        }
    }
}

#[allow(clippy::too_many_arguments, reason = "the driver's signature")]
pub(super) fn cuStreamGetCaptureInfo_v3(
    call: &mut Call,
    stream: StreamArg,
    status: Out<u32>,
    id: Out<u64>,
    graph: Out<u64>,
    list: Out<u64>,
    edges: Out<u64>,
    count: Out<usize>,
) -> Outcome {
    // No edge carries data, and a null array says so.
    edges.set_if_wanted(0);
    cuStreamGetCaptureInfo_v2(call, stream, status, id, graph, list, count)
}

pub(super) fn cuStreamUpdateCaptureDependencies(
    call: &mut Call,
    stream: StreamArg,
    list: In<u64>,
    count: usize,
    flags: u32,
) -> Outcome {
    let by = call.by;
    let list = nodes(list, count)?;
    call.update_dependencies(stream.0, &list, flags, by)
}

pub(super) fn cuStreamUpdateCaptureDependencies_v2(
    call: &mut Call,
    stream: StreamArg,
    list: In<u64>,
    _edges: In<EdgeData>,
    count: usize,
    flags: u32,
) -> Outcome {
    cuStreamUpdateCaptureDependencies(call, stream, list, count, flags)
}

/// Any value is accepted and given back; one that is no mode acts as the global mode.
pub(super) fn cuThreadExchangeStreamCaptureMode(call: &mut Call, mode: Out<u32>) -> Outcome {
    let new = mode.get()?;
    let thread = call.by.thread;
    let old = std::mem::replace(&mut call.thread(thread).mode, new);
    mode.set(old)
}
