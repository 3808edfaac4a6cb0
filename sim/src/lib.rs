//! A simulated CUDA driver.
//!
//! `dacapo-sim` stands in for `libcuda`: after [`install()`] the *same* program that drives a GPU runs on a machine without one,
//! `cudarc` included. Capture, graphs, events, streams, memory and contexts follow the rules of the real driver, and kernels
//! are PTX, interpreted.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let sim = dacapo_sim::install()?;
//! // From here on this process has a driver, with eight devices.
//! assert_eq!(sim.device_count(), 8);
//! # Ok(())
//! # }
//! ```
//!
//! It is never chosen silently: a process that has a real driver loaded keeps it, and [`install()`] says so.
//!
//! # What it is for
//!
//! - Streams are lazy: work stays pending until somebody waits for it. "Still in flight" is the same in every run.
//! - What a real driver lets pass silently is recorded: memory used after it was freed, freed while work is pending, objects
//!   destroyed twice. See [`Violation`].
//! - Calls can be made to fail ([`Fault`]), work to fail with its device or to hang ([`WorkFault`]), streams to stop
//!   ([`SimDevice::hang`]), memory to run out ([`SimDevice::set_memory_limit`]).
//! - Every call is logged ([`CallRecord`]), and everything alive can be counted ([`Live`]).
//!
//! `docs/simulator.md` says what is implemented and where it differs from the driver.
//!
//! # How it is built
//!
//! `abi` holds the C functions, `model` the objects and rules behind one lock, `engine` what runs queued work, `ptx` the
//! interpreter, `report` what tests can ask. `elf` and `shim` make the functions the `libcuda.so` of the process.

#[doc(hidden)]
pub mod abi;
mod code;
#[cfg(target_os = "linux")]
mod elf;
mod engine;
mod install;
mod model;
pub mod ptx;
mod report;
mod shared;
#[cfg_attr(not(target_os = "linux"), path = "shim_elsewhere.rs")]
mod shim;
mod simulator;

pub use code::Code;
pub use engine::QueueDepth;
pub use install::{InstallError, Options, install};
pub use report::{
    CallRecord, Fault, FaultId, Live, Object, ObjectKind, Pending, Range, Site, UnknownFunction, Violation, WorkFault,
    WorkKind,
};
pub use simulator::{SimDevice, Simulator};

/// The README's examples, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
