//! The table of driver functions, resolved by name once.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use cudarc::driver::sys::{
    CUcontext, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec, CUgraphNode, CUmodule, CUstream,
};

use super::graph::ExecUpdateResultInfo;
use super::library::Library;
use super::module::KernelLaunch;
use super::node::{EdgeData, KernelNodeAttribute, KernelNodeParams};
use crate::error::{Call, DriverCode, DriverError, Error, Unavailable};
use crate::sync::OnceLock;

/// Declares the table: a field a call, and how to fill it. What comes after `@newer` is not in every driver from CUDA 12.0 on.
macro_rules! driver_calls {
    (
        $($field:ident: $symbol:literal ($($arg:ty),*);)*
        @newer
        $($newer:ident: $newer_symbol:literal ($($newer_arg:ty),*);)*
    ) => {
        /// The driver's functions. One exists a process, and it is never dropped.
        pub(crate) struct Driver {
            $(pub(super) $field: Function<unsafe extern "C" fn($($arg),*) -> u32>,)*
            $(pub(super) $newer: Option<Function<unsafe extern "C" fn($($newer_arg),*) -> u32>>,)*
        }

        impl Driver {
            /// Looks up every function.
            fn resolve(library: &Library) -> Result<Self, Unavailable> {
                Ok(Self {
                    $($field: {
                        let address = library.symbol($symbol).ok_or(Unavailable::MissingCall(Call(plain_name($symbol))))?;
                        // SAFETY: `address` is the function of this name in the driver library, whose signature in
                        // `cuda.h` is the one written in the table.
                        let call = unsafe { std::mem::transmute::<*const c_void, unsafe extern "C" fn($($arg),*) -> u32>(address) };
                        Function { call, name: Call(plain_name($symbol)) }
                    },)*
                    $($newer: library.symbol($newer_symbol).map(|address| {
                        // SAFETY: as above.
                        let call = unsafe { std::mem::transmute::<*const c_void, unsafe extern "C" fn($($newer_arg),*) -> u32>(address) };
                        Function { call, name: Call(plain_name($newer_symbol)) }
                    }),)*
                })
            }
        }
    };
}

driver_calls! {
    init: c"cuInit" (c_uint);
    get_error_name: c"cuGetErrorName" (u32, *mut *const c_char);
    driver_get_version: c"cuDriverGetVersion" (*mut c_int);
    device_get: c"cuDeviceGet" (*mut c_int, c_int);
    device_get_count: c"cuDeviceGetCount" (*mut c_int);
    device_get_name: c"cuDeviceGetName" (*mut c_char, c_int, c_int);
    device_get_attribute: c"cuDeviceGetAttribute" (*mut c_int, c_uint, c_int);
    device_graph_mem_trim: c"cuDeviceGraphMemTrim" (c_int);
    device_get_graph_mem_attribute: c"cuDeviceGetGraphMemAttribute" (c_int, c_uint, *mut u64);
    primary_ctx_retain: c"cuDevicePrimaryCtxRetain" (*mut CUcontext, c_int);
    primary_ctx_release: c"cuDevicePrimaryCtxRelease_v2" (c_int);
    ctx_enable_peer_access: c"cuCtxEnablePeerAccess" (CUcontext, c_uint);
    ctx_push_current: c"cuCtxPushCurrent_v2" (CUcontext);
    ctx_pop_current: c"cuCtxPopCurrent_v2" (*mut CUcontext);
    stream_create: c"cuStreamCreate" (*mut CUstream, c_uint);
    stream_destroy: c"cuStreamDestroy_v2" (CUstream);
    stream_synchronize: c"cuStreamSynchronize" (CUstream);
    stream_query: c"cuStreamQuery" (CUstream);
    stream_is_capturing: c"cuStreamIsCapturing" (CUstream, *mut c_uint);
    stream_begin_capture: c"cuStreamBeginCapture_v2" (CUstream, c_uint);
    stream_end_capture: c"cuStreamEndCapture" (CUstream, *mut CUgraph);
    stream_wait_event: c"cuStreamWaitEvent" (CUstream, CUevent, c_uint);
    event_create: c"cuEventCreate" (*mut CUevent, c_uint);
    event_record: c"cuEventRecord" (CUevent, CUstream);
    event_query: c"cuEventQuery" (CUevent);
    event_synchronize: c"cuEventSynchronize" (CUevent);
    event_elapsed_time: c"cuEventElapsedTime" (*mut f32, CUevent, CUevent);
    event_destroy: c"cuEventDestroy_v2" (CUevent);
    thread_exchange_stream_capture_mode: c"cuThreadExchangeStreamCaptureMode" (*mut c_uint);
    mem_alloc: c"cuMemAlloc_v2" (*mut CUdeviceptr, usize);
    mem_free: c"cuMemFree_v2" (CUdeviceptr);
    mem_host_alloc: c"cuMemHostAlloc" (*mut *mut c_void, usize, c_uint);
    mem_free_host: c"cuMemFreeHost" (*mut c_void);
    memcpy_htod_async: c"cuMemcpyHtoDAsync_v2" (CUdeviceptr, *const c_void, usize, CUstream);
    memcpy_dtoh_async: c"cuMemcpyDtoHAsync_v2" (*mut c_void, CUdeviceptr, usize, CUstream);
    memcpy_dtod_async: c"cuMemcpyDtoDAsync_v2" (CUdeviceptr, CUdeviceptr, usize, CUstream);
    memset_d8_async: c"cuMemsetD8Async" (CUdeviceptr, u8, usize, CUstream);
    memset_d16_async: c"cuMemsetD16Async" (CUdeviceptr, u16, usize, CUstream);
    memset_d32_async: c"cuMemsetD32Async" (CUdeviceptr, c_uint, usize, CUstream);
    memset_d2d8_async: c"cuMemsetD2D8Async" (CUdeviceptr, usize, u8, usize, usize, CUstream);
    memset_d2d16_async: c"cuMemsetD2D16Async" (CUdeviceptr, usize, u16, usize, usize, CUstream);
    memset_d2d32_async: c"cuMemsetD2D32Async" (CUdeviceptr, usize, c_uint, usize, usize, CUstream);
    module_load_data_ex: c"cuModuleLoadDataEx" (*mut CUmodule, *const c_void, c_uint, *mut c_uint, *mut *mut c_void);
    module_unload: c"cuModuleUnload" (CUmodule);
    module_get_function: c"cuModuleGetFunction" (*mut CUfunction, CUmodule, *const c_char);
    launch_kernel: c"cuLaunchKernel" (
        CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream, *mut *mut c_void, *mut *mut c_void
    );
    launch_kernel_ex: c"cuLaunchKernelEx" (*const KernelLaunch, CUfunction, *mut *mut c_void, *mut *mut c_void);
    launch_host_func: c"cuLaunchHostFunc" (CUstream, unsafe extern "C" fn(*mut c_void), *mut c_void);
    graph_get_nodes: c"cuGraphGetNodes" (CUgraph, *mut CUgraphNode, *mut usize);
    graph_node_get_type: c"cuGraphNodeGetType" (CUgraphNode, *mut c_uint);
    graph_get_edges: c"cuGraphGetEdges" (CUgraph, *mut CUgraphNode, *mut CUgraphNode, *mut usize);
    graph_instantiate: c"cuGraphInstantiateWithFlags" (*mut CUgraphExec, CUgraph, u64);
    graph_upload: c"cuGraphUpload" (CUgraphExec, CUstream);
    graph_launch: c"cuGraphLaunch" (CUgraphExec, CUstream);
    graph_exec_update: c"cuGraphExecUpdate_v2" (CUgraphExec, CUgraph, *mut ExecUpdateResultInfo);
    graph_kernel_node_get_params: c"cuGraphKernelNodeGetParams_v2" (CUgraphNode, *mut KernelNodeParams);
    graph_kernel_node_get_attribute: c"cuGraphKernelNodeGetAttribute" (CUgraphNode, c_uint, *mut KernelNodeAttribute);
    graph_kernel_node_set_params: c"cuGraphKernelNodeSetParams_v2" (CUgraphNode, *const KernelNodeParams);
    graph_exec_kernel_node_set_params: c"cuGraphExecKernelNodeSetParams_v2" (
        CUgraphExec, CUgraphNode, *const KernelNodeParams
    );
    graph_clone: c"cuGraphClone" (*mut CUgraph, CUgraph);
    graph_node_find_in_clone: c"cuGraphNodeFindInClone" (*mut CUgraphNode, CUgraphNode, CUgraph);
    graph_debug_dot_print: c"cuGraphDebugDotPrint" (CUgraph, *const c_char, c_uint);
    graph_exec_destroy: c"cuGraphExecDestroy" (CUgraphExec);
    graph_destroy: c"cuGraphDestroy" (CUgraph);
    @newer
    func_get_name: c"cuFuncGetName" (*mut *const c_char, CUfunction);
    kernel_get_name: c"cuKernelGetName" (*mut *const c_char, *mut c_void);
    graph_get_edges_v2: c"cuGraphGetEdges_v2" (CUgraph, *mut CUgraphNode, *mut CUgraphNode, *mut EdgeData, *mut usize);
}

/// The driver, once it has been found. Written once; a reader that finds it sees all of it.
static DRIVER: OnceLock<Driver> = OnceLock::new();

/// One driver function and its name.
pub(super) struct Function<F> {
    pub(super) call: F,
    pub(super) name: Call,
}

/// The manual's name of a symbol: without the version suffix of its ABI.
fn plain_name(symbol: &'static CStr) -> &'static str {
    let name = symbol.to_str().unwrap_or_default();
    name.strip_suffix("_v2").unwrap_or(name)
}

impl Driver {
    /// The driver, loaded and initialised.
    ///
    /// A failure is not remembered: a simulated driver that is installed later is found.
    pub(crate) fn load() -> Result<&'static Self, Error> {
        if let Some(driver) = DRIVER.get() {
            return Ok(driver);
        }
        let library = Library::find().ok_or(Unavailable::NoLibrary)?;
        let driver = Self::resolve(&library)?;
        driver.init()?;
        Ok(DRIVER.get_or_init(|| driver))
    }

    /// `Ok` for success; otherwise the call, the code and the driver's own name for it.
    #[inline]
    pub(super) fn check(&self, call: Call, code: u32) -> Result<(), DriverError> {
        if code == 0 { Ok(()) } else { Err(self.error(call, code)) }
    }

    #[cold]
    fn error(&self, call: Call, code: u32) -> DriverError {
        DriverError::new(call, DriverCode(code), self.name_of(code))
    }

    /// `cuGetErrorName`. [Manual](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__ERROR.html).
    fn name_of(&self, code: u32) -> Option<&'static str> {
        let mut name = std::ptr::null();
        // SAFETY: `name` is a live out-pointer. The call takes any number, known to the driver or not.
        let found = unsafe { (self.get_error_name.call)(code, &raw mut name) } == 0 && !name.is_null();
        // SAFETY: on success the driver has written a pointer to a NUL-terminated string of its own, which lives as
        // long as the library, and the library is never unloaded.
        found.then(|| unsafe { CStr::from_ptr(name) })?.to_str().ok()
    }

    /// `cuInit(0)`. [Manual](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__INITIALIZE.html).
    fn init(&self) -> Result<(), Error> {
        // SAFETY: takes any flags; may be called any number of times.
        let code = unsafe { (self.init.call)(0) };
        match self.check(self.init.name, code) {
            Err(error) if error.code == DriverCode::NO_DEVICE => Err(Unavailable::NoDevice.into()),
            other => Ok(other?),
        }
    }
}

impl From<cudarc::driver::DriverError> for DriverError {
    /// cudarc keeps the code alone, so the call is named as what we know of it.
    fn from(error: cudarc::driver::DriverError) -> Self {
        let code = error.0 as u32;
        Self::new(Call("a call through cudarc"), DriverCode(code), DRIVER.get().and_then(|driver| driver.name_of(code)))
    }
}

impl From<cudarc::driver::DriverError> for Error {
    fn from(error: cudarc::driver::DriverError) -> Self {
        Self::Driver(error.into())
    }
}
