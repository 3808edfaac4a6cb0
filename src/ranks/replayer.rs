//! Replaying all ranks from any thread.

use std::fmt;
use std::io;

use super::submit::{Plan, Refused, Step, launch};
use super::workers::Workers;
use crate::driver::ExecutableHandle;
use crate::error::{Error, Misuse, PartialReplay};
use crate::runtime::{Eager, LaneExclusive, LaneTurn, Loose, Replayer, Token, turns};
use crate::sync::Arc;

/// Replays published ranks. Cheap to clone; any thread.
///
/// A replay takes all lanes, in one order for everybody, then launches on every rank: so no other replay is submitted in between on
/// any of them. Otherwise as a [`Replayer`] of a single stream: it names one generation, is [`Stale`](crate::Stale) once that is reset,
/// and keeps nothing of the graphs alive.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::{Device, Enqueue, Error, Pair, ThreadLocal};
///
/// let mut ranks = Pair::new([Device::open(0)?.stream()?, Device::open(1)?.stream()?])?;
/// let counters = ranks.counters()?;
/// let published = ranks.capture(ThreadLocal, |ranks| {
///     ranks.iter_mut().zip(&counters).try_for_each(|(rank, counter)| rank.count(counter))
/// })?.publish()?;
/// let replayer = published.replayer();
/// std::thread::scope(|scope| {
///     let threads = [(); 4].map(|()| scope.spawn(|| replayer.replay()));
///     threads.into_iter().try_for_each(|thread| thread.join().unwrap())
/// })?;
/// let mut idle = published.reset()?;
/// assert_eq!(idle.read_counters(&counters)?, [4, 4]);
/// assert!(matches!(replayer.replay(), Err(Error::Stale(_))));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct RankReplayer<const N: usize> {
    ranks: Arc<[Replayer; N]>,
    plan: Arc<Plan<N>>,
    /// Launch for their ranks, if there are any.
    workers: Option<Arc<Workers<N>>>,
}

impl<const N: usize> RankReplayer<N> {
    pub(super) fn new(ranks: [Replayer; N], plan: Plan<N>) -> Self {
        Self { ranks: Arc::new(ranks), plan: Arc::new(plan), workers: None }
    }

    /// Launches the graphs of all ranks, after everything enqueued on their streams so far. Returns once all are enqueued; waits for
    /// none of them.
    ///
    /// Allocates nothing, and takes no lock but the lanes', which are held for the length of the launches. If one rank is in the middle
    /// of a capture, a seam or a `replay_with`, none of the others is kept locked meanwhile.
    ///
    /// # Errors
    /// Nothing was enqueued on any rank with [`Stale`](crate::Stale), [`Misuse::CaptureOpen`], [`Misuse::OutOfTurn`],
    /// [`NotValid`](crate::NotValid), [`Poisoned`](crate::Poisoned), or [`RankFailures`](crate::RankFailures) (the first rank refused). If a later rank refuses,
    /// all are drained before this returns [`PartialSubmission`](crate::PartialSubmission), and nobody replays meanwhile. With several
    /// segments, [`PartialReplay`] says how far they came.
    ///
    /// # References
    /// [cuGraphLaunch](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html)
    #[doc(alias = "cuGraphLaunch")]
    #[inline]
    pub fn replay(&self) -> Result<(), Error> {
        let mut turns = self.turns()?;
        let firsts = self.executables(&mut turns, 0)?;
        if let Err(refused) = self.launch_in_order(firsts) {
            return Err(self.plan.recover_in(turns, refused));
        }
        if self.plan.steps.is_empty() {
            self.count(&mut turns);
            return Ok(());
        }
        self.replay_rest(turns)
    }

    /// The same replayer with a thread for each rank but the first, parked until it is needed, that submits for its rank: the launches
    /// happen side by side, and the ranks start closer together. Measured on two H200s, two launches take 3.7 µs from one thread and
    /// 2.4 µs from two. A worker spins for some tens of microseconds after each replay before it parks, and waking it up takes longer
    /// than the launch itself; so it is for a loop that replays in quick succession and has cores to spare.
    ///
    /// Its clones share the threads, which end with the last of them.
    ///
    /// # Errors
    /// If a thread cannot be started.
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, Pair, ThreadLocal};
    ///
    /// let mut ranks = Pair::new([Device::open(0)?.stream()?, Device::open(1)?.stream()?])?;
    /// let counters = ranks.counters()?;
    /// let published = ranks.capture(ThreadLocal, |[a, b]| {
    ///     a.count(&counters[0])?;
    ///     b.count(&counters[1])
    /// })?.publish()?;
    /// let replayer = published.replayer().on_threads().expect("threads");
    /// for _ in 0..3 {
    ///     replayer.replay()?;
    /// }
    /// assert_eq!(published.reset()?.read_counters(&counters)?, [3, 3]);
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    pub fn on_threads(&self) -> io::Result<Self> {
        let workers = Some(Arc::new(Workers::start(&self.ranks)?));
        Ok(Self { workers, ..self.clone() })
    }

    /// Launches an executable on each rank. For who has a turn on every lane.
    #[inline]
    fn launch(&self, executables: [ExecutableHandle; N]) -> Result<(), Refused> {
        match &self.workers {
            None => launch(&self.ranks, executables),
            Some(workers) => workers.launch(&self.ranks, executables),
        }
    }

    /// Every lane, with what this replayer names published on it, and the engine's own checks passed, if there are any. They are asked
    /// in between, in nobody's turn.
    #[inline]
    fn turns(&self) -> Result<[LaneTurn<'_>; N], Error> {
        let turns = self.unchecked_turns()?;
        if !self.plan.has_checks() {
            return Ok(turns);
        }
        drop(turns);
        self.plan.check()?;
        self.unchecked_turns()
    }

    #[inline]
    fn unchecked_turns(&self) -> Result<[LaneTurn<'_>; N], Error> {
        let orders = self.plan.lanes.each_ref().map(|lane| lane.order());
        turns(orders, &self.plan.in_order, |rank, slots| {
            slots.admit(self.ranks[rank].token())?;
            Ok(())
        })
    }

    /// What the segments of this number launch.
    #[inline]
    fn executables(&self, turns: &mut [LaneTurn<'_>; N], segment: usize) -> Result<[ExecutableHandle; N], Error> {
        let mut executables = [None; N];
        for (rank, turn) in turns.iter_mut().enumerate() {
            let program = &turn.slots.admit(self.ranks[rank].token())?.program;
            let found = if segment == 0 { Some(program.first) } else { program.executables().nth(segment) };
            let of = || Misuse::NoSuchSegment { index: segment, of: program.executables().count() };
            executables[rank] = Some(found.ok_or_else(of)?);
        }
        Ok(executables.map(|executable| executable.expect("one a rank")))
    }

    #[inline]
    fn count(&self, turns: &mut [LaneTurn<'_>; N]) {
        for (rank, turn) in turns.iter_mut().enumerate() {
            // A seam may have retired it, on this thread.
            if let Ok(live) = turn.slots.admit(self.ranks[rank].token()) {
                live.replays += 1;
            }
        }
    }

    /// Launches in the submission order, which is left again before anybody sees to a refusal: that waits, and runs destructors.
    #[inline]
    fn launch_in_order(&self, executables: [ExecutableHandle; N]) -> Result<(), Refused> {
        let _order = self.plan.order.as_ref().map(|order| order.enter());
        self.launch(executables)
    }

    /// Everything after the first segments.
    #[cold]
    fn replay_rest(&self, mut turns: [LaneTurn<'_>; N]) -> Result<(), Error> {
        let of = self.plan.len();
        if self.plan.has_seams() {
            let held = self.plan.hold(turns);
            return self.run(1, &held);
        }
        for (done, step) in (1..).zip(&self.plan.steps) {
            let Step::Launch(segment) = step else { continue };
            let executables = self.executables(&mut turns, *segment)?;
            if let Err(refused) = self.launch_in_order(executables) {
                return Err(PartialReplay::after(done, of, self.plan.recover_in(turns, refused)));
            }
        }
        self.count(&mut turns);
        Ok(())
    }

    /// Launches the segments of this number in turns of the exclusive holder's, if the publication still stands.
    fn launch_in(&self, held: &[LaneExclusive<'_>; N], segment: usize) -> Result<(), Error> {
        let mut turns = held.each_ref().map(LaneExclusive::turn);
        let executables = self.executables(&mut turns, segment)?;
        let launched = self.launch_in_order(executables);
        drop(turns);
        launched.map_err(|refused: Refused| {
            if refused.is_partial() { self.plan.recover(held, refused) } else { self.plan.refused_by_all(refused) }
        })
    }

    /// Runs the steps after the `done` first ones, for an exclusive holder.
    fn run(&self, done: usize, held: &[LaneExclusive<'_>; N]) -> Result<(), Error> {
        for (done, step) in (done..).zip(&self.plan.steps) {
            let stepped = match step {
                Step::Seam(seam) => self.with_eager(held, |ranks| seam.run(ranks)),
                Step::Launch(segment) => self.launch_in(held, *segment),
            };
            stepped.map_err(|error| PartialReplay::after(done, self.plan.len(), error))?;
        }
        self.count(&mut held.each_ref().map(LaneExclusive::turn));
        Ok(())
    }

    /// Runs `body` with eager work on every rank, for an exclusive holder.
    fn with_eager<R>(
        &self,
        held: &[LaneExclusive<'_>; N],
        body: impl FnOnce(&mut [Eager<'_>; N]) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let mut work = self.plan.lanes.each_ref().map(Loose::new);
        let mut ranks = work.iter_mut().zip(&self.plan.lanes).zip(held);
        let mut eager = std::array::from_fn(|_| {
            let ((work, lane), exclusive) = ranks.next().expect("one a rank");
            Eager::in_turn(exclusive, lane, &mut work.in_flight)
        });
        body(&mut eager)
    }

    /// Launches the segments of one number, counted from 0, on all ranks.
    ///
    /// Does not count as a replay. Refused if there are seams: they would be left out.
    ///
    /// # Errors
    /// As [`replay`](Self::replay); [`Misuse::NoSuchSegment`], [`Misuse::HasSeams`].
    #[doc(alias = "cuGraphLaunch")]
    pub fn replay_segment(&self, index: usize) -> Result<(), Error> {
        let mut turns = self.turns()?;
        let executables = self.executables(&mut turns, index)?;
        if self.plan.has_seams() {
            return Err(Misuse::HasSeams.into());
        }
        self.launch_in_order(executables).map_err(|refused| self.plan.recover_in(turns, refused))
    }

    /// Enqueues what `body` does on the ranks and then replays, with nobody else's work in between on any of them: two threads that
    /// upload inputs, the same to all ranks or to each its own, and replay, never mix them.
    ///
    /// # Errors
    /// `body`'s own, and then nothing is launched; or as [`replay`](Self::replay).
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, Pair, ThreadLocal};
    ///
    /// let mut ranks = Pair::new([Device::open(0)?.stream()?, Device::open(1)?.stream()?])?;
    /// let [mut a, mut b] = ranks.eager();
    /// let inputs = [a.alloc::<u32>(2)?, b.alloc(2)?];
    /// let outputs = [a.alloc::<u32>(2)?, b.alloc(2)?];
    /// let mut published = ranks.capture(ThreadLocal, |[a, b]| {
    ///     a.copy(&inputs[0], &outputs[0])?;
    ///     b.copy(&inputs[1], &outputs[1])
    /// })?.publish()?;
    /// published.replay_with(|ranks| {
    ///     ranks.iter_mut().zip(&inputs).try_for_each(|(rank, input)| rank.write(&[7, 8], input))
    /// })?;
    /// let [mut a, mut b] = published.eager();
    /// assert_eq!((a.read(&outputs[0])?, b.read(&outputs[1])?), (vec![7, 8], vec![7, 8]));
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    pub fn replay_with(&self, body: impl FnOnce(&mut [Eager<'_>; N]) -> Result<(), Error>) -> Result<(), Error> {
        self.replay_around(body, |_| Ok(()))
    }

    /// Enqueues what `before` does, replays, and enqueues what `after` does, with nobody else's work in between on any rank. Returns
    /// what `after` does.
    ///
    /// # Errors
    /// `before`'s own, and then nothing is launched; as [`replay`](Self::replay); or `after`'s own.
    pub fn replay_around<R>(
        &self,
        before: impl FnOnce(&mut [Eager<'_>; N]) -> Result<(), Error>,
        after: impl FnOnce(&mut [Eager<'_>; N]) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let turns = self.turns()?;
        for lane in &self.plan.lanes {
            lane.device().check_fault()?;
        }
        let held = self.plan.hold(turns);
        self.with_eager(&held, before)?;
        self.launch_in(&held, 0)?;
        self.run(1, &held)?;
        self.with_eager(&held, after)
    }

    /// Whether the generation is still published on every rank. Another thread may reset it right after. Waits for nothing.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.ranks.iter().all(Replayer::is_current)
    }

    /// What this replayer names, by rank.
    #[must_use]
    pub fn tokens(&self) -> [Token; N] {
        self.ranks.each_ref().map(Replayer::token)
    }
}

impl<const N: usize> fmt::Debug for RankReplayer<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RankReplayer").field("tokens", &self.tokens()).finish_non_exhaustive()
    }
}

static_assertions::assert_impl_all!(RankReplayer<2>: Send, Sync, Clone);
