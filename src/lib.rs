//! Capture a CUDA graph once, and replay it from the beginning.
#![deny(unsafe_code)]
#![deny(clippy::disallowed_types, clippy::multiple_unsafe_ops_per_block)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod buffer;
mod device;
mod driver;
mod error;
mod graph;
mod kernel;
mod pinned;
mod runtime;
mod state;
mod stream;
mod sync;

pub use buffer::Buffer;
pub use bytemuck::{Pod, Zeroable};
pub use cudarc;
pub use device::Device;
pub use error::{
    BoxError, Call, CaptureFailure, DriverCode, DriverError, Error, Misuse, Parked, Poisoned, Refusal, Rejected, Stale,
    Unavailable,
};
pub use graph::{Census, NodeKind};
pub use kernel::{Argument, Arguments, Kernel, LaunchConfig, Module};
pub use pinned::{HostMemory, Pinned};
pub use runtime::{CapturePolicy, FailStop, MemoryNodes, Replayer, Token};
pub use state::{
    CanBegin, CanEnd, CanPublish, Capturing, Global, HasPublished, Idle, Instantiated, Mode,
    MustEndOnTheThreadThatBeganIt, Published, Relaxed, Resting, State, ThreadLocal,
};
pub use stream::{CaptureStatus, Enqueue, Stream};
