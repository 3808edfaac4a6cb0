//! The driver as a C program sees it: functions looked up by name in `libcuda.so`, handles as numbers, codes as numbers.

#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(non_snake_case, reason = "the functions have the driver's names")]
#![allow(unreachable_pub, reason = "a module of several binaries")]

use std::ffi::{CString, c_void};
use std::sync::OnceLock;

use dacapo_sim::SimDevice;
use parking_lot::{Condvar, Mutex};

/// Small kernels by the names that the tests use.
pub const KERNELS: &str = include_str!("kernels.ptx");

pub const GLOBAL: u32 = 0;
pub const THREAD_LOCAL: u32 = 1;
pub const RELAXED: u32 = 2;

/// A simulated device.
pub fn sim(ordinal: u32) -> SimDevice {
    dacapo_sim::install().expect("no other driver is here").device(ordinal)
}

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
    fn cuLaunchKernel(function: u64, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: u64, params: *const u64, extra: *const u64);
    fn cuLaunchCooperativeKernel(function: u64, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: u64, params: *const u64);
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

/// Calls a function that hands one thing out.
pub fn out(call: impl FnOnce(*mut u64) -> u32) -> (u32, u64) {
    let mut value = 0;
    let code = call(&mut value);
    (code, value)
}

/// Fails the test unless the code is success; the value.
#[track_caller]
pub fn ok((code, value): (u32, u64)) -> u64 {
    assert_eq!(code, 0);
    value
}

/// Devices that no test uses right now.
static FREE: Mutex<[bool; 8]> = Mutex::new([true; 8]);
static RETURNED: Condvar = Condvar::new();

/// The use of a device, which no other test of this binary has meanwhile.
pub struct Lease(u32);

impl Drop for Lease {
    fn drop(&mut self) {
        FREE.lock()[self.0 as usize] = true;
        RETURNED.notify_all();
    }
}

/// Takes some devices at once, waiting until there are as many.
fn lease<const N: usize>() -> [Lease; N] {
    let mut free = FREE.lock();
    while free.iter().filter(|free| **free).count() < N {
        RETURNED.wait(&mut free);
    }
    std::array::from_fn(|_| {
        let ordinal = free.iter().position(|free| *free).expect("counted above");
        free[ordinal] = false;
        Lease(ordinal as u32)
    })
}

/// A device in use: its primary context (current on this thread), the kernels, 4 KiB of zeroed memory.
pub struct Gpu {
    pub ordinal: i32,
    pub context: u64,
    pub module: u64,
    pub memory: u64,
    pub sim: SimDevice,
    _lease: Option<Lease>,
}

/// A fresh device for this test alone.
pub fn gpu() -> Gpu {
    let [gpu] = gpus();
    gpu
}

/// Fresh devices for this test alone; the first one's context is current.
pub fn gpus<const N: usize>() -> [Gpu; N] {
    let gpus = lease::<N>().map(Gpu::new);
    gpus[0].bind();
    gpus
}

impl Gpu {
    fn new(lease: Lease) -> Gpu {
        let sim = sim(lease.0);
        sim.reset();
        assert_eq!(cuInit(0), 0);
        let ordinal = lease.0 as i32;
        let context = ok(out(|c| cuDevicePrimaryCtxRetain(c, ordinal)));
        assert_eq!(cuCtxSetCurrent(context), 0);
        Gpu { _lease: Some(lease), ..Gpu::in_current(ordinal, context, sim) }
    }

    /// Forgets everything about the device and starts again.
    pub fn renew(&mut self) {
        let lease = self._lease.take().expect("a device that was leased");
        *self = Gpu::new(lease);
    }

    /// The same in a context that is already current.
    pub fn in_current(ordinal: i32, context: u64, sim: SimDevice) -> Gpu {
        let module = load(KERNELS).expect("the kernels");
        let memory = ok(out(|a| cuMemAlloc_v2(a, 4096)));
        assert_eq!(cuMemsetD32_v2(memory, 0, 1024), 0);
        assert_eq!(cuCtxSynchronize(), 0);
        Gpu { ordinal, context, module, memory, sim, _lease: None }
    }

    pub fn bind(&self) {
        assert_eq!(cuCtxSetCurrent(self.context), 0);
    }

    pub fn function(&self, name: &str) -> u64 {
        function(self.module, name)
    }

    /// Launches a kernel of one thread with word arguments.
    pub fn launch(&self, stream: u64, name: &str, arguments: &[u64]) -> u32 {
        launch(self.function(name), stream, arguments)
    }

    /// Adds one to a word of the memory.
    pub fn inc(&self, stream: u64, word: u64) -> u32 {
        self.launch(stream, "inc", &[self.memory + 4 * word])
    }

    /// A word of the memory, by a blocking copy.
    pub fn word(&self, word: u64) -> u32 {
        read(self.memory + 4 * word).expect("a word")
    }
}

pub fn load(text: &str) -> Result<u64, u32> {
    let text = CString::new(text).expect("no NUL");
    match out(|module| cuModuleLoadData(module, text.as_ptr())) {
        (0, module) => Ok(module),
        (code, _) => Err(code),
    }
}

pub fn function(module: u64, name: &str) -> u64 {
    let name = CString::new(name).expect("no NUL");
    ok(out(|f| cuModuleGetFunction(f, module, name.as_ptr())))
}

pub fn launch(function: u64, stream: u64, arguments: &[u64]) -> u32 {
    let pointers: Vec<u64> = arguments.iter().map(|argument| argument as *const u64 as u64).collect();
    cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, pointers.as_ptr(), std::ptr::null())
}

pub fn read(address: u64) -> Result<u32, u32> {
    let mut word = 0u32;
    match cuMemcpyDtoH_v2(&mut word as *mut u32 as u64, address, 4) {
        0 => Ok(word),
        code => Err(code),
    }
}

pub fn stream() -> u64 {
    ok(out(|s| cuStreamCreate(s, 1)))
}

pub fn event() -> u64 {
    ok(out(|e| cuEventCreate(e, 2)))
}

pub fn end(stream: u64) -> (u32, u64) {
    out(|graph| cuStreamEndCapture(stream, graph))
}

/// Captures into a graph on a stream of its own, in the relaxed mode.
pub fn capture(body: impl FnOnce(u64)) -> u64 {
    let stream = stream();
    assert_eq!(cuStreamBeginCapture_v2(stream, RELAXED), 0);
    body(stream);
    let graph = ok(end(stream));
    assert_eq!(cuStreamDestroy_v2(stream), 0);
    graph
}

pub fn instantiate(graph: u64) -> u64 {
    ok(out(|exec| cuGraphInstantiateWithFlags(exec, graph, 0)))
}

/// 0 none, 1 active, 2 invalidated.
pub fn status(stream: u64) -> u32 {
    let mut status = 9;
    assert_eq!(cuStreamIsCapturing(stream, &mut status), 0);
    status
}

/// The nodes of a graph, in the order in which they were made.
pub fn nodes(graph: u64) -> Vec<u64> {
    let mut count = 0;
    assert_eq!(cuGraphGetNodes(graph, std::ptr::null_mut(), &mut count), 0);
    let mut nodes = vec![0; count];
    assert_eq!(cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count), 0);
    nodes
}
