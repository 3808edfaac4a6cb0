//! The functions and structures, with handles and pointers as words.

#![allow(non_snake_case, reason = "the functions have the driver's names")]

use std::ffi::c_void;
use std::sync::OnceLock;

/// A function of the driver library, found the way that any program finds it.
pub fn symbol(name: &str) -> *mut c_void {
    static LIBRARY: OnceLock<libloading::Library> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        dacapo_sim::install().expect("no other driver is here");
        // SAFETY: the simulated driver's library runs no code when it is loaded.
        unsafe { libloading::Library::new("libcuda.so") }.expect("the simulated driver")
    });
    // SAFETY: only the address is taken.
    let symbol = unsafe { library.get::<*mut c_void>(name.as_bytes()) };
    // SAFETY: as above.
    unsafe { symbol.unwrap_or_else(|error| panic!("{name}: {error}")).try_as_raw_ptr() }.expect("an address")
}

macro_rules! api {
    ($(fn $name:ident($($arg:ident: $ty:ty),*);)*) => {
        $(
            #[allow(clippy::too_many_arguments, reason = "the driver's signature")]
            pub fn $name($($arg: $ty),*) -> u32 {
                type Function = unsafe extern "C" fn($($ty),*) -> u32;
                static FUNCTION: OnceLock<Function> = OnceLock::new();
                let function = FUNCTION.get_or_init(|| {
                    let address = symbol(stringify!($name));
                    // SAFETY: the function of this name has this signature in the driver's header, handles being words.
                    unsafe { std::mem::transmute::<*mut c_void, Function>(address) }
                });
                // SAFETY: the tests pass null or pointers to memory of theirs that outlives the call or the work.
                unsafe { function($($arg),*) }
            }
        )*
    };
}

api! {
    fn cuInit(flags: u32);
    fn cuDeviceGetAttribute(value: *mut i32, attribute: u32, device: i32);
    fn cuDevicePrimaryCtxRetain(context: *mut u64, device: i32);
    fn cuDevicePrimaryCtxRelease_v2(device: i32);
    fn cuDeviceGraphMemTrim(device: i32);
    fn cuDeviceGetDefaultMemPool(pool: *mut u64, device: i32);
    fn cuCtxCreate_v4(context: *mut u64, params: *const u64, flags: u32, device: i32);
    fn cuCtxDestroy_v2(context: u64);
    fn cuCtxGetCurrent(context: *mut u64);
    fn cuCtxSetCurrent(context: u64);
    fn cuCtxSynchronize();
    fn cuCtxGetDevice(device: *mut i32);
    fn cuCtxGetLimit(value: *mut u64, limit: u32);
    fn cuCtxSetLimit(limit: u32, value: u64);
    fn cuCtxEnablePeerAccess(peer: u64, flags: u32);
    fn cuCtxDisablePeerAccess(peer: u64);
    fn cuCtxRecordEvent(context: u64, event: u64);
    fn cuCtxWaitEvent(context: u64, event: u64);
    fn cuStreamCreate(stream: *mut u64, flags: u32);
    fn cuStreamDestroy_v2(stream: u64);
    fn cuStreamSynchronize(stream: u64);
    fn cuStreamQuery(stream: u64);
    fn cuStreamWaitEvent(stream: u64, event: u64, flags: u32);
    fn cuStreamGetCtx(stream: u64, context: *mut u64);
    fn cuStreamGetFlags(stream: u64, flags: *mut u32);
    fn cuStreamGetPriority(stream: u64, priority: *mut i32);
    fn cuStreamAddCallback(stream: u64, callback: Option<unsafe extern "C" fn(u64, u32, u64)>, data: u64, flags: u32);
    fn cuStreamWriteValue32_v2(stream: u64, address: u64, value: u32, flags: u32);
    fn cuStreamWaitValue32_v2(stream: u64, address: u64, value: u32, flags: u32);
    fn cuStreamBeginCapture_v2(stream: u64, mode: u32);
    fn cuStreamBeginCaptureToGraph(stream: u64, graph: u64, nodes: *const u64, data: *const u8, count: usize, mode: u32);
    fn cuStreamEndCapture(stream: u64, graph: *mut u64);
    fn cuStreamIsCapturing(stream: u64, status: *mut u32);
    fn cuStreamGetCaptureInfo_v3(stream: u64, status: *mut u32, id: *mut u64, graph: *mut u64, nodes: *mut *const u64, data: *mut *const u8, count: *mut usize);
    fn cuStreamUpdateCaptureDependencies_v2(stream: u64, nodes: *const u64, data: *const u8, count: usize, flags: u32);
    fn cuThreadExchangeStreamCaptureMode(mode: *mut u32);
    fn cuEventCreate(event: *mut u64, flags: u32);
    fn cuEventDestroy_v2(event: u64);
    fn cuEventRecord(event: u64, stream: u64);
    fn cuEventRecordWithFlags(event: u64, stream: u64, flags: u32);
    fn cuEventQuery(event: u64);
    fn cuEventSynchronize(event: u64);
    fn cuEventElapsedTime_v2(milliseconds: *mut f32, start: u64, end: u64);
    fn cuMemGetInfo_v2(free: *mut u64, total: *mut u64);
    fn cuMemAlloc_v2(address: *mut u64, bytes: usize);
    fn cuMemFree_v2(address: u64);
    fn cuMemAllocAsync(address: *mut u64, bytes: usize, stream: u64);
    fn cuMemFreeAsync(address: u64, stream: u64);
    fn cuMemHostAlloc(pointer: *mut u64, bytes: usize, flags: u32);
    fn cuMemFreeHost(pointer: u64);
    fn cuMemHostRegister_v2(pointer: u64, bytes: usize, flags: u32);
    fn cuMemHostUnregister(pointer: u64);
    fn cuMemPoolTrimTo(pool: u64, keep: usize);
    fn cuPointerGetAttribute(data: *mut u64, attribute: u32, address: u64);
    fn cuMemcpyHtoD_v2(dst: u64, src: u64, bytes: usize);
    fn cuMemcpyDtoH_v2(dst: u64, src: u64, bytes: usize);
    fn cuMemcpyDtoD_v2(dst: u64, src: u64, bytes: usize);
    fn cuMemcpyHtoDAsync_v2(dst: u64, src: u64, bytes: usize, stream: u64);
    fn cuMemcpyDtoHAsync_v2(dst: u64, src: u64, bytes: usize, stream: u64);
    fn cuMemcpyDtoDAsync_v2(dst: u64, src: u64, bytes: usize, stream: u64);
    fn cuMemcpyAsync(dst: u64, src: u64, bytes: usize, stream: u64);
    fn cuMemcpyPeerAsync(dst: u64, to: u64, src: u64, from: u64, bytes: usize, stream: u64);
    fn cuMemcpyBatchAsync_v2(dsts: *const u64, srcs: *const u64, sizes: *const u64, count: usize, attributes: *const u8, indices: *const u64, attribute_count: usize, stream: u64);
    fn cuMemsetD32_v2(dst: u64, value: u32, count: usize);
    fn cuMemsetD8Async(dst: u64, value: u8, count: usize, stream: u64);
    fn cuMemsetD32Async(dst: u64, value: u32, count: usize, stream: u64);
    fn cuModuleLoadData(module: *mut u64, image: *const i8);
    fn cuModuleUnload(module: u64);
    fn cuModuleGetFunction(function: *mut u64, module: u64, name: *const i8);
    fn cuFuncGetAttribute(value: *mut i32, attribute: u32, function: u64);
    fn cuFuncSetAttribute(function: u64, attribute: u32, value: i32);
    fn cuFuncGetName(name: *mut *const i8, function: u64);
    fn cuFuncLoad(function: u64);
    fn cuLibraryLoadData(library: *mut u64, code: *const i8, a: u64, b: u64, c: u32, d: u64, e: u64, f: u32);
    fn cuLibraryGetKernel(kernel: *mut u64, library: u64, name: *const i8);
    fn cuLibraryUnload(library: u64);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut i32, function: u64, block: i32, dynamic: usize);
    fn cuOccupancyMaxPotentialBlockSize(grid: *mut i32, block: *mut i32, function: u64, dynamic_of: Option<unsafe extern "C" fn(i32) -> usize>, dynamic: usize, limit: i32);
    fn cuLaunchKernel(function: u64, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: u64, params: *const u64, extra: *const u64);
    fn cuLaunchCooperativeKernel(function: u64, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: u64, params: *const u64);
    fn cuLaunchKernelEx(config: u64, function: u64, params: *const u64, extra: *const u64);
    fn cuLaunchHostFunc(stream: u64, function: Option<unsafe extern "C" fn(u64)>, data: u64);
    fn cuGraphCreate(graph: *mut u64, flags: u32);
    fn cuGraphDestroy(graph: u64);
    fn cuGraphClone(clone: *mut u64, graph: u64);
    fn cuGraphGetNodes(graph: u64, nodes: *mut u64, count: *mut usize);
    fn cuGraphGetRootNodes(graph: u64, nodes: *mut u64, count: *mut usize);
    fn cuGraphGetEdges_v2(graph: u64, from: *mut u64, to: *mut u64, data: *mut u8, count: *mut usize);
    fn cuGraphNodeGetType(node: u64, kind: *mut u32);
    fn cuGraphDestroyNode(node: u64);
    fn cuGraphAddChildGraphNode(node: *mut u64, graph: u64, deps: *const u64, count: usize, child: u64);
    fn cuGraphAddEmptyNode(node: *mut u64, graph: u64, deps: *const u64, count: usize);
    fn cuGraphAddDependencies_v2(graph: u64, from: *const u64, to: *const u64, data: *const u8, count: usize);
    fn cuGraphAddKernelNode_v2(node: *mut u64, graph: u64, deps: *const u64, count: usize, params: *const KernelParams);
    fn cuGraphKernelNodeGetParams_v2(node: u64, params: *mut KernelParams);
    fn cuGraphKernelNodeSetParams_v2(node: u64, params: *const KernelParams);
    fn cuGraphExecKernelNodeSetParams_v2(exec: u64, node: u64, params: *const KernelParams);
    fn cuGraphInstantiateWithFlags(exec: *mut u64, graph: u64, flags: u64);
    fn cuGraphInstantiateWithParams(exec: *mut u64, graph: u64, params: *mut InstantiateParams);
    fn cuGraphExecDestroy(exec: u64);
    fn cuGraphLaunch(exec: u64, stream: u64);
    fn cuGraphUpload(exec: u64, stream: u64);
    fn cuGraphExecUpdate_v2(exec: u64, graph: u64, info: *mut UpdateInfo);
    fn cuGraphExecGetFlags(exec: u64, flags: *mut u64);
    fn cuGraphNodeSetEnabled(exec: u64, node: u64, enabled: u32);
    fn cuGraphNodeGetEnabled(exec: u64, node: u64, enabled: *mut u32);
    fn cuGraphConditionalHandleCreate(handle: *mut u64, graph: u64, context: u64, default: u32, flags: u32);
    fn cuGraphAddNode_v2(node: *mut u64, graph: u64, deps: *const u64, data: *const u8, count: usize, params: *mut NodeParams);
    fn cuGraphDebugDotPrint(graph: u64, path: *const i8, flags: u32);
    fn cuUserObjectCreate(object: *mut u64, data: u64, destroy: Option<unsafe extern "C" fn(u64)>, count: u32, flags: u32);
    fn cuUserObjectRelease(object: u64, count: u32);
    fn cuGraphRetainUserObject(graph: u64, object: u64, count: u32, flags: u32);
    fn cuDriverGetVersion(version: *mut i32);
    fn cuGetErrorName(code: u32, text: *mut *const i8);
    fn cuGetProcAddress_v2(symbol: *const i8, function: *mut *mut c_void, version: i32, flags: u64, status: *mut u32);
    fn cuArrayDestroy(array: u64);
}

/// `CUDA_KERNEL_NODE_PARAMS_v2`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelParams {
    pub func: u64,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub params: u64,
    pub extra: u64,
    pub kern: u64,
    pub ctx: u64,
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct InstantiateParams {
    pub flags: u64,
    pub upload: u64,
    pub error_node: u64,
    pub result: u32,
}

/// `CUgraphExecUpdateResultInfo`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct UpdateInfo {
    pub result: u32,
    pub error_node: u64,
    pub error_from: u64,
}

/// `CUgraphNodeParams` of a conditional node.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NodeParams {
    pub kind: u32,
    pub reserved: [u32; 3],
    pub handle: u64,
    pub condition: u32,
    pub size: u32,
    pub bodies: *mut u64,
    pub ctx: u64,
    pub rest: [u64; 25],
    pub tail: u64,
}
