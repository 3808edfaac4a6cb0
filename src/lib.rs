//! Capture a CUDA graph once, and replay it from the beginning.
//!
//! A [`Stream`] moves through states that are types, so that beginning, ending, publishing, replaying and resetting a capture can
//! only be written in the orders that the driver takes:
//!
//! ```text
//!             begin                end                  publish
//!    Idle ───────────▶ Capturing ───────▶ Instantiated ─────────▶ Published
//!     ▲ ▲                  ┆                │                        │
//!     │ └┄┄ abort, drop, ┄┄┘                │                        │
//!     │     any failure                     │                        │
//!     ├───────────── discard ───────────────┘                        │
//!     └───────────────────────── reset ──────────────────────────────┘
//! ```
//!
//! What is enqueued on a capturing stream is recorded; on any other it runs ([`Enqueue`]). A published graph is replayed from
//! any thread ([`Replayer`]). What a graph names is kept alive until it is destroyed and its work has finished.
//!
//! ```standalone_crate
//! # dacapo_sim::install().unwrap();
//! use dacapo::{Device, Enqueue, LaunchConfig, ThreadLocal};
//!
//! let device = Device::open(0)?;
//! let mut stream = device.stream()?;
//! let scale = device.load_ptx(include_str!("../kernels/basic.ptx"))?.kernel("scale_f32")?;
//! let x = stream.buffer_from(&[1.0f32; 256])?;
//!
//! let captured = stream.capture(ThreadLocal, |c| {
//!     // SAFETY: scale_f32(data, factor, n), over as many elements as the buffer holds.
//!     unsafe { c.launch(&scale, LaunchConfig::for_elements(256), (&x, 2.0f32, 256u32)) }
//! })?;
//! let mut published = captured.publish()?;
//! for _ in 0..3 {
//!     published.replay()?;
//! }
//! assert_eq!(published.read(&x)?[0], 8.0);
//! # Ok::<(), dacapo::Error>(())
//! ```
//!
//! The examples in this documentation run on the simulated driver, `dacapo-sim`: the same code, with `dacapo_sim::install()` before
//! it. [`manual`] holds the longer texts.

#![deny(unsafe_code)]
// A link says where it leads, so that it holds whatever the file imports.
#![allow(rustdoc::redundant_explicit_links)]
#![deny(clippy::disallowed_types, clippy::multiple_unsafe_ops_per_block)]
#![warn(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod buffer;
mod device;
mod driver;
mod error;
mod gate;
mod graph;
mod graph_memory;
mod kernel;
mod kernel_at;
pub mod manual;
#[cfg(all(loom, test))]
mod models;
mod node;
mod node_kind;
mod pinned;
mod ranks;
mod runtime;
mod seal;
mod state;
mod stream;
mod sync;
mod trace;

pub use buffer::Buffer;
pub use bytemuck::{Pod, Zeroable};
pub use cudarc;
pub use device::Device;
pub use driver::DriverDot;
pub use error::{
    BoxError, Call, CaptureFailure, DriverCode, DriverError, Error, Faulted, KnownKernels, ManifestMismatch, Misuse,
    NodeName, NotValid, Parked, PartialReplay, PartialSubmission, Poisoned, RankDifference, RankDrain, RankFailure,
    RankFailures, Refusal, Rejected, Stale, Unavailable, Unproven, UpdateReason, UpdateRefused,
};
pub use gate::{CaptureGate, Synchronising};
#[cfg(feature = "svg")]
#[cfg_attr(docsrs, doc(cfg(feature = "svg")))]
pub use graph::Svg;
pub use graph::{
    Census, Dot, Edge, InspectedPart, InspectedSegment, Inspection, Manifest, NodeCounts, RetainedMemory, Table,
};
pub use graph_memory::GraphMemory;
pub use kernel::{Argument, Arguments, Kernel, LaunchAttributes, LaunchConfig, Module};
pub use kernel_at::{KernelAt, KernelMismatch};
pub use node::{KernelLaunch, Node};
pub use node_kind::NodeKind;
pub use pinned::{HostMemory, Pinned};
pub use ranks::{
    Captured, Pair, RankGraph, RankMode, RankReplayer, RankResting, RankState, Ranks, RanksPolicy, SubmissionOrder,
    dump,
};
pub use runtime::{
    Answer, CapturePolicy, Completion, DeviceCounter, Eager, FailStop, Follower, Freeze, Input, Measurement,
    MemoryNodes, Output, Replayer, Stats, Token, UpdatePolicy, Waiting, Work,
};
pub use state::{
    Capturing, Global, Idle, Instantiated, Mode, MustEndOnTheThreadThatBeganIt, Published, Relaxed, Resting, State,
    ThreadLocal,
};
pub use stream::{
    Bucket, Buckets, CanBegin, CanBeginSegment, CanEnd, CanPublish, Capturable, CaptureStatus, CapturedOrEager,
    Enqueue, HasGraph, HasPublished, Operation, Stream, Update,
};

/// The code in the README is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
