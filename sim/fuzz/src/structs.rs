//! The driver's structures that the calls take, with the layout of its header on 64-bit Linux.

/// A kernel node's parameters (`CUDA_KERNEL_NODE_PARAMS_v2`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KernelParams {
    pub(crate) function: u64,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    /// Where the addresses of the arguments are.
    pub(crate) arguments: u64,
    pub(crate) extra: u64,
    pub(crate) kernel: u64,
    pub(crate) context: u64,
}

/// A fill node's parameters.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FillParams {
    pub(crate) to: u64,
    pub(crate) pitch: u64,
    pub(crate) value: u32,
    pub(crate) element: u32,
    pub(crate) width: u64,
    pub(crate) height: u64,
}

/// One side of a copy.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CopySide {
    pub(crate) offset: [u64; 3],
    pub(crate) level: u64,
    /// 1: host, 2: device.
    pub(crate) kind: u32,
    pub(crate) host: u64,
    pub(crate) device: u64,
    pub(crate) array: u64,
    pub(crate) reserved: u64,
    pub(crate) pitch: u64,
    pub(crate) height: u64,
}

/// A copy (`CUDA_MEMCPY3D`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Copy3d {
    pub(crate) from: CopySide,
    pub(crate) to: CopySide,
    pub(crate) extent: [u64; 3],
}

/// A host function node's parameters.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostParams {
    pub(crate) function: extern "C" fn(u64),
    pub(crate) data: u64,
}

/// An allocation node's parameters, with those of its pool at the front.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AllocParams {
    /// 1: pinned.
    pub(crate) kind: u32,
    pub(crate) handle_kinds: u32,
    /// 1: a device.
    pub(crate) location_kind: u32,
    pub(crate) location: i32,
    pub(crate) security: u64,
    pub(crate) limit: u64,
    pub(crate) reserved: [u64; 7],
    pub(crate) access: u64,
    pub(crate) access_count: u64,
    pub(crate) bytes: u64,
    pub(crate) address: u64,
}

/// What an update says.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UpdateInfo {
    pub(crate) result: u32,
    pub(crate) node: u64,
    pub(crate) from: u64,
}

const _: () = {
    assert!(size_of::<KernelParams>() == 72);
    assert!(size_of::<FillParams>() == 40);
    assert!(size_of::<Copy3d>() == 200);
    assert!(size_of::<AllocParams>() == 120);
    assert!(size_of::<UpdateInfo>() == 24);
};
