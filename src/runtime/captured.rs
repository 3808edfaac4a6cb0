//! What was captured: segments, the seams between them, and everything that their nodes use.

#![allow(unsafe_code)]

use std::ffi::CStr;
use std::time::Duration;

use super::lane::Lane;
use super::load::Load;
use super::policy::{CapturePolicy, FailStop};
use super::program::{Program, Rest, Seam, Step};
use super::retained::Retained;
use crate::driver::{DriverDot, ExecutableHandle};
use crate::error::{DriverError, Error, Misuse, Poisoned, UpdateRefused};
use crate::graph::{Census, Executable, Graph, InspectedPart, InspectedSegment, Inspection};
use crate::node_kind::NodeKind;
use crate::sync::Arc;

/// A graph that the policy has taken, and what its nodes use. Dropped in the order of the fields.
pub(crate) struct Fresh {
    graph: Graph,
    retained: Retained,
    census: Census,
}

impl Fresh {
    /// Looks at the nodes of a captured graph, and asks the policy.
    pub(crate) fn new(policy: &CapturePolicy, retained: Retained, graph: Graph) -> Result<Self, Error> {
        // SAFETY: (1) the modules are retained, or by the conditions of `Enqueue::raw` loaded.
        let census = unsafe { graph.census(|function| retained.kernel_name(function)) }?;
        let fresh = Self { census, graph, retained };
        policy.check(&fresh.census)?;
        Ok(fresh)
    }
}

/// One captured graph, with its executable and what its nodes use. Dropped in the order of the fields.
pub(crate) struct Segment {
    executable: Executable,
    graph: Graph,
    census: Census,
    retained: Retained,
}

impl Segment {
    /// Instantiates. Nobody else has a turn on the lane.
    pub(crate) fn new(lane: &Lane, policy: &CapturePolicy, fresh: Fresh) -> Result<Self, Error> {
        let Fresh { retained, graph, census } = fresh;
        // Bound anew, so that on an early return the half-made graph goes before what its nodes use.
        let (retained, graph) = (retained, graph);
        let executable = graph.instantiate(policy.auto_free_on_launch())?;
        if policy.uploads() {
            // SAFETY: (1) it has not been published, so nobody else knows it. (2) The lane keeps its stream alive, and
            // the capture on it has ended.
            unsafe { executable.upload(lane.handle()) }?;
        }
        Ok(Self { executable, graph, census, retained })
    }

    /// Makes the executable launch what `fresh` has recorded; if the driver refuses that, gives it back.
    ///
    /// Nobody else has a turn on the lane, and it has drained since the last launch: so what the old graph used is let go.
    pub(crate) fn update(&mut self, fresh: Fresh) -> Result<Result<(), (Fresh, UpdateRefused)>, Error> {
        // SAFETY: (1) nobody else has a turn, as said. (2) The modules are retained, or by the conditions of `Enqueue::raw` loaded.
        match unsafe { self.executable.update(&fresh.graph, &fresh.census) }? {
            Ok(()) => {
                let Fresh { graph, census, retained } = fresh;
                // Bound in the order in which they are to go: the old graph before what its nodes use.
                let old_retained = std::mem::replace(&mut self.retained, retained);
                let old_graph = std::mem::replace(&mut self.graph, graph);
                self.census = census;
                drop(old_graph);
                drop(old_retained);
                Ok(Ok(()))
            }
            Err(refused) => Ok(Err((fresh, refused))),
        }
    }

    pub(crate) fn census(&self) -> &Census {
        &self.census
    }

    fn inspect(&self) -> InspectedSegment {
        let (memory, others) = self.retained.contents();
        InspectedSegment { census: self.census.clone(), memory, others }
    }

    /// Has the driver write its own picture to a file.
    pub(crate) fn write_driver_dot(&self, path: &CStr, detail: DriverDot) -> Result<(), DriverError> {
        // SAFETY: (1) the modules are retained, or by the conditions of `Enqueue::raw` loaded.
        unsafe { self.graph.write_dot(path, detail) }
    }

    /// The executable, to be used in a turn of the lane's, and until `self` is released.
    pub(crate) fn executable(&self) -> ExecutableHandle {
        self.executable.handle()
    }
}

/// A step of what was captured.
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
}

impl Captured {
    pub(crate) fn new(lane: &Arc<Lane>, policy: &CapturePolicy, first: Segment) -> Self {
        Self {
            lane: lane.clone(),
            parts: vec![Part::Segment(first)],
            fail_stop: policy.on_unproven(),
            drain_limit: policy.drain_limit(),
        }
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

    pub(crate) fn segments(&self) -> impl Iterator<Item = &Segment> {
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
        let mut segments = self.parts.iter_mut().filter_map(|part| match part {
            Part::Segment(segment) => Some(segment),
            Part::Seam(_) => None,
        });
        segments.nth(index).ok_or(Misuse::NoSuchSegment { index, of })
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
        let rest: Vec<Step> = steps.collect();
        Program { first, rest: (!rest.is_empty()).then(|| Arc::new(Rest(rest))) }
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
        // A seam is let go at once: it runs on the thread that replays, and nobody does any more.
        drop(seams);
        self.lane.release(self.load(segments))
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        if let Err(poisoned) = self.settle() {
            self.lane.tell(&poisoned);
        }
    }
}
