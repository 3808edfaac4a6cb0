//! What captures on all ranks take, and what happens when one of them cannot be drained.

use std::time::Duration;

use crate::error::{RankDifference, Refusal};
use crate::graph::Census;
use crate::runtime::{CapturePolicy, FailStop};

/// For how long ranks may take to drain, unless the policy says otherwise.
const DRAIN_LIMIT: Duration = Duration::from_secs(30);

/// What the end of a capture on several ranks takes: a [`CapturePolicy`] for each rank, and that they have captured the same.
///
/// By default each rank's is [`CapturePolicy::new`], but that
///
/// - all ranks must have captured the same nodes, in the same order;
/// - a drain waits for 30 seconds and no longer, and the process is aborted if it fails: ranks wait for each other on the device, so one
///   that hangs does so for good ([`FailStop::Abort`]; with [`FailStop::Leak`] it is an error and the ranks are poisoned).
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use dacapo::{FailStop, NodeKind, RanksPolicy};
///
/// let policy = RanksPolicy::<2>::new()
///     .fail_stop(FailStop::Leak)
///     .drain_deadline(Some(Duration::from_secs(5)))
///     .same_on_all(false)
///     .rank(0, |policy| policy.expect([(NodeKind::Kernel, 53), (NodeKind::Memcpy, 1)]))
///     .rank(1, |policy| policy.expect([(NodeKind::Kernel, 53)]));
/// # let _ = policy;
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use]
pub struct RanksPolicy<const N: usize> {
    ranks: [CapturePolicy; N],
    same_on_all: bool,
    fail_stop: FailStop,
    drain_limit: Option<Duration>,
}

impl<const N: usize> RanksPolicy<N> {
    /// The default.
    pub fn new() -> Self {
        let ranks = std::array::from_fn(|_| CapturePolicy::new());
        Self { ranks, same_on_all: true, fail_stop: FailStop::Abort, drain_limit: Some(DRAIN_LIMIT) }
    }

    /// Changes what one rank's captures take. Its fail-stop and deadline are those of all ranks.
    ///
    /// # Panics
    /// If there is no such rank.
    #[track_caller]
    pub fn rank(mut self, rank: usize, change: impl FnOnce(CapturePolicy) -> CapturePolicy) -> Self {
        assert!(rank < N, "no rank {rank}: there are {N}");
        self.ranks[rank] = change(self.ranks[rank].clone());
        self
    }

    /// Changes what every rank's captures take.
    pub fn each(mut self, mut change: impl FnMut(CapturePolicy) -> CapturePolicy) -> Self {
        self.ranks = self.ranks.map(&mut change);
        self
    }

    /// Whether all ranks must have captured the same: [`Refusal::RanksDiffer`] names the first node that differs. Nodes are compared
    /// as by a [`Manifest`](crate::Manifest): kernels by name and launch, others by kind.
    pub const fn same_on_all(mut self, same: bool) -> Self {
        self.same_on_all = same;
        self
    }

    /// What happens when captured work cannot be proven complete.
    pub const fn fail_stop(mut self, fail_stop: FailStop) -> Self {
        self.fail_stop = fail_stop;
        self
    }

    /// For how long the drain of all ranks together may take: before a capture, after a replay that was refused by one of them, and
    /// when they are reset or dropped. `None` waits for ever.
    pub const fn drain_deadline(mut self, limit: Option<Duration>) -> Self {
        self.drain_limit = limit;
        self
    }

    pub(crate) fn of_rank(&self, rank: usize) -> &CapturePolicy {
        &self.ranks[rank]
    }

    pub(crate) const fn on_unproven(&self) -> FailStop {
        self.fail_stop
    }

    pub(crate) const fn drain_limit(&self) -> Option<Duration> {
        self.drain_limit
    }

    /// Whether what the ranks have captured goes together.
    pub(crate) fn compare<'a>(&self, ranks: impl IntoIterator<Item = &'a Census>) -> Result<(), Refusal> {
        let mut ranks = ranks.into_iter().enumerate();
        let (true, Some((_, first))) = (self.same_on_all, ranks.next()) else { return Ok(()) };
        let manifest = first.manifest();
        for (rank, census) in ranks {
            if let Err(node) = manifest.check(census) {
                return Err(Refusal::RanksDiffer { difference: Box::new(RankDifference { rank, node: *node }) });
            }
        }
        Ok(())
    }
}

impl<const N: usize> Default for RanksPolicy<N> {
    fn default() -> Self {
        Self::new()
    }
}
