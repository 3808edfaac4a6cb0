//! Every exported function with null and with garbage arguments: none crashes, and none succeeds that should not.

mod common;

use std::collections::BTreeSet;
use std::ffi::c_void;

use common::{gpu, symbol};
use dacapo_sim::abi::args::*;
use dacapo_sim::abi::structs::*;

/// How to make up an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Zero everywhere.
    Null,
    /// Handles of the right kind that were never given out; pointers to zeroed memory; ones elsewhere.
    Unknown,
    /// Handles that are not even of the right form, null pointers, ones elsewhere.
    Garbage,
}

/// Memory that pointers may point to: results are written here, and arguments read as zero.
#[repr(C, align(64))]
struct Scratch([u64; 4096]);

static mut SCRATCH: Scratch = Scratch([0; 4096]);

/// The plain C type behind an argument, and a value for it.
trait Raw {
    type C;
    fn make(kind: Kind) -> Self::C;
}

macro_rules! raw_numbers {
    ($($ty:ty),*) => { $(impl Raw for $ty {
        type C = $ty;
        fn make(kind: Kind) -> $ty {
            <$ty>::from(kind != Kind::Null)
        }
    })* };
}
raw_numbers!(u8, u16, u32, u64, usize, i32);

macro_rules! raw_handles {
    ($($ty:ty = $tag:literal),*) => { $(impl Raw for $ty {
        type C = u64;
        fn make(kind: Kind) -> u64 {
            match kind {
                Kind::Null => 0,
                Kind::Unknown => (0xDA00 | $tag) << 48 | 0x0FFF_FFF0,
                Kind::Garbage => 0xDEAD_BEEF_DEAD_BEEF,
            }
        }
    })* };
}
raw_handles!(
    ContextArg = 0x01,
    StreamArg = 0x02,
    EventArg = 0x03,
    GraphArg = 0x04,
    NodeArg = 0x05,
    ExecArg = 0x06,
    ModuleArg = 0x07,
    FunctionArg = 0x08,
    LibraryArg = 0x09,
    KernelArg = 0x0A,
    PoolArg = 0x0B,
    ObjectArg = 0x0C
);

impl Raw for DeviceArg {
    type C = i32;
    fn make(kind: Kind) -> i32 {
        match kind {
            Kind::Null => 0,
            Kind::Unknown => 8,
            Kind::Garbage => -1,
        }
    }
}

impl Raw for DevicePtr {
    type C = u64;
    fn make(kind: Kind) -> u64 {
        match kind {
            Kind::Null => 0,
            Kind::Unknown => 0x0D00_00FF_0000_0000,
            Kind::Garbage => 0x10,
        }
    }
}

impl Raw for HostPtr {
    type C = u64;
    fn make(kind: Kind) -> u64 {
        if kind == Kind::Null { 0 } else { 0x10 }
    }
}

fn pointer(kind: Kind) -> u64 {
    match kind {
        Kind::Unknown => &raw mut SCRATCH as u64,
        Kind::Null | Kind::Garbage => 0,
    }
}

impl<T> Raw for Out<T> {
    type C = u64;
    fn make(kind: Kind) -> u64 {
        pointer(kind)
    }
}

impl<T> Raw for In<T> {
    type C = u64;
    fn make(kind: Kind) -> u64 {
        pointer(kind)
    }
}

impl Raw for MemLocation {
    type C = MemLocation;
    fn make(_kind: Kind) -> MemLocation {
        MemLocation::default()
    }
}

impl Raw for ConfigArg {
    type C = u64;
    fn make(kind: Kind) -> u64 {
        pointer(kind)
    }
}

impl Raw for Text {
    type C = u64;
    fn make(kind: Kind) -> u64 {
        pointer(kind)
    }
}

macro_rules! raw_functions {
    ($($ty:ty),*) => { $(impl Raw for $ty {
        type C = u64;
        fn make(_kind: Kind) -> u64 {
            0
        }
    })* };
}
raw_functions!(HostFn, StreamCallback, BlockToShared);

macro_rules! callers {
    ($($module:ident :: $name:ident ( $($arg:ident : $ty:ty),* );)*) => {
        /// Every implemented function with a way to call it.
        const CALLERS: &[(&str, fn(Kind) -> u32)] = &[$(
            (stringify!($name), |_kind| {
                type Function = unsafe extern "C" fn($(<$ty as Raw>::C),*) -> u32;
                // SAFETY: the function of this name has this signature: `Raw` gives the plain type of every argument.
                let function = unsafe { std::mem::transmute::<*mut c_void, Function>(symbol(stringify!($name))) };
                // SAFETY: pointers are null or point to scratch memory that is large enough for whatever is read or written
                // there; nothing else touches it, since this is the only test of the binary that calls.
                unsafe { function($(<$ty as Raw>::make(_kind)),*) }
            })
        ),*];
    };
}
dacapo_sim::driver_functions!(callers);

/// What may succeed when everything is null: calls that need nothing, and those for which zero means something (the current
/// context or default stream, device 0, no memory, no flags).
const SUCCEED_WITH_NULL: &[&str] = &[
    "cuInit",
    "cuProfilerStart",
    "cuProfilerStop",
    "cuDevicePrimaryCtxSetFlags",
    "cuDevicePrimaryCtxSetFlags_v2",
    "cuDeviceGraphMemTrim",
    "cuDevicePrimaryCtxRelease",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxReset",
    "cuDevicePrimaryCtxReset_v2",
    "cuCtxSetCurrent",
    "cuCtxPopCurrent_v2",
    "cuCtxSynchronize",
    "cuCtxSetFlags",
    "cuCtxSetLimit",
    "cuCtxSetCacheConfig",
    "cuCtxGetStreamPriorityRange",
    "cuStreamSynchronize",
    "cuStreamQuery",
    "cuMemFree_v2",
    "cuMemFreeAsync",
    "cuMemcpy",
    "cuMemcpyAsync",
    "cuMemcpyHtoD_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoH_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoD_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemsetD8_v2",
    "cuMemsetD16_v2",
    "cuMemsetD32_v2",
    "cuMemsetD8Async",
    "cuMemsetD16Async",
    "cuMemsetD32Async",
    "cuMemsetD2D8_v2",
    "cuMemsetD2D16_v2",
    "cuMemsetD2D32_v2",
    "cuMemsetD2D8Async",
    "cuMemsetD2D16Async",
    "cuMemsetD2D32Async",
];

/// What may succeed with made-up handles and pointers to zeroed memory: calls without handles, and the limits and objects that
/// the number 1 or a zeroed structure describes.
const SUCCEED_WITH_UNKNOWN: &[&str] = &[
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuProfilerStart",
    "cuProfilerStop",
    "cuDeviceGetCount",
    "cuCtxGetCurrent",
    "cuCtxPopCurrent_v2",
    "cuCtxSynchronize",
    "cuCtxGetDevice",
    "cuCtxGetFlags",
    "cuCtxSetFlags",
    "cuCtxGetLimit",
    "cuCtxSetLimit",
    "cuCtxGetCacheConfig",
    "cuCtxSetCacheConfig",
    "cuCtxGetStreamPriorityRange",
    "cuStreamCreate",
    "cuStreamCreateWithPriority",
    "cuThreadExchangeStreamCaptureMode",
    "cuEventCreate",
    "cuMemGetInfo_v2",
    "cuMemAlloc_v2",
    "cuMemAllocManaged",
    "cuMemHostAlloc",
    "cuMemAllocHost_v2",
    "cuModuleGetLoadingMode",
];

/// What may succeed with garbage handles and null pointers.
const SUCCEED_WITH_GARBAGE: &[&str] = &[
    "cuProfilerStart",
    "cuProfilerStop",
    "cuCtxPopCurrent_v2",
    "cuCtxSynchronize",
    "cuCtxSetFlags",
    "cuCtxSetLimit",
    "cuCtxSetCacheConfig",
    "cuCtxGetStreamPriorityRange",
];

#[test]
fn no_function_crashes_or_succeeds_wrongly() {
    for (name, call) in CALLERS.iter().filter(|(name, _)| *name != "cuInit") {
        clear();
        let code = call(Kind::Null);
        let harmless = ["cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString", "cuModuleGetLoadingMode"];
        assert!(code != 0 || harmless.contains(name), "{name} works before cuInit");
    }
    let gpu = gpu();
    let expected =
        [(Kind::Null, SUCCEED_WITH_NULL), (Kind::Unknown, SUCCEED_WITH_UNKNOWN), (Kind::Garbage, SUCCEED_WITH_GARBAGE)];
    for (kind, may_succeed) in expected {
        let mut succeeded = BTreeSet::new();
        for (name, call) in CALLERS {
            prepare(&gpu);
            clear();
            let code = call(kind);
            assert!(dacapo_sim::Code::from(code).name() != "CUDA_ERROR_UNRECOGNISED", "{name}: {code}");
            if code == 0 {
                succeeded.insert(*name);
            }
        }
        let may_succeed: BTreeSet<&str> = may_succeed.iter().copied().collect();
        let wrongly: Vec<_> = succeeded.difference(&may_succeed).collect();
        assert!(wrongly.is_empty(), "with {kind:?} arguments these succeed: {wrongly:?}");
        let missing: Vec<_> = may_succeed.difference(&succeeded).collect();
        assert!(missing.is_empty(), "with {kind:?} arguments these fail: {missing:?}");
    }
    let sim = dacapo_sim::install().expect("installed");
    assert_eq!(sim.violations(), [], "the simulator itself has failed");
}

/// Takes away what the call before has written, which would be read as an argument.
fn clear() {
    // SAFETY: no function of the driver runs now, and nothing else uses the memory.
    unsafe { (&raw mut SCRATCH).write(Scratch([0; 4096])) };
}

/// Undoes what the call before may have done: the context gone or not current, another capture mode.
fn prepare(gpu: &common::Gpu) {
    let mut mode = 0;
    assert_eq!(common::cuThreadExchangeStreamCaptureMode(&mut mode), 0);
    let context = common::ok(common::out(|c| common::cuDevicePrimaryCtxRetain(c, gpu.ordinal)));
    assert_eq!(common::cuCtxSetCurrent(context), 0);
}
