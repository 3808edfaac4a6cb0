//! The driver as a C program sees it: functions looked up by name in `libcuda.so`, handles as numbers, codes as numbers.

#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(unreachable_pub, reason = "a module of several binaries")]

mod api;

pub use api::*;

use std::collections::BTreeMap;
use std::ffi::CString;

use dacapo_sim::SimDevice;
use parking_lot::{Condvar, Mutex};

/// Small kernels by the names that the tests use.
pub const KERNELS: &str = include_str!("kernels.ptx");

/// Their names.
const FUNCTIONS: [&str; 6] = ["inc", "set", "copy", "await", "fail", "crooked"];

pub const GLOBAL: u32 = 0;
pub const THREAD_LOCAL: u32 = 1;
pub const RELAXED: u32 = 2;

/// A simulated device.
pub fn sim(ordinal: u32) -> SimDevice {
    dacapo_sim::install().expect("no other driver is here").device(ordinal)
}

/// Calls a function that hands one thing out.
pub fn out(call: impl FnOnce(*mut u64) -> u32) -> (u32, u64) {
    let mut value = 0;
    let code = call(&mut value);
    (code, value)
}

/// Fails the test unless the code is success; the value.
#[track_caller]
pub fn ok((code, value): (u32, u64)) -> u64 {
    assert_eq!(code, 0);
    value
}

/// Devices that no test uses right now.
static FREE: Mutex<[bool; 8]> = Mutex::new([true; 8]);
static RETURNED: Condvar = Condvar::new();

/// The use of a device, which no other test of this binary has meanwhile.
pub struct Lease(u32);

impl Drop for Lease {
    fn drop(&mut self) {
        FREE.lock()[self.0 as usize] = true;
        RETURNED.notify_all();
    }
}

/// Takes some devices at once, waiting until there are as many.
fn lease<const N: usize>() -> [Lease; N] {
    let mut free = FREE.lock();
    while free.iter().filter(|free| **free).count() < N {
        RETURNED.wait(&mut free);
    }
    std::array::from_fn(|_| {
        let ordinal = free.iter().position(|free| *free).expect("counted above");
        free[ordinal] = false;
        Lease(ordinal as u32)
    })
}

/// A device in use: its primary context (current on this thread), the kernels, 4 KiB of zeroed memory.
pub struct Gpu {
    pub ordinal: i32,
    pub context: u64,
    pub module: u64,
    pub memory: u64,
    pub sim: SimDevice,
    functions: BTreeMap<&'static str, u64>,
    _lease: Option<Lease>,
}

/// A fresh device for this test alone.
pub fn gpu() -> Gpu {
    let [gpu] = gpus();
    gpu
}

/// Fresh devices for this test alone; the first one's context is current.
pub fn gpus<const N: usize>() -> [Gpu; N] {
    let gpus = lease::<N>().map(Gpu::new);
    gpus[0].bind();
    gpus
}

impl Gpu {
    fn new(lease: Lease) -> Gpu {
        let sim = sim(lease.0);
        sim.reset();
        assert_eq!(cuInit(0), 0);
        let ordinal = lease.0 as i32;
        let context = ok(out(|c| cuDevicePrimaryCtxRetain(c, ordinal)));
        assert_eq!(cuCtxSetCurrent(context), 0);
        Gpu { _lease: Some(lease), ..Gpu::in_current(ordinal, context, sim) }
    }

    /// Forgets everything about the device and starts again.
    pub fn renew(&mut self) {
        let lease = self._lease.take().expect("a device that was leased");
        *self = Gpu::new(lease);
    }

    /// The same in a context that is already current.
    pub fn in_current(ordinal: i32, context: u64, sim: SimDevice) -> Gpu {
        let module = load(KERNELS).expect("the kernels");
        let memory = ok(out(|a| cuMemAlloc_v2(a, 4096)));
        assert_eq!(cuMemsetD32_v2(memory, 0, 1024), 0);
        assert_eq!(cuCtxSynchronize(), 0);
        let functions = FUNCTIONS.iter().map(|name| (*name, function(module, name))).collect();
        Gpu { ordinal, context, module, memory, sim, functions, _lease: None }
    }

    pub fn bind(&self) {
        assert_eq!(cuCtxSetCurrent(self.context), 0);
    }

    pub fn function(&self, name: &str) -> u64 {
        self.functions[name]
    }

    /// Launches a kernel of one thread with word arguments.
    pub fn launch(&self, stream: u64, name: &str, arguments: &[u64]) -> u32 {
        launch(self.function(name), stream, arguments)
    }

    /// Adds one to a word of the memory.
    pub fn inc(&self, stream: u64, word: u64) -> u32 {
        self.launch(stream, "inc", &[self.memory + 4 * word])
    }

    /// A word of the memory, by a blocking copy.
    pub fn word(&self, word: u64) -> u32 {
        read(self.memory + 4 * word).expect("a word")
    }
}

pub fn load(text: &str) -> Result<u64, u32> {
    let text = CString::new(text).expect("no NUL");
    match out(|module| cuModuleLoadData(module, text.as_ptr())) {
        (0, module) => Ok(module),
        (code, _) => Err(code),
    }
}

pub fn function(module: u64, name: &str) -> u64 {
    let name = CString::new(name).expect("no NUL");
    ok(out(|f| cuModuleGetFunction(f, module, name.as_ptr())))
}

pub fn launch(function: u64, stream: u64, arguments: &[u64]) -> u32 {
    let pointers: Vec<u64> = arguments.iter().map(|argument| argument as *const u64 as u64).collect();
    cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, pointers.as_ptr(), std::ptr::null())
}

pub fn read(address: u64) -> Result<u32, u32> {
    let mut word = 0u32;
    match cuMemcpyDtoH_v2(&mut word as *mut u32 as u64, address, 4) {
        0 => Ok(word),
        code => Err(code),
    }
}

pub fn stream() -> u64 {
    ok(out(|s| cuStreamCreate(s, 1)))
}

pub fn event() -> u64 {
    ok(out(|e| cuEventCreate(e, 2)))
}

pub fn end(stream: u64) -> (u32, u64) {
    out(|graph| cuStreamEndCapture(stream, graph))
}

/// Captures into a graph on a stream of its own, in the relaxed mode.
pub fn capture(body: impl FnOnce(u64)) -> u64 {
    let stream = stream();
    assert_eq!(cuStreamBeginCapture_v2(stream, RELAXED), 0);
    body(stream);
    let graph = ok(end(stream));
    assert_eq!(cuStreamDestroy_v2(stream), 0);
    graph
}

pub fn instantiate(graph: u64) -> u64 {
    ok(out(|exec| cuGraphInstantiateWithFlags(exec, graph, 0)))
}

/// 0 none, 1 active, 2 invalidated.
pub fn status(stream: u64) -> u32 {
    let mut status = 9;
    assert_eq!(cuStreamIsCapturing(stream, &mut status), 0);
    status
}

/// The nodes of a graph, in the order in which they were made.
pub fn nodes(graph: u64) -> Vec<u64> {
    let mut count = 0;
    assert_eq!(cuGraphGetNodes(graph, std::ptr::null_mut(), &mut count), 0);
    let mut nodes = vec![0; count];
    assert_eq!(cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count), 0);
    nodes
}
