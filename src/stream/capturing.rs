//! `Stream<Capturing<M, From>>`: a capture is open.

use super::transition::{CanEnd, sealed};
use super::{Core, Stream};
use crate::driver::CaptureMode;
use crate::error::{CaptureFailure, DriverError, Error, Parked, Rejected};
use crate::graph::Graph;
use crate::runtime::{
    Branches, CapturePolicy, CaptureTurn, Fresh, InFlight, Keep, Lane, Retained, Segment, Site, Turns, Work,
};
use crate::seal::OnlyForDacapo;
use crate::state::sealed_state;
use crate::state::{Capturing, Global, Mode, Phase, Relaxed, Resting, State, ThreadLocal};
use crate::sync::Arc;
use crate::trace::{Section, section, tell};

/// What a capturing stream has.
pub struct CapturingData<M: Mode, From: Resting> {
    recording: Recording,
    /// What the state had that the capture began in.
    from: From::Data,
    target: From::Target,
    /// `Send` or not, as the mode wants it.
    _affinity: M::Affinity,
}

/// Ends the capture when it is dropped, unless that has been done.
struct OpenCapture {
    lane: Arc<Lane>,
    open: bool,
}

impl OpenCapture {
    /// Ends the capture: what it has recorded, and what a drop has parked meanwhile.
    fn close(&mut self) -> (Result<Graph, DriverError>, Option<Parked>) {
        self.open = false;
        let ended = self.lane.end_capture();
        (ended, self.lane.device().take_parked().err())
    }
}

impl OpenCapture {
    /// Ends the capture, if that has not been done.
    fn abort(&mut self) {
        if std::mem::take(&mut self.open) {
            // An invalidated capture is what a drop is for; what it was spoilt by has been returned where it happened. The graph,
            // if there is one, goes here: before what its nodes use.
            drop(self.lane.end_capture());
            self.lane.counts().lost_a_capture();
            tell!(DEBUG, stream = self.lane.id(), "capture aborted");
        }
    }
}

impl Drop for OpenCapture {
    fn drop(&mut self) {
        self.abort();
    }
}

/// An open capture, which dropping ends. Dropped in the order of the fields: the capture is ended, what was recorded is let go, and others are let at
/// the lane again.
pub(crate) struct Recording {
    capture: OpenCapture,
    retained: Retained,
    /// The lanes that were drawn in. They are the capture's until it has ended, though they are joined earlier.
    branches: Branches,
    turn: CaptureTurn,
    section: Section,
}

/// A capture that has ended well. Until its turn is over nobody else puts work on the lane.
pub struct Recorded {
    graph: Graph,
    retained: Retained,
    turn: CaptureTurn,
}

impl Recording {
    /// Begins a capture, once the lane's earlier work has finished. Fails with the lane at rest.
    fn begin(core: &mut Core, mode: CaptureMode) -> Result<Self, Error> {
        core.lane.check()?;
        let turn = CaptureTurn::begin(&core.lane)?;
        core.lane.check_capturable()?;
        Self::clear(core)?;
        Ok(Self::open(turn, mode)?)
    }

    /// What comes before a capture, in its turn: earlier work has finished and is let go, and nobody has anything to report.
    pub(crate) fn clear(core: &mut Core) -> Result<(), Error> {
        let Core { lane, in_flight, .. } = core;
        let loose = lane.synchronize()?;
        // Before anything parked is asked for: what is let go here may park an error too, and that is not the capture's.
        in_flight.let_go();
        drop(loose);
        lane.device().take_parked()?;
        lane.host_panic().take()
    }

    /// Begins a capture on the lane whose turn it has, and that is [clear](Self::clear).
    pub(crate) fn open(turn: CaptureTurn, mode: CaptureMode) -> Result<Self, DriverError> {
        let lane = turn.lane();
        let section = section!("capture", stream = lane.id(), device = lane.device().ordinal(), ?mode);
        lane.begin_capture(mode)?;
        let (capture, retained) = (OpenCapture { lane: lane.clone(), open: true }, Retained::new(lane.driver()));
        Ok(Self { capture, retained, branches: Branches::default(), turn, section })
    }

    /// Somewhere to put work that is recorded.
    pub(crate) fn work(&self) -> Work<'_> {
        let keep = Keep { retained: &self.retained, branches: Some(&self.branches) };
        let lane = self.turn.lane();
        Work::new(Site { lane, root: lane, turns: Turns::OfCapture, keep })
    }

    /// Ends the capture, and discards what it has recorded; what that used is kept until `self` is dropped.
    pub(crate) fn abort(&mut self) {
        self.capture.abort();
    }

    /// Ends the capture after its body has failed: what the driver says to that, and what a drop has parked meanwhile.
    pub(crate) fn give_up(mut self) -> (Option<DriverError>, Option<Parked>) {
        let (ended, parked) = self.capture.close();
        (ended.err(), parked)
    }

    /// Ends the capture after its body has succeeded.
    pub(crate) fn finish(mut self) -> Result<Recorded, Error> {
        match self.capture.close() {
            (Ok(graph), None) => Ok(Recorded { graph, retained: self.retained, turn: self.turn }),
            (ended, parked) => Err(CaptureFailure::report(None, ended.err(), parked)),
        }
    }

    /// Ends the capture after its body has failed.
    fn fail(self, body: Error) -> Error {
        let (ended, parked) = self.give_up();
        CaptureFailure::report(Some(body), ended, parked)
    }
}

impl Recorded {
    /// Instantiates what was recorded, if the policy takes it.
    pub(super) fn instantiate(self, policy: &CapturePolicy) -> Result<Segment, Error> {
        let Self { graph, retained, turn } = self;
        Segment::new(turn.lane(), policy, Fresh::new(policy, retained, graph)?)
    }

    /// The parts: what the policy has taken, and the turn, to be held for as long as nobody else may put work on the lane.
    pub(crate) fn check(self, policy: &CapturePolicy) -> Result<(Fresh, CaptureTurn), Error> {
        let Self { graph, retained, turn } = self;
        Ok((Fresh::new(policy, retained, graph)?, turn))
    }

    pub(super) fn lane(&self) -> &Arc<Lane> {
        self.turn.lane()
    }
}

impl<M: Mode, From: Resting> sealed_state::State for Capturing<M, From> {
    type Data = CapturingData<M, From>;

    type Ended = From::Captured;
    type From = From;

    const PHASE: Phase = Phase::Capturing;

    fn keep<'a>(_: &'a InFlight, data: &'a Self::Data, _: OnlyForDacapo) -> Keep<'a> {
        let Recording { retained, branches, .. } = &data.recording;
        Keep { retained, branches: Some(branches) }
    }
}

impl<S: sealed::BeginsCapture> Stream<S> {
    /// Begins a capture in whatever resting state; `target` is what the state wants to know at its end.
    pub(super) fn open<M: Mode>(mut self, target: S::Target) -> Result<Stream<Capturing<M, S>>, Rejected<Self>> {
        match Recording::begin(&mut self.core, M::MODE) {
            Ok(recording) => {
                let Self { data: from, core } = self;
                let data = CapturingData { recording, from, target, _affinity: M::Affinity::default() };
                Ok(Stream { data, core })
            }
            Err(error) => {
                tell!(DEBUG, stream = self.core.lane.id(), %error, "capture refused");
                Err(Rejected::new(self, error))
            }
        }
    }
}

impl<M: Mode, From: sealed::BeginsCapture> Stream<Capturing<M, From>> {
    /// Runs the body of a closure form, and ends the capture.
    pub(super) fn run(
        mut self,
        body: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<Stream<From::Captured>, Rejected<Stream<From>>> {
        let span = self.data.recording.section.span.clone();
        match span.in_scope(|| body(&mut self)) {
            Ok(()) => self.end(),
            Err(error) => Err(sealed::End::fail(self, error, OnlyForDacapo::new())),
        }
    }
}

impl<S: State> Stream<S> {
    /// Ends the capture, counts its nodes, instantiates and uploads, as the [`CapturePolicy`] says.
    ///
    /// Begun by [`begin`](Self::begin), it leads to [`Instantiated`](crate::Instantiated); by
    /// [`begin_segment`](Self::begin_segment), to `Instantiated` with one more segment; by
    /// [`begin_update`](Self::begin_update), to [`Published`](crate::Published) with the new contents.
    ///
    /// # Errors
    /// In the state that the capture began in, with all that it had, and not capturing any more, with: [`CaptureFailure`] if
    /// the driver says that the capture was lost, or if a drop inside it has parked an error; [`Refusal`](crate::Refusal) if the
    /// policy does not take the graph; [`UpdateRefused`](crate::UpdateRefused) if the policy keeps the old graph then;
    /// [`DriverError`] if it cannot be instantiated or uploaded.
    ///
    /// # References
    /// [cuStreamEndCapture](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html),
    /// [cuGraphInstantiateWithFlags](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html)
    #[doc(alias = "cuStreamEndCapture")]
    #[doc(alias = "cuGraphInstantiateWithFlags")]
    pub fn end(self) -> Result<Stream<S::Ended>, Rejected<Stream<S::From>>>
    where
        S: CanEnd,
    {
        S::end(self, OnlyForDacapo::new())
    }
}

impl<M: Mode, From: sealed::BeginsCapture> sealed::End for Capturing<M, From> {
    fn end(stream: Stream<Self>, seal: OnlyForDacapo) -> Result<Stream<From::Captured>, Rejected<Stream<From>>> {
        let Stream { data: CapturingData { recording, from, target, .. }, core } = stream;
        let span = recording.section.span.clone();
        let _entered = span.enter();
        let landed = match recording.finish() {
            Ok(recorded) => From::land(from, target, recorded, &core.policy, seal),
            Err(error) => Err((from, error)),
        };
        match landed {
            Ok(data) => {
                core.lane.counts().captured();
                Ok(Stream { data, core })
            }
            Err((data, error)) => {
                core.lane.counts().lost_a_capture();
                tell!(WARN, stream = core.lane.id(), %error, "capture lost");
                Err(Rejected::new(Stream { data, core }, error))
            }
        }
    }

    /// Ends the capture because its body has failed.
    fn fail(stream: Stream<Self>, body: Error, _: OnlyForDacapo) -> Rejected<Stream<From>> {
        let Stream { data: CapturingData { recording, from, .. }, core } = stream;
        let error = recording.fail(body);
        core.lane.counts().lost_a_capture();
        tell!(WARN, stream = core.lane.id(), %error, "capture lost");
        Rejected::new(Stream { data: from, core }, error)
    }
}

impl<M: Mode, From: Resting> Stream<Capturing<M, From>> {
    /// Ends the capture, discards what was recorded, and goes back to the state it began in.
    ///
    /// Cannot fail: whether the capture was still intact makes no difference any more.
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, ThreadLocal};
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let buffer = stream.alloc::<u32>(1)?;
    /// let mut capturing = stream.begin(ThreadLocal)?;
    /// capturing.fill(&buffer, 7)?;
    /// let mut stream = capturing.abort();
    /// assert_eq!(stream.read(&buffer)?, [0]);
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    pub fn abort(self) -> Stream<From> {
        let Self { data: CapturingData { recording, from, .. }, core } = self;
        drop(recording);
        Stream { data: from, core }
    }
}

// cuStreamEndCapture: unless the mode is relaxed, the call must be made on the thread that began the capture.
static_assertions::assert_not_impl_any!(Stream<Capturing<ThreadLocal>>: Send, Sync);
static_assertions::assert_not_impl_any!(Stream<Capturing<Global>>: Send, Sync);
static_assertions::assert_impl_all!(Stream<Capturing<Relaxed>>: Send);
