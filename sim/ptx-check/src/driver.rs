//! The driver's functions, loaded by name: the few that running kernels takes, with their results as plain numbers.
//!
//! 1. A [`Device`] has made its context current on the thread that opened it, and stays on that thread.
//! 2. All work goes to the legacy stream and is waited for, so no memory is freed in use.

use std::{
    ffi::{CString, c_char, c_int, c_uint, c_void},
    marker::PhantomData,
    ptr,
};

use libloading::Library;

/// Why something could not be done on the driver.
#[derive(Debug)]
pub enum DriverError {
    /// There is no driver library.
    Load(libloading::Error),
    /// A call failed.
    Call {
        /// The function's name.
        call: &'static str,
        /// Its result.
        code: u32,
        /// What the compiler had to say, for modules.
        log: String,
    },
}

impl std::fmt::Display for DriverError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DriverError::Load(error) => write!(f, "no driver: {error}"),
            DriverError::Call { call, code, log } if log.is_empty() => write!(f, "{call} returned {code}"),
            DriverError::Call { call, code, log } => write!(f, "{call} returned {code}: {log}"),
        }
    }
}

impl std::error::Error for DriverError {}

macro_rules! functions {
    ($($field:ident: $symbol:literal($($argument:ty),*);)*) => {
        #[derive(Debug)]
        struct Functions {
            $($field: unsafe extern "C" fn($($argument),*) -> u32,)*
            /// Keeps the functions loaded.
            _library: Library,
        }

        impl Functions {
            fn load() -> Result<Functions, DriverError> {
                let names = ["libcuda.so", "libcuda.so.1"];
                // SAFETY: a driver's library has no initialisers that ask anything of the process.
                let libraries = names.map(|name| unsafe { Library::new(name) });
                let [first, second] = libraries;
                let library = first.or(second).map_err(DriverError::Load)?;
                Ok(Functions {
                    $(
                        // SAFETY: the types are those of the driver's header for this symbol. The pointer does not outlive the
                        // library, which is kept beside it.
                        $field: unsafe {
                            *library.get(concat!($symbol, "\0").as_bytes()).map_err(DriverError::Load)?
                        },
                    )*
                    _library: library,
                })
            }
        }
    };
}

type Handle = *mut c_void;

functions! {
    init: "cuInit"(c_uint);
    version: "cuDriverGetVersion"(*mut c_int);
    device: "cuDeviceGet"(*mut c_int, c_int);
    device_name: "cuDeviceGetName"(*mut c_char, c_int, c_int);
    retain: "cuDevicePrimaryCtxRetain"(*mut Handle, c_int);
    make_current: "cuCtxSetCurrent"(Handle);
    synchronise: "cuCtxSynchronize"();
    load_module: "cuModuleLoadDataEx"(*mut Handle, *const c_void, c_uint, *mut c_uint, *mut *mut c_void);
    unload_module: "cuModuleUnload"(Handle);
    function: "cuModuleGetFunction"(*mut Handle, Handle, *const c_char);
    allocate: "cuMemAlloc_v2"(*mut u64, usize);
    free: "cuMemFree_v2"(u64);
    upload: "cuMemcpyHtoD_v2"(u64, *const c_void, usize);
    download: "cuMemcpyDtoH_v2"(*mut c_void, u64, usize);
    launch: "cuLaunchKernel"(
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void
    );
}

fn check(call: &'static str, code: u32) -> Result<(), DriverError> {
    if code == 0 { Ok(()) } else { Err(DriverError::Call { call, code, log: String::new() }) }
}

/// The first device, with its primary context current on this thread.
#[derive(Debug)]
pub struct Device {
    functions: Functions,
    /// What it calls itself, and the driver's version.
    name: String,
    /// The context is current on one thread only.
    _thread: PhantomData<*mut ()>,
}

impl Device {
    /// Loads the driver of the process and opens its first device.
    ///
    /// # Errors
    ///
    /// There is no driver, or no device that works.
    pub fn open() -> Result<Device, DriverError> {
        let functions = Functions::load()?;
        let (mut version, mut ordinal, mut context) = (0, 0, ptr::null_mut());
        let mut name = [0u8; 256];
        // SAFETY: every pointer is to a local of the type that the function writes, and `name` has the length that is given.
        unsafe {
            check("cuInit", (functions.init)(0))?;
            check("cuDriverGetVersion", (functions.version)(&mut version))?;
            check("cuDeviceGet", (functions.device)(&mut ordinal, 0))?;
            check("cuDeviceGetName", (functions.device_name)(name.as_mut_ptr().cast(), 256, ordinal))?;
            check("cuDevicePrimaryCtxRetain", (functions.retain)(&mut context, ordinal))?;
            check("cuCtxSetCurrent", (functions.make_current)(context))?;
        }
        let name: Vec<u8> = name.into_iter().take_while(|byte| *byte != 0).collect();
        let name = format!("{}, driver {version}", String::from_utf8_lossy(&name));
        Ok(Device { functions, name, _thread: PhantomData })
    }

    /// What the device calls itself, and the driver's version.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Loads a module of PTX text.
    ///
    /// # Errors
    ///
    /// The driver refuses the text; the error has its compiler's log.
    pub fn load(&self, text: &str) -> Result<Module<'_>, DriverError> {
        const ERROR_LOG: c_uint = 5;
        const ERROR_LOG_BYTES: c_uint = 6;
        let image = CString::new(text).map_err(|_| DriverError::Call {
            call: "cuModuleLoadDataEx",
            code: 1,
            log: "a zero byte in the text".to_owned(),
        })?;
        let mut log = vec![0u8; 4096];
        let mut options = [ERROR_LOG, ERROR_LOG_BYTES];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(log.len())];
        let mut handle = ptr::null_mut();
        // SAFETY: the text ends with a zero byte; there are as many options as values, and the log has the length given.
        let code = unsafe {
            (self.functions.load_module)(
                &mut handle,
                image.as_ptr().cast(),
                2,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        if code != 0 {
            log.truncate(log.iter().position(|byte| *byte == 0).unwrap_or(log.len()));
            let log = String::from_utf8_lossy(&log).trim().replace('\n', "; ");
            return Err(DriverError::Call { call: "cuModuleLoadDataEx", code, log });
        }
        Ok(Module { device: self, handle })
    }

    /// Memory that holds some bytes.
    ///
    /// # Errors
    ///
    /// There is not enough memory, or the device has failed.
    pub fn buffer(&self, bytes: &[u8]) -> Result<Buffer<'_>, DriverError> {
        let mut address = 0;
        // SAFETY: the address goes to a local.
        check("cuMemAlloc", unsafe { (self.functions.allocate)(&mut address, bytes.len().max(1)) })?;
        let buffer = Buffer { device: self, address, len: bytes.len() };
        // SAFETY: the allocation is at least as long as the bytes.
        check("cuMemcpyHtoD", unsafe { (self.functions.upload)(address, bytes.as_ptr().cast(), bytes.len()) })?;
        Ok(buffer)
    }
}

/// A loaded module.
#[derive(Debug)]
pub struct Module<'d> {
    device: &'d Device,
    handle: Handle,
}

/// One argument of a kernel.
#[derive(Debug, Clone, Copy)]
pub enum Argument<'a> {
    /// The address of a buffer.
    Buffer(&'a Buffer<'a>),
    /// A 32-bit value of any type.
    Word(u32),
    /// A structure of 16 bytes.
    Structure([u64; 2]),
}

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads in a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
}

impl Module<'_> {
    /// Runs a kernel and waits for it.
    ///
    /// # Errors
    ///
    /// There is no such kernel, or it fails; then the device has failed for good.
    ///
    /// # Safety
    ///
    /// 1. The arguments have the types of the kernel's parameters.
    /// 2. The kernel, launched in this shape, stays within the buffers that it is given.
    pub unsafe fn run(&self, kernel: &str, shape: Shape, arguments: &[Argument<'_>]) -> Result<(), DriverError> {
        let functions = &self.device.functions;
        let mut handle = ptr::null_mut();
        let name = CString::new(kernel).unwrap_or_default();
        // SAFETY: the handle goes to a local, the name ends with a zero byte, and the module is loaded.
        check("cuModuleGetFunction", unsafe { (functions.function)(&mut handle, self.handle, name.as_ptr()) })?;
        let mut values: Vec<[u64; 2]> = arguments
            .iter()
            .map(|argument| match *argument {
                Argument::Buffer(buffer) => [buffer.address, 0],
                Argument::Word(word) => [u64::from(word), 0],
                Argument::Structure(value) => value,
            })
            .collect();
        let mut pointers: Vec<*mut c_void> = values.iter_mut().map(|value| ptr::from_mut(value).cast()).collect();
        let ([x, y, z], [bx, by, bz]) = (shape.grid, shape.block);
        // SAFETY: the pointers are to values at least as long as the parameters, by the caller's first condition; the kernel
        // touches nothing else, by the second.
        check("cuLaunchKernel", unsafe {
            (functions.launch)(
                handle,
                x,
                y,
                z,
                bx,
                by,
                bz,
                shape.shared,
                ptr::null_mut(),
                pointers.as_mut_ptr(),
                ptr::null_mut(),
            )
        })?;
        // SAFETY: it takes nothing.
        check("cuCtxSynchronize", unsafe { (functions.synchronise)() })
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // A failure here is that of an earlier call, which has been reported.
        // SAFETY: the module is loaded, and nothing of it runs: every launch was waited for.
        let _ = unsafe { (self.device.functions.unload_module)(self.handle) };
    }
}

/// Device memory.
#[derive(Debug)]
pub struct Buffer<'d> {
    device: &'d Device,
    address: u64,
    len: usize,
}

impl Buffer<'_> {
    /// What it holds.
    ///
    /// # Errors
    ///
    /// The device has failed.
    pub fn read(&self) -> Result<Vec<u8>, DriverError> {
        let mut bytes = vec![0; self.len];
        // SAFETY: both are of this length.
        check("cuMemcpyDtoH", unsafe {
            (self.device.functions.download)(bytes.as_mut_ptr().cast(), self.address, self.len)
        })?;
        Ok(bytes)
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated and is freed once; all work was waited for.
        let _ = unsafe { (self.device.functions.free)(self.address) };
    }
}
