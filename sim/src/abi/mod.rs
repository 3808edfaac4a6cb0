//! The C functions: `cuInit`, `cuMemAlloc_v2` and the others, by the names under which a driver library exports them.
//!
//! Each reads its arguments, takes the lock (see `model`), meets the faults that a test has injected, calls the
//! model, writes its results and is logged.
//!
//! 1. The functions are not exported from a Rust program under their C names: there they would silently take the place of a
//!    real driver. [`symbols`] and the crate `dacapo-sim-libcuda` give them their names on request.
//! 2. Handles and device addresses may be any bits. Host pointers must be null or valid, as for the driver.
//!
//! # Safety
//!
//! What the driver's documentation demands of a caller holds here, and it comes to this: a pointer that a result is written
//! to, or that an argument or host data is read from, is null or valid for that access (for asynchronous work on pageable
//! memory: until the work is done), and strings end in NUL. Everything else is checked.

pub mod args;
mod entry;
#[macro_use]
mod list;
pub mod structs;
#[macro_use]
mod unsupported;

macro_rules! modules {
    ($($name:ident)*) => {
        $(#[allow(non_snake_case, reason = "the functions have the driver's names")] mod $name;)*
    };
}
modules!(capture context copy device event exec function graph launch managed memory misc module node node_params object stream);

pub(crate) use entry::{Call, in_host_code, is_inert, thread_number};

use std::fmt;

use args::{
    Arg, BlockToShared, ConfigArg, ContextArg, DeviceArg, DevicePtr, EventArg, ExecArg, FunctionArg, GraphArg, HostFn,
    HostPtr, In, KernelArg, LibraryArg, ModuleArg, NodeArg, ObjectArg, Out, PoolArg, StreamArg, StreamCallback, Text,
};
use structs::{
    BatchMemOpNodeParams, EdgeData, HostNodeParams, InstantiateParams, KernelNodeParams, KernelNodeParamsV1,
    MemAllocNodeParams, MemLocation, MemOpParams, Memcpy2d, Memcpy3d, MemsetNodeParams, NodeParams, PoolProps,
    UpdateInfo, Uuid,
};

/// The address of a C function.
#[derive(Clone, Copy)]
pub struct Address(*const ());

// SAFETY: the pointer is the address of code, which is never written and may be called from any thread.
unsafe impl Sync for Address {}
// SAFETY: as above.
unsafe impl Send for Address {}

impl Address {
    /// The address as a number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0 as u64
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:p}", self.0)
    }
}

macro_rules! define {
    ($($module:ident :: $name:ident ( $($arg:ident : $ty:ty),* );)*) => {
        $(
            #[doc = concat!("The driver's `", stringify!($name), "`.")]
            ///
            /// # Safety
            ///
            /// See [the module](self#safety).
            #[allow(non_snake_case, reason = "the driver's name")]
            #[allow(clippy::too_many_arguments, reason = "the driver's signature")]
            pub unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
                entry::enter(
                    stringify!($name),
                    |_driver| {
                        let hints: &[Option<(args::Weight, u32)>] = &[$(Arg::device($arg, _driver)),*];
                        hints.iter().flatten().max_by_key(|(weight, _)| *weight).map(|(_, device)| *device)
                    },
                    || {
                        let streams: &[Option<u64>] = &[$(Arg::stream($arg)),*];
                        streams.iter().flatten().next().copied()
                    },
                    |call| $module::$name(call, $($arg),*),
                )
            }
        )*

        const IMPLEMENTED: &[(&str, Address)] = &[$(
            (stringify!($name), Address($name as unsafe extern "C" fn($($ty),*) -> u32 as *const ()))
        ),*];
    };
}
driver_functions!(define);

/// The place of a name in the list of functions that are not implemented.
const fn place(name: &str) -> usize {
    let mut at = 0;
    while at < unsupported::NAMES.len() {
        if equal(unsupported::NAMES[at].as_bytes(), name.as_bytes()) {
            return at;
        }
        at += 1;
    }
    panic!("the name must be in the list")
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

macro_rules! refuse_all {
    ($($name:ident)*) => {
        const UNSUPPORTED: &[(&str, Address)] = &[$(
            (
                stringify!($name),
                Address(unsupported::refuse::<{ place(stringify!($name)) }> as unsafe extern "C" fn() -> u32 as *const ()),
            )
        ),*];
    };
}
unsupported_functions!(refuse_all);

/// Every function that a driver library exports here: name and address, those that only refuse included.
pub fn symbols() -> impl Iterator<Item = (&'static str, Address)> {
    IMPLEMENTED.iter().chain(UNSUPPORTED).copied()
}

/// Whether a function is implemented, rather than only refused.
#[must_use]
pub fn is_implemented(name: &str) -> bool {
    IMPLEMENTED.iter().any(|(other, _)| *other == name)
}

/// Refuses a call of a function that is not implemented; for the shared object in `libcuda/`.
#[doc(hidden)]
#[must_use]
pub fn refuse(name: &'static str) -> u32 {
    unsupported::by_name(name)
}
