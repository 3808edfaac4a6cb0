//! `Ranks<Published, N>`: the graphs of all ranks may be replayed, from any thread.

use super::captured::{CapturedRanks, FreshRanks, discard};
use super::replayer::RankReplayer;
use super::state::sealed;
use super::submit::Plan;
use super::{Group, RankMode, Ranks};
use crate::error::{Call, DriverCode, DriverError, Error, Misuse, RankFailures, Rejected, UpdateRefused};
use crate::runtime::{Eager, Former, Fresh, Publication, Segment, Together, UpdatePolicy, Work};
use crate::seal::OnlyForDacapo;
use crate::state::{Capturing, Idle, Instantiated, Published};
use crate::stream::Update;

/// What published ranks have.
pub struct PublishedRanks<const N: usize> {
    /// First, so that they are dropped first: they retire the generations before the graphs are destroyed.
    publications: [Publication; N],
    replayer: RankReplayer<N>,
    captured: CapturedRanks<N>,
    last_update: Option<Update>,
}

impl<const N: usize> PublishedRanks<N> {
    pub(super) fn new(publications: [Publication; N], replayer: RankReplayer<N>, captured: CapturedRanks<N>) -> Self {
        Self { publications, replayer, captured, last_update: None }
    }

    /// Puts what was recorded in the place of segments, on all ranks: within their executables, or as the next generation. On an error
    /// everything is as it was.
    fn update(&mut self, index: usize, fresh: FreshRanks<N>, group: &Group<N>) -> Result<(), Error> {
        let FreshRanks { ranks, turns } = fresh;
        let (rank, refused, ranks) = match exchange_all(self.captured.segments_mut(index)?, ranks) {
            Ok(Exchange::Done(before)) => {
                drop(before);
                self.last_update = Some(Update::InPlace);
                group.cores.iter().for_each(|core| core.lane.counts().updated());
                return Ok(());
            }
            Ok(Exchange::Refused { rank, refused, fresh }) => (rank, refused, fresh),
            Err(Broken::AsItWas { rank, error }) => return Err(RankFailures::at(rank, error)),
            Err(Broken::Differing { rank, error }) => return Err(differing(group, rank, error)),
        };
        if group.policy.of_rank(rank).on_refused_update() == UpdatePolicy::Keep {
            return Err(RankFailures::at(rank, refused));
        }
        let segments = FreshRanks { ranks, turns }.instantiate(group)?;
        let old = std::mem::replace(self.captured.segments_mut(index)?, segments);
        match publish(&self.captured, group) {
            Ok((publications, replayer)) => {
                // The old generation is retired on every rank.
                self.publications = publications;
                self.replayer = replayer;
            }
            Err(error) => {
                let new = std::mem::replace(self.captured.segments_mut(index)?, old);
                discard(self.captured.lanes(), new.into(), &group.policy);
                return Err(error);
            }
        }
        group.cores.iter().for_each(|core| core.lane.counts().replaced());
        self.last_update = Some(Update::NewGeneration(refused));
        let policy = &group.policy;
        Together::new(self.captured.lanes(), old.into(), policy.on_unproven(), policy.drain_limit()).release()?;
        Ok(())
    }
}

/// Publishes on all ranks, or on none.
pub(super) fn publish<const N: usize>(
    captured: &CapturedRanks<N>,
    group: &Group<N>,
) -> Result<([Publication; N], RankReplayer<N>), Error> {
    let lanes = captured.lanes().iter().enumerate();
    let published = lanes.map(|(rank, lane)| Ok(Publication::of(lane, captured.program(rank))?));
    let publications = RankFailures::all(published)?.try_into();
    let publications: [Publication; N] = publications.unwrap_or_else(|_| unreachable!("one a rank"));
    let ranks = publications.each_ref().map(|publication| publication.replayer().clone());
    let replayer = RankReplayer::new(ranks, Plan::new(captured, group.in_order, group.order.clone()));
    Ok((publications, replayer))
}

/// What became of an update within the executables of all ranks.
enum Exchange<const N: usize> {
    /// All have taken it; this is what they had before.
    Done(Vec<Former>),
    /// One has not, and all are as they were.
    Refused { rank: usize, refused: UpdateRefused, fresh: [Fresh; N] },
}

/// A driver error in the middle of an update.
enum Broken {
    /// All ranks are as they were.
    AsItWas { rank: usize, error: Error },
    /// They may not be.
    Differing { rank: usize, error: Error },
}

/// Updates the executables of all ranks, or leaves all as they were. Nobody else has a turn on the lanes, which have drained.
fn exchange_all<const N: usize>(segments: &mut [Segment; N], fresh: [Fresh; N]) -> Result<Exchange<N>, Broken> {
    let mut before = Vec::with_capacity(N);
    let mut coming = fresh.into_iter();
    let refusal = loop {
        let rank = before.len();
        let Some(fresh) = coming.next() else { return Ok(Exchange::Done(before)) };
        match segments[rank].exchange(fresh) {
            Ok(Ok(old)) => before.push(old),
            Ok(Err(refusal)) => break Ok(refusal),
            Err(error) => match segments[rank].restore() {
                Ok(()) => break Err(error),
                Err(_) => return Err(Broken::Differing { rank, error }),
            },
        }
    };
    let rank = before.len();
    let mut taken_back = Vec::with_capacity(N);
    for (rank, old) in before.into_iter().enumerate() {
        match segments[rank].put_back(old) {
            Ok(fresh) => taken_back.push(fresh),
            Err(error) => return Err(Broken::Differing { rank, error }),
        }
    }
    match refusal {
        Ok((fresh, refused)) => {
            let fresh: Vec<_> = taken_back.into_iter().chain([fresh]).chain(coming).collect();
            let fresh = fresh.try_into().unwrap_or_else(|_| unreachable!("one a rank"));
            Ok(Exchange::Refused { rank, refused, fresh })
        }
        Err(error) => Err(Broken::AsItWas { rank, error }),
    }
}

/// Ranks that would launch different things launch nothing any more.
fn differing<const N: usize>(group: &Group<N>, rank: usize, error: Error) -> Error {
    let cause = match error {
        Error::Driver(cause) => cause,
        // A refusal, which has no code of its own.
        _ => DriverError::new(Call("cuGraphExecUpdate"), DriverCode::GRAPH_EXEC_UPDATE_FAILURE, None),
    };
    for core in &group.cores {
        core.lane.poison(cause);
    }
    RankFailures::at(rank, error)
}

impl sealed::RankState for Published {
    type OnRanks<const N: usize> = PublishedRanks<N>;
}

impl sealed::RankGraph for Published {
    fn captured<const N: usize>(data: &PublishedRanks<N>, _: OnlyForDacapo) -> &CapturedRanks<N> {
        &data.captured
    }
}

impl sealed::RankResting for Published {
    type Recorded = Self;

    fn land<const N: usize>(
        mut from: PublishedRanks<N>,
        target: usize,
        fresh: FreshRanks<N>,
        group: &Group<N>,
        _: OnlyForDacapo,
    ) -> Result<PublishedRanks<N>, (PublishedRanks<N>, Error)> {
        match from.update(target, fresh, group) {
            Ok(()) => Ok(from),
            Err(error) => Err((from, error)),
        }
    }
}

impl<const N: usize> Ranks<Published, N> {
    /// Launches the graphs of all ranks once, as [`RankReplayer::replay`] does.
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "cuGraphLaunch")]
    #[inline]
    pub fn replay(&self) -> Result<(), Error> {
        self.data.replayer.replay()
    }

    /// Launches one segment on all ranks; see [`RankReplayer::replay_segment`].
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "cuGraphLaunch")]
    pub fn replay_segment(&self, index: usize) -> Result<(), Error> {
        self.data.replayer.replay_segment(index)
    }

    /// Enqueues what `body` does on the ranks and then replays, with nobody else's work in between; see [`RankReplayer::replay_with`].
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "cuGraphLaunch")]
    pub fn replay_with(&self, body: impl FnOnce(&mut [Eager<'_>; N]) -> Result<(), Error>) -> Result<(), Error> {
        self.data.replayer.replay_with(body)
    }

    /// A handle to replay with: `Clone + Send + Sync`, for any thread. It keeps nothing of the graphs alive.
    #[must_use]
    pub fn replayer(&self) -> RankReplayer<N> {
        self.data.replayer.clone()
    }

    /// Begins captures whose end updates the published graphs of all ranks; as [`Stream::begin_update`](crate::Stream::begin_update).
    ///
    /// Within the executables, if the driver takes that on every rank. If it refuses on one, the others are put back, and the policy says
    /// what then: all are instantiated anew and published as the next generation, or all stay as they were.
    ///
    /// # Errors
    /// Still `Published`, with what [`begin`](Ranks::begin) returns; [`Misuse::SeveralSegments`].
    #[doc(alias = "cuGraphExecUpdate")]
    #[doc(alias = "cuStreamBeginCapture")]
    pub fn begin_update<M: RankMode>(self, _mode: M) -> Result<Ranks<Capturing<M, Published>, N>, Rejected<Self>> {
        match self.data.captured.segments().count() {
            1 => self.open(0),
            of => Err(Rejected::new(self, Misuse::SeveralSegments { of })),
        }
    }

    /// As [`begin_update`](Self::begin_update), for one of several segments, counted from 0.
    ///
    /// # Errors
    /// Still `Published`, with what [`begin`](Ranks::begin) returns; [`Misuse::NoSuchSegment`].
    #[doc(alias = "cuGraphExecUpdate")]
    pub fn begin_update_segment<M: RankMode>(
        self,
        index: usize,
        _mode: M,
    ) -> Result<Ranks<Capturing<M, Published>, N>, Rejected<Self>> {
        let of = self.data.captured.segments().count();
        if index < of { self.open(index) } else { Err(Rejected::new(self, Misuse::NoSuchSegment { index, of })) }
    }

    /// Captures what `body` enqueues on the ranks and updates the published graphs with it.
    ///
    /// # Errors
    /// Still `Published`, as it was, with what [`begin_update`](Self::begin_update) or [`end`](Ranks::end) return.
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, Pair, ThreadLocal, Update};
    ///
    /// let mut ranks = Pair::new([Device::open(0)?.stream()?, Device::open(1)?.stream()?])?;
    /// let [mut a, mut b] = ranks.eager();
    /// let (x, y) = (a.alloc::<u32>(1)?, b.alloc::<u32>(1)?);
    /// let fill = |value: u32| {
    ///     let (x, y) = (&x, &y);
    ///     move |[a, b]: &mut [dacapo::Work<'_>; 2]| {
    ///         a.fill(x, value)?;
    ///         b.fill(y, value)
    ///     }
    /// };
    /// let published = ranks.capture(ThreadLocal, fill(1))?.publish()?;
    /// let replayer = published.replayer();
    /// let mut published = published.update(ThreadLocal, fill(2))?;
    /// assert_eq!(published.last_update(), Some(&Update::InPlace));
    /// replayer.replay()?;
    /// let [mut a, mut b] = published.eager();
    /// assert_eq!((a.read(&x)?, b.read(&y)?), (vec![2], vec![2]));
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    pub fn update<M: RankMode>(
        self,
        mode: M,
        body: impl FnOnce(&mut [Work<'_>; N]) -> Result<(), Error>,
    ) -> Result<Self, Rejected<Self>> {
        self.begin_update(mode)?.run(body)
    }

    /// What became of the last update; `None` before the first.
    #[must_use]
    pub fn last_update(&self) -> Option<&Update> {
        self.data.last_update.as_ref()
    }

    /// Takes the graphs back: retires the generation on every rank, waits for replays that were already admitted, drains all ranks,
    /// destroys the graphs, lets go of what they used, in that order.
    ///
    /// Once this has returned, and from some moment before, no replay is newly enqueued on any rank.
    ///
    /// # Errors
    /// `Idle` but poisoned, with [`Unproven`](crate::Unproven), if a rank cannot be drained within the policy's deadline: nothing is let
    /// go then, on any rank. By default the process is aborted instead.
    #[doc(alias = "cuGraphExecDestroy")]
    pub fn reset(self) -> Result<Ranks<Idle, N>, Rejected<Ranks<Idle, N>>> {
        let Self { data: PublishedRanks { publications, captured, .. }, group } = self;
        drop(publications);
        Ranks::<Instantiated, N> { data: captured, group }.discard()
    }

    /// Replays that the driver has taken so far on all ranks, by all replayers of this generation. Waits for one that is being submitted.
    #[must_use]
    pub fn replays(&self) -> u64 {
        self.data.publications[0].replays()
    }
}

static_assertions::assert_impl_all!(Ranks<Published, 2>: Send);
