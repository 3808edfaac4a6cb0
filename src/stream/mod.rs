//! The typed stream: one file a state, and what the states share.

mod buckets;
mod capturing;
mod enqueue;
mod fallback;
mod idle;
mod inspect;
mod instantiated;
mod operation;
mod published;
mod replicate;
mod resting;
mod transition;
mod update_kernel;

use std::fmt;

pub use buckets::{Bucket, Buckets};
pub(crate) use capturing::{Recorded, Recording};
pub use enqueue::Enqueue;
pub use fallback::CapturedOrEager;
pub use operation::{Capturable, Operation};
pub use published::Update;
pub use transition::{CanBegin, CanBeginSegment, CanEnd, CanPublish, HasGraph, HasPublished};

use crate::device::Device;
use crate::error::Error;
use crate::runtime::{CapturePolicy, Claim, Eager, InFlight, Lane, Load, Stats};
use crate::state::{Idle, State};
use crate::sync::Arc;

/// A CUDA stream in state `S`: [`Idle`](crate::Idle), [`Capturing`](crate::Capturing),
/// [`Instantiated`](crate::Instantiated) or [`Published`](crate::Published).
///
/// The state decides which methods there are. A transition takes the stream and returns it in the next state; if it
/// fails, [`Rejected`](crate::Rejected) holds the error and the stream in the state that the driver has really left it
/// in. Work is enqueued through [`Enqueue`], in every state: on a capturing stream it is recorded, on any other it runs.
///
/// | transition | from | to | on failure you hold |
/// |---|---|---|---|
/// | [`begin`](Self::begin) | `Idle` | `Capturing` | `Idle` |
/// | [`end`](Self::end) | `Capturing` | `Instantiated` | `Idle` |
/// | [`abort`](Self::abort) | `Capturing<M, From>` | `From` | – (cannot fail) |
/// | [`capture`](Self::capture) | `Idle` | `Instantiated` | `Idle` |
/// | [`publish`](Self::publish) | `Instantiated` | `Published` | `Instantiated` |
/// | [`discard`](Self::discard) | `Instantiated` | `Idle` | `Idle`, poisoned |
/// | [`reset`](Self::reset) | `Published` | `Idle` | `Idle`, poisoned |
///
/// # Dropping
/// | state | what dropping does |
/// |---|---|
/// | `Idle` | waits for the work enqueued through it, lets go of what that used |
/// | `Capturing` | ends the capture and discards what was recorded, then as the state it began in |
/// | `Instantiated` | drains, destroys the graph, lets go of what it used |
/// | `Published` | as [`reset`](Self::reset): retires the generation, drains, destroys, lets go |
///
/// Then the CUDA stream is destroyed, unless an engine or a [`Replayer`](crate::Replayer) still holds it. A drop of ours never
/// panics (a value that you have retained may, in its own); an error of it is parked, and reported by the next `begin` or
/// [`Device::stream`] on the device. If a drain fails, what it was to show as
/// finished is kept for good; for captured work a line on standard error says so.
#[must_use = "dropping a stream ends what it has: a capture is discarded, a graph is destroyed"]
pub struct Stream<S: State> {
    /// First, so that it is dropped first: it ends the capture or destroys the graph.
    data: S::Data,
    core: Core,
}

/// What a stream has in every state.
pub(crate) struct Core {
    /// Before the lane, so that the claim is given up before the CUDA stream is destroyed: the driver may give its handle to the
    /// next stream right away.
    claim: Arc<Claim>,
    pub(crate) lane: Arc<Lane>,
    policy: CapturePolicy,
    pub(crate) in_flight: InFlight,
}

impl Core {
    /// What another stream of states on the same CUDA stream has.
    pub(crate) fn sibling(&self) -> Self {
        Self::new(self.lane.clone(), self.claim.clone())
    }

    fn new(lane: Arc<Lane>, claim: Arc<Claim>) -> Self {
        let in_flight = InFlight::new(&lane);
        Self { claim, lane, policy: CapturePolicy::new(), in_flight }
    }

    /// Eager work on the stream, where the state allows it.
    pub(crate) fn eager(&mut self) -> Eager<'_> {
        Eager::new(&self.lane, &mut self.in_flight)
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        if self.in_flight.is_empty() {
            return;
        }
        if self.lane.is_poisoned() {
            // What did not finish in time is not waited for again, and what may still be running keeps what it uses.
            std::mem::forget(self.in_flight.take());
        } else {
            // A failure is parked by the release itself.
            let _ = self.lane.release(Load::Eager(self.in_flight.take()));
        }
    }
}

/// What the driver says of a stream's capture. For diagnosis: the types say what is legal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CaptureStatus {
    /// `CU_STREAM_CAPTURE_STATUS_NONE`: not capturing.
    None,
    /// `CU_STREAM_CAPTURE_STATUS_ACTIVE`: capturing.
    Active,
    /// `CU_STREAM_CAPTURE_STATUS_INVALIDATED`: capturing, but a call that was not permitted has spoilt it; ending it
    /// will say so.
    Invalidated,
    /// A status that this crate does not know, by the driver's number.
    Other(u32),
}

impl CaptureStatus {
    pub(crate) fn of(lane: &Lane) -> Result<Self, Error> {
        Ok(match lane.capture_status()? {
            0 => Self::None,
            1 => Self::Active,
            2 => Self::Invalidated,
            other => Self::Other(other),
        })
    }
}

impl Stream<Idle> {
    /// What it has, to be used otherwise.
    pub(crate) fn into_core(self) -> Core {
        self.core
    }

    pub(crate) fn of_core(core: Core) -> Self {
        Self { data: (), core }
    }

    pub(crate) fn core(&self) -> &Core {
        &self.core
    }
}

impl<S: State> Stream<S> {
    /// The device that the stream is on.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.core.lane.device()
    }

    /// What has happened on the CUDA stream so far, over all siblings.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.core.lane.stats()
    }

    /// Asks the driver for the stream's capture status. In any state; changes nothing.
    ///
    /// # Errors
    /// [`DriverError`](crate::DriverError): after a device fault, that fault.
    ///
    /// # References
    /// [cuStreamIsCapturing](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html)
    #[doc(alias = "cuStreamIsCapturing")]
    pub fn capture_status(&self) -> Result<CaptureStatus, Error> {
        CaptureStatus::of(&self.core.lane)
    }
}

impl<S: State> fmt::Debug for Stream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("state", &S::PHASE)
            .field("device", self.device())
            .field("stream", &self.core.lane.handle())
            .finish_non_exhaustive()
    }
}
