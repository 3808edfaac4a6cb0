//! Adding nodes to graphs.

use super::Call;
use super::args::{ContextArg, DevicePtr, EventArg, GraphArg, In, Out, handle};
use super::capture::nodes;
use super::copy::spell_3d;
use super::launch::gather;
use super::stream::read_mem_ops;
use super::structs::{
    BatchMemOpNodeParams, ConditionalNodeParams, EdgeData, HostNodeParams, KernelNodeParams, KernelNodeParamsV1,
    MemAllocNodeParams, Memcpy3d, MemsetNodeParams, NodeParams,
};
use crate::code::{Code, Outcome};
use crate::model::LaunchRequest;
use crate::model::id::ContextId;
use crate::model::work::{Copy, Fill, HostCall, Shape, Work};

/// Adds a node and hands its handle out.
fn add(
    call: &mut Call,
    out: Out<u64>,
    graph: GraphArg,
    (deps, count): (In<u64>, usize),
    work: Work,
    context: ContextId,
) -> Outcome {
    out.wanted()?;
    let deps = nodes(deps, count)?;
    let (graph, deps) = call.node_target(graph.0, &deps)?;
    out.set(handle(call.insert_node(graph, deps, work, context)?))
}

/// The context that a call names, or the current one.
fn context_or_current(call: &Call, context: u64) -> Outcome<ContextId> {
    match context {
        0 => call.context_for_node(call.by),
        raw => call.context(raw),
    }
}

/// The kernel that parameters describe, and its context. `kern` may stand in for a null `func`.
pub(super) fn kernel(call: &mut Call, params: &KernelNodeParams) -> Outcome<(Work, ContextId)> {
    let by = call.by;
    let v1 = params.v1;
    let function = if v1.func == 0 { params.kern } else { v1.func };
    let context = match params.ctx {
        0 => call.context_of_function(function, by)?,
        raw if v1.func == 0 => call.context(raw)?,
        _ => call.context_of_function(function, by)?,
    };
    let shape = Shape { grid: v1.grid, block: v1.block, shared: v1.shared };
    let request = LaunchRequest { function, shape, cooperative: false, cluster: None };
    let (arguments, extra) = (In::at(v1.params), In::at(v1.extra));
    let work = call.kernel_work(request, context, |code| gather(code, arguments, extra), by)?;
    Ok((work, context))
}

/// The copy that parameters describe.
pub(super) fn copy(call: &mut Call, params: &Memcpy3d) -> Outcome<Copy> {
    let by = call.by;
    let (kind, (dst, src), rows) = spell_3d(params)?;
    if rows.width == 0 {
        return Err(Code::INVALID_VALUE);
    }
    call.copy(kind, dst, src, rows, by)
}

/// The fill that parameters describe.
pub(super) fn fill(call: &mut Call, params: &MemsetNodeParams) -> Outcome<Fill> {
    let by = call.by;
    if params.width == 0 || params.height == 0 {
        return Err(Code::INVALID_VALUE);
    }
    let MemsetNodeParams { dst, pitch, value, element, width, height } = *params;
    call.fill(Fill { dst, value, element, width, height, pitch }, by)
}

/// The host function that parameters describe.
pub(super) fn host(params: &HostNodeParams) -> Outcome<HostCall> {
    let function = params.function.ok_or(Code::INVALID_VALUE)?;
    Ok(HostCall::Function { function, data: params.data as usize })
}

pub(super) fn cuGraphAddEmptyNode(
    call: &mut Call,
    node: Out<u64>,
    graph: GraphArg,
    deps: In<u64>,
    count: usize,
) -> Outcome {
    let context = call.context_for_node(call.by)?;
    add(call, node, graph, (deps, count), Work::Empty, context)
}

pub(super) fn cuGraphAddChildGraphNode(
    call: &mut Call,
    node: Out<u64>,
    graph: GraphArg,
    deps: In<u64>,
    count: usize,
    child: GraphArg,
) -> Outcome {
    node.wanted()?;
    let by = call.by;
    let deps = nodes(deps, count)?;
    node.set(handle(call.add_child(graph.0, &deps, child.0, by)?))
}

pub(super) fn cuGraphAddKernelNode_v2(
    call: &mut Call,
    node: Out<u64>,
    graph: GraphArg,
    deps: In<u64>,
    count: usize,
    params: In<KernelNodeParams>,
) -> Outcome {
    let (work, context) = kernel(call, &params.get()?)?;
    add(call, node, graph, (deps, count), work, context)
}

pub(super) fn cuGraphAddKernelNode(
    call: &mut Call,
    node: Out<u64>,
    graph: GraphArg,
    deps: In<u64>,
    count: usize,
    params: In<KernelNodeParamsV1>,
) -> Outcome {
    let params = KernelNodeParams { v1: params.get()?, ..KernelNodeParams::default() };
    let (work, context) = kernel(call, &params)?;
    add(call, node, graph, (deps, count), work, context)
}

pub(super) fn cuGraphAddMemcpyNode(
    call: &mut Call,
    node: Out<u64>,
    graph: GraphArg,
    deps: In<u64>,
    count: usize,
    params: In<Memcpy3d>,
    context: ContextArg,
) -> Outcome {
    let context = context_or_current(call, context.0)?;
    let copy = copy(call, &params.get()?)?;
    add(call, node, graph, (deps, count), Work::Copy(copy), context)
}

pub(super) fn cuGraphAddMemsetNode(
    call: &mut Call,
    node: Out<u64>,
    graph: GraphArg,
    deps: In<u64>,
    count: usize,
    params: In<MemsetNodeParams>,
    context: ContextArg,
) -> Outcome {
    let context = context_or_current(call, context.0)?;
    let fill = fill(call, &params.get()?)?;
    add(call, node, graph, (deps, count), Work::Fill(fill), context)
}

pub(super) fn cuGraphAddHostNode(
    call: &mut Call,
    node: Out<u64>,
    graph: GraphArg,
    deps: In<u64>,
    count: usize,
    params: In<HostNodeParams>,
) -> Outcome {
    let context = call.context_for_node(call.by)?;
    let host = host(&params.get()?)?;
    add(call, node, graph, (deps, count), Work::Host(host), context)
}

pub(super) fn cuGraphAddEventRecordNode(
    call: &mut Call,
    node: Out<u64>,
    graph: GraphArg,
    deps: In<u64>,
    count: usize,
    event: EventArg,
) -> Outcome {
    let event = call.event(event.0)?;
    let context = call.event_at(event)?.context;
    add(call, node, graph, (deps, count), Work::RecordEvent(event), context)
}

pub(super) fn cuGraphAddEventWaitNode(
    call: &mut Call,
    node: Out<u64>,
    graph: GraphArg,
    deps: In<u64>,
    count: usize,
    event: EventArg,
) -> Outcome {
    let event = call.event(event.0)?;
    let context = call.event_at(event)?.context;
    add(call, node, graph, (deps, count), Work::WaitEvent(event), context)
}

pub(super) fn cuGraphAddMemAllocNode(
    call: &mut Call,
    node: Out<u64>,
    graph: GraphArg,
    deps: In<u64>,
    count: usize,
    params: Out<MemAllocNodeParams>,
) -> Outcome {
    let mut values = params.get()?;
    node.wanted()?;
    let by = call.by;
    let context = call.context_for_node(by)?;
    let device = call.ordinal(values.props.location.id)?;
    if values.bytes == 0 {
        return Err(Code::INVALID_VALUE);
    }
    let bytes = values.bytes;
    let target = call.graph(graph.0)?;
    let address = call.reserve_block(target, context, device, bytes, by)?;
    let work = Work::Alloc { address, bytes, device };
    if let Err(code) = add(call, node, graph, (deps, count), work, context) {
        call.disown_block(address, by);
        return Err(code);
    }
    values.address = address;
    params.set(values)
}

pub(super) fn cuGraphAddMemFreeNode(
    call: &mut Call,
    node: Out<u64>,
    graph: GraphArg,
    deps: In<u64>,
    count: usize,
    address: DevicePtr,
) -> Outcome {
    let context = call.context_for_node(call.by)?;
    let target = call.graph(graph.0)?;
    call.check_free_node(target, address.0)?;
    add(call, node, graph, (deps, count), Work::Free { address: address.0 }, context)?;
    call.free_node_added(target, address.0);
    Ok(())
}

pub(super) fn cuGraphAddBatchMemOpNode(
    call: &mut Call,
    node: Out<u64>,
    graph: GraphArg,
    deps: In<u64>,
    count: usize,
    params: In<BatchMemOpNodeParams>,
) -> Outcome {
    let params = params.get()?;
    let by = call.by;
    let context = context_or_current(call, params.ctx)?;
    let ops = read_mem_ops(In::at(params.ops), params.count)?;
    call.check_mem_ops(&ops, by)?;
    add(call, node, graph, (deps, count), Work::MemOps(ops.into()), context)
}

/// The kinds of node that `cuGraphAddNode` takes, by their number.
mod kind {
    pub(super) const KERNEL: u32 = 0;
    pub(super) const MEMSET: u32 = 2;
    pub(super) const HOST: u32 = 3;
    pub(super) const GRAPH: u32 = 4;
    pub(super) const EMPTY: u32 = 5;
    pub(super) const WAIT_EVENT: u32 = 6;
    pub(super) const RECORD_EVENT: u32 = 7;
    pub(super) const FREE: u32 = 11;
    pub(super) const CONDITIONAL: u32 = 13;
}

pub(super) fn cuGraphAddNode_v2(
    call: &mut Call,
    node: Out<u64>,
    graph: GraphArg,
    deps: In<u64>,
    _data: In<EdgeData>,
    count: usize,
    params: Out<NodeParams>,
) -> Outcome {
    let values = params.get()?;
    let first = values.union[0];
    let union = In::<u8>::at(values.union.as_ptr() as u64);
    match values.kind {
        kind::KERNEL => cuGraphAddKernelNode_v2(call, node, graph, deps, count, union.cast()),
        kind::MEMSET => {
            let context = ContextArg(values.union[5]);
            cuGraphAddMemsetNode(call, node, graph, deps, count, union.cast(), context)
        }
        kind::HOST => cuGraphAddHostNode(call, node, graph, deps, count, union.cast()),
        kind::GRAPH => cuGraphAddChildGraphNode(call, node, graph, deps, count, GraphArg(first)),
        kind::EMPTY => cuGraphAddEmptyNode(call, node, graph, deps, count),
        kind::WAIT_EVENT => cuGraphAddEventWaitNode(call, node, graph, deps, count, EventArg(first)),
        kind::RECORD_EVENT => cuGraphAddEventRecordNode(call, node, graph, deps, count, EventArg(first)),
        kind::FREE => cuGraphAddMemFreeNode(call, node, graph, deps, count, DevicePtr(first)),
        kind::CONDITIONAL => add_conditional(call, node, graph, (deps, count), (params, union.cast().get()?)),
        _ => Err(Code::NOT_SUPPORTED),
    }
}

/// A conditional node hands the array of its bodies out through the parameters.
fn add_conditional(
    call: &mut Call,
    node: Out<u64>,
    graph: GraphArg,
    (deps, count): (In<u64>, usize),
    (params, mut values): (Out<NodeParams>, ConditionalNodeParams),
) -> Outcome {
    node.wanted()?;
    let by = call.by;
    let deps = nodes(deps, count)?;
    let (id, bodies) = call.add_conditional(graph.0, &deps, (values.handle, values.kind, values.size), by)?;
    values.bodies = bodies;
    let mut whole = params.get()?;
    whole.union[..5].copy_from_slice(&[
        values.handle,
        u64::from(values.size) << 32 | u64::from(values.kind),
        values.bodies,
        values.ctx,
        0,
    ]);
    params.set(whole)?;
    node.set(handle(id))
}

pub(super) fn cuGraphAddNode(
    call: &mut Call,
    node: Out<u64>,
    graph: GraphArg,
    deps: In<u64>,
    count: usize,
    params: Out<NodeParams>,
) -> Outcome {
    cuGraphAddNode_v2(call, node, graph, deps, In::at(0), count, params)
}
