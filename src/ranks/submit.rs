//! Submitting a replay on all ranks, and what is done when one of them refuses.

use super::captured::CapturedRanks;
use super::group::spread_faults;
use super::order::SubmissionOrder;
use super::policy::RanksPolicy;
use super::seam::RankSeam;
use crate::driver::ExecutableHandle;
use crate::error::{Error, NotValid, PartialSubmission, RankFailures};
use crate::runtime::{Check, Lane, LaneExclusive, LaneTurn, Replayer, drain_together, keep_for_good};
use crate::sync::Arc;

/// A step of a replay after its first segments.
pub(super) enum Step<const N: usize> {
    /// Launches the segments of this number, from 0.
    Launch(usize),
    Seam(Arc<RankSeam<N>>),
}

/// What all replayers of one generation share.
pub(super) struct Plan<const N: usize> {
    pub(super) lanes: [Arc<Lane>; N],
    pub(super) in_order: [usize; N],
    /// Asked before anything is launched.
    checks: Vec<Arc<Check>>,
    /// Empty for what has one segment and no seam.
    pub(super) steps: Vec<Step<N>>,
    pub(super) order: Option<SubmissionOrder>,
    policy: RanksPolicy<N>,
}

/// A submission that some ranks took, and then one refused.
pub(super) struct Refused {
    pub(super) submitted: usize,
    pub(super) rank: usize,
    pub(super) source: Error,
}

impl<const N: usize> Plan<N> {
    pub(super) fn new(captured: &CapturedRanks<N>, in_order: [usize; N], order: Option<SubmissionOrder>) -> Self {
        Self {
            lanes: captured.lanes().clone(),
            in_order,
            checks: captured.checks().to_vec(),
            steps: captured.steps(),
            order,
            policy: captured.policy().clone(),
        }
    }

    /// Steps in all.
    pub(super) fn len(&self) -> usize {
        self.steps.len() + 1
    }

    /// Whether there is anything to be asked before a replay.
    #[inline]
    pub(super) fn has_checks(&self) -> bool {
        !self.checks.is_empty()
    }

    /// Asks whether it may be launched now. In nobody's turn.
    #[cold]
    pub(super) fn check(&self) -> Result<(), NotValid> {
        self.checks.iter().try_for_each(|check| check.ask())
    }

    /// Whether there is a closure to call in the middle.
    pub(super) fn has_seams(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Seam(_)))
    }

    /// Keeps others off every lane, for longer than a lock may be held.
    pub(super) fn hold<'a>(&'a self, turns: [LaneTurn<'a>; N]) -> [LaneExclusive<'a>; N] {
        let mut lanes = self.lanes.iter();
        turns.map(|turn| lanes.next().expect("one a rank").order().hold_exclusively(turn))
    }

    /// What a refusal means, once every rank has been drained. For who holds the lanes, so that nobody replays meanwhile.
    #[cold]
    pub(super) fn recover(&self, _held: &[LaneExclusive<'_>; N], refused: Refused) -> Error {
        let Refused { submitted, rank, source } = refused;
        let unproven = match drain_together(&self.lanes, self.policy.drain_limit()) {
            Ok(loose) => {
                drop(loose);
                None
            }
            Err(unproven) => {
                keep_for_good(&self.lanes, &unproven, self.policy.on_unproven());
                Some(unproven)
            }
        };
        spread_faults(&self.lanes);
        PartialSubmission { submitted, rank, source, unproven }.into()
    }

    /// The same for who has a turn on every lane.
    #[cold]
    pub(super) fn recover_in(&self, turns: [LaneTurn<'_>; N], refused: Refused) -> Error {
        if refused.submitted == 0 {
            drop(turns);
            return self.refused_by_all(refused);
        }
        let held = self.hold(turns);
        self.recover(&held, refused)
    }

    /// Nothing was submitted.
    #[cold]
    pub(super) fn refused_by_all(&self, Refused { rank, source, .. }: Refused) -> Error {
        spread_faults(&self.lanes);
        RankFailures::at(rank, source)
    }
}

/// Launches an executable on each rank, in the order of the ranks, until one refuses. For who has a turn on every lane.
#[inline]
pub(super) fn launch<const N: usize>(ranks: &[Replayer; N], executables: [ExecutableHandle; N]) -> Result<(), Refused> {
    for (rank, executable) in executables.into_iter().enumerate() {
        if let Err(source) = ranks[rank].launch(executable) {
            return Err(Refused { submitted: rank, rank, source });
        }
    }
    Ok(())
}

impl Refused {
    /// Whether something was submitted.
    pub(super) fn is_partial(&self) -> bool {
        self.submitted > 0
    }
}
