//! The driver: every call that this crate makes, one wrapper each, and the only place with raw calls.
//!
//! *Where it sits.* Above `error` and `sync`, below everything else. It validates nothing: the layers above do, by
//! type where they can; a wrapper passes its arguments on and turns the code into a [`DriverError`](crate::DriverError).
//!
//! Rules, each upheld here so that no caller has to remember it:
//!
//! 1. A wrapper is named as the driver names the call. A `DriverError` carries the name in the manual's spelling.
//! 2. Result codes are plain `u32`s. cudarc's `CUresult` is a closed enum, so receiving a code it does not list would
//!    be undefined behaviour; these functions are looked up by name in the same library and declared with a number.
//! 3. The calls that are "potentially unsafe" while a capture is open (allocation, free, synchronisation of another
//!    stream, instantiation, destruction, module unloading) run inside [`Driver::relaxed`], so that they never
//!    break a capture in progress on any thread (`exchange.capture_*`, matrix `mx.*`).
//! 4. The thread's current context is changed only inside [`Driver::with_context`], which puts it back. (cudarc's own drop of
//!    a stream or context binds the context, if it is the last to go.)

#![allow(unsafe_code)]

mod calls;
mod context;
mod event;
mod graph;
mod library;
mod memory;
mod module;
mod node;
mod stream;

pub(crate) use calls::Driver;
pub(crate) use context::{ContextHandle, DeviceAttribute, GraphMemAttribute};
pub(crate) use event::{EventHandle, EventKind};
pub use graph::DriverDot;
pub(crate) use graph::{ExecutableHandle, GraphHandle, GraphLauncher};
pub(crate) use memory::FillValue;
pub(crate) use module::{FunctionHandle, KernelShape, LaunchAttribute, ModuleHandle};
pub(crate) use node::{Callee, Dependency, KernelAttribute, KernelNode, NodeHandle};
pub(crate) use stream::{CaptureMode, StreamHandle};
