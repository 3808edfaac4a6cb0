//! The driver's functions, found at run time in whichever driver is there.
//!
//! 1. Every function returns a plain number: a code that nobody has heard of is no problem.
//! 2. Handles are numbers here. The world of a sequence (`world`) passes only those that the driver has given it and that have
//!    not been destroyed; pointers are references, or lead to memory that lives as long as the process.

use std::ffi::c_char;
use std::fmt;

use libloading::Library;

use crate::structs::{AllocParams, Copy3d, FillParams, HostParams, KernelParams, UpdateInfo};

/// A driver that cannot be used.
#[derive(Debug)]
pub enum DriverError {
    /// There is no library.
    Missing(libloading::Error),
    /// It lacks a function.
    Function(&'static str),
    /// A call that prepares things fails.
    Call(&'static str, u32),
    /// Another driver was found than the simulated one.
    NotSimulated,
    /// The simulated driver cannot be installed.
    Install(dacapo_sim::InstallError),
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DriverError::Missing(_) => f.write_str("no driver library"),
            DriverError::Function(name) => write!(f, "the driver has no {name}"),
            DriverError::Call(name, code) => write!(f, "{name} returns {code}"),
            DriverError::NotSimulated => f.write_str("another driver was found than the simulated one"),
            DriverError::Install(_) => f.write_str("the simulated driver cannot be installed"),
        }
    }
}

impl std::error::Error for DriverError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            DriverError::Missing(error) => Some(error),
            DriverError::Install(error) => Some(error),
            DriverError::Function(_) | DriverError::Call(..) | DriverError::NotSimulated => None,
        }
    }
}

macro_rules! driver {
    ($(fn $name:ident($($arg:ident: $ty:ty),*);)*) => {
        /// The functions.
        #[allow(non_snake_case, reason = "the functions have the driver's names")]
        pub(crate) struct Driver {
            $($name: unsafe extern "C" fn($($ty),*) -> u32,)*
            /// Keeps the functions where they are.
            _library: Library,
        }

        #[allow(non_snake_case, reason = "as above")]
        impl Driver {
            /// Finds the driver the way that any program does, the simulated one by the one name that it has.
            pub(crate) fn load(sim: bool) -> Result<Driver, DriverError> {
                let open = |name: &str| {
                    // SAFETY: loading a driver library runs its own start code, which every program that uses it relies on.
                    unsafe { Library::new(name) }
                };
                let library = if sim {
                    open("libcuda.so")
                } else {
                    open("libcuda.so.1").or_else(|_| open("libcuda.so"))
                };
                let library = library.map_err(DriverError::Missing)?;
                Ok(Driver {
                    $($name: {
                        // SAFETY: the driver's header declares this function with this signature, handles being words.
                        let symbol = unsafe { library.get(stringify!($name)) };
                        *symbol.map_err(|_| DriverError::Function(stringify!($name)))?
                    },)*
                    _library: library,
                })
            }

            $(
                #[allow(clippy::too_many_arguments, reason = "the driver's signature")]
                pub(crate) fn $name(&self, $($arg: $ty),*) -> u32 {
                    // SAFETY: the signature is the header's; handles and pointers are good by the module's second rule.
                    unsafe { (self.$name)($($arg),*) }
                }
            )*
        }
    };
}

driver! {
    fn cuInit(flags: u32);
    fn cuDriverGetVersion(version: &mut i32);
    fn cuDevicePrimaryCtxRetain(context: &mut u64, device: i32);
    fn cuDeviceGetDefaultMemPool(pool: &mut u64, device: i32);
    fn cuCtxSetCurrent(context: u64);
    fn cuCtxSynchronize();
    fn cuCtxEnablePeerAccess(peer: u64, flags: u32);
    fn cuCtxDisablePeerAccess(peer: u64);
    fn cuCtxRecordEvent(context: u64, event: u64);
    fn cuCtxWaitEvent(context: u64, event: u64);
    fn cuThreadExchangeStreamCaptureMode(mode: &mut u32);
    fn cuStreamCreate(stream: &mut u64, flags: u32);
    fn cuStreamDestroy_v2(stream: u64);
    fn cuStreamSynchronize(stream: u64);
    fn cuStreamQuery(stream: u64);
    fn cuStreamGetFlags(stream: u64, flags: &mut u32);
    fn cuStreamGetPriority(stream: u64, priority: &mut i32);
    fn cuStreamGetCtx(stream: u64, context: &mut u64);
    fn cuStreamWaitEvent(stream: u64, event: u64, flags: u32);
    fn cuStreamAddCallback(stream: u64, callback: extern "C" fn(u64, u32, u64), data: u64, flags: u32);
    fn cuStreamWriteValue32_v2(stream: u64, address: u64, value: u32, flags: u32);
    fn cuStreamBeginCapture_v2(stream: u64, mode: u32);
    fn cuStreamBeginCaptureToGraph(stream: u64, graph: u64, nodes: *const u64, edges: *const u64, count: usize, mode: u32);
    fn cuStreamEndCapture(stream: u64, graph: &mut u64);
    fn cuStreamIsCapturing(stream: u64, status: &mut u32);
    fn cuStreamGetCaptureInfo_v2(stream: u64, status: &mut u32, id: &mut u64, graph: &mut u64, nodes: &mut *const u64, count: &mut usize);
    fn cuStreamUpdateCaptureDependencies(stream: u64, nodes: *mut u64, count: usize, flags: u32);
    fn cuEventCreate(event: &mut u64, flags: u32);
    fn cuEventDestroy_v2(event: u64);
    fn cuEventRecordWithFlags(event: u64, stream: u64, flags: u32);
    fn cuEventQuery(event: u64);
    fn cuEventSynchronize(event: u64);
    fn cuEventElapsedTime(milliseconds: &mut f32, from: u64, to: u64);
    fn cuMemAlloc_v2(address: &mut u64, bytes: usize);
    fn cuMemFree_v2(address: u64);
    fn cuMemAllocAsync(address: &mut u64, bytes: usize, stream: u64);
    fn cuMemFreeAsync(address: u64, stream: u64);
    fn cuMemHostAlloc(pointer: &mut u64, bytes: usize, flags: u32);
    fn cuMemFreeHost(pointer: u64);
    fn cuMemPoolTrimTo(pool: u64, keep: usize);
    fn cuMemGetInfo_v2(free: &mut usize, total: &mut usize);
    fn cuMemsetD32_v2(to: u64, value: u32, count: usize);
    fn cuMemsetD32Async(to: u64, value: u32, count: usize, stream: u64);
    fn cuMemcpyHtoD_v2(to: u64, from: u64, bytes: usize);
    fn cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: u64);
    fn cuMemcpyDtoH_v2(to: u64, from: u64, bytes: usize);
    fn cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize, stream: u64);
    fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize);
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: u64);
    fn cuMemcpyPeerAsync(to: u64, to_context: u64, from: u64, from_context: u64, bytes: usize, stream: u64);
    fn cuModuleLoadData(module: &mut u64, image: *const c_char);
    fn cuModuleUnload(module: u64);
    fn cuModuleGetFunction(function: &mut u64, module: u64, name: *const c_char);
    fn cuModuleGetGlobal_v2(address: &mut u64, bytes: &mut usize, module: u64, name: *const c_char);
    fn cuFuncGetAttribute(value: &mut i32, attribute: u32, function: u64);
    fn cuLaunchKernel(function: u64, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: u64, arguments: *const u64, extra: *const u64);
    fn cuLaunchHostFunc(stream: u64, function: extern "C" fn(u64), data: u64);
    fn cuGraphCreate(graph: &mut u64, flags: u32);
    fn cuGraphDestroy(graph: u64);
    fn cuGraphClone(clone: &mut u64, graph: u64);
    fn cuGraphGetNodes(graph: u64, nodes: *mut u64, count: &mut usize);
    fn cuGraphGetRootNodes(graph: u64, nodes: *mut u64, count: &mut usize);
    fn cuGraphGetEdges(graph: u64, from: *mut u64, to: *mut u64, count: &mut usize);
    fn cuGraphNodeGetType(node: u64, kind: &mut u32);
    fn cuGraphNodeGetDependencies(node: u64, nodes: *mut u64, count: &mut usize);
    fn cuGraphDestroyNode(node: u64);
    fn cuGraphAddEmptyNode(node: &mut u64, graph: u64, after: *const u64, count: usize);
    fn cuGraphAddKernelNode_v2(node: &mut u64, graph: u64, after: *const u64, count: usize, params: &KernelParams);
    fn cuGraphAddMemsetNode(node: &mut u64, graph: u64, after: *const u64, count: usize, params: &FillParams, context: u64);
    fn cuGraphAddMemcpyNode(node: &mut u64, graph: u64, after: *const u64, count: usize, params: &Copy3d, context: u64);
    fn cuGraphAddHostNode(node: &mut u64, graph: u64, after: *const u64, count: usize, params: &HostParams);
    fn cuGraphAddEventRecordNode(node: &mut u64, graph: u64, after: *const u64, count: usize, event: u64);
    fn cuGraphAddEventWaitNode(node: &mut u64, graph: u64, after: *const u64, count: usize, event: u64);
    fn cuGraphAddChildGraphNode(node: &mut u64, graph: u64, after: *const u64, count: usize, child: u64);
    fn cuGraphAddMemAllocNode(node: &mut u64, graph: u64, after: *const u64, count: usize, params: &mut AllocParams);
    fn cuGraphAddMemFreeNode(node: &mut u64, graph: u64, after: *const u64, count: usize, address: u64);
    fn cuGraphAddDependencies(graph: u64, from: &u64, to: &u64, count: usize);
    fn cuGraphRemoveDependencies(graph: u64, from: &u64, to: &u64, count: usize);
    fn cuGraphKernelNodeSetParams_v2(node: u64, params: &KernelParams);
    fn cuGraphInstantiateWithFlags(exec: &mut u64, graph: u64, flags: u64);
    fn cuGraphExecDestroy(exec: u64);
    fn cuGraphExecGetFlags(exec: u64, flags: &mut u64);
    fn cuGraphUpload(exec: u64, stream: u64);
    fn cuGraphLaunch(exec: u64, stream: u64);
    fn cuGraphExecUpdate_v2(exec: u64, graph: u64, info: &mut UpdateInfo);
    fn cuGraphExecKernelNodeSetParams_v2(exec: u64, node: u64, params: &KernelParams);
    fn cuGraphNodeSetEnabled(exec: u64, node: u64, enabled: u32);
    fn cuGraphNodeGetEnabled(exec: u64, node: u64, enabled: &mut u32);
    fn cuUserObjectCreate(object: &mut u64, data: u64, destroy: extern "C" fn(u64), count: u32, flags: u32);
    fn cuUserObjectRetain(object: u64, count: u32);
    fn cuUserObjectRelease(object: u64, count: u32);
    fn cuGraphRetainUserObject(graph: u64, object: u64, count: u32, flags: u32);
    fn cuGraphReleaseUserObject(graph: u64, object: u64, count: u32);
}
