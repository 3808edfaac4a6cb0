//! The driver's structures, with the layout of its header on 64-bit Linux.
//!
//! Pointers and handles are `u64`: they are looked up or wrapped in an argument type before anything is done with them.

/// `CUDA_KERNEL_NODE_PARAMS_v1`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelNodeParamsV1 {
    pub(crate) func: u64,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) params: u64,
    pub(crate) extra: u64,
}

/// `CUDA_KERNEL_NODE_PARAMS_v2`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelNodeParams {
    pub(crate) v1: KernelNodeParamsV1,
    pub(crate) kern: u64,
    pub(crate) ctx: u64,
}

/// `CUDA_MEMSET_NODE_PARAMS_v1`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct MemsetNodeParams {
    pub(crate) dst: u64,
    pub(crate) pitch: u64,
    pub(crate) value: u32,
    pub(crate) element: u32,
    pub(crate) width: u64,
    pub(crate) height: u64,
}

/// One side of a `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CopySide {
    pub(crate) x: u64,
    pub(crate) y: u64,
    pub(crate) z: u64,
    pub(crate) lod: u64,
    pub(crate) memory_type: u32,
    pub(crate) host: u64,
    pub(crate) device: u64,
    pub(crate) array: u64,
    pub(crate) reserved: u64,
    pub(crate) pitch: u64,
    pub(crate) height: u64,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Memcpy3d {
    pub(crate) src: CopySide,
    pub(crate) dst: CopySide,
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) depth: u64,
}

/// One side of a `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CopySide2d {
    pub(crate) x: u64,
    pub(crate) y: u64,
    pub(crate) memory_type: u32,
    pub(crate) host: u64,
    pub(crate) device: u64,
    pub(crate) array: u64,
    pub(crate) pitch: u64,
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Memcpy2d {
    pub(crate) src: CopySide2d,
    pub(crate) dst: CopySide2d,
    pub(crate) width: u64,
    pub(crate) height: u64,
}

/// `CUDA_HOST_NODE_PARAMS_v1`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct HostNodeParams {
    pub(crate) function: super::args::HostFn,
    pub(crate) data: u64,
}

/// `CUmemLocation`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct MemLocation {
    pub(crate) kind: u32,
    pub(crate) id: i32,
}

/// `CUmemPoolProps`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PoolProps {
    pub(crate) alloc_type: u32,
    pub(crate) handle_types: u32,
    pub(crate) location: MemLocation,
    pub(crate) security: u64,
    pub(crate) max_size: u64,
    pub(crate) reserved: [u64; 7],
}

/// `CUDA_MEM_ALLOC_NODE_PARAMS_v1`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemAllocNodeParams {
    pub(crate) props: PoolProps,
    pub(crate) access: u64,
    pub(crate) access_count: u64,
    pub(crate) bytes: u64,
    pub(crate) address: u64,
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct InstantiateParams {
    pub(crate) flags: u64,
    pub(crate) upload_stream: u64,
    pub(crate) error_node: u64,
    pub(crate) result: u32,
}

/// `CUgraphExecUpdateResultInfo`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct UpdateInfo {
    pub(crate) result: u32,
    pub(crate) error_node: u64,
    pub(crate) error_from: u64,
}

/// `CUgraphEdgeData`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct EdgeData {
    pub(crate) ports: [u8; 2],
    pub(crate) kind: u8,
    pub(crate) reserved: [u8; 5],
}

/// `CUDA_CONDITIONAL_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ConditionalNodeParams {
    pub(crate) handle: u64,
    pub(crate) kind: u32,
    pub(crate) size: u32,
    pub(crate) bodies: u64,
    pub(crate) ctx: u64,
}

/// `CUgraphNodeParams`: the kind, then a union of 232 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NodeParams {
    pub(crate) kind: u32,
    pub(crate) reserved: [u32; 3],
    pub(crate) union: [u64; 29],
    pub(crate) tail: u64,
}

/// `CUlaunchConfig`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct LaunchConfig {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) stream: u64,
    pub(crate) attributes: u64,
    pub(crate) count: u32,
}

/// `CUlaunchAttribute`: an id and a union of 64 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LaunchAttribute {
    pub(crate) id: u32,
    pub(crate) pad: u32,
    pub(crate) value: [u32; 16],
}

/// `CUstreamBatchMemOpParams`: a union of 48 bytes whose members agree in their first fields.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct MemOpParams {
    pub(crate) operation: u32,
    pub(crate) pad: u32,
    pub(crate) address: u64,
    pub(crate) value: u64,
    pub(crate) flags: u32,
    pub(crate) pad2: u32,
    pub(crate) alias: u64,
    pub(crate) reserved: u64,
}

/// `CUDA_BATCH_MEM_OP_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchMemOpNodeParams {
    pub(crate) ctx: u64,
    pub(crate) count: u32,
    pub(crate) ops: u64,
    pub(crate) flags: u32,
}

/// A `CUuuid`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Uuid(pub(crate) [u8; 16]);

const _: () = {
    assert!(size_of::<KernelNodeParams>() == 72);
    assert!(size_of::<MemsetNodeParams>() == 40);
    assert!(size_of::<Memcpy3d>() == 200);
    assert!(size_of::<Memcpy2d>() == 128);
    assert!(size_of::<PoolProps>() == 88);
    assert!(size_of::<MemAllocNodeParams>() == 120);
    assert!(size_of::<InstantiateParams>() == 32);
    assert!(size_of::<UpdateInfo>() == 24);
    assert!(size_of::<EdgeData>() == 8);
    assert!(size_of::<NodeParams>() == 256);
    assert!(size_of::<LaunchConfig>() == 56);
    assert!(size_of::<LaunchAttribute>() == 72);
    assert!(size_of::<MemOpParams>() == 48);
};
