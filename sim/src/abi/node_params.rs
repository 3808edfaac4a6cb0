//! Reading and changing what the nodes of a graph do.

use super::Call;
use super::args::{EventArg, In, NodeArg, Out, handle};
use super::node::{copy, fill, host, kernel};
use super::structs::{
    HostNodeParams, KernelNodeParams, KernelNodeParamsV1, MemAllocNodeParams, MemLocation, Memcpy3d, MemsetNodeParams,
    PoolProps,
};
use crate::code::{Code, Outcome};
use crate::model::work::{HostCall, Place, Work};

/// The argument pointers of a kernel node point into the node and stay valid as long as it is not changed.
pub(super) fn cuGraphKernelNodeGetParams_v2(call: &mut Call, node: NodeArg, params: Out<KernelNodeParams>) -> Outcome {
    let (_, found) = call.node(node.0)?;
    let Work::Kernel(launch) = &found.work else { return Err(Code::INVALID_VALUE) };
    let (shape, context) = (launch.shape, found.context);
    params.set(KernelNodeParams {
        v1: KernelNodeParamsV1 {
            func: handle(launch.function),
            grid: shape.grid,
            block: shape.block,
            shared: shape.shared,
            params: launch.params.pointers().as_ptr() as u64,
            extra: 0,
        },
        kern: 0,
        ctx: handle(context),
    })
}

pub(super) fn cuGraphKernelNodeGetParams(call: &mut Call, node: NodeArg, params: Out<KernelNodeParamsV1>) -> Outcome {
    let mut whole = KernelNodeParams::default();
    params.wanted()?;
    cuGraphKernelNodeGetParams_v2(call, node, Out::to(&mut whole))?;
    params.set(whole.v1)
}

pub(super) fn cuGraphKernelNodeSetParams_v2(call: &mut Call, node: NodeArg, params: In<KernelNodeParams>) -> Outcome {
    let (work, context) = kernel(call, &params.get()?)?;
    call.node_set(node.0, work, context)
}

pub(super) fn cuGraphKernelNodeSetParams(call: &mut Call, node: NodeArg, params: In<KernelNodeParamsV1>) -> Outcome {
    let params = KernelNodeParams { v1: params.get()?, ..KernelNodeParams::default() };
    let (work, context) = kernel(call, &params)?;
    call.node_set(node.0, work, context)
}

/// Launch attributes of kernel nodes that can be read and set here.
mod attribute {
    pub(super) const COOPERATIVE: u32 = 2;
    pub(super) const CLUSTER_DIMENSION: u32 = 4;
    pub(super) const PRIORITY: u32 = 8;
}

pub(super) fn cuGraphKernelNodeGetAttribute(
    call: &mut Call,
    node: NodeArg,
    attribute: u32,
    value: Out<u32>,
) -> Outcome {
    let (_, node) = call.node(node.0)?;
    let Work::Kernel(launch) = &node.work else { return Err(Code::INVALID_VALUE) };
    match attribute {
        attribute::COOPERATIVE => value.set(u32::from(launch.cooperative)),
        attribute::CLUSTER_DIMENSION => {
            value.wanted()?;
            value.set_array(&launch.cluster.unwrap_or([0; 3]), 3)
        }
        attribute::PRIORITY => value.set(0),
        _ => Err(Code::NOT_SUPPORTED),
    }
}

pub(super) fn cuGraphKernelNodeSetAttribute(
    call: &mut Call,
    node: NodeArg,
    attribute: u32,
    value: In<u32>,
) -> Outcome {
    let (_, found) = call.node(node.0)?;
    let Work::Kernel(launch) = &found.work else { return Err(Code::INVALID_VALUE) };
    let (mut launch, context) = ((**launch).clone(), found.context);
    match attribute {
        attribute::COOPERATIVE => launch.cooperative = value.get()? != 0,
        attribute::CLUSTER_DIMENSION => {
            let dims = value.array(3)?;
            launch.cluster = Some([dims[0], dims[1], dims[2]]);
        }
        attribute::PRIORITY => {
            value.get()?;
        }
        _ => return Err(Code::NOT_SUPPORTED),
    }
    call.node_set(node.0, Work::Kernel(std::sync::Arc::new(launch)), context)
}

pub(super) fn cuGraphMemcpyNodeGetParams(call: &mut Call, node: NodeArg, params: Out<Memcpy3d>) -> Outcome {
    let (_, node) = call.node(node.0)?;
    let Work::Copy(copy) = &node.work else { return Err(Code::INVALID_VALUE) };
    let mut values = Memcpy3d {
        width: copy.rows.width,
        height: copy.rows.height,
        depth: 1,
        ..Memcpy3d::default()
    };
    let ends = [(&mut values.src, &copy.src, copy.rows.src_pitch), (&mut values.dst, &copy.dst, copy.rows.dst_pitch)];
    for (side, place, pitch) in ends {
        side.memory_type = place.memory_type();
        side.pitch = pitch;
        match place {
            Place::Device(address) => side.device = *address,
            place => side.host = place.address(),
        }
    }
    params.set(values)
}

pub(super) fn cuGraphMemcpyNodeSetParams(call: &mut Call, node: NodeArg, params: In<Memcpy3d>) -> Outcome {
    let copy = copy(call, &params.get()?)?;
    let context = call.node(node.0)?.1.context;
    call.node_set(node.0, Work::Copy(copy), context)
}

pub(super) fn cuGraphMemsetNodeGetParams(call: &mut Call, node: NodeArg, params: Out<MemsetNodeParams>) -> Outcome {
    let (_, node) = call.node(node.0)?;
    let Work::Fill(fill) = &node.work else { return Err(Code::INVALID_VALUE) };
    params.set(MemsetNodeParams {
        dst: fill.dst,
        pitch: fill.pitch,
        value: fill.value,
        element: fill.element,
        width: fill.width,
        height: fill.height,
    })
}

pub(super) fn cuGraphMemsetNodeSetParams(call: &mut Call, node: NodeArg, params: In<MemsetNodeParams>) -> Outcome {
    let fill = fill(call, &params.get()?)?;
    let context = call.node(node.0)?.1.context;
    call.node_set(node.0, Work::Fill(fill), context)
}

pub(super) fn cuGraphHostNodeGetParams(call: &mut Call, node: NodeArg, params: Out<HostNodeParams>) -> Outcome {
    let (_, node) = call.node(node.0)?;
    match node.work {
        Work::Host(HostCall::Function { function, data }) => {
            params.set(HostNodeParams { function: Some(function), data: data as u64 })
        }
        _ => Err(Code::INVALID_VALUE),
    }
}

pub(super) fn cuGraphHostNodeSetParams(call: &mut Call, node: NodeArg, params: In<HostNodeParams>) -> Outcome {
    let host = host(&params.get()?)?;
    let context = call.node(node.0)?.1.context;
    call.node_set(node.0, Work::Host(host), context)
}

pub(super) fn cuGraphEventRecordNodeGetEvent(call: &mut Call, node: NodeArg, event: Out<u64>) -> Outcome {
    match call.node(node.0)?.1.work {
        Work::RecordEvent(id) => event.set(handle(id)),
        _ => Err(Code::INVALID_VALUE),
    }
}

pub(super) fn cuGraphEventWaitNodeGetEvent(call: &mut Call, node: NodeArg, event: Out<u64>) -> Outcome {
    match call.node(node.0)?.1.work {
        Work::WaitEvent(id) => event.set(handle(id)),
        _ => Err(Code::INVALID_VALUE),
    }
}

pub(super) fn cuGraphEventRecordNodeSetEvent(call: &mut Call, node: NodeArg, event: EventArg) -> Outcome {
    let event = call.event(event.0)?;
    let context = call.event_at(event)?.context;
    call.node_set(node.0, Work::RecordEvent(event), context)
}

pub(super) fn cuGraphEventWaitNodeSetEvent(call: &mut Call, node: NodeArg, event: EventArg) -> Outcome {
    let event = call.event(event.0)?;
    let context = call.event_at(event)?.context;
    call.node_set(node.0, Work::WaitEvent(event), context)
}

pub(super) fn cuGraphMemAllocNodeGetParams(
    call: &mut Call,
    node: NodeArg,
    params: Out<MemAllocNodeParams>,
) -> Outcome {
    let Work::Alloc { address, bytes, device, .. } = call.node(node.0)?.1.work else {
        return Err(Code::INVALID_VALUE);
    };
    let location = MemLocation { kind: 1, id: device as i32 };
    let props =
        PoolProps { alloc_type: 1, handle_types: 0, location, security: 0, max_size: 0, reserved: [0; 7] };
    params.set(MemAllocNodeParams { props, access: 0, access_count: 0, bytes, address })
}

pub(super) fn cuGraphMemFreeNodeGetParams(call: &mut Call, node: NodeArg, address: Out<u64>) -> Outcome {
    match call.node(node.0)?.1.work {
        Work::Free { address: freed } => address.set(freed),
        _ => Err(Code::INVALID_VALUE),
    }
}
