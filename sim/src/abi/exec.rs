//! Executable graphs.

use super::Call;
use super::args::{ContextArg, EventArg, ExecArg, GraphArg, In, NodeArg, Out, StreamArg, handle};
use super::node::{copy, fill, host, kernel};
use super::structs::{
    HostNodeParams, InstantiateParams, KernelNodeParams, KernelNodeParamsV1, Memcpy3d, MemsetNodeParams, UpdateInfo,
};
use crate::code::{Code, Outcome};
use crate::model::work::Work;
use crate::model::{InstantiateResult, Update};

pub(super) fn cuGraphInstantiateWithFlags(call: &mut Call, exec: Out<u64>, graph: GraphArg, flags: u64) -> Outcome {
    exec.wanted()?;
    let by = call.by;
    exec.set(handle(call.instantiate(graph.0, flags, None, by).map_err(|refusal| refusal.code)?))
}

pub(super) fn cuGraphInstantiateWithParams(
    call: &mut Call,
    exec: Out<u64>,
    graph: GraphArg,
    params: Out<InstantiateParams>,
) -> Outcome {
    exec.wanted()?;
    let mut values = params.get()?;
    let by = call.by;
    let made = call.instantiate(graph.0, values.flags, Some(values.upload_stream), by);
    let (result, node) = match &made {
        Ok(_) => (InstantiateResult::Success, None),
        Err(refusal) => (refusal.result, refusal.node),
    };
    values.result = result as u32;
    values.error_node = node.map_or(0, handle);
    params.set(values)?;
    exec.set(handle(made.map_err(|refusal| refusal.code)?))
}

pub(super) fn cuGraphInstantiate_v2(
    call: &mut Call,
    exec: Out<u64>,
    graph: GraphArg,
    node: Out<u64>,
    log: Out<u8>,
    room: usize,
) -> Outcome {
    exec.wanted()?;
    node.set_if_wanted(0);
    if room > 0 {
        log.set_if_wanted(0);
    }
    cuGraphInstantiateWithFlags(call, exec, graph, 0)
}

pub(super) fn cuGraphExecDestroy(call: &mut Call, exec: ExecArg) -> Outcome {
    let by = call.by;
    call.exec_destroy(exec.0, by)
}

pub(super) fn cuGraphLaunch(call: &mut Call, exec: ExecArg, stream: StreamArg) -> Outcome {
    let by = call.by;
    call.exec_launch(exec.0, stream.0, by)
}

pub(super) fn cuGraphUpload(call: &mut Call, exec: ExecArg, stream: StreamArg) -> Outcome {
    let by = call.by;
    call.exec_upload(exec.0, stream.0, by)
}

pub(super) fn cuGraphExecGetFlags(call: &mut Call, exec: ExecArg, flags: Out<u64>) -> Outcome {
    let exec = call.exec(exec.0)?;
    flags.set(call.exec_at(exec)?.flags)
}

pub(super) fn cuGraphExecUpdate_v2(call: &mut Call, exec: ExecArg, graph: GraphArg, info: Out<UpdateInfo>) -> Outcome {
    info.wanted()?;
    let by = call.by;
    info.set(UpdateInfo { result: Update::Success as u32, ..UpdateInfo::default() })?;
    let Err((why, node)) = call.exec_update(exec.0, graph.0, by)? else { return Ok(()) };
    info.set(UpdateInfo { result: why as u32, error_node: node.map_or(0, handle), error_from: 0 })?;
    Err(Code::GRAPH_EXEC_UPDATE_FAILURE)
}

pub(super) fn cuGraphExecUpdate(
    call: &mut Call,
    exec: ExecArg,
    graph: GraphArg,
    node: Out<u64>,
    result: Out<u32>,
) -> Outcome {
    let mut info = UpdateInfo::default();
    let outcome = cuGraphExecUpdate_v2(call, exec, graph, Out::to(&mut info));
    node.set_if_wanted(info.error_node);
    result.set_if_wanted(info.result);
    outcome
}

pub(super) fn cuGraphExecKernelNodeSetParams_v2(
    call: &mut Call,
    exec: ExecArg,
    node: NodeArg,
    params: In<KernelNodeParams>,
) -> Outcome {
    let (work, context) = kernel(call, &params.get()?)?;
    call.exec_set(exec.0, node.0, work, context)
}

pub(super) fn cuGraphExecKernelNodeSetParams(
    call: &mut Call,
    exec: ExecArg,
    node: NodeArg,
    params: In<KernelNodeParamsV1>,
) -> Outcome {
    let params = KernelNodeParams { v1: params.get()?, ..KernelNodeParams::default() };
    let (work, context) = kernel(call, &params)?;
    call.exec_set(exec.0, node.0, work, context)
}

pub(super) fn cuGraphExecMemcpyNodeSetParams(
    call: &mut Call,
    exec: ExecArg,
    node: NodeArg,
    params: In<Memcpy3d>,
    context: ContextArg,
) -> Outcome {
    let context = call.context(context.0)?;
    let copy = copy(call, &params.get()?)?;
    call.exec_set(exec.0, node.0, Work::Copy(copy), context)
}

pub(super) fn cuGraphExecMemsetNodeSetParams(
    call: &mut Call,
    exec: ExecArg,
    node: NodeArg,
    params: In<MemsetNodeParams>,
    context: ContextArg,
) -> Outcome {
    let context = call.context(context.0)?;
    let fill = fill(call, &params.get()?)?;
    call.exec_set(exec.0, node.0, Work::Fill(fill), context)
}

pub(super) fn cuGraphExecHostNodeSetParams(
    call: &mut Call,
    exec: ExecArg,
    node: NodeArg,
    params: In<HostNodeParams>,
) -> Outcome {
    let host = host(&params.get()?)?;
    let context = call.node(node.0)?.1.context;
    call.exec_set(exec.0, node.0, Work::Host(host), context)
}

fn set_event(call: &mut Call, exec: ExecArg, node: NodeArg, event: EventArg, record: bool) -> Outcome {
    let event = call.event(event.0)?;
    let context = call.event_at(event)?.context;
    let work = if record { Work::RecordEvent(event) } else { Work::WaitEvent(event) };
    call.exec_set(exec.0, node.0, work, context)
}

pub(super) fn cuGraphExecEventRecordNodeSetEvent(
    call: &mut Call,
    exec: ExecArg,
    node: NodeArg,
    event: EventArg,
) -> Outcome {
    set_event(call, exec, node, event, true)
}

pub(super) fn cuGraphExecEventWaitNodeSetEvent(
    call: &mut Call,
    exec: ExecArg,
    node: NodeArg,
    event: EventArg,
) -> Outcome {
    set_event(call, exec, node, event, false)
}

pub(super) fn cuGraphNodeSetEnabled(call: &mut Call, exec: ExecArg, node: NodeArg, enabled: u32) -> Outcome {
    call.exec_enable(exec.0, node.0, enabled != 0)
}

pub(super) fn cuGraphNodeGetEnabled(call: &mut Call, exec: ExecArg, node: NodeArg, enabled: Out<u32>) -> Outcome {
    enabled.set(u32::from(call.exec_enabled(exec.0, node.0)?))
}
