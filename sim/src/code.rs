//! The driver's result codes.
//!
//! Everything in the simulator that can fail returns a [`Code`]; the C functions hand its number back to the caller.
//!
//! 1. A code is only ever compared by number, so that a code unknown to this table still passes through (faults may
//!    return any number).
//! 2. The names are the driver's; the descriptions are the simulator's own.

use std::ffi::CStr;
use std::fmt;

/// A result code of the driver: zero is success.
///
/// ```
/// use dacapo_sim::Code;
///
/// assert_eq!(Code::STREAM_CAPTURE_INVALIDATED.number(), 901);
/// assert_eq!(Code::from(901).name(), "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(u32);

/// What a model function returns.
pub(crate) type Outcome<T = ()> = Result<T, Code>;

impl Code {
    /// Success.
    pub const SUCCESS: Code = Code(0);

    /// The number that the C functions return.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The driver's name of the code, or a placeholder for a number that the driver does not define.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.c_name().and_then(|name| name.to_str().ok()).unwrap_or("CUDA_ERROR_UNRECOGNISED")
    }

    /// Whether the code is success.
    #[must_use]
    pub const fn is_success(self) -> bool {
        self.0 == 0
    }
}

impl From<u32> for Code {
    fn from(number: u32) -> Code {
        Code(number)
    }
}

impl From<Outcome> for Code {
    fn from(outcome: Outcome) -> Code {
        outcome.err().unwrap_or(Code::SUCCESS)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), self.0)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.0)
    }
}

/// A NUL-terminated literal as a C string.
const fn literal(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("the literal must end in NUL and hold no other"),
    }
}

macro_rules! codes {
    ($($name:ident = $number:literal, $description:literal;)*) => {
        #[allow(missing_docs, reason = "the name says it, and `description` has the sentence")]
        impl Code {
            $(pub const $name: Code = Code($number);)*

            /// The name as `cuGetErrorName` gives it.
            pub(crate) fn c_name(self) -> Option<&'static CStr> {
                match self.0 {
                    0 => Some(c"CUDA_SUCCESS"),
                    $($number => Some(const { literal(concat!("CUDA_ERROR_", stringify!($name), "\0")) }),)*
                    _ => None,
                }
            }

            /// One sentence, as `cuGetErrorString` gives it.
            pub(crate) fn c_description(self) -> Option<&'static CStr> {
                match self.0 {
                    0 => Some(c"no error"),
                    $($number => Some(const { literal(concat!($description, "\0")) }),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
INVALID_VALUE = 1, "an argument is outside its accepted range";
OUT_OF_MEMORY = 2, "the memory limit of the device or the host is reached";
NOT_INITIALIZED = 3, "cuInit has not been called";
DEINITIALIZED = 4, "the driver is shutting down";
PROFILER_DISABLED = 5, "profiler disabled";
PROFILER_NOT_INITIALIZED = 6, "profiler not initialized";
PROFILER_ALREADY_STARTED = 7, "profiler already started";
PROFILER_ALREADY_STOPPED = 8, "profiler already stopped";
STUB_LIBRARY = 34, "a stub library answered the call";
CALL_REQUIRES_NEWER_DRIVER = 36, "call requires newer driver";
DEVICE_UNAVAILABLE = 46, "device unavailable";
MULTICAST_RESOURCE_FULL = 47, "multicast resource full";
NO_DEVICE = 100, "there is no device";
INVALID_DEVICE = 101, "no device has this ordinal";
DEVICE_NOT_LICENSED = 102, "device not licensed";
INVALID_IMAGE = 200, "the module image is malformed";
INVALID_CONTEXT = 201, "no usable context is current on this thread";
CONTEXT_ALREADY_CURRENT = 202, "context already current";
MAP_FAILED = 205, "map failed";
UNMAP_FAILED = 206, "unmap failed";
ARRAY_IS_MAPPED = 207, "array is mapped";
ALREADY_MAPPED = 208, "already mapped";
NO_BINARY_FOR_GPU = 209, "the image holds no code for this device";
ALREADY_ACQUIRED = 210, "already acquired";
NOT_MAPPED = 211, "not mapped";
NOT_MAPPED_AS_ARRAY = 212, "not mapped as array";
NOT_MAPPED_AS_POINTER = 213, "not mapped as pointer";
ECC_UNCORRECTABLE = 214, "ecc uncorrectable";
UNSUPPORTED_LIMIT = 215, "the device has no such limit";
CONTEXT_ALREADY_IN_USE = 216, "context already in use";
PEER_ACCESS_UNSUPPORTED = 217, "the two devices cannot reach each other";
INVALID_PTX = 218, "the PTX text was refused";
INVALID_GRAPHICS_CONTEXT = 219, "invalid graphics context";
NVLINK_UNCORRECTABLE = 220, "nvlink uncorrectable";
JIT_COMPILER_NOT_FOUND = 221, "jit compiler not found";
UNSUPPORTED_PTX_VERSION = 222, "the PTX version is newer than the compiler";
JIT_COMPILATION_DISABLED = 223, "jit compilation disabled";
UNSUPPORTED_EXEC_AFFINITY = 224, "unsupported exec affinity";
UNSUPPORTED_DEVSIDE_SYNC = 225, "unsupported devside sync";
CONTAINED = 226, "contained";
INSUFFICIENT_LOADER_VERSION = 227, "insufficient loader version";
INVALID_SOURCE = 300, "the kernel source is invalid";
FILE_NOT_FOUND = 301, "the file does not exist";
SHARED_OBJECT_SYMBOL_NOT_FOUND = 302, "shared object symbol not found";
SHARED_OBJECT_INIT_FAILED = 303, "shared object init failed";
OPERATING_SYSTEM = 304, "a call to the operating system failed";
INVALID_HANDLE = 400, "a handle does not name a live object";
ILLEGAL_STATE = 401, "the object is not in a state that allows this call";
LOSSY_QUERY = 402, "the query would leave out data";
NOT_FOUND = 500, "the named symbol does not exist";
NOT_READY = 600, "the work has not finished yet";
ILLEGAL_ADDRESS = 700, "the device touched memory that is not mapped";
LAUNCH_OUT_OF_RESOURCES = 701, "the launch asks for more than the device has";
LAUNCH_TIMEOUT = 702, "the kernel ran for too long";
LAUNCH_INCOMPATIBLE_TEXTURING = 703, "launch incompatible texturing";
PEER_ACCESS_ALREADY_ENABLED = 704, "peer access is already on";
PEER_ACCESS_NOT_ENABLED = 705, "peer access is not on";
PRIMARY_CONTEXT_ACTIVE = 708, "the primary context is already active";
CONTEXT_IS_DESTROYED = 709, "the object's context, or the object itself, is destroyed";
ASSERT = 710, "a device-side assertion failed";
TOO_MANY_PEERS = 711, "too many peers";
HOST_MEMORY_ALREADY_REGISTERED = 712, "part of the host range is already registered";
HOST_MEMORY_NOT_REGISTERED = 713, "the host range is not registered";
HARDWARE_STACK_ERROR = 714, "the device stack is corrupt";
ILLEGAL_INSTRUCTION = 715, "the device met an illegal instruction";
MISALIGNED_ADDRESS = 716, "the device made a misaligned access";
INVALID_ADDRESS_SPACE = 717, "an instruction used the wrong address space";
INVALID_PC = 718, "the program counter left the program";
LAUNCH_FAILED = 719, "the kernel failed on the device";
COOPERATIVE_LAUNCH_TOO_LARGE = 720, "the cooperative grid does not fit on the device";
TENSOR_MEMORY_LEAK = 721, "tensor memory leak";
NOT_PERMITTED = 800, "the call is not permitted here";
NOT_SUPPORTED = 801, "the call is not supported";
SYSTEM_NOT_READY = 802, "the system is not ready";
SYSTEM_DRIVER_MISMATCH = 803, "system driver mismatch";
COMPAT_NOT_SUPPORTED_ON_DEVICE = 804, "compat not supported on device";
MPS_CONNECTION_FAILED = 805, "mps connection failed";
MPS_RPC_FAILURE = 806, "mps rpc failure";
MPS_SERVER_NOT_READY = 807, "mps server not ready";
MPS_MAX_CLIENTS_REACHED = 808, "mps max clients reached";
MPS_MAX_CONNECTIONS_REACHED = 809, "mps max connections reached";
MPS_CLIENT_TERMINATED = 810, "mps client terminated";
CDP_NOT_SUPPORTED = 811, "cdp not supported";
CDP_VERSION_MISMATCH = 812, "cdp version mismatch";
STREAM_CAPTURE_UNSUPPORTED = 900, "the call is not allowed while a stream captures";
STREAM_CAPTURE_INVALIDATED = 901, "an earlier error has invalidated the capture";
STREAM_CAPTURE_MERGE = 902, "the call would merge two captures";
STREAM_CAPTURE_UNMATCHED = 903, "the capture did not begin on this stream";
STREAM_CAPTURE_UNJOINED = 904, "the capture has forked work that was not joined";
STREAM_CAPTURE_ISOLATION = 905, "the call would make captured work depend on work outside the capture";
STREAM_CAPTURE_IMPLICIT = 906, "the legacy stream would be drawn into a capture";
CAPTURED_EVENT = 907, "the event was last recorded in a capture";
STREAM_CAPTURE_WRONG_THREAD = 908, "the capture was begun by another thread";
TIMEOUT = 909, "the wait ran out of time";
GRAPH_EXEC_UPDATE_FAILURE = 910, "the executable graph cannot take this update";
EXTERNAL_DEVICE = 911, "external device";
INVALID_CLUSTER_SIZE = 912, "invalid cluster size";
FUNCTION_NOT_LOADED = 913, "the function is not loaded";
INVALID_RESOURCE_TYPE = 914, "invalid resource type";
INVALID_RESOURCE_CONFIGURATION = 915, "invalid resource configuration";
KEY_ROTATION = 916, "key rotation";
STREAM_DETACHED = 917, "stream detached";
GRAPH_RECAPTURE_FAILURE = 918, "graph recapture failure";
FABRIC_NOT_READY = 919, "fabric not ready";
UNKNOWN = 999, "an unexpected internal error";}
