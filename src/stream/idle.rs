//! `Stream<Idle>`: made, adopted, and left by a capture.

use cudarc::driver::CudaStream;

use super::capturing::Recorded;
use super::transition::{CanBegin, sealed};
use super::{Core, Stream};
use crate::device::Device;
use crate::driver::StreamHandle;
use crate::error::{Error, Misuse, Rejected};
use crate::runtime::{CapturePolicy, Captured, InFlight, Keep, Lane};
use crate::seal::OnlyForDacapo;
use crate::state::sealed_state;
use crate::state::{Capturing, Idle, Instantiated, Mode, Phase, State};
use crate::sync::Arc;

impl sealed_state::State for Idle {
    type Data = ();

    type Ended = Instantiated;
    type From = Self;

    const PHASE: Phase = Phase::Idle;

    fn keep<'a>(in_flight: &'a InFlight, (): &'a (), _: OnlyForDacapo) -> Keep<'a> {
        Keep { retained: in_flight.retained(), branches: None }
    }
}

impl Device {
    /// Creates a stream, non-blocking: the legacy default stream leaves it alone.
    ///
    /// # Errors
    /// [`Faulted`](crate::Faulted), [`Parked`](crate::Parked), [`DriverError`](crate::DriverError).
    ///
    /// # References
    /// [cuStreamCreate](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html)
    #[doc(alias = "cuStreamCreate")]
    pub fn stream(&self) -> Result<Stream<Idle>, Error> {
        self.check_fault()?;
        self.take_parked()?;
        self.check_tracking()?;
        // SAFETY: (1) `self` keeps the context alive.
        #[expect(unsafe_code, reason = "the dry run asks for a living context")]
        unsafe { self.driver().stream_create_dry_run(self.handle()) }?;
        // cudarc binds the context to the thread; where it is current already, the thread is left as it was.
        let stream = self.with_current(|_| Ok(self.cuda_context().new_stream()))??;
        self.claim(&stream)
    }

    /// Takes an engine's own stream, so that its work can be captured and replayed on it.
    ///
    /// The stream must be of this device's [`CudaContext`](cudarc::driver::CudaContext) itself: adopt that first
    /// ([`Device::adopt`]).
    ///
    /// # Errors
    /// The stream comes back with: [`Misuse::DefaultStream`] for the legacy and the per-thread default stream,
    /// [`Misuse::WrongContext`], [`Misuse::EventTracking`], [`Misuse::StreamInUse`] if it is adopted already,
    /// [`Misuse::AlreadyCapturing`], [`DriverError`](crate::DriverError) if its status cannot be had.
    ///
    /// # Safety
    /// The engine's clones of the stream stay usable, so it has to keep what the types would otherwise see to, for as long as the
    /// returned stream and what becomes of it live:
    /// 1. While a capture of that stream is open, others enqueue nothing on it, or see to it that what they enqueue outlives
    ///    the graph.
    /// 2. Others begin no capture on it, and draw it into none.
    #[expect(unsafe_code, reason = "it is for the caller to keep the engine's clones in check")]
    pub unsafe fn adopt_stream(&self, stream: Arc<CudaStream>) -> Result<Stream<Idle>, Rejected<Arc<CudaStream>>> {
        match self.check_tracking().map_err(Error::from).and_then(|()| self.claim(&stream)) {
            Ok(idle) => Ok(idle),
            Err(error) => Err(Rejected::new(stream, error)),
        }
    }

    fn claim(&self, stream: &Arc<CudaStream>) -> Result<Stream<Idle>, Error> {
        self.check_fault()?;
        if StreamHandle::of(stream).is_default() {
            return Err(Misuse::DefaultStream.into());
        }
        if !Arc::ptr_eq(stream.context(), self.cuda_context()) {
            return Err(Misuse::WrongContext { what: "CudaContext of the device" }.into());
        }
        let (lane, claim) = Lane::new(self, stream)?;
        lane.check_capturable()?;
        Ok(Stream { data: (), core: Core::new(lane, Arc::new(claim)) })
    }
}

impl<S: State> Stream<S> {
    /// Begins a capture: from here on, what is enqueued is recorded and does not run.
    ///
    /// Before: waits for the stream's earlier work, so that what the graph will use is complete, and reports what an
    /// earlier drop has parked. The closure form, [`capture`](Self::capture), cannot be left open.
    ///
    /// # Errors
    /// Still `Idle`, with: [`Parked`](crate::Parked); [`Misuse::EventTracking`] if somebody has turned tracking on;
    /// [`Misuse::AlreadyCapturing`] if other code is capturing on the stream; [`DriverError`](crate::DriverError) if
    /// earlier work has faulted or the driver refuses; [`Poisoned`](crate::Poisoned).
    ///
    /// # References
    /// [cuStreamBeginCapture](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html)
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
    /// let mut captured = capturing.end()?;
    /// assert_eq!(captured.read(&buffer)?, [0]); // recorded, not run
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[doc(alias = "cuStreamBeginCapture")]
    pub fn begin<M: Mode>(self, _mode: M) -> Result<Stream<Capturing<M>>, Rejected<Stream<Idle>>>
    where
        S: CanBegin,
    {
        S::is(self).open(())
    }

    /// Captures what `body` enqueues, and instantiates it. The capture ends on success, error and panic.
    ///
    /// `body` may return any error of this crate with `?`, cudarc's too; for others there is [`Error::from_body`].
    ///
    /// # Errors
    /// Still `Idle`, with what [`begin`](Self::begin) or [`end`](Self::end) would return; or the body's own error, or both
    /// the body's and the end's in a [`CaptureFailure`](crate::CaptureFailure). If the body panics, the capture is ended
    /// and the panic goes on; the stream is dropped.
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, ThreadLocal};
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let (a, b) = (stream.buffer_from(&[1u32, 2, 3])?, stream.alloc(3)?);
    /// let mut published = stream.capture(ThreadLocal, |c| c.copy(&a, &b))?.publish()?;
    /// published.replay()?;
    /// assert_eq!(published.read(&b)?, [1, 2, 3]);
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    pub fn capture<M: Mode>(
        self,
        mode: M,
        body: impl FnOnce(&mut Stream<Capturing<M>>) -> Result<(), Error>,
    ) -> Result<Stream<Instantiated>, Rejected<Stream<Idle>>>
    where
        S: CanBegin,
    {
        self.begin(mode)?.run(body)
    }

    /// Another stream of states on the same CUDA stream, [`Idle`], with a life of its own: a decode graph and a verify graph
    /// that are captured, replayed and reset independently, and whose work is ordered by the one CUDA stream.
    ///
    /// While one sibling captures, what the others would put on the CUDA stream would be recorded, or would spoil the capture.
    /// So it is refused with [`Misuse::CaptureOpen`] before it reaches the driver; a reset or drop of a sibling retires its
    /// generation at once, and what it has is drained and released when the capture has ended.
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, Error, Misuse, ThreadLocal};
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let (token, draft) = (stream.alloc::<u32>(1)?, stream.alloc::<u32>(4)?);
    /// let verify = stream.sibling().capture(ThreadLocal, |c| c.fill(&draft, 0))?.publish()?;
    /// let decode = stream.capture(ThreadLocal, |c| c.fill(&token, 1))?.publish()?;
    /// decode.replay()?;
    /// verify.replay()?;
    ///
    /// let mut again = decode.reset()?.begin(ThreadLocal)?;
    /// assert!(matches!(verify.replay(), Err(Error::Misuse(Misuse::CaptureOpen))));
    /// again.fill(&token, 2)?;
    /// let decode = again.end()?.publish()?;
    /// verify.replay()?;
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    pub fn sibling(&self) -> Stream<Idle> {
        Stream { data: (), core: Core::new(self.core.lane.clone(), self.core.claim.clone()) }
    }
}

impl sealed_state::Resting for Idle {
    type Target = ();
    type Captured = Instantiated;
}

impl sealed::BeginsCapture for Idle {
    fn land(
        (): (),
        (): (),
        recorded: Recorded,
        policy: &CapturePolicy,
        _: OnlyForDacapo,
    ) -> Result<Captured, ((), Error)> {
        let lane = recorded.lane().clone();
        match recorded.instantiate(policy) {
            Ok(segment) => Ok(Captured::new(&lane, policy, segment)),
            Err(error) => Err(((), error)),
        }
    }
}

static_assertions::assert_impl_all!(Stream<Idle>: Send);
static_assertions::assert_impl_all!(Rejected<Stream<Idle>>: Send, Sync);
