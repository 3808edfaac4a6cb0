//! What ranks can do that are not capturing.

use super::order::SubmissionOrder;
use super::policy::RanksPolicy;
use super::{RankResting, Ranks};
use crate::error::{Error, RankFailures};
use crate::runtime::{DeviceCounter, Eager, Work, finish_together};

impl<S: RankResting, const N: usize> Ranks<S, N> {
    /// Eager work on each rank: allocates, reads, writes, and has the operations of [`Enqueue`](crate::Enqueue).
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Pair};
    ///
    /// let mut ranks = Pair::new([Device::open(0)?.stream()?, Device::open(1)?.stream()?])?;
    /// let weights = ranks.eager().map(|mut rank| rank.buffer_from(&[1.0f32; 64]));
    /// # for buffer in weights { buffer?; }
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[must_use]
    pub fn eager(&mut self) -> [Eager<'_>; N] {
        self.group.cores.each_mut().map(|core| core.eager())
    }

    /// Waits until everything enqueued on any rank so far has finished, replays included, and lets go of what eager work used. Every rank
    /// is waited for, whatever became of the ones before it.
    ///
    /// # Errors
    /// [`RankFailures`], with what [`Stream::synchronize`](crate::Stream::synchronize) returns for each rank; a device fault of one rank is
    /// one of all. [`Unproven`](crate::Unproven) if a rank is not done within the policy's deadline: the ranks are poisoned then, or by
    /// default the process is aborted.
    #[doc(alias = "cuStreamSynchronize")]
    pub fn synchronize(&mut self) -> Result<(), Error> {
        self.group.check()?;
        let policy = &self.group.policy;
        finish_together(&self.group.lanes(), policy.drain_limit(), policy.on_unproven())?;
        let drained: Vec<_> = self.eager().into_iter().map(|mut rank| rank.synchronize()).collect();
        RankFailures::all(drained).map(drop).map_err(|error| self.group.heard(error))
    }

    /// Runs `body` so many times eagerly on all ranks and waits: what a step loads, compiles or allocates the first time is there before
    /// it is captured. (Kernels that wait for another rank's have to be loaded by then: while one waits on a device, loading another there
    /// may wait for it.)
    ///
    /// # Errors
    /// `body`'s own; as [`synchronize`](Self::synchronize).
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, Pair, ThreadLocal, Work};
    ///
    /// let mut ranks = Pair::new([Device::open(0)?.stream()?, Device::open(1)?.stream()?])?;
    /// let counters = ranks.counters()?;
    /// let step = |[a, b]: &mut [Work<'_>; 2]| {
    ///     a.count(&counters[0])?;
    ///     b.count(&counters[1])
    /// };
    /// ranks.warm_up(2, step)?;
    /// let mut captured = ranks.capture(ThreadLocal, step)?;
    /// assert_eq!(captured.read_counters(&counters)?, [2, 2]);
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    pub fn warm_up(
        &mut self,
        times: usize,
        mut body: impl FnMut(&mut [Work<'_>; N]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for _ in 0..times {
            let mut eager = self.eager();
            let sites = RankFailures::all(eager.iter_mut().map(Eager::site))?;
            let work: Result<[_; N], _> = sites.into_iter().map(Work::new).collect::<Vec<_>>().try_into();
            body(&mut work.unwrap_or_else(|_| unreachable!("one a rank")))?;
        }
        self.synchronize()
    }

    /// A counter on each rank, of zero; see [`DeviceCounter`].
    ///
    /// # Errors
    /// [`RankFailures`], with what [`DeviceCounter::new`] returns.
    pub fn counters(&mut self) -> Result<[DeviceCounter; N], Error> {
        let made = self.eager().into_iter().map(|mut rank| DeviceCounter::new(&mut rank));
        let made: Result<[_; N], _> = RankFailures::all(made)?.try_into();
        Ok(made.unwrap_or_else(|_| unreachable!("one a rank")))
    }

    /// What the counters have come to, after everything enqueued so far on the ranks. Waits for that.
    ///
    /// # Errors
    /// [`RankFailures`], with what [`DeviceCounter::read`] returns.
    pub fn read_counters(&mut self, counters: &[DeviceCounter; N]) -> Result<[u64; N], Error> {
        let read = self.eager().into_iter().zip(counters).map(|(mut rank, counter)| counter.read(&mut rank));
        let read: Result<[_; N], _> = RankFailures::all(read)?.try_into();
        Ok(read.unwrap_or_else(|_| unreachable!("one a rank")))
    }

    /// What captures on these ranks take, and how they are drained.
    pub fn policy(&self) -> RanksPolicy<N> {
        self.group.policy.clone()
    }

    /// Sets what later captures on these ranks take, and how what they yield is drained; the default is [`RanksPolicy::new`].
    pub fn with_policy(mut self, policy: RanksPolicy<N>) -> Self {
        self.group.policy = policy;
        self
    }

    /// Gives these ranks one order of submission with others that have a clone of `order`. Holds for what is published from here on.
    pub fn with_order(mut self, order: &SubmissionOrder) -> Self {
        self.group.order = Some(order.clone());
        self
    }
}
