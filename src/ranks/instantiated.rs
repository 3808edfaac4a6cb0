//! `Ranks<Instantiated, N>`: every rank has its graph, and nobody else knows them.

use super::captured::{CapturedRanks, FreshRanks};
use super::published::{PublishedRanks, publish};
use super::seam::RankSeam;
use super::state::sealed;
use super::{Group, RankMode, Ranks};
use crate::error::{BoxError, Error, Rejected};
use crate::runtime::{Check, Eager, Work};
use crate::seal::OnlyForDacapo;
use crate::state::{Capturing, Idle, Instantiated, Published};

impl sealed::RankState for Instantiated {
    type OnRanks<const N: usize> = CapturedRanks<N>;
}

impl sealed::RankGraph for Instantiated {
    fn captured<const N: usize>(captured: &CapturedRanks<N>, _: OnlyForDacapo) -> &CapturedRanks<N> {
        captured
    }
}

impl sealed::RankResting for Instantiated {
    type Recorded = Self;

    fn land<const N: usize>(
        mut from: CapturedRanks<N>,
        (): (),
        fresh: FreshRanks<N>,
        group: &Group<N>,
        _: OnlyForDacapo,
    ) -> Result<CapturedRanks<N>, (CapturedRanks<N>, Error)> {
        match fresh.instantiate(group) {
            Ok(segments) => {
                from.push(group, segments);
                Ok(from)
            }
            Err(error) => Err((from, error)),
        }
    }
}

impl<const N: usize> Ranks<Instantiated, N> {
    /// Begins the capture of one more segment on every rank; as [`Stream::begin_segment`](crate::Stream::begin_segment).
    ///
    /// # Errors
    /// Still `Instantiated`, with what [`begin`](Ranks::begin) returns.
    #[doc(alias = "cuStreamBeginCapture")]
    pub fn begin_segment<M: RankMode>(self, _mode: M) -> Result<Ranks<Capturing<M, Instantiated>, N>, Rejected<Self>> {
        self.open(())
    }

    /// Captures what `body` enqueues as one more segment on every rank.
    ///
    /// # Errors
    /// Still `Instantiated`, with all segments but this one, and with what [`capture`](Ranks::capture) returns.
    pub fn capture_segment<M: RankMode>(
        self,
        mode: M,
        body: impl FnOnce(&mut [Work<'_>; N]) -> Result<(), Error>,
    ) -> Result<Self, Rejected<Self>> {
        self.begin_segment(mode)?.run(body)
    }

    /// Adds a seam after what is there: a closure that runs eagerly between two segments of all ranks, on the thread that replays. As
    /// [`Stream::seam`](crate::Stream::seam), with every rank's stream to itself.
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, Pair, ThreadLocal};
    ///
    /// let mut ranks = Pair::new([Device::open(0)?.stream()?, Device::open(1)?.stream()?])?;
    /// let [mut a, mut b] = ranks.eager();
    /// let (x, y) = (a.alloc::<u32>(1)?, b.alloc::<u32>(1)?);
    /// let (from, to) = (x.clone(), y.clone());
    /// let captured = ranks
    ///     .capture(ThreadLocal, |[a, b]| {
    ///         a.fill(&x, 1)?;
    ///         b.fill(&y, 2)
    ///     })?
    ///     .seam(move |[a, b]| {
    ///         let sum = a.read(&from)?[0] + b.read(&to)?[0];
    ///         b.write(&[sum], &to)
    ///     });
    /// let mut published = captured.publish()?;
    /// published.replay()?;
    /// let [_, mut b] = published.eager();
    /// assert_eq!(b.read(&y)?, [3]);
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    pub fn seam(mut self, body: impl FnMut(&mut [Eager<'_>; N]) -> Result<(), Error> + Send + 'static) -> Self {
        self.data.push_seam(RankSeam::new(body));
        self
    }

    /// Has `check` asked before each replay, on the thread that replays; as [`Stream::valid_while`](crate::Stream::valid_while), once for
    /// all ranks.
    pub fn valid_while<E: Into<BoxError>>(mut self, check: impl Fn() -> Result<(), E> + Send + Sync + 'static) -> Self {
        self.data.push_check(Check::new(check));
        self
    }

    /// Launches everything that was captured, once and in order, on all ranks, as a [`replay`](crate::RankReplayer::replay) does; as
    /// [`Stream::launch_all`](crate::Stream::launch_all).
    ///
    /// # Errors
    /// As [`replay`](crate::RankReplayer::replay); [`Misuse::GenerationsExhausted`](crate::Misuse::GenerationsExhausted).
    #[doc(alias = "cuGraphLaunch")]
    pub fn launch_all(&mut self) -> Result<(), Error> {
        publish(&self.data, &self.group)?.1.replay()
    }

    /// Launches one segment, counted from 0, on all ranks; see [`launch_all`](Self::launch_all).
    ///
    /// # Errors
    /// As [`replay_segment`](crate::RankReplayer::replay_segment);
    /// [`Misuse::GenerationsExhausted`](crate::Misuse::GenerationsExhausted).
    #[doc(alias = "cuGraphLaunch")]
    pub fn launch_segment(&mut self, index: usize) -> Result<(), Error> {
        publish(&self.data, &self.group)?.1.replay_segment(index)
    }

    /// Makes the graphs the next generation of every rank, to be replayed from any thread. Makes no driver call.
    ///
    /// # Errors
    /// Still `Instantiated`, with [`Misuse::GenerationsExhausted`](crate::Misuse::GenerationsExhausted) in
    /// [`RankFailures`](crate::RankFailures).
    pub fn publish(self) -> Result<Ranks<Published, N>, Rejected<Self>> {
        let Self { data: captured, group } = self;
        match publish(&captured, &group) {
            Ok((publications, replayer)) => {
                let data = PublishedRanks::new(publications, replayer, captured);
                Ok(Ranks { data, group })
            }
            Err(error) => Err(Rejected::new(Self { data: captured, group }, error)),
        }
    }

    /// Drains all ranks, destroys the graphs, lets go of what they used.
    ///
    /// # Errors
    /// `Idle` but poisoned, with [`Unproven`](crate::Unproven), if a rank cannot be drained: nothing is let go then.
    #[doc(alias = "cuGraphExecDestroy")]
    pub fn discard(self) -> Result<Ranks<Idle, N>, Rejected<Ranks<Idle, N>>> {
        let Self { data: captured, group } = self;
        let released = captured.release();
        let idle = Ranks { data: (), group };
        match released {
            Ok(()) => Ok(idle),
            Err(unproven) => {
                let error = idle.group.heard(unproven.into());
                Err(Rejected::new(idle, error))
            }
        }
    }
}

static_assertions::assert_impl_all!(Ranks<Instantiated, 2>: Send);
