//! Several GPUs in lock step: their streams are captured, launched, drained and reset together.
//!
//! *Where it sits.* On top: uses streams and the runtime, and nothing uses it. A single [`Stream`](crate::Stream) knows nothing of
//! ranks.
//!
//! Invariants:
//!
//! 1. Both or neither: every transition happens on all ranks, or on none of them.
//! 2. A replay is submitted on every rank before anybody else's work comes between, so two threads, or two [`Ranks`] on the same
//!    CUDA streams, are never submitted in different orders on different devices.
//! 3. What one rank has captured is released once *all* have drained; until then its neighbours may read it.
//! 4. A device fault of one rank is one of all.
//!
//! *What it refuses to do.* Hand out one rank's capture, graph or replayer: there is no way to end, replay or reset one of them alone.

mod captured;
mod capturing;
mod dump;
mod group;
mod idle;
mod instantiated;
mod order;
mod policy;
mod published;
mod replayer;
mod resting;
mod seam;
mod state;
mod submit;
mod threads;
mod workers;

use std::fmt;

pub use dump::{Captured, dump};
pub(crate) use group::Group;
pub use order::SubmissionOrder;
pub use policy::RanksPolicy;
pub use replayer::RankReplayer;
pub use state::{RankGraph, RankMode, RankResting, RankState};

use crate::device::Device;
use crate::error::{Error, RankFailures};
use crate::graph::{Census, Inspection};
use crate::runtime::Stats;
use crate::seal::OnlyForDacapo;
use crate::state::Idle;
use crate::stream::CaptureStatus;

/// `N` streams on `N` devices in state `S`, in lock step: each transition is made on all of them, or on none.
///
/// The states and the verbs are those of a [`Stream`](crate::Stream). What it gives beyond that is in
/// [`manual::ranks`](crate::manual::ranks).
///
/// | transition | from | to | on failure you hold |
/// |---|---|---|---|
/// | [`new`](Self::new) | `[Stream<Idle>; N]` | `Idle` | the streams |
/// | [`begin`](Self::begin), [`capture`](Self::capture), [`capture_on_threads`](Self::capture_on_threads) | `Idle` | `Capturing`, `Instantiated` | `Idle` |
/// | [`end`](Self::end) | `Capturing<M, From>` | as `From` says | `From` |
/// | [`abort`](Self::abort) | `Capturing<M, From>` | `From` | – (cannot fail) |
/// | [`begin_segment`](Self::begin_segment) | `Instantiated` | `Capturing<M, Instantiated>` | `Instantiated` |
/// | [`publish`](Self::publish) | `Instantiated` | `Published` | `Instantiated` |
/// | [`discard`](Self::discard) | `Instantiated` | `Idle` | `Idle`, poisoned |
/// | [`begin_update`](Self::begin_update) | `Published` | `Capturing<M, Published>` | `Published` |
/// | [`reset`](Self::reset) | `Published` | `Idle` | `Idle`, poisoned |
///
/// # Dropping
/// Captures are aborted on all ranks first; then all ranks are drained; then everything is released. What the drop of a
/// [`Stream`](crate::Stream) says of errors holds here too, but that by default the process is aborted where completion is unproven
/// ([`RanksPolicy`]).
///
/// # Examples
/// Each rank adds one to its half, and reads what the other one has:
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::{Device, Enqueue, LaunchConfig, Pair, ThreadLocal};
///
/// let devices = [Device::open(0)?, Device::open(1)?];
/// let mut ranks = Pair::new([devices[0].stream()?, devices[1].stream()?])?.with_peer_access()?;
/// let copy = [0, 1].map(|rank: usize| {
///     devices[rank].load_ptx(include_str!("../../kernels/basic.ptx"))?.kernel("copy_u32")
/// });
/// let [left, right] = &copy;
/// let (left, right) = (left.as_ref().unwrap(), right.as_ref().unwrap());
/// let [mut a, mut b] = ranks.eager();
/// let (own, other) = (a.buffer_from(&[1u32, 2])?, b.buffer_from(&[3u32, 4])?);
/// let (got, gotten) = (a.alloc::<u32>(2)?, b.alloc::<u32>(2)?);
///
/// let captured = ranks.capture(ThreadLocal, |[a, b]| {
///     // SAFETY: copy_u32(from, to, n), over as many elements as both buffers have; each device can reach the other.
///     unsafe { a.launch(left, LaunchConfig::new(1, 32), (&other, &got, 2u32)) }?;
///     // SAFETY: the same.
///     unsafe { b.launch(right, LaunchConfig::new(1, 32), (&own, &gotten, 2u32)) }
/// })?;
/// let mut published = captured.publish()?;
/// published.replay()?;
/// let [mut a, mut b] = published.eager();
/// assert_eq!((a.read(&got)?, b.read(&gotten)?), (vec![3, 4], vec![1, 2]));
/// # Ok::<(), dacapo::Error>(())
/// ```
#[must_use = "dropping ranks ends what they have: captures are discarded, graphs are destroyed"]
pub struct Ranks<S: RankState, const N: usize> {
    /// First, so that it is dropped first: it ends the captures or destroys the graphs.
    data: S::OnRanks<N>,
    group: Group<N>,
}

/// Two GPUs in lock step; see [`Ranks`].
pub type Pair<S> = Ranks<S, 2>;

impl<S: RankState, const N: usize> Ranks<S, N> {
    /// The devices, by rank.
    #[must_use]
    pub fn devices(&self) -> [&Device; N] {
        self.group.cores.each_ref().map(|core| core.lane.device())
    }

    /// What has happened on each rank's CUDA stream so far, over all siblings.
    #[must_use]
    pub fn stats(&self) -> [Stats; N] {
        self.group.cores.each_ref().map(|core| core.lane.stats())
    }

    /// Asks the driver for each rank's capture status. In any state; changes nothing.
    ///
    /// # Errors
    /// [`RankFailures`](crate::RankFailures): after a device fault, that fault.
    #[doc(alias = "cuStreamIsCapturing")]
    pub fn capture_status(&self) -> Result<[CaptureStatus; N], Error> {
        let asked = RankFailures::all(self.group.cores.iter().map(|core| CaptureStatus::of(&core.lane)))?;
        Ok(asked.try_into().unwrap_or_else(|_| unreachable!("one a rank")))
    }

    /// Other ranks on the same CUDA streams, [`Idle`], with a life of their own and the same policy: one for each variant of a step.
    /// What [`Stream::sibling`](crate::Stream::sibling) says holds for all ranks.
    ///
    /// # Examples
    /// The variants of a step are fields of a struct, so that none can be missing:
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, Error, Idle, Pair, Published, ThreadLocal};
    ///
    /// struct Steps {
    ///     ordinary: Pair<Published>,
    ///     every_fourth: Pair<Published>,
    /// }
    ///
    /// fn capture(ranks: &Pair<Idle>, value: u32, buffers: &[dacapo::Buffer<u32>; 2]) -> Result<Pair<Published>, Error> {
    ///     Ok(ranks.sibling().capture(ThreadLocal, |[a, b]| {
    ///         a.fill(&buffers[0], value)?;
    ///         b.fill(&buffers[1], value)
    ///     })?.publish()?)
    /// }
    ///
    /// let mut ranks = Pair::new([Device::open(0)?.stream()?, Device::open(1)?.stream()?])?;
    /// let [mut a, mut b] = ranks.eager();
    /// let buffers = [a.alloc(1)?, b.alloc(1)?];
    /// let steps = Steps { ordinary: capture(&ranks, 1, &buffers)?, every_fourth: capture(&ranks, 4, &buffers)? };
    /// for position in 0..8 {
    ///     if position % 4 == 3 { &steps.every_fourth } else { &steps.ordinary }.replay()?;
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    pub fn sibling(&self) -> Ranks<Idle, N> {
        Ranks { data: (), group: self.group.sibling() }
    }
}

impl<S: RankGraph, const N: usize> Ranks<S, N> {
    /// What a rank has captured, in all segments together.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn census(&self, rank: usize) -> Census {
        S::captured(&self.data, OnlyForDacapo::new()).census(rank)
    }

    /// What a rank has captured and what it keeps, to be shown. Makes no driver call.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn inspect(&self, rank: usize) -> Inspection {
        S::captured(&self.data, OnlyForDacapo::new()).inspect(rank)
    }
}

impl<S: RankState, const N: usize> fmt::Debug for Ranks<S, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ranks").field("state", &S::PHASE).field("devices", &self.devices()).finish_non_exhaustive()
    }
}
