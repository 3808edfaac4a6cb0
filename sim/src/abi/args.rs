//! The arguments of the C functions, as types of their own.
//!
//! Each is `repr(transparent)` over the plain C type, so that the functions have the driver's calling convention. An argument
//! comes into being only as such: the caller of the C function made it and vouches for it (see [`crate::abi`]), which is why
//! the methods here can be safe.
//!
//! 1. A null pointer is never followed; functions for which null has a meaning of its own ask first.
//! 2. Reads and writes through pointers do not assume alignment.
//! 3. A handle is only ever looked up.

use std::ffi::{CStr, c_char, c_void};

use super::structs::LaunchConfig;
use crate::code::{Code, Outcome};
use crate::model::Driver;
use crate::model::id::Id;

/// How much an argument says about the device that a call concerns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Weight {
    /// An object that may belong to several devices.
    Weak,
    /// An object of one device.
    Strong,
}

/// An argument.
pub(crate) trait Arg: Copy {
    /// The device that the argument names.
    fn device(self, _driver: &Driver) -> Option<(Weight, u32)> {
        None
    }

    /// The stream that the argument names.
    fn stream(self) -> Option<u64> {
        None
    }
}

macro_rules! plain {
    ($($ty:ty),*) => { $(impl Arg for $ty {})* };
}
plain!(u8, u16, u32, i32, u64, usize, f32, super::structs::MemLocation);

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident($raw:ty): $weight:ident = |$driver:ident, $value:ident| $device:expr;)*) => {
        $(
            $(#[$doc])*
            #[repr(transparent)]
            #[derive(Clone, Copy, Debug)]
            pub struct $name(pub $raw);

            impl Arg for $name {
                fn device(self, $driver: &Driver) -> Option<(Weight, u32)> {
                    let $value = self.0;
                    let device: Option<u32> = $device;
                    device.map(|device| (Weight::$weight, device))
                }
            }
        )*
    };
}

handles! {
    /// A `CUdevice`.
    DeviceArg(i32): Strong = |driver, raw| driver.ordinal(raw).ok();
    /// A `CUcontext`.
    ContextArg(u64): Strong = |driver, raw| driver.context(raw).ok().map(|context| driver.device_of_context(context));
    /// A `CUevent`.
    EventArg(u64): Strong = |driver, raw| {
        let event = driver.events.find(raw).ok().and_then(|event| driver.events.get(event));
        event.map(|event| driver.device_of_context(event.context))
    };
    /// A `CUgraph`.
    GraphArg(u64): Weak = |driver, raw| driver.graph(raw).ok().and_then(|id| driver.graphs.get(id)).map(|graph| graph.device);
    /// A `CUgraphExec`.
    ExecArg(u64): Weak = |driver, raw| driver.exec(raw).ok().and_then(|id| driver.execs.get(id)).map(|exec| exec.device);
    /// A `CUgraphNode`.
    NodeArg(u64): Weak = |driver, raw| driver.node(raw).ok().map(|(_, node)| driver.device_of_context(node.context));
    /// A `CUmodule`.
    ModuleArg(u64): Strong = |driver, raw| {
        let module = driver.module(raw).ok().and_then(|module| driver.modules.get(module));
        module.map(|module| driver.device_of_context(module.context))
    };
    /// A `CUfunction`, or a `CUkernel` in its place.
    FunctionArg(u64): Strong = |driver, raw| {
        let function = driver.function(raw).ok().and_then(|function| driver.functions.get(function));
        function.map(|function| driver.device_of_context(function.context))
    };
    /// A `CUlibrary`.
    LibraryArg(u64): Weak = |driver, raw| driver.library(raw).ok().and_then(|id| driver.libraries.get(id)).map(|l| l.device);
    /// A `CUkernel`.
    KernelArg(u64): Weak = |_driver, _raw| None;
    /// A `CUmemoryPool`.
    PoolArg(u64): Strong = |driver, raw| driver.pool(raw).ok().and_then(|pool| driver.pools.get(pool)).map(|pool| pool.device);
    /// A `CUuserObject`.
    ObjectArg(u64): Weak = |driver, raw| {
        driver.object(raw).ok().and_then(|object| driver.user_objects.get(object)).map(|object| object.device)
    };
    /// A `CUdeviceptr`.
    DevicePtr(u64): Strong = |driver, raw| driver.memory.device_of(raw);
    /// A host pointer that is only used as an address, or that a copy reads or writes.
    HostPtr(u64): Strong = |driver, raw| driver.pinned_at(raw).map(|(_, pinned)| pinned.device);
}

/// A pointer that a result is written to.
#[repr(transparent)]
#[derive(Debug)]
pub struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Out<T> {}
impl<T> Arg for Out<T> {}

impl<T: Copy> Out<T> {
    /// Writes a result; null is an invalid value.
    pub(crate) fn set(self, value: T) -> Outcome {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller of the C function passed a pointer that is valid for a write of `T` during the call.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Writes a result unless the caller does not want it.
    pub(crate) fn set_if_wanted(self, value: T) {
        let _unwanted = self.set(value);
    }

    /// Reads what the caller has put there.
    pub(crate) fn get(self) -> Outcome<T> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller of the C function passed a pointer that is valid for a read of `T` during the call.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// Fails for null, before anything is done.
    pub(crate) fn wanted(self) -> Outcome {
        if self.0.is_null() { Err(Code::INVALID_VALUE) } else { Ok(()) }
    }

    /// Whether it is null.
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Writes as many elements as the caller has room for.
    pub(crate) fn set_array(self, values: &[T], room: usize) -> Outcome {
        for (at, value) in values.iter().take(room).enumerate() {
            self.add(at).set(*value)?;
        }
        Ok(())
    }

    /// The same place seen as another type.
    pub(crate) fn cast<U>(self) -> Out<U> {
        Out(self.0.cast())
    }

    /// The element `count` places further on.
    pub(crate) fn add(self, count: usize) -> Out<T> {
        Out(self.0.wrapping_add(count))
    }

    /// The pointer behind an address that the caller's structure holds.
    pub(crate) fn at(address: u64) -> Out<T> {
        Out(address as *mut T)
    }

    /// A pointer to a variable of the simulator's own, which must outlive its use.
    pub(crate) fn to(value: &mut T) -> Out<T> {
        Out(value)
    }
}

/// A pointer that an argument is read from.
#[repr(transparent)]
#[derive(Debug)]
pub struct In<T>(*const T);

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for In<T> {}
impl<T> Arg for In<T> {}

impl<T: Copy> In<T> {
    /// Reads the argument; null is an invalid value.
    pub(crate) fn get(self) -> Outcome<T> {
        Out(self.0.cast_mut()).get()
    }

    /// Reads an array; null is an invalid value unless there is nothing to read.
    pub(crate) fn array(self, count: usize) -> Outcome<Vec<T>> {
        if count > 0 && self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        (0..count).map(|at| self.add(at).get()).collect()
    }

    /// Whether it is null.
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The same place seen as another type.
    pub(crate) fn cast<U>(self) -> In<U> {
        In(self.0.cast())
    }

    /// The element `count` places further on.
    pub(crate) fn add(self, count: usize) -> In<T> {
        In(self.0.wrapping_add(count))
    }

    /// The address.
    pub(crate) fn address(self) -> u64 {
        self.0 as u64
    }

    /// The pointer behind an address that a structure holds.
    pub(crate) fn at(address: u64) -> In<T> {
        In(address as *const T)
    }
}

/// A NUL-terminated string.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Text(*const c_char);

impl Arg for Text {}

impl Text {
    /// The string; null and what is not UTF-8 are invalid values.
    pub(crate) fn get(self) -> Outcome<String> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller of the C function passed a NUL-terminated string that stays valid during the call.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map(str::to_owned).map_err(|_| Code::INVALID_VALUE)
    }

    /// The string at an address.
    pub(crate) fn at(address: u64) -> Text {
        Text(address as *const c_char)
    }
}

/// A host function of the caller's, with one argument.
pub type HostFn = Option<unsafe extern "C" fn(*mut c_void)>;
impl Arg for HostFn {}

/// A stream callback of the caller's.
pub type StreamCallback = Option<unsafe extern "C" fn(*mut c_void, u32, *mut c_void)>;
impl Arg for StreamCallback {}

/// A function of the caller's that says how much shared memory a block size needs.
pub type BlockToShared = Option<unsafe extern "C" fn(i32) -> usize>;
impl Arg for BlockToShared {}

/// A `CUstream`; the default streams say nothing of their device by themselves.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct StreamArg(pub u64);

impl Arg for StreamArg {
    fn device(self, driver: &Driver) -> Option<(Weight, u32)> {
        let stream = driver.streams.find(self.0).ok()?;
        Some((Weight::Strong, driver.device_of_stream(stream)))
    }

    fn stream(self) -> Option<u64> {
        Some(self.0)
    }
}

/// The configuration of `cuLaunchKernelEx`, which names a stream.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct ConfigArg(pub In<LaunchConfig>);

impl Arg for ConfigArg {
    fn device(self, driver: &Driver) -> Option<(Weight, u32)> {
        StreamArg(self.stream()?).device(driver)
    }

    fn stream(self) -> Option<u64> {
        self.0.get().ok().map(|config| config.stream)
    }
}

/// The handle as the caller sees it.
pub(crate) fn handle<I: Id>(id: I) -> u64 {
    id.raw()
}
