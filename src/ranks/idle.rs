//! `Ranks<Idle, N>`: made of streams, and taken apart again.

use super::captured::{CapturedRanks, FreshRanks};
use super::state::sealed;
use super::{Group, RankMode, Ranks};
use crate::error::{Error, RankFailures, Rejected};
use crate::runtime::Work;
use crate::seal::OnlyForDacapo;
use crate::state::{Capturing, Idle, Instantiated};
use crate::stream::Stream;

impl sealed::RankState for Idle {
    type OnRanks<const N: usize> = ();
}

impl sealed::RankResting for Idle {
    type Recorded = Instantiated;

    fn land<const N: usize>(
        (): (),
        (): (),
        fresh: FreshRanks<N>,
        group: &Group<N>,
        _: OnlyForDacapo,
    ) -> Result<CapturedRanks<N>, ((), Error)> {
        match fresh.instantiate(group) {
            Ok(first) => Ok(CapturedRanks::new(group, first)),
            Err(error) => Err(((), error)),
        }
    }
}

impl<const N: usize> Ranks<Idle, N> {
    /// Takes a stream on each of `N` devices; rank `k` is the `k`-th. What they take at the end of a capture is what
    /// [`RanksPolicy::new`](crate::RanksPolicy::new) says, whatever their own policies say.
    ///
    /// # Errors
    /// All streams come back with [`Misuse::SameDevice`](crate::Misuse::SameDevice), or [`RankFailures`] if one cannot be captured:
    /// [`Misuse::EventTracking`](crate::Misuse::EventTracking), [`Misuse::AlreadyCapturing`](crate::Misuse::AlreadyCapturing),
    /// [`Poisoned`](crate::Poisoned), [`Faulted`](crate::Faulted).
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Pair};
    ///
    /// let device = Device::open(0)?;
    /// let rejected = Pair::new([device.stream()?, device.stream()?]).unwrap_err();
    /// assert_eq!(rejected.to_string(), "ranks 0 and 1 are on one device: each needs its own");
    /// let [first, _] = rejected.into_stream();
    /// let ranks = Pair::new([first, Device::open(1)?.stream()?])?;
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    pub fn new(streams: [Stream<Idle>; N]) -> Result<Self, Rejected<[Stream<Idle>; N]>> {
        match Group::new(streams) {
            Ok(group) => Ok(Self { data: (), group }),
            Err((streams, error)) => Err(Rejected::new(streams, error)),
        }
    }

    /// The streams, each on its own again.
    pub fn into_streams(self) -> [Stream<Idle>; N] {
        self.group.cores.map(Stream::of_core)
    }

    /// Lets kernels on every device read and write the memory of every other. Asked again, it changes nothing.
    ///
    /// # Errors
    /// Still `Idle`, with [`RankFailures`]: some devices cannot reach each other. What was enabled so far stays.
    ///
    /// # References
    /// [cuCtxEnablePeerAccess](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PEER__ACCESS.html)
    #[doc(alias = "cuCtxEnablePeerAccess")]
    pub fn with_peer_access(self) -> Result<Self, Rejected<Self>> {
        let devices = self.devices();
        let enabled = devices.iter().enumerate().map(|(rank, device)| {
            let peers = devices.iter().enumerate().filter(|(other, _)| *other != rank);
            peers.map(|(_, peer)| peer).try_for_each(|peer| device.enable_peer_access(peer))
        });
        match RankFailures::all(enabled) {
            Ok(_) => Ok(self),
            Err(error) => Err(Rejected::new(self, error)),
        }
    }

    /// Begins a capture on every rank: from here on, what is enqueued is recorded and does not run.
    ///
    /// Before: waits for the ranks' earlier work, for no longer than the policy's deadline, as [`Stream::begin`] does.
    ///
    /// # Errors
    /// Still `Idle`, and not capturing on any rank, with [`RankFailures`], which holds what [`Stream::begin`] would return for each;
    /// [`Misuse::GateHeld`](crate::Misuse::GateHeld).
    ///
    /// # References
    /// [cuStreamBeginCapture](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html)
    #[doc(alias = "cuStreamBeginCapture")]
    pub fn begin<M: RankMode>(self, _mode: M) -> Result<Ranks<Capturing<M>, N>, Rejected<Self>> {
        self.open(())
    }

    /// Captures what `body` enqueues on the ranks, on this thread, and instantiates it. The captures end on success, error and panic.
    ///
    /// # Errors
    /// Still `Idle`, with what [`begin`](Self::begin) or [`end`](Ranks::end) would return; or the body's own error, alone or first in a
    /// [`CaptureFailure`](crate::CaptureFailure). If the body panics, the captures are ended and the panic goes on.
    pub fn capture<M: RankMode>(
        self,
        mode: M,
        body: impl FnOnce(&mut [Work<'_>; N]) -> Result<(), Error>,
    ) -> Result<Ranks<Instantiated, N>, Rejected<Self>> {
        self.begin(mode)?.run(body)
    }
}

static_assertions::assert_impl_all!(Ranks<Idle, 2>: Send);
