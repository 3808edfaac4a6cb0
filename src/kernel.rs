//! Modules, kernels, and what a launch is given.

#![allow(unsafe_code)]

use std::ffi::{CString, c_void};
use std::fmt;

use bytemuck::Pod;
use smallvec::SmallVec;

use crate::buffer::{Allocation, Buffer};
use crate::device::Device;
use crate::driver::{FunctionHandle, ModuleHandle};
use crate::error::{Error, Misuse};
use crate::sync::Arc;

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
    /// [`Error::Module`] with the driver's log if it does not compile, [`Misuse::InteriorNul`] if the text holds a NUL.
    ///
    /// # References
    /// [cuModuleLoadDataEx](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html)
    #[doc(alias = "cuModuleLoadDataEx")]
    pub fn load_ptx(&self, text: &str) -> Result<Module, Error> {
        let text = CString::new(text).map_err(|_| Misuse::InteriorNul)?;
        // SAFETY: PTX text that ends with a NUL.
        unsafe { self.load_image(text.as_ptr().cast()) }
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
        unsafe { self.load_image(image.as_ptr().cast()) }
    }

    /// # Safety
    /// `image` points to a whole cubin or fatbin, or to PTX text that ends with a NUL.
    unsafe fn load_image(&self, image: *const c_void) -> Result<Module, Error> {
        // SAFETY: the caller's condition.
        let loaded = self.with_current(|driver| Ok(unsafe { driver.module_load_data_ex(image) }))?;
        let handle = loaded.map_err(|(error, log)| Error::Module(error, log))?;
        Ok(Module(Arc::new(Loaded { device: self.clone(), handle })))
    }
}

impl Module {
    /// A kernel by its name in the device code (`extern "C"`, or mangled).
    ///
    /// # Errors
    /// [`DriverError`](crate::DriverError) with `CUDA_ERROR_NOT_FOUND` if there is none, [`Misuse::InteriorNul`].
    #[doc(alias = "cuModuleGetFunction")]
    pub fn kernel(&self, name: &str) -> Result<Kernel, Error> {
        let c_name = CString::new(name).map_err(|_| Misuse::InteriorNul)?;
        let driver = self.0.device.driver();
        // SAFETY: (1) `self` keeps the module loaded.
        let function = unsafe { driver.module_get_function(self.0.handle, &c_name) }?;
        // SAFETY: (1) as above.
        let parameters = unsafe { driver.func_param_sizes(function) }?.map(Into::into);
        Ok(Kernel { module: self.0.clone(), function, name: name.into(), parameters })
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
    /// Bytes of each parameter; `None` where the driver cannot say.
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
        let LaunchConfig { grid, block, .. } = *config;
        if grid.contains(&0) || block.contains(&0) {
            return Err(Misuse::EmptyLaunch { kernel: self.name().into(), grid, block });
        }
        let Some(parameters) = &self.parameters else { return Ok(()) };
        if parameters.len() != arguments.sizes.len() {
            let (expected, found) = (parameters.len(), arguments.sizes.len());
            return Err(Misuse::ArgumentCount { kernel: self.name().into(), expected, found });
        }
        let differing = parameters.iter().zip(&arguments.sizes).position(|(expected, found)| expected != found);
        match differing {
            Some(index) => {
                let (expected, found) = (parameters[index], arguments.sizes[index]);
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

/// The shape of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchConfig {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory a block, in bytes.
    pub shared_bytes: u32,
}

impl LaunchConfig {
    /// `blocks` blocks of `threads` threads, in one dimension, without dynamic shared memory.
    #[must_use]
    pub const fn new(blocks: u32, threads: u32) -> Self {
        Self { grid: [blocks, 1, 1], block: [threads, 1, 1], shared_bytes: 0 }
    }

    /// At least one thread an element: blocks of 256 threads, as many as it takes.
    ///
    /// Zero elements give a grid of zero blocks, which a launch refuses.
    #[must_use]
    pub const fn for_elements(elements: u32) -> Self {
        Self::new(elements.div_ceil(256), 256)
    }

    /// The same with `bytes` bytes of dynamic shared memory a block.
    #[must_use]
    pub const fn shared(self, bytes: u32) -> Self {
        Self { shared_bytes: bytes, ..self }
    }
}

impl From<cudarc::driver::LaunchConfig> for LaunchConfig {
    fn from(config: cudarc::driver::LaunchConfig) -> Self {
        Self { grid: config.grid_dim.into(), block: config.block_dim.into(), shared_bytes: config.shared_mem_bytes }
    }
}

/// The arguments of a launch, in the order of the kernel's parameters.
///
/// A tuple is one: `(&input, &output, 0.5f32, n)`. For more than sixteen, or a number known at run time only, add them
/// one by one. A `&Buffer<T>` stands for its device address and is kept alive by whatever is recorded with it; any plain
/// value stands for itself.
///
/// # Examples
/// ```
/// use dacapo::Arguments;
///
/// let mut arguments = Arguments::new();
/// for weight in [0.25f32, 0.5, 0.25] {
///     arguments.push(weight);
/// }
/// assert_eq!(arguments.len(), 3);
/// ```
#[derive(Clone, Default)]
pub struct Arguments {
    /// The values one after the other, each from a new word on.
    words: Inline<u64>,
    /// Where in `words` each value begins.
    starts: Inline<usize>,
    /// How many bytes each value has.
    sizes: Inline<usize>,
    allocations: Inline<Arc<Allocation>>,
}

/// Room for the arguments of most kernels without an allocation.
type Inline<T> = SmallVec<[T; 16]>;

impl Arguments {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one more.
    pub fn push(&mut self, argument: impl Argument) {
        argument.append_to(self);
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// The buffers among them.
    pub(crate) fn allocations(&self) -> &[Arc<Allocation>] {
        &self.allocations
    }

    /// One pointer a value, as `cuLaunchKernel` wants them. Valid until `self` changes.
    pub(crate) fn pointers(&mut self) -> Inline<*mut c_void> {
        let base = self.words.as_mut_ptr();
        self.starts.iter().map(|&start| base.wrapping_add(start).cast()).collect()
    }

    fn append(&mut self, bytes: &[u8]) {
        self.starts.push(self.words.len());
        self.sizes.push(bytes.len());
        self.words.extend(bytes.chunks(size_of::<u64>()).map(|chunk| {
            let mut word = [0; size_of::<u64>()];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_ne_bytes(word)
        }));
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arguments").field("sizes", &self.sizes).finish_non_exhaustive()
    }
}

/// Something that can be a kernel's argument: a plain value, or a reference to a [`Buffer`].
///
/// Sealed in effect: the two implementations below cover every type that could be one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a kernel argument",
    label = "not a plain value or a `&Buffer<T>`",
    note = "pass a buffer by reference, and a struct of your own after deriving `bytemuck::Pod` for it"
)]
pub trait Argument {
    /// Adds the argument.
    #[doc(hidden)]
    fn append_to(self, arguments: &mut Arguments);
}

#[diagnostic::do_not_recommend]
impl<T: Pod> Argument for T {
    fn append_to(self, arguments: &mut Arguments) {
        arguments.append(bytemuck::bytes_of(&self));
    }
}

impl<T> Argument for &Buffer<T> {
    fn append_to(self, arguments: &mut Arguments) {
        arguments.append(&self.device_ptr().to_ne_bytes());
        arguments.allocations.push(self.allocation().clone());
    }
}

impl From<()> for Arguments {
    fn from((): ()) -> Self {
        Self::new()
    }
}

macro_rules! arguments_from_tuples {
    ($($first:ident $($rest:ident)*)?) => {$(
        impl<$first: Argument, $($rest: Argument),*> From<($first, $($rest,)*)> for Arguments {
            #[expect(non_snake_case, reason = "a value is named after its type parameter")]
            fn from(($first, $($rest,)*): ($first, $($rest,)*)) -> Self {
                let mut arguments = Self::new();
                arguments.push($first);
                $(arguments.push($rest);)*
                arguments
            }
        }
        arguments_from_tuples!($($rest)*);
    )?};
}

arguments_from_tuples!(A B C D E F G H I J K L M N O P);

static_assertions::assert_impl_all!(Module: Send, Sync, Clone);
static_assertions::assert_impl_all!(Kernel: Send, Sync, Clone);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_keep_their_bytes_and_order() {
        let mut arguments = Arguments::from((1u8, 0.5f32, [1u64, 2, 3], -1i16));
        assert_eq!(arguments.sizes[..], [1, 4, 24, 2]);
        let pointers = arguments.pointers();
        // SAFETY: each pointer is to a value of the type and size that was pushed, in live storage.
        let values = unsafe {
            (
                pointers[0].cast::<u8>().read(),
                pointers[1].cast::<f32>().read(),
                pointers[2].cast::<[u64; 3]>().read(),
                pointers[3].cast::<i16>().read(),
            )
        };
        assert_eq!(values, (1, 0.5, [1, 2, 3], -1));
    }

    #[test]
    fn a_launch_for_elements_covers_every_element() {
        assert_eq!(LaunchConfig::for_elements(1).grid, [1, 1, 1]);
        assert_eq!(LaunchConfig::for_elements(256).grid, [1, 1, 1]);
        assert_eq!(LaunchConfig::for_elements(257).grid, [2, 1, 1]);
        assert_eq!(LaunchConfig::for_elements(u32::MAX).grid, [16_777_216, 1, 1]);
    }
}
