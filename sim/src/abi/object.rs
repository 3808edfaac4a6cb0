//! User objects.

use super::Call;
use super::args::{GraphArg, HostFn, ObjectArg, Out, handle};
use crate::code::{Code, Outcome};
use crate::model::work::HostCall;

pub(super) fn cuUserObjectCreate(
    call: &mut Call,
    object: Out<u64>,
    data: u64,
    destroy: HostFn,
    count: u32,
    flags: u32,
) -> Outcome {
    object.wanted()?;
    let by = call.by;
    let function = destroy.ok_or(Code::INVALID_VALUE)?;
    let destructor = HostCall::Function { function, data: data as usize };
    object.set(handle(call.object_create(destructor, count, flags, by)?))
}

pub(super) fn cuUserObjectRetain(call: &mut Call, object: ObjectArg, count: u32) -> Outcome {
    call.object_retain(object.0, count)
}

pub(super) fn cuUserObjectRelease(call: &mut Call, object: ObjectArg, count: u32) -> Outcome {
    let by = call.by;
    call.object_release(object.0, count, by)
}

pub(super) fn cuGraphRetainUserObject(
    call: &mut Call,
    graph: GraphArg,
    object: ObjectArg,
    count: u32,
    flags: u32,
) -> Outcome {
    call.graph_retain_object(graph.0, object.0, count, flags)
}

pub(super) fn cuGraphReleaseUserObject(call: &mut Call, graph: GraphArg, object: ObjectArg, count: u32) -> Outcome {
    let by = call.by;
    call.graph_release_object(graph.0, object.0, count, by)
}
