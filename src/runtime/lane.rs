//! A lane: one CUDA stream, and the order of what is put on it.
//!
//! NVIDIA documents that graph objects must not be used from two threads at once, and `cuGraphLaunch` carries that note.
//! So every launch on a lane happens in a turn of its [`Order`], which also is what a retirement waits for: a replay that was
//! admitted has been submitted by the time the turn is over.
//!
//! Invariants:
//!
//! 1. At most one [`Claim`] stands for a CUDA stream at any time. A typed stream and its siblings share it, so two that are not
//!    siblings never share a CUDA stream; a lane that lives on in a stale replayer has no live slot, and only keeps the CUDA
//!    stream alive.
//! 2. What captured or eager work uses is released by [`release`](Lane::release), and only after a drain that has succeeded.
//! 3. A poisoned lane stays so; the first cause is kept.

#![allow(unsafe_code)]

use std::time::{Duration, Instant};

use cudarc::driver::CudaStream;

use super::host::HostPanic;
use super::in_flight::IN_FLIGHT_LIMIT;
use super::load::{Deferred, Load};
use super::order::{Exclusive, Order, TurnGuard};
use super::program::Program;
use super::retained::Retained;
use super::stats::{Counts, Stats};
use crate::device::Device;
use crate::driver::{CaptureMode, ContextHandle, Driver, StreamHandle};
use crate::error::{DriverCode, DriverError, Error, Misuse, Poisoned};
use crate::gate::{CaptureGate, Visit};
use crate::graph::Graph;
use crate::sync::{Arc, Mutex, Ordering, PlainAtomicU64, StaticMutex};
use crate::trace::tell;

/// The streams that are claimed, for invariant 1. Locked for a look-up only.
static CLAIMED: StaticMutex<Vec<Key>> = StaticMutex::new(Vec::new());

type Key = (ContextHandle, StreamHandle);

/// A capture that has the lane: nobody else puts work on it for as long as this value lives.
pub(crate) struct CaptureTurn(Arc<Lane>, #[expect(dead_code, reason = "held for its destructor")] Option<Visit>);

impl CaptureTurn {
    /// Waits for who is at it.
    ///
    /// # Errors
    /// [`Misuse::CaptureOpen`], [`Misuse::OutOfTurn`], [`Misuse::GateHeld`], [`Poisoned`].
    pub(crate) fn begin(lane: &Arc<Lane>) -> Result<Self, Error> {
        let visit = CaptureGate::capturing()?;
        lane.order.begin_capture()?;
        Ok(Self(lane.clone(), Some(visit)))
    }

    /// For a lane of several that begin together: who begins them is in the gate for all, and sees to what comes before.
    ///
    /// # Errors
    /// As [`begin`](Self::begin), but for the gate.
    pub(crate) fn begin_among_others(lane: &Arc<Lane>) -> Result<Self, Error> {
        lane.order.begin_capture()?;
        Ok(Self(lane.clone(), None))
    }

    /// For a lane that an open capture draws in; its earlier work has finished then, as at a beginning, so that what the graph will use
    /// is complete. That capture is in the gate for longer, so this turn need not be.
    ///
    /// # Errors
    /// [`Misuse::CaptureOpen`], [`Misuse::OutOfTurn`], [`Misuse::AlreadyCapturing`], [`Poisoned`]; [`DriverError`].
    pub(crate) fn draw_in(lane: &Arc<Lane>) -> Result<Self, Error> {
        lane.order.begin_capture()?;
        let turn = Self(lane.clone(), None);
        lane.check_capturable()?;
        drop(lane.synchronize()?);
        Ok(turn)
    }

    pub(crate) fn lane(&self) -> &Arc<Lane> {
        &self.0
    }
}

impl Drop for CaptureTurn {
    fn drop(&mut self) {
        self.0.end_capture_turn();
    }
}

/// The right of a typed stream and its siblings to a CUDA stream. Given up when dropped.
pub(crate) struct Claim(Key);

impl Claim {
    fn new(key: Key) -> Result<Self, Misuse> {
        let mut claimed = CLAIMED.lock();
        if claimed.contains(&key) {
            return Err(Misuse::StreamInUse);
        }
        claimed.push(key);
        Ok(Self(key))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        CLAIMED.lock().retain(|claimed| *claimed != self.0);
    }
}

/// Releases that were put off. What a user's destructor leaves behind by a panic is released while that unwinds.
struct PutOff<'a> {
    lane: &'a Lane,
    deferred: std::vec::IntoIter<Deferred>,
}

impl PutOff<'_> {
    fn release(&mut self) {
        for deferred in self.deferred.by_ref() {
            tell!(DEBUG, stream = self.lane.id, "deferred release");
            match deferred {
                Deferred::Load(load) => {
                    if let Err(poisoned) = self.lane.release(load) {
                        self.lane.tell(&poisoned);
                    }
                }
                Deferred::Together(together) => together.release_in_a_drop(),
            }
        }
    }
}

impl Drop for PutOff<'_> {
    fn drop(&mut self) {
        self.release();
    }
}

/// The order of a lane of ours.
pub(crate) type LaneOrder = Order<Program, Deferred>;
/// The right to put work on a lane.
pub(crate) type LaneTurn<'a> = TurnGuard<'a, Program>;
/// Every turn of a lane.
pub(crate) type LaneExclusive<'a> = Exclusive<'a, Program, Deferred>;

pub(crate) struct Lane {
    order: LaneOrder,
    /// The lane's number, which no other lane has.
    id: u64,
    driver: &'static Driver,
    device: Device,
    /// Keeps the stream alive.
    stream: Arc<CudaStream>,
    handle: StreamHandle,
    host_panic: Arc<HostPanic>,
    /// What eager work uses that no typed stream keeps: that of seams, and of uploads before a replay. Locked to put in and take out.
    loose: Mutex<Retained>,
    counts: Counts,
}

impl Drop for Lane {
    /// What is kept until a drain, of which there was none since: it is let go after one, or never.
    fn drop(&mut self) {
        if self.loose.lock().len() == 0 {
            return;
        }
        if self.check().is_err() {
            std::mem::forget(self.loose.lock().take());
        } else if let Err(cause) = self.synchronize() {
            self.device.park(Err(cause));
        }
    }
}

impl Lane {
    /// The lane of `stream`, and the claim to it.
    pub(crate) fn new(device: &Device, stream: &Arc<CudaStream>) -> Result<(Arc<Self>, Claim), Misuse> {
        static NEXT: PlainAtomicU64 = PlainAtomicU64::new(1);

        let handle = StreamHandle::of(stream);
        let claim = Claim::new((device.handle(), handle))?;
        // Relaxed: the number has to be different each time, and orders nothing. At a billion a second it lasts 500 years.
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let lane = Arc::new(Self {
            order: Order::new(),
            id,
            driver: device.driver(),
            device: device.clone(),
            stream: stream.clone(),
            handle,
            host_panic: Arc::default(),
            loose: Mutex::new(Retained::new(device.driver())),
            counts: Counts::default(),
        });
        Ok((lane, claim))
    }

    /// Whose turn it is, and what is published.
    #[inline]
    pub(crate) fn order(&self) -> &LaneOrder {
        &self.order
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(crate) fn stats(&self) -> Stats {
        let live = self.order.slots().slots.replays();
        self.counts.look(live, self.order.waits())
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn driver(&self) -> &'static Driver {
        self.driver
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    pub(crate) fn handle(&self) -> StreamHandle {
        self.handle
    }

    pub(crate) fn host_panic(&self) -> &Arc<HostPanic> {
        &self.host_panic
    }

    /// Waits until everything enqueued so far has finished.
    ///
    /// # Errors
    /// [`Misuse::CaptureOpen`] while a capture of ours is open on the lane; [`DriverError`].
    pub(crate) fn drain(&self) -> Result<(), Error> {
        let draining = self.order.drain()?;
        let drained = self.synchronize();
        // A destructor of what is let go may want the lane.
        drop(draining);
        drop(drained?);
        Ok(())
    }

    /// As [`drain`](Self::drain), for who knows that no capture of ours is open and that none begins meanwhile. Returns what is to
    /// be let go.
    pub(crate) fn synchronize(&self) -> Result<Retained, DriverError> {
        let loose = self.loose.lock().take();
        // SAFETY: (1) `self` keeps the stream alive. (2) No capture of ours is open; that nobody else captures on it is
        // what `Device::adopt_stream` and `Enqueue::raw` demand of who else has it.
        match unsafe { self.driver.stream_synchronize(self.handle) } {
            Ok(()) => Ok(loose),
            Err(cause) => {
                std::mem::forget(loose);
                self.device.note(cause);
                Err(cause)
            }
        }
    }

    /// Waits until the lane has nothing to do, but no longer than `limit`: the driver's "not ready" if it has then. Sleeps between
    /// looks. For who knows that no capture of ours is open and that none begins meanwhile.
    fn wait_no_longer_than(&self, limit: Duration) -> Result<(), DriverError> {
        let start = Instant::now();
        let mut pause = Duration::from_micros(20);
        loop {
            match self.query() {
                Err(error) if error.code == DriverCode::NOT_READY && start.elapsed() < limit => {}
                looked => return looked,
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(1));
        }
    }

    /// Whether the lane has nothing to do: the driver's "not ready" if it has. For who knows that no capture of ours is open and that
    /// none begins meanwhile.
    pub(crate) fn query(&self) -> Result<(), DriverError> {
        // SAFETY: (1) `self` keeps the stream alive. (2) As for `synchronize`.
        unsafe { self.driver.stream_query(self.handle) }
    }

    /// Keeps what eager work uses until a drain.
    pub(crate) fn keep(&self, mut retained: Retained) {
        self.loose.lock().append(&mut retained);
    }

    /// Drains, if much has gathered that is kept until then.
    pub(crate) fn make_room(&self) -> Result<(), Error> {
        let crowded = self.loose.lock().len() >= IN_FLIGHT_LIMIT;
        if crowded { self.drain() } else { Ok(()) }
    }

    /// Drains, then releases `load`; never if the drain fails. While a capture is open that is put off until it has ended.
    pub(crate) fn release(&self, mut load: Load) -> Result<(), Poisoned> {
        loop {
            match self.order.drain() {
                Ok(draining) => {
                    let in_time = load.drain_limit().map_or(Ok(()), |limit| self.wait_no_longer_than(limit));
                    let drained = in_time.and_then(|()| self.synchronize());
                    drop(draining);
                    return load.settle(self, drained);
                }
                Err(_) => match self.order.defer(load, Deferred::Load) {
                    Ok(()) => {
                        self.counts.deferred();
                        tell!(DEBUG, stream = self.id, "release deferred");
                        return Ok(());
                    }
                    // It has ended meanwhile.
                    Err(back) => load = back,
                },
            }
        }
    }

    /// Lets others at the lane again after a capture, and releases what was put off meanwhile. What goes wrong with that is
    /// told as by the drop that it was put off for.
    fn end_capture_turn(&self) {
        PutOff { lane: self, deferred: self.order.end_capture().into_iter() }.release();
    }

    /// Reports a failed release that there is nobody to return to.
    #[expect(clippy::print_stderr, reason = "there is nobody to return it to")]
    pub(crate) fn tell(&self, poisoned: &Poisoned) {
        // Parked errors are told to who goes on with the device. If nobody does, the line is all that is heard of it.
        self.device.park(Err(poisoned.cause));
        eprintln!("dacapo: {poisoned}");
    }

    /// The driver's own word on whether the stream is capturing: 0 no, 1 yes, 2 invalidated.
    pub(crate) fn capture_status(&self) -> Result<u32, DriverError> {
        // SAFETY: (1) `self` keeps the stream alive.
        unsafe { self.driver.stream_is_capturing(self.handle) }
    }

    /// Begins a capture. On an error the stream is not capturing.
    pub(crate) fn begin_capture(&self, mode: CaptureMode) -> Result<(), DriverError> {
        // SAFETY: (1) `self` keeps the stream alive.
        let begun = unsafe { self.driver.stream_begin_capture(self.handle, mode) };
        match begun {
            // Somebody else is capturing: theirs is not ours to end.
            Err(error) if error.code == DriverCode::ILLEGAL_STATE => {}
            Err(error) => self.leave_capture(error),
            Ok(()) => {}
        }
        begun
    }

    /// Ends the capture, which this thread began or any may end. On an error there is no graph, and the stream is not
    /// capturing.
    pub(crate) fn end_capture(&self) -> Result<Graph, DriverError> {
        match self.end_once() {
            Ok(graph) => Ok(graph),
            Err(error) => {
                self.leave_capture(error);
                Err(error)
            }
        }
    }

    fn end_once(&self) -> Result<Graph, DriverError> {
        // SAFETY: (1) `self` keeps the stream alive.
        let handle = unsafe { self.driver.stream_end_capture(self.handle) }?;
        // SAFETY: (1) a successful end hands the graph over to its caller.
        Ok(unsafe { Graph::own(&self.device, handle) })
    }

    /// After a failed begin or end: sees to it that the stream is not capturing, or poisons the lane with `cause`.
    ///
    /// Every failure that was measured leaves it so (901, 904, 908 at the end, 401 and 900 at the begin); this is for a
    /// driver that does otherwise.
    fn leave_capture(&self, cause: DriverError) {
        let is_out = || matches!(self.capture_status(), Ok(0));
        if !is_out() {
            drop(self.end_once());
            if !is_out() {
                self.poison(cause);
            }
        }
    }

    /// Passes a driver error on; see [`Device::fault_of`].
    #[cold]
    pub(crate) fn fault(&self, error: DriverError) -> Error {
        self.device.fault_of(error)
    }

    /// Passes what the driver has said on.
    pub(crate) fn heard<R>(&self, said: Result<R, DriverError>) -> Result<R, Error> {
        said.map_err(|error| self.fault(error))
    }

    /// From here on the lane refuses everything.
    pub(crate) fn poison(&self, cause: DriverError) -> Poisoned {
        tell!(ERROR, stream = self.id, %cause, "poisoned");
        self.order.close(Poisoned { cause })
    }

    /// Whether it refuses everything.
    pub(crate) fn is_poisoned(&self) -> bool {
        self.order.check().is_err()
    }

    /// Refuses on a lane that is poisoned, or whose device has faulted.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.device.check_fault()?;
        Ok(self.order.check()?)
    }

    /// What must hold before a capture begins, but for what is pending.
    pub(crate) fn check_capturable(&self) -> Result<(), Error> {
        self.check()?;
        self.device.check_tracking()?;
        match self.capture_status()? {
            0 => Ok(()),
            _ => Err(Misuse::AlreadyCapturing.into()),
        }
    }

    /// Whether `device` is where the lane is; `what` it is that belongs to `device`.
    pub(crate) fn check_context(&self, device: &Device, what: &'static str) -> Result<(), Misuse> {
        if self.device.same_context(device) { Ok(()) } else { Err(Misuse::WrongContext { what }) }
    }
}
