//! `Stream<Capturing<M, From>>`: a capture is open.

use super::Stream;
use super::transition::{CanEnd, sealed};
use crate::driver::CaptureMode;
use crate::error::{CaptureFailure, DriverError, Error, Parked, Rejected};
use crate::graph::Graph;
use crate::runtime::{CapturePolicy, Captured, InFlight, Lane, Retained};
use crate::seal::OnlyForDacapo;
use crate::state::sealed_state;
use crate::state::{Capturing, Global, Idle, Instantiated, Mode, Phase, Relaxed, Resting, State, ThreadLocal};
use crate::sync::Arc;

/// What a capturing stream has.
pub struct CapturingData<M: Mode, From: Resting> {
    pub(super) recording: Recording,
    /// What the state had that the capture began in.
    pub(super) from: From::Data,
    /// `Send` or not, as the mode wants it.
    pub(super) _affinity: M::Affinity,
}

/// An open capture. Dropping it ends the capture and discards what was recorded.
pub(super) struct Recording {
    lane: Arc<Lane>,
    retained: Retained,
    open: bool,
}

impl Recording {
    pub(super) fn begin(lane: &Arc<Lane>, mode: CaptureMode) -> Result<Self, DriverError> {
        lane.begin_capture(mode)?;
        Ok(Self { lane: lane.clone(), retained: Retained::new(lane.driver()), open: true })
    }

    /// Ends the capture: what it has recorded, and what a drop has parked meanwhile.
    fn close(&mut self) -> (Result<Graph, DriverError>, Option<Parked>) {
        self.open = false;
        let ended = self.lane.end_capture();
        (ended, self.lane.device().take_parked().err())
    }

    /// Ends the capture, and makes of it what the policy takes.
    fn finish(mut self, policy: CapturePolicy) -> Result<Captured, Error> {
        match self.close() {
            (Ok(graph), None) => Captured::new(&self.lane, policy, self.retained.take(), graph),
            (ended, parked) => Err(CaptureFailure::report(None, ended.err(), parked)),
        }
    }

    /// Ends the capture after its body has failed.
    fn fail(mut self, body: Error) -> Error {
        let (ended, parked) = self.close();
        CaptureFailure::report(Some(body), ended.err(), parked)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if self.open {
            // An invalidated capture is what a drop is for; what it was spoilt by has been returned where it happened. The graph,
            // if there is one, goes here, before the fields: before what its nodes use.
            drop(self.lane.end_capture());
        }
    }
}

impl<M: Mode, From: Resting> sealed_state::State for Capturing<M, From> {
    type Data = CapturingData<M, From>;

    const PHASE: Phase = Phase::Capturing;

    fn retained<'a>(_: &'a mut InFlight, data: &'a mut Self::Data, _: OnlyForDacapo) -> &'a mut Retained {
        &mut data.recording.retained
    }
}

impl<S: State> Stream<S> {
    /// Ends the capture, counts its nodes, instantiates and uploads, as the [`CapturePolicy`] says.
    ///
    /// # Errors
    /// `Idle`, and not capturing any more, with: [`CaptureFailure`] if the driver says that the capture was lost, or if
    /// a drop inside it has parked an error; [`Refusal`](crate::Refusal) if the policy does not take the graph;
    /// [`DriverError`] if it cannot be instantiated or uploaded.
    ///
    /// # References
    /// [cuStreamEndCapture](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html),
    /// [cuGraphInstantiateWithFlags](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html)
    #[doc(alias = "cuStreamEndCapture")]
    #[doc(alias = "cuGraphInstantiateWithFlags")]
    pub fn end(self) -> Result<Stream<Instantiated>, Rejected<Stream<Idle>>>
    where
        S: CanEnd,
    {
        S::end(self, OnlyForDacapo::new())
    }
}

impl<M: Mode> sealed::End for Capturing<M, Idle> {
    fn end(stream: Stream<Self>, _: OnlyForDacapo) -> Result<Stream<Instantiated>, Rejected<Stream<Idle>>> {
        let Stream { data: CapturingData { recording, from, .. }, core } = stream;
        match recording.finish(core.policy) {
            Ok(captured) => Ok(Stream { data: captured, core }),
            Err(error) => Err(Rejected::new(Stream { data: from, core }, error)),
        }
    }

    /// Ends the capture because its body has failed.
    fn fail(stream: Stream<Self>, body: Error, _: OnlyForDacapo) -> Rejected<Stream<Idle>> {
        let Stream { data: CapturingData { recording, from, .. }, core } = stream;
        let error = recording.fail(body);
        Rejected::new(Stream { data: from, core }, error)
    }
}

impl<M: Mode, From: Resting> Stream<Capturing<M, From>> {
    /// Ends the capture, discards what was recorded, and goes back to the state it began in.
    ///
    /// Cannot fail: whether the capture was still intact makes no difference any more.
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
