//! A device, as a context that is safe to capture on.

#![allow(unsafe_code)]

use std::fmt;

use cudarc::driver::CudaContext;

use crate::driver::{ContextHandle, DeviceAttribute, Driver};
use crate::error::{DriverError, Error, Faulted, Misuse, Parked, Unavailable};
use crate::sync::{Arc, Mutex, OnceLock};
use crate::trace::tell;

/// A GPU, and the context on it that everything here works in. Cheap to clone.
///
/// It is a cudarc [`CudaContext`] with event tracking off: with tracking on, cudarc waits inside a capture on events
/// that were recorded outside, which invalidates the capture (D16 in [`manual::safety`](crate::manual::safety)).
///
/// # Dropping
/// Drops one reference. The context goes when the last buffer, module, stream and clone is gone.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::Device;
///
/// let device = Device::open(0)?;
/// println!("{} ({})", device.name(), device.ordinal());
/// # Ok::<(), dacapo::Error>(())
/// ```
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    driver: &'static Driver,
    context: Arc<CudaContext>,
    name: Box<str>,
    /// The first error of a `Drop` that nobody has been told of. Locked for a moment only, and nothing else is locked
    /// or called meanwhile.
    parked: Mutex<Option<DriverError>>,
    /// The first error that lost the context. Written once; a reader that finds it sees all of it.
    fault: OnceLock<Faulted>,
}

impl Device {
    /// How many devices the driver finds.
    ///
    /// # Errors
    /// [`Unavailable`] if there is no driver or no device, [`DriverError`] otherwise.
    ///
    /// # References
    /// [cuDeviceGetCount](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html)
    #[doc(alias = "cuDeviceGetCount")]
    pub fn count() -> Result<usize, Error> {
        Ok(Driver::load()?.device_get_count()?)
    }

    /// Opens device `ordinal` (from 0) through its primary context, with event tracking off.
    ///
    /// # Errors
    /// [`Unavailable`] if there is no driver, no device, or none with this ordinal; [`DriverError`] if the device
    /// refuses a context. Never a panic: the driver is asked before cudarc is.
    ///
    /// # References
    /// [cuDevicePrimaryCtxRetain](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PRIMARY__CTX.html)
    #[doc(alias = "cuDevicePrimaryCtxRetain")]
    pub fn open(ordinal: usize) -> Result<Self, Error> {
        let driver = Driver::load()?;
        let count = driver.device_get_count()?;
        let number = i32::try_from(ordinal).ok().filter(|_| ordinal < count);
        let number = number.ok_or(Unavailable::NoSuchDevice { ordinal, count })?;
        let device = driver.device_get(number)?;
        // cudarc is about to make the same call; this one sees an error first, whatever its code.
        let primary = driver.primary_ctx_retain(device)?;
        // cudarc binds the context to the thread; where it is current already, the thread is left as it was.
        // SAFETY: (1) retained a line ago.
        let context = unsafe { driver.with_context(primary, || Ok(CudaContext::new(ordinal))) };
        // SAFETY: (1) the reference retained above; cudarc holds its own by now, or has failed to get one.
        unsafe { driver.primary_ctx_release(device) }?;
        let context = context??;
        // SAFETY: nothing has been allocated in this context object, so no slice of it relies on events. Slices that are made
        // from here on are the duty of who makes them: the object is handed out by `context` and `Enqueue::raw` alone, whose
        // conditions say so.
        unsafe { context.disable_event_tracking() };
        Self::with_context(driver, context)
    }

    /// Takes an engine's own context.
    ///
    /// # Errors
    /// [`Misuse::EventTracking`] if tracking is on: turn it off right after `CudaContext::new`, before anything is
    /// allocated. [`DriverError`] if the device cannot be asked for its name.
    pub fn adopt(context: Arc<CudaContext>) -> Result<Self, Error> {
        let driver = Driver::load()?;
        let device = Self::with_context(driver, context)?;
        device.check_tracking()?;
        Ok(device)
    }

    fn with_context(driver: &'static Driver, context: Arc<CudaContext>) -> Result<Self, Error> {
        let name = driver.device_get_name(context.cu_device())?.into();
        Ok(Self(Arc::new(Inner { driver, context, name, parked: Mutex::new(None), fault: OnceLock::new() })))
    }

    /// The device's number, from 0.
    #[must_use]
    pub fn ordinal(&self) -> usize {
        self.0.context.ordinal()
    }

    /// The device's name, as the driver gives it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The driver's version: 1000 × major + 10 × minor, so 13000 for CUDA 13.0.
    ///
    /// # Errors
    /// [`DriverError`].
    pub fn driver_version(&self) -> Result<u32, Error> {
        Ok(self.driver().driver_get_version()?)
    }

    /// The compute capability, major and minor.
    ///
    /// # Errors
    /// [`DriverError`].
    pub fn compute_capability(&self) -> Result<(u32, u32), Error> {
        let ask = |attribute| self.driver().device_get_attribute(attribute, self.0.context.cu_device());
        let major = ask(DeviceAttribute::ComputeCapabilityMajor)?;
        let minor = ask(DeviceAttribute::ComputeCapabilityMinor)?;
        Ok((major.unsigned_abs(), minor.unsigned_abs()))
    }

    /// The cudarc context, for an engine's own calls.
    ///
    /// # Safety
    /// Event tracking is off in it, so cudarc orders nothing between streams. As `CudaContext::disable_event_tracking` demands, it is
    /// for the caller to see to it that of the slices made in this context
    /// 1. none is freed before its uses on other streams have finished,
    /// 2. none is used on another stream before its allocation has finished on its own,
    /// 3. none is written by two streams at once.
    ///
    /// An engine that brings its own context ([`Device::adopt`]) has vouched for this by turning tracking off.
    #[must_use]
    pub unsafe fn context(&self) -> &Arc<CudaContext> {
        &self.0.context
    }

    /// The same, for calls that make no slice.
    pub(crate) fn cuda_context(&self) -> &Arc<CudaContext> {
        &self.0.context
    }

    pub(crate) fn driver(&self) -> &'static Driver {
        self.0.driver
    }

    /// Whether both work in the same context.
    pub(crate) fn same_context(&self, other: &Self) -> bool {
        self.handle() == other.handle()
    }

    pub(crate) fn handle(&self) -> ContextHandle {
        ContextHandle::of(&self.0.context)
    }

    /// Runs `body` with the device's context current.
    pub(crate) fn with_current<R>(
        &self,
        body: impl FnOnce(&'static Driver) -> Result<R, DriverError>,
    ) -> Result<R, DriverError> {
        let driver = self.driver();
        // SAFETY: (1) `self` keeps the context alive.
        unsafe { driver.with_context(self.handle(), || body(driver)) }.inspect_err(|error| self.note(*error))
    }

    /// Parks the error of a `Drop` until somebody can be told. The first one stays: it is the cause more often than not.
    pub(crate) fn park(&self, result: Result<(), DriverError>) {
        if let Err(error) = result {
            self.0.parked.lock().get_or_insert(error);
            tell!(WARN, device = self.ordinal(), %error, "drop failed");
        }
    }

    /// Takes what our drops or cudarc's have parked.
    pub(crate) fn take_parked(&self) -> Result<(), Parked> {
        // One at a time: cudarc's is left where it is until ours has been told.
        let ours = self.0.parked.lock().take();
        match ours.or_else(|| self.0.context.check_err().err().map(DriverError::from)) {
            Some(error) => Err(Parked { error }),
            None => Ok(()),
        }
    }

    /// Remembers an error that has lost the context, if it is one and the first.
    pub(crate) fn note(&self, error: DriverError) {
        if error.code.loses_the_context() {
            let _ = self.0.fault.set(Faulted { cause: error });
        }
    }

    /// What a driver error is to be reported as: itself, and remembered if it has lost the context; once the context is lost, the
    /// fault that has lost it, of which it is an echo.
    pub(crate) fn fault_of(&self, error: DriverError) -> Error {
        match self.check_fault() {
            Ok(()) => {
                self.note(error);
                error.into()
            }
            Err(fault) => fault.into(),
        }
    }

    /// Refuses once the context is lost: every call on it would fail (D13).
    pub(crate) fn check_fault(&self) -> Result<(), Faulted> {
        self.0.fault.get().map_or(Ok(()), |fault| Err(*fault))
    }

    /// The device fault that has lost the context, once one is known. Every operation on the device says so from then on; what captured
    /// work used is kept for good. A new context needs a new process.
    ///
    /// # Examples
    /// ```standalone_crate
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, DriverCode, Enqueue, Error, LaunchConfig};
    ///
    /// let device = Device::open(0)?;
    /// let mut stream = device.stream()?;
    /// let trap = device.load_ptx(include_str!("../kernels/basic.ptx"))?.kernel("trap")?;
    /// // SAFETY: takes no arguments, and faults.
    /// unsafe { stream.launch(&trap, LaunchConfig::new(1, 1), ()) }?;
    /// assert!(stream.synchronize().is_err());
    /// assert_eq!(device.fault().map(|cause| cause.code), Some(DriverCode::LAUNCH_FAILED));
    /// assert!(matches!(stream.alloc::<u32>(1), Err(Error::Faulted(_))));
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[must_use]
    pub fn fault(&self) -> Option<DriverError> {
        self.0.fault.get().map(|fault| fault.cause)
    }

    /// Lets kernels on this device read and write the memory of `peer`. Once is enough; asked again it changes nothing.
    ///
    /// Copies between devices need no such thing. Do it before a capture: that what a graph names can be reached is looked at when
    /// it is launched.
    ///
    /// # Errors
    /// [`DriverError`] if the two cannot reach each other (`CUDA_ERROR_PEER_ACCESS_UNSUPPORTED`), or are one.
    ///
    /// # References
    /// [cuCtxEnablePeerAccess](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PEER__ACCESS.html)
    #[doc(alias = "cuCtxEnablePeerAccess")]
    pub fn enable_peer_access(&self, peer: &Self) -> Result<(), Error> {
        self.check_fault()?;
        // SAFETY: (1) `peer` keeps its context alive.
        self.with_current(|driver| unsafe { driver.ctx_enable_peer_access(peer.handle()) })?;
        Ok(())
    }

    /// Runs `body` with this thread's capture mode relaxed (`cuThreadExchangeStreamCaptureMode`), so that calls of others which would
    /// be refused during a capture, and spoil it, go through: allocations, frees, synchronisations of *other* streams. On unwinding,
    /// too, the mode is put back.
    ///
    /// What this crate itself calls needs no such thing. It does not help what spoils a capture in every mode: waiting for the
    /// capturing stream or for the whole context (D4).
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, Error, ThreadLocal};
    ///
    /// let device = Device::open(0)?;
    /// // SAFETY: what is allocated here is used on one stream.
    /// let elsewhere = unsafe { device.context() }.new_stream()?;
    /// let mut stream = device.stream()?;
    /// let buffer = stream.alloc::<u32>(1)?;
    /// let captured = stream.capture(ThreadLocal, |c| {
    ///     let scratch = device.allow_unsafe_calls(|| elsewhere.alloc_zeros::<u32>(64))?;
    ///     c.retain(scratch);
    ///     c.fill(&buffer, 1)
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias = "cuThreadExchangeStreamCaptureMode")]
    pub fn allow_unsafe_calls<R>(&self, body: impl FnOnce() -> R) -> R {
        self.driver().relaxed(body)
    }

    pub(crate) fn check_tracking(&self) -> Result<(), Misuse> {
        if self.0.context.is_event_tracking() { Err(Misuse::EventTracking) } else { Ok(()) }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("ordinal", &self.ordinal()).field("name", &self.name()).finish()
    }
}

static_assertions::assert_impl_all!(Device: Send, Sync);
