//! Modules, kernels, and the shape of a launch.

#![allow(unsafe_code)]

mod arguments;
mod change;
mod config;
mod signature;

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::fmt;

pub use arguments::{Argument, Arguments};
pub(crate) use change::KernelChange;
pub use config::{LaunchAttributes, LaunchConfig};
use signature::Signatures;

use crate::device::Device;
use crate::driver::{FunctionHandle, ModuleHandle};
use crate::error::{DriverCode, Error, Misuse};
use crate::sync::{Arc, Mutex};

/// Device code that is loaded on a device. Cheap to clone.
///
/// # Dropping
/// Drops one reference. The code is unloaded (`cuModuleUnload`, under the relaxed thread mode, so that no capture is
/// hurt) once every kernel of it, and every graph that holds a launch of one, is gone.
#[derive(Clone)]
pub struct Module(Arc<Loaded>);

pub(crate) struct Loaded {
    device: Device,
    handle: ModuleHandle,
    /// What the PTX says of its kernels' parameters; nothing, for a cubin.
    signatures: Signatures,
    /// The kernels that were looked up. Locked for a look only.
    names: Mutex<HashMap<FunctionHandle, Arc<str>>>,
}

impl Loaded {
    /// The name of one of its kernels that was looked up.
    pub(crate) fn name_of(&self, function: FunctionHandle) -> Option<Arc<str>> {
        self.names.lock().get(&function).cloned()
    }

    /// Whether it is loaded on this device.
    pub(crate) fn is_on(&self, device: &Device) -> bool {
        self.device.same_context(device)
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let unloaded = self.device.with_current(|driver| {
            // SAFETY:
            // 1. The module is loaded; this value owns it, and `Kernel`s keep this value alive.
            // 2. Work owns the modules of the kernels that it launches (see `Retained`): none is pending, no graph
            //    names them.
            unsafe { driver.module_unload(self.handle) }
        });
        self.device.park(unloaded);
    }
}

impl Device {
    /// Loads PTX text; the driver compiles it for this device.
    ///
    /// # Errors
    /// [`Error::Module`] with the driver's log if it does not compile, [`Misuse::NotPtx`] if the text does not begin with a
    /// `.version` directive (comments may come before), [`Misuse::InteriorNul`] if it holds a NUL.
    ///
    /// # References
    /// [cuModuleLoadDataEx](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html)
    #[doc(alias = "cuModuleLoadDataEx")]
    pub fn load_ptx(&self, text: &str) -> Result<Module, Error> {
        // The driver tells the kinds of image apart by their first bytes, and believes the sizes inside a binary one.
        let signatures = Signatures::of_ptx(text).ok_or(Misuse::NotPtx)?;
        let text = CString::new(text).map_err(|_| Misuse::InteriorNul)?;
        // SAFETY: PTX text that ends with a NUL; it begins as PTX does, so the driver takes it for that.
        unsafe { self.load_image(text.as_ptr().cast(), signatures) }
    }

    /// Loads a cubin or fatbin made for this device.
    ///
    /// # Safety
    /// `image` holds the whole of a well-formed cubin or fatbin: the driver takes no length and believes the sizes that
    /// it finds inside.
    ///
    /// # Errors
    /// [`Error::Module`] if the image does not fit the device.
    pub unsafe fn load_cubin(&self, image: &[u8]) -> Result<Module, Error> {
        // SAFETY: the caller's condition.
        unsafe { self.load_image(image.as_ptr().cast(), Signatures::default()) }
    }

    /// # Safety
    /// `image` points to a whole cubin or fatbin, or to PTX text that ends with a NUL.
    unsafe fn load_image(&self, image: *const c_void, signatures: Signatures) -> Result<Module, Error> {
        self.check_fault()?;
        // SAFETY: the caller's condition.
        let loaded = self.with_current(|driver| Ok(unsafe { driver.module_load_data_ex(image) }))?;
        let handle = loaded.map_err(|(error, log)| {
            self.note(error);
            Error::Module(error, log)
        })?;
        Ok(Module(Arc::new(Loaded { device: self.clone(), handle, signatures, names: Mutex::default() })))
    }
}

impl Module {
    /// A kernel by its name in the device code (`extern "C"`, or mangled).
    ///
    /// # Errors
    /// [`Misuse::NoSuchKernel`], with the names that there are; [`Misuse::InteriorNul`].
    #[doc(alias = "cuModuleGetFunction")]
    pub fn kernel(&self, name: &str) -> Result<Kernel, Error> {
        let c_name = CString::new(name).map_err(|_| Misuse::InteriorNul)?;
        let driver = self.0.device.driver();
        // SAFETY: (1) `self` keeps the module loaded.
        let function = unsafe { driver.module_get_function(self.0.handle, &c_name) };
        let function = function.map_err(|error| match error.code {
            DriverCode::NOT_FOUND => {
                Misuse::NoSuchKernel { kernel: name.into(), known: self.0.signatures.names() }.into()
            }
            _ => Error::from(error),
        })?;
        let parameters = self.0.signatures.parameter_sizes(name);
        let name = self.0.names.lock().entry(function).or_insert_with(|| name.into()).clone();
        Ok(Kernel { module: self.0.clone(), function, name, parameters })
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module").field("device", &self.0.device).finish_non_exhaustive()
    }
}

/// A kernel of a [`Module`], which it keeps loaded. Cheap to clone.
#[derive(Clone)]
pub struct Kernel {
    module: Arc<Loaded>,
    function: FunctionHandle,
    name: Arc<str>,
    /// Bytes of each parameter; `None` for a kernel from a cubin, which does not say, and for one whose PTX is not understood.
    parameters: Option<Arc<[usize]>>,
}

impl Kernel {
    /// The name it was looked up by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn function(&self) -> FunctionHandle {
        self.function
    }

    pub(crate) fn module(&self) -> &Arc<Loaded> {
        &self.module
    }

    pub(crate) fn device(&self) -> &Device {
        &self.module.device
    }

    /// Whether a launch of this shape with these arguments is one that the driver can make sense of.
    pub(crate) fn check(&self, config: &LaunchConfig, arguments: &Arguments) -> Result<(), Misuse> {
        let LaunchConfig { grid, block, attributes, .. } = *config;
        if grid.contains(&0) || block.contains(&0) {
            return Err(Misuse::EmptyLaunch { kernel: self.name().into(), grid, block });
        }
        if let Some(cluster) = attributes.cluster
            && grid.iter().zip(cluster).any(|(blocks, of)| !blocks.is_multiple_of(of))
        {
            return Err(Misuse::ClusterShape { kernel: self.name().into(), grid, cluster });
        }
        let Some(parameters) = &self.parameters else { return Ok(()) };
        if parameters.len() != arguments.len() {
            let (expected, found) = (parameters.len(), arguments.len());
            return Err(Misuse::ArgumentCount { kernel: self.name().into(), expected, found });
        }
        let sizes = parameters.iter().zip(arguments.sizes()).enumerate();
        match sizes.into_iter().find(|(_, (expected, found))| expected != found) {
            Some((index, (&expected, &found))) => {
                Err(Misuse::ArgumentSize { kernel: self.name().into(), index, expected, found })
            }
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").field("name", &self.name()).finish_non_exhaustive()
    }
}

static_assertions::assert_impl_all!(Module: Send, Sync, Clone);
static_assertions::assert_impl_all!(Kernel: Send, Sync, Clone);
