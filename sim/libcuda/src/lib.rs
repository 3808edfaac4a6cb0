//! The simulated CUDA driver as a `libcuda.so`.
//!
//! For programs that cannot call `dacapo_sim::install()`: put the library into a folder as `libcuda.so` and `libcuda.so.1` and
//! name the folder in `LD_LIBRARY_PATH`. `DACAPO_SIM_DEVICES` and `DACAPO_SIM_MEMORY` say how many devices there are and how many
//! bytes each has.
//!
//! Every function is `dacapo_sim`'s of the same name, exported under its C name.

use dacapo_sim::abi;
use dacapo_sim::abi::args::{
    BlockToShared, ConfigArg, ContextArg, DeviceArg, DevicePtr, EventArg, ExecArg, FunctionArg, GraphArg, HostFn,
    HostPtr, In, KernelArg, LibraryArg, ModuleArg, NodeArg, ObjectArg, Out, PoolArg, StreamArg, StreamCallback, Text,
};
use dacapo_sim::abi::structs::{
    BatchMemOpNodeParams, EdgeData, HostNodeParams, InstantiateParams, KernelNodeParams, KernelNodeParamsV1,
    MemAllocNodeParams, MemLocation, MemOpParams, Memcpy2d, Memcpy3d, MemsetNodeParams, NodeParams, PoolProps,
    UpdateInfo, Uuid,
};

macro_rules! export {
    ($($module:ident :: $name:ident ( $($arg:ident : $ty:ty),* );)*) => {
        $(
            #[doc = concat!("The driver's `", stringify!($name), "`.")]
            ///
            /// # Safety
            ///
            /// As for `dacapo_sim`'s function of the name.
            #[allow(non_snake_case, reason = "the driver's name")]
            #[allow(clippy::too_many_arguments, reason = "the driver's signature")]
            // SAFETY: no other object of a program that asks for this library by name exports the driver's functions; whoever
            // calls this one means the driver.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
                // SAFETY: the caller keeps the same promises as for the function that is called.
                unsafe { abi::$name($($arg),*) }
            }
        )*
    };
}
dacapo_sim::driver_functions!(export);

macro_rules! refuse {
    ($($name:ident)*) => {
        $(
            #[doc = concat!("The driver's `", stringify!($name), "`, which is not implemented.")]
            #[allow(non_snake_case, reason = "the driver's name")]
            // SAFETY: as above.
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> u32 {
                abi::refuse(stringify!($name))
            }
        )*
    };
}
dacapo_sim::unsupported_functions!(refuse);
