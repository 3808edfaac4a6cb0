//! `Ranks<Capturing<M, From>, N>`: captures are open on all ranks.

use super::captured::FreshRanks;
use super::group::Cleared;
use super::state::sealed;
use super::{RankMode, RankResting, Ranks};
use crate::error::{CaptureFailure, DriverError, Error, Parked, RankFailures, Rejected};
use crate::gate::Visit;
use crate::runtime::Work;
use crate::seal::OnlyForDacapo;
use crate::state::{Capturing, Relaxed, ThreadLocal, sealed_mode, sealed_state};
use crate::stream::{Recorded, Recording};

/// What capturing ranks have. Dropped in the order of the fields.
pub struct CapturingRanks<M: RankMode, From: RankResting, const N: usize> {
    recordings: Recordings,
    /// What the state had that the captures began in.
    from: From::OnRanks<N>,
    target: <From as sealed_state::Resting>::Target,
    /// `Send` or not, as the mode wants it.
    _affinity: <M as sealed_mode::Mode>::Affinity,
}

/// The open captures, by rank. Dropped, all are ended before anything that they have used is let go.
pub(super) struct Recordings {
    ranks: Vec<Recording>,
    /// After the captures.
    _visit: Visit,
}

impl Drop for Recordings {
    fn drop(&mut self) {
        for recording in &mut self.ranks {
            recording.abort();
        }
    }
}

impl Recordings {
    /// Begins on all ranks; or on none, and then what was begun is aborted.
    fn begin<M: RankMode, const N: usize>(Cleared { turns, visit }: Cleared<N>) -> Result<Self, Error> {
        let mut recordings = Self { ranks: Vec::with_capacity(N), _visit: visit };
        for (rank, turn) in turns.into_iter().enumerate() {
            let recording = Recording::open(turn, M::MODE).map_err(|error| RankFailures::at(rank, error))?;
            recordings.ranks.push(recording);
        }
        Ok(recordings)
    }

    /// Ends every rank's capture, whatever becomes of the others'.
    fn finish(mut self) -> Result<Vec<Recorded>, Error> {
        let ended: Vec<_> = std::mem::take(&mut self.ranks).into_iter().map(Recording::finish).collect();
        RankFailures::all(ended)
    }

    /// Ends every rank's capture after the body has failed.
    fn fail(mut self, body: Error) -> Error {
        let ranks = std::mem::take(&mut self.ranks).into_iter();
        give_up(body, ranks.map(Recording::give_up).collect())
    }
}

/// What became of the ends of captures whose body has failed: what the body says comes first.
fn give_up(body: Error, ends: Vec<(Option<DriverError>, Option<Parked>)>) -> Error {
    let failed = ends.into_iter().enumerate().find(|(_, (end, parked))| end.is_some() || parked.is_some());
    match failed {
        None => body,
        Some((rank, (end, parked))) => RankFailures::at(rank, CaptureFailure::report(Some(body), end, parked)),
    }
}

impl<M: RankMode, From: RankResting> sealed::RankState for Capturing<M, From> {
    type OnRanks<const N: usize> = CapturingRanks<M, From, N>;
}

impl<S: RankResting, const N: usize> Ranks<S, N> {
    /// Begins captures in whatever resting state; `target` is what the state wants to know at their end.
    pub(super) fn open<M: RankMode>(
        mut self,
        target: <S as sealed_state::Resting>::Target,
    ) -> Result<Ranks<Capturing<M, S>, N>, Rejected<Self>> {
        let begun = self.group.clear().and_then(Recordings::begin::<M, N>);
        match begun {
            Ok(recordings) => {
                let Self { data: from, group } = self;
                let data = CapturingRanks { recordings, from, target, _affinity: M::Affinity::default() };
                Ok(Ranks { data, group })
            }
            Err(error) => {
                let error = self.group.heard(error);
                Err(Rejected::new(self, error))
            }
        }
    }

    /// Makes of what all ranks have recorded what they have afterwards.
    pub(super) fn land(
        self,
        target: <S as sealed_state::Resting>::Target,
        recorded: Result<Vec<Recorded>, Error>,
    ) -> Result<Ranks<S::Recorded, N>, Rejected<Self>> {
        let Self { data: from, group } = self;
        let landed = match recorded.and_then(|recorded| FreshRanks::new(recorded, &group.policy)) {
            Ok(fresh) => S::land(from, target, fresh, &group, OnlyForDacapo::new()),
            Err(error) => Err((from, error)),
        };
        match landed {
            Ok(data) => {
                group.cores.iter().for_each(|core| core.lane.counts().captured());
                Ok(Ranks { data, group })
            }
            Err((data, error)) => {
                group.cores.iter().for_each(|core| core.lane.counts().lost_a_capture());
                let error = group.heard(error);
                Err(Rejected::new(Ranks { data, group }, error))
            }
        }
    }
}

impl<M: RankMode, From: RankResting, const N: usize> Ranks<Capturing<M, From>, N> {
    /// Somewhere to put work on each rank, to be recorded; has the operations of [`Enqueue`](crate::Enqueue).
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, Pair, ThreadLocal};
    ///
    /// let mut ranks = Pair::new([Device::open(0)?.stream()?, Device::open(1)?.stream()?])?;
    /// let [mut a, mut b] = ranks.eager();
    /// let buffers = [a.alloc::<u32>(1)?, b.alloc(1)?];
    /// let mut capturing = ranks.begin(ThreadLocal)?;
    /// let [mut a, mut b] = capturing.work();
    /// a.fill(&buffers[0], 1)?;
    /// b.fill(&buffers[1], 2)?;
    /// let published = capturing.end()?.publish()?;
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[must_use]
    pub fn work(&mut self) -> [Work<'_>; N] {
        let mut ranks = self.data.recordings.ranks.iter();
        std::array::from_fn(|_| ranks.next().expect("one a rank").work())
    }

    /// Runs the body of a closure form, and ends the captures.
    pub(super) fn run(
        mut self,
        body: impl FnOnce(&mut [Work<'_>; N]) -> Result<(), Error>,
    ) -> Result<Ranks<From::Recorded, N>, Rejected<Ranks<From, N>>> {
        let done = body(&mut self.work());
        match done {
            Ok(()) => self.end(),
            Err(error) => {
                let Self { data: CapturingRanks { recordings, from, .. }, group } = self;
                let error = recordings.fail(error);
                group.cores.iter().for_each(|core| core.lane.counts().lost_a_capture());
                let error = group.heard(error);
                Err(Rejected::new(Ranks { data: from, group }, error))
            }
        }
    }

    /// Ends the captures of all ranks, counts and compares their nodes, instantiates and uploads, as the
    /// [`RanksPolicy`](crate::RanksPolicy) says. Leads where [`Stream::end`](crate::Stream::end) does.
    ///
    /// # Errors
    /// In the state that the captures began in, with all that it had, and not capturing on any rank, with
    /// [`RankFailures`], which holds for each rank that has failed what [`Stream::end`](crate::Stream::end) would return; or with
    /// [`Refusal::RanksDiffer`](crate::Refusal::RanksDiffer).
    #[doc(alias = "cuStreamEndCapture")]
    #[doc(alias = "cuGraphInstantiateWithFlags")]
    pub fn end(self) -> Result<Ranks<From::Recorded, N>, Rejected<Ranks<From, N>>> {
        let Self { data: CapturingRanks { recordings, from, target, .. }, group } = self;
        Ranks::<From, N> { data: from, group }.land(target, recordings.finish())
    }

    /// Ends the captures, discards what was recorded, and goes back to the state they began in. Cannot fail.
    pub fn abort(self) -> Ranks<From, N> {
        let Self { data: CapturingRanks { recordings, from, .. }, group } = self;
        drop(recordings);
        Ranks { data: from, group }
    }
}

// cuStreamEndCapture: unless the mode is relaxed, the call must be made on the thread that began the capture.
static_assertions::assert_not_impl_any!(Ranks<Capturing<ThreadLocal>, 2>: Send, Sync);
static_assertions::assert_impl_all!(Ranks<Capturing<Relaxed>, 2>: Send);
