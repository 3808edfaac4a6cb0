//! What was captured: segments, the seams between them, and everything that their nodes use.

#![allow(unsafe_code)]

use std::time::Duration;

use super::lane::Lane;
use super::load::Load;
use super::policy::{CapturePolicy, FailStop};
use super::program::{Check, Program, Seam, Step};
use super::segment::Segment;
use crate::error::{Error, Misuse, Poisoned, UpdateRefused};
use crate::graph::{Census, InspectedPart, Inspection};
use crate::kernel::KernelChange;
use crate::kernel_at::KernelAt;
use crate::node_kind::NodeKind;
use crate::sync::Arc;

/// A step of what was captured.
#[expect(clippy::large_enum_variant, reason = "they are few, and most are segments")]
enum Part {
    Segment(Segment),
    Seam(Arc<Seam>),
}

/// Owns segments, in the order in which they are replayed, and the seams between them.
///
/// Released in one order only: the stream drains, the executable is destroyed, then the graph, and then what the nodes
/// used is let go. If the drain fails nothing of it is ever released ([`FailStop`]).
pub struct Captured {
    lane: Arc<Lane>,
    /// Begins with a segment. Empty once released.
    parts: Vec<Part>,
    fail_stop: FailStop,
    drain_limit: Option<Duration>,
    checks: Vec<Arc<Check>>,
}

impl Captured {
    pub(crate) fn new(lane: &Arc<Lane>, policy: &CapturePolicy, first: Segment) -> Self {
        Self {
            lane: lane.clone(),
            parts: vec![Part::Segment(first)],
            fail_stop: policy.on_unproven(),
            drain_limit: policy.drain_limit(),
            checks: Vec::new(),
        }
    }

    /// From the next publication on it is asked before each replay, after those that are.
    pub(crate) fn push_check(&mut self, check: Arc<Check>) {
        self.checks.push(check);
    }

    /// Adds a segment. The stricter of the policies holds for all.
    pub(crate) fn push(&mut self, policy: &CapturePolicy, segment: Segment) {
        self.parts.push(Part::Segment(segment));
        if policy.on_unproven() == FailStop::Abort {
            self.fail_stop = FailStop::Abort;
        }
        self.drain_limit = [self.drain_limit, policy.drain_limit()].into_iter().flatten().min();
    }

    pub(crate) fn push_seam(&mut self, seam: Arc<Seam>) {
        self.parts.push(Part::Seam(seam));
    }

    pub(crate) fn segments(&self) -> impl Iterator<Item = &Segment> + Clone {
        self.parts.iter().filter_map(|part| match part {
            Part::Segment(segment) => Some(segment),
            Part::Seam(_) => None,
        })
    }

    /// The segment of a number that [`segments`](Self::segments) counts.
    pub(crate) fn segment(&self, index: usize) -> Result<&Segment, Misuse> {
        let of = self.segments().count();
        self.segments().nth(index).ok_or(Misuse::NoSuchSegment { index, of })
    }

    pub(crate) fn segment_mut(&mut self, index: usize) -> Result<&mut Segment, Misuse> {
        let of = self.segments().count();
        self.segments_mut().nth(index).ok_or(Misuse::NoSuchSegment { index, of })
    }

    fn segments_mut(&mut self) -> impl Iterator<Item = &mut Segment> {
        self.parts.iter_mut().filter_map(|part| match part {
            Part::Segment(segment) => Some(segment),
            Part::Seam(_) => None,
        })
    }

    /// Makes a kernel launch `change` from the next replay on. Replays in flight keep what they were enqueued with, and so what
    /// that uses is let go when the lane drains next. On an error everything is as it was.
    ///
    /// # Safety
    /// 1. The conditions of a captured launch hold for `change`.
    pub(crate) unsafe fn update_kernel(&mut self, at: KernelAt<'_>, change: KernelChange) -> Result<(), Error> {
        let lane = self.lane.clone();
        lane.check()?;
        let (mut position, launch) = at.find(self.segments().flat_map(|segment| segment.census().in_order()))?;
        if let Some(refused) = UpdateRefused::of_clusters(launch) {
            return Err(refused.into());
        }
        let within = self.segments_mut().find_map(|segment| match position.checked_sub(segment.census().nodes()) {
            Some(rest) => {
                position = rest;
                None
            }
            None => Some(segment),
        });
        let Some(segment) = within else { unreachable!("the node that was found is in one of the segments") };
        // SAFETY: (1) of the caller.
        unsafe { segment.update_kernel(&lane, position, change) }
    }

    /// Whether there may be more executables of it, which run at once.
    pub(crate) fn check_replicable(&self) -> Result<(), Misuse> {
        if self.parts.iter().any(|part| matches!(part, Part::Seam(_))) {
            return Err(Misuse::SeamsInReplicas);
        }
        for kind in [NodeKind::MemAlloc, NodeKind::MemFree, NodeKind::Conditional] {
            let count = self.segments().map(|segment| segment.census().count(kind)).sum();
            if count > 0 {
                return Err(Misuse::OneExecutable { kind, count });
            }
        }
        Ok(())
    }

    /// Executables of the same graphs, with the same checks, for another lane. Those of what was [checked](Self::check_replicable).
    pub(crate) fn replicate(&self, lane: &Arc<Lane>, policy: &CapturePolicy) -> Result<Self, Error> {
        let Self { fail_stop, drain_limit, .. } = *self;
        // Begun empty, so that on an early return what has been uploaded is drained before it goes.
        let (parts, checks) = (Vec::new(), self.checks.clone());
        let mut replica = Self { lane: lane.clone(), parts, fail_stop, drain_limit, checks };
        for segment in self.segments() {
            replica.parts.push(Part::Segment(segment.replicate(lane, policy)?));
        }
        Ok(replica)
    }

    /// Whether a replay is one launch.
    pub(crate) fn is_single_segment(&self) -> bool {
        self.parts.len() == 1
    }

    /// What is released as one, with the policy that holds for it.
    pub(crate) fn load(&self, segments: Vec<Segment>) -> Load {
        Load::Graphs { segments, fail_stop: self.fail_stop, drain_limit: self.drain_limit }
    }

    /// From here on released by another lane's drains: the one it is published on.
    pub(crate) fn move_to(&mut self, lane: &Arc<Lane>) {
        self.lane = lane.clone();
    }

    /// What all segments hold together.
    pub(crate) fn census(&self) -> Census {
        self.segments().map(Segment::census).sum()
    }

    /// Whether a replay allocates memory.
    pub(crate) fn allocates(&self) -> bool {
        self.segments().any(|segment| segment.census().count(NodeKind::MemAlloc) > 0)
    }

    /// What there is to be shown.
    pub(crate) fn inspect(&self) -> Inspection {
        let parts = self.parts.iter().map(|part| match part {
            Part::Segment(segment) => InspectedPart::Segment(segment.inspect()),
            Part::Seam(_) => InspectedPart::Seam,
        });
        Inspection::new(parts.collect())
    }

    /// What a replay does, to be done until `self` is released.
    pub(crate) fn program(&self) -> Program {
        let mut steps = self.parts.iter().map(|part| match part {
            Part::Segment(segment) => Step::Launch(segment.executable()),
            Part::Seam(seam) => Step::Seam(seam.clone()),
        });
        let Some(Step::Launch(first)) = steps.next() else { unreachable!("what was captured begins with a segment") };
        Program::new(first, self.checks.clone(), steps.collect())
    }

    /// Drains, destroys, releases; put off while a sibling captures.
    pub(crate) fn release(mut self) -> Result<(), Poisoned> {
        self.settle()
    }

    fn settle(&mut self) -> Result<(), Poisoned> {
        let mut segments = Vec::with_capacity(self.parts.len());
        let mut seams = Vec::new();
        for part in std::mem::take(&mut self.parts) {
            match part {
                Part::Segment(segment) => segments.push(segment),
                Part::Seam(seam) => seams.push(seam),
            }
        }
        if segments.is_empty() {
            return Ok(());
        }
        let released = self.lane.release(self.load(segments));
        // The seams last: what they have captured is the user's, and may panic when it is dropped.
        drop(seams);
        released
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        if let Err(poisoned) = self.settle() {
            self.lane.tell(&poisoned);
        }
    }
}
