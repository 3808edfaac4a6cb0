//! What ranks have captured: segments of all of them, and the seams between.

use super::Group;
use super::policy::RanksPolicy;
use super::seam::RankSeam;
use super::submit::Step;
use crate::error::{Error, Misuse, RankFailures, Unproven};
use crate::graph::{Census, InspectedPart, Inspection};
use crate::runtime::{CaptureTurn, Check, Fresh, Lane, Program, Segment, Together};
use crate::stream::Recorded;
use crate::sync::Arc;

/// What all ranks have recorded, and their policies have taken. Until its turns are over nobody else puts work on the lanes.
pub struct FreshRanks<const N: usize> {
    pub(super) ranks: [Fresh; N],
    pub(super) turns: [CaptureTurn; N],
}

impl<const N: usize> FreshRanks<N> {
    /// Looks at every rank's graph, asks the policies, and compares.
    pub(super) fn new(recorded: Vec<Recorded>, policy: &RanksPolicy<N>) -> Result<Self, Error> {
        let checked = recorded.into_iter().enumerate().map(|(rank, recorded)| recorded.check(policy.of_rank(rank)));
        let (ranks, turns): (Vec<_>, Vec<_>) = RankFailures::all(checked)?.into_iter().unzip();
        policy.compare(ranks.iter().map(Fresh::census))?;
        Ok(Self { ranks: into_array(ranks), turns: into_array(turns) })
    }

    /// Instantiates on all ranks, or on none.
    pub(super) fn instantiate(self, group: &Group<N>) -> Result<[Segment; N], Error> {
        let Self { ranks, turns } = self;
        let lanes = group.lanes();
        let mut made = Vec::with_capacity(N);
        for (rank, fresh) in ranks.into_iter().enumerate() {
            match Segment::new(&lanes[rank], group.policy.of_rank(rank), fresh) {
                Ok(segment) => made.push(segment),
                Err(error) => {
                    // A drain needs the lanes.
                    drop(turns);
                    discard(&lanes, made, &group.policy);
                    return Err(RankFailures::at(rank, error));
                }
            }
        }
        Ok(into_array(made))
    }
}

/// Lets segments go that were not to be. A drain that fails poisons, which is what the next operation says.
pub(super) fn discard<const N: usize>(lanes: &[Arc<Lane>; N], segments: Vec<Segment>, policy: &RanksPolicy<N>) {
    Together::new(lanes, segments, policy.on_unproven(), policy.drain_limit()).release_in_a_drop();
}

/// As many as there are ranks.
fn into_array<T, const N: usize>(values: Vec<T>) -> [T; N] {
    values.try_into().unwrap_or_else(|_| unreachable!("one a rank"))
}

/// A step of what was captured.
enum Part<const N: usize> {
    Segments([Segment; N]),
    Seam(Arc<RankSeam<N>>),
}

/// Owns the segments of all ranks, in the order in which they are replayed, and the seams between them.
///
/// Released in one order only: all ranks drain, then the executables are destroyed, the graphs, and what the nodes used. If one of them
/// cannot be drained nothing of it is ever released.
pub struct CapturedRanks<const N: usize> {
    lanes: [Arc<Lane>; N],
    policy: RanksPolicy<N>,
    /// Begins with segments. Empty once released.
    parts: Vec<Part<N>>,
    checks: Vec<Arc<Check>>,
}

impl<const N: usize> CapturedRanks<N> {
    pub(super) fn new(group: &Group<N>, first: [Segment; N]) -> Self {
        Self {
            lanes: group.lanes(),
            policy: group.policy.clone(),
            parts: vec![Part::Segments(first)],
            checks: Vec::new(),
        }
    }

    /// Adds segments. What the ranks' policy says of drains holds for all.
    pub(super) fn push(&mut self, group: &Group<N>, segments: [Segment; N]) {
        self.policy = group.policy.clone();
        self.parts.push(Part::Segments(segments));
    }

    pub(super) fn push_seam(&mut self, seam: Arc<RankSeam<N>>) {
        self.parts.push(Part::Seam(seam));
    }

    /// From the next publication on it is asked before each replay, after those that are.
    pub(super) fn push_check(&mut self, check: Arc<Check>) {
        self.checks.push(check);
    }

    pub(super) fn checks(&self) -> &[Arc<Check>] {
        &self.checks
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = &[Segment; N]> {
        self.parts.iter().filter_map(|part| match part {
            Part::Segments(segments) => Some(segments),
            Part::Seam(_) => None,
        })
    }

    pub(super) fn segments_mut(&mut self, index: usize) -> Result<&mut [Segment; N], Misuse> {
        let of = self.segments().count();
        let mut segments = self.parts.iter_mut().filter_map(|part| match part {
            Part::Segments(segments) => Some(segments),
            Part::Seam(_) => None,
        });
        segments.nth(index).ok_or(Misuse::NoSuchSegment { index, of })
    }

    /// What a replay launches on one rank, to be done until `self` is released.
    pub(super) fn program(&self, rank: usize) -> Program {
        let mut executables = self.segments().map(|segments| segments[rank].executable());
        let Some(first) = executables.next() else { unreachable!("what was captured begins with segments") };
        // What is asked, and the seams, are of all ranks together: see `Plan`.
        Program::new(first, Vec::new(), executables.map(crate::runtime::Step::Launch).collect())
    }

    /// What a replay does after the first segments.
    pub(super) fn steps(&self) -> Vec<Step<N>> {
        let mut segment = 0;
        let steps = self.parts.iter().skip(1).map(|part| match part {
            Part::Segments(_) => {
                segment += 1;
                Step::Launch(segment)
            }
            Part::Seam(seam) => Step::Seam(seam.clone()),
        });
        steps.collect()
    }

    /// What all segments of a rank hold together.
    pub(super) fn census(&self, rank: usize) -> Census {
        self.segments().map(|segments| segments[rank].census()).sum()
    }

    /// What there is to be shown of a rank.
    pub(super) fn inspect(&self, rank: usize) -> Inspection {
        let parts = self.parts.iter().map(|part| match part {
            Part::Segments(segments) => InspectedPart::Segment(segments[rank].inspect()),
            Part::Seam(_) => InspectedPart::Seam,
        });
        Inspection::new(parts.collect())
    }

    pub(super) fn lanes(&self) -> &[Arc<Lane>; N] {
        &self.lanes
    }

    pub(super) fn policy(&self) -> &RanksPolicy<N> {
        &self.policy
    }

    /// Drains all ranks, destroys, releases; put off while a sibling captures.
    pub(super) fn release(mut self) -> Result<(), Unproven> {
        let Some((together, seams)) = self.take() else { return Ok(()) };
        let released = together.release();
        drop(seams);
        released
    }

    /// What is to be released, out of here, and the seams. Those are to be dropped last: what they have captured is the user's, and may
    /// panic when it is dropped.
    fn take(&mut self) -> Option<(Box<Together>, Vec<Arc<RankSeam<N>>>)> {
        let (mut all, mut seams) = (Vec::new(), Vec::new());
        for part in std::mem::take(&mut self.parts) {
            match part {
                Part::Segments(segments) => all.extend(segments),
                Part::Seam(seam) => seams.push(seam),
            }
        }
        let Self { lanes, policy, .. } = self;
        (!all.is_empty()).then(|| (Together::new(lanes, all, policy.on_unproven(), policy.drain_limit()), seams))
    }
}

impl<const N: usize> Drop for CapturedRanks<N> {
    fn drop(&mut self) {
        if let Some((together, seams)) = self.take() {
            together.release_in_a_drop();
            drop(seams);
        }
    }
}
