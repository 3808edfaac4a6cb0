//! Modules, functions, launches and host calls.

use std::ffi::{CStr, c_uint, c_void};
use std::ptr;

use cudarc::driver::sys::{CUfunction, CUmodule, CUstream};

use super::{Driver, StreamHandle};
use crate::error::DriverError;

/// A module's handle. Names the module; owns nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ModuleHandle(pub(super) CUmodule);

// SAFETY: a `CUmodule` is an opaque name for an object of its context, and contexts are shared between threads (CUDA
// Driver API 13.0, Context Management). It is never dereferenced.
unsafe impl Send for ModuleHandle {}
// SAFETY: as above.
unsafe impl Sync for ModuleHandle {}

/// A kernel's handle, valid while its module is loaded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct FunctionHandle(pub(super) CUfunction);

impl FunctionHandle {
    pub(super) fn of(function: CUfunction) -> Self {
        Self(function)
    }

    pub(super) fn raw(self) -> CUfunction {
        self.0
    }
}

// SAFETY: as for `ModuleHandle`.
unsafe impl Send for FunctionHandle {}
// SAFETY: as above.
unsafe impl Sync for FunctionHandle {}

/// The shape of a launch, as `CUlaunchConfig` begins.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct KernelShape {
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) shared_bytes: c_uint,
}

/// `CUlaunchConfig`.
#[repr(C)]
pub(super) struct KernelLaunch {
    shape: KernelShape,
    stream: CUstream,
    attributes: *const LaunchAttribute,
    count: c_uint,
}

/// `CUlaunchAttribute`: a number, and 64 bytes of which each attribute uses what it needs.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub(crate) struct LaunchAttribute {
    id: c_uint,
    padding: c_uint,
    value: [c_uint; 16],
}

impl LaunchAttribute {
    fn new(id: c_uint, words: [c_uint; 3]) -> Self {
        let mut value = [0; 16];
        value[..3].copy_from_slice(&words);
        Self { id, padding: 0, value }
    }

    /// `CU_LAUNCH_ATTRIBUTE_COOPERATIVE`.
    pub(crate) fn cooperative() -> Self {
        Self::new(2, [1, 0, 0])
    }

    /// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`.
    pub(crate) fn cluster(blocks: [u32; 3]) -> Self {
        Self::new(4, blocks)
    }

    /// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`.
    pub(crate) fn programmatic() -> Self {
        Self::new(6, [1, 0, 0])
    }

    /// `CU_LAUNCH_ATTRIBUTE_PRIORITY`.
    pub(crate) fn priority(priority: i32) -> Self {
        Self::new(8, [priority.cast_unsigned(), 0, 0])
    }
}

/// A function that a stream calls on a driver thread.
type HostFunction = unsafe extern "C" fn(*mut c_void);

/// Bytes kept of the driver's log when it refuses a module.
const LOG_BYTES: usize = 8192;
/// `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
const ERROR_LOG_OPTIONS: [c_uint; 2] = [5, 6];

impl Driver {
    /// `cuModuleLoadDataEx`, into the current context. On failure: the error and the driver's own log.
    /// [Manual](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html).
    ///
    /// # Safety
    /// 1. `image` points to a whole cubin or fatbin, or to PTX text that ends with a NUL.
    pub(crate) unsafe fn module_load_data_ex(
        &self,
        image: *const c_void,
    ) -> Result<ModuleHandle, (DriverError, Box<str>)> {
        let mut module = ptr::null_mut();
        let mut log = [0u8; LOG_BYTES];
        let mut options = ERROR_LOG_OPTIONS;
        // An option's value is passed in the pointer itself: the buffer's address, and its size as a number.
        let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(LOG_BYTES)];
        let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
        // SAFETY: (1); a live out-pointer; two options with two values, the first a live buffer of the size that the
        // second gives. Without a current context the call is an error, not undefined.
        let code = unsafe { (self.module_load_data_ex.call)(&raw mut module, image, 2, options, values) };
        self.check(self.module_load_data_ex.name, code).map_err(|error| {
            let text = CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy();
            let text = text.trim();
            (error, if text.is_empty() { "the driver left no log" } else { text }.into())
        })?;
        Ok(ModuleHandle(module))
    }

    /// `cuModuleUnload`.
    ///
    /// # Safety
    /// 1. `module` is loaded, and is not used after this; nor are its functions.
    /// 2. No launch of its functions is pending, and no graph that names them will be launched again: the driver
    ///    crashes on that (trace `poison.module_unloaded_before_launch`).
    pub(crate) unsafe fn module_unload(&self, module: ModuleHandle) -> Result<(), DriverError> {
        // SAFETY: (1), (2).
        let code = self.relaxed(|| unsafe { (self.module_unload.call)(module.0) });
        self.check(self.module_unload.name, code)
    }

    /// `cuModuleGetFunction`.
    ///
    /// # Safety
    /// 1. `module` is loaded.
    pub(crate) unsafe fn module_get_function(
        &self,
        module: ModuleHandle,
        name: &CStr,
    ) -> Result<FunctionHandle, DriverError> {
        let mut function = ptr::null_mut();
        // SAFETY: (1); a live out-pointer and a NUL-terminated name.
        let code = unsafe { (self.module_get_function.call)(&raw mut function, module.0, name.as_ptr()) };
        self.check(self.module_get_function.name, code)?;
        Ok(FunctionHandle(function))
    }

    /// `cuLaunchKernel`. On a capturing stream: one kernel node; the arguments are copied now in either case (trace
    /// `mem.kernel_arguments_are_copied_at_capture`).
    ///
    /// # Safety
    /// 1. The function's module is loaded until the launch has run; if it is captured, until the graph can run no more.
    /// 2. `arguments` holds one pointer a parameter, each to a value of the parameter's size.
    /// 3. What the kernel does with its arguments is sound whenever it runs.
    /// 4. `stream` is alive.
    pub(crate) unsafe fn launch_kernel(
        &self,
        function: FunctionHandle,
        shape: KernelShape,
        stream: StreamHandle,
        arguments: &mut [*mut c_void],
    ) -> Result<(), DriverError> {
        let KernelShape { grid: [grid_x, grid_y, grid_z], block: [block_x, block_y, block_z], shared_bytes } = shape;
        let (function, arguments) = (function.0, arguments.as_mut_ptr());
        let (call, extra) = (self.launch_kernel.call, ptr::null_mut());
        // SAFETY: (1), (2), (3), (4); `extra` is not used when arguments are given.
        let code = unsafe {
            call(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream.0, arguments, extra)
        };
        self.check(self.launch_kernel.name, code)
    }

    /// `cuLaunchKernelEx`: as [`launch_kernel`](Self::launch_kernel), with attributes.
    ///
    /// # Safety
    /// As there.
    pub(crate) unsafe fn launch_kernel_ex(
        &self,
        function: FunctionHandle,
        shape: KernelShape,
        attributes: &[LaunchAttribute],
        stream: StreamHandle,
        arguments: &mut [*mut c_void],
    ) -> Result<(), DriverError> {
        let launch = KernelLaunch {
            shape,
            stream: stream.0,
            attributes: attributes.as_ptr(),
            count: attributes.len() as c_uint,
        };
        let (call, arguments) = (self.launch_kernel_ex.call, arguments.as_mut_ptr());
        // SAFETY: (1), (2), (3), (4) of the caller; the structs have the layout in `cuda.h` and are live; `extra` is not used when
        // arguments are given.
        let code = unsafe { call(&raw const launch, function.0, arguments, ptr::null_mut()) };
        self.check(self.launch_kernel_ex.name, code)
    }

    /// `cuLaunchHostFunc`. On a capturing stream: one host node, called at every launch.
    ///
    /// # Safety
    /// 1. `function(data)` may be called on any thread until it has run; if it is captured, any number of times until
    ///    the graph can run no more.
    /// 2. It does not unwind. (A driver call in it is refused with CUDA_ERROR_NOT_PERMITTED, or waits for ever.)
    /// 3. `stream` is alive.
    pub(crate) unsafe fn launch_host_func(
        &self,
        stream: StreamHandle,
        function: HostFunction,
        data: *mut c_void,
    ) -> Result<(), DriverError> {
        // SAFETY: (1), (2), (3).
        let code = unsafe { (self.launch_host_func.call)(stream.0, function, data) };
        self.check(self.launch_host_func.name, code)
    }
}
