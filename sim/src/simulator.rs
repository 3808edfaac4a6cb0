//! The test's side of the simulator: what happened on a device, and what is to go wrong next.

use std::fmt;

use crate::abi::thread_number;
use crate::engine::Goal;
use crate::model::StreamKind;
use crate::model::id::StreamId;
use crate::report::{CallRecord, Fault, FaultId, Live, Violation};
use crate::shared::Shared;

/// The simulated driver of this process.
///
/// A copyable handle; [`device`](Self::device) leads to everything that belongs to one device. Tests that run side by side use
/// a device each.
#[derive(Clone, Copy)]
pub struct Simulator {
    shared: &'static Shared,
}

impl fmt::Debug for Simulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulator").field("devices", &self.device_count()).finish()
    }
}

impl Simulator {
    pub(crate) fn new(shared: &'static Shared) -> Simulator {
        Simulator { shared }
    }

    /// How many devices there are.
    #[must_use]
    pub fn device_count(&self) -> u32 {
        self.shared.options().devices
    }

    /// A device.
    ///
    /// # Panics
    ///
    /// When there is no device with this ordinal.
    #[must_use]
    pub fn device(&self, ordinal: u32) -> SimDevice {
        let devices = self.device_count();
        assert!(ordinal < devices, "there are {devices} simulated devices, and none has ordinal {ordinal}");
        SimDevice { shared: self.shared, ordinal }
    }

    /// Makes devices share their device faults from now on: after a kernel fault on one, all fail.
    pub fn couple(&self, ordinals: &[u32]) {
        let mut driver = self.shared.driver.lock();
        let group = ordinals.iter().copied().min();
        for device in driver.devices.iter_mut().filter(|device| ordinals.contains(&device.ordinal)) {
            device.group = group.unwrap_or(device.group);
        }
    }

    /// Makes every device's faults its own again.
    pub fn uncouple(&self) {
        for device in &mut self.shared.driver.lock().devices {
            device.group = device.ordinal;
        }
    }

    /// The latest calls that concern no device, oldest first.
    #[must_use]
    pub fn calls(&self) -> Vec<CallRecord> {
        self.shared.driver.lock().log.records()
    }

    /// Forgets the calls that concern no device.
    pub fn clear_calls(&self) {
        self.shared.driver.lock().log.clear();
    }

    /// Violations that concern no device, such as failures of the simulator itself.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        self.shared.driver.lock().violations.all()
    }

    /// The same, and forgets them.
    #[must_use]
    pub fn take_violations(&self) -> Vec<Violation> {
        self.shared.driver.lock().violations.take()
    }

    /// Makes a call that concerns no device fail.
    pub fn inject(&self, fault: Fault) -> FaultId {
        self.shared.driver.lock().faults.inject(fault)
    }

    /// Takes away every fault for calls that concern no device.
    pub fn clear_faults(&self) {
        self.shared.driver.lock().faults.clear();
    }

    /// The number that the calling thread has in the call log, in violations and in faults.
    #[must_use]
    pub fn this_thread(&self) -> u32 {
        thread_number()
    }
}

/// One simulated device, seen from a test.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use dacapo_sim::Fault;
///
/// let device = dacapo_sim::install()?.device(0);
/// device.inject(Fault::on("cuMemAlloc").code(2));
/// // … run the code under test …
/// device.clear_faults();
/// assert!(device.violations().is_empty());
/// assert!(device.live().is_empty(), "left over:\n{}", device.live());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct SimDevice {
    shared: &'static Shared,
    ordinal: u32,
}

impl fmt::Debug for SimDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimDevice").field("ordinal", &self.ordinal).finish()
    }
}

impl SimDevice {
    /// Its ordinal.
    #[must_use]
    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// What is alive on the device.
    #[must_use]
    pub fn live(&self) -> Live {
        self.shared.driver.lock().live(self.ordinal)
    }

    /// What went wrong on the device without the driver saying so.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        self.with(|device| device.violations.all())
    }

    /// The same, and forgets it.
    #[must_use]
    pub fn take_violations(&self) -> Vec<Violation> {
        self.with(|device| device.violations.take())
    }

    /// The latest calls that concern the device, oldest first: those whose handles belong to it, and those made while one of
    /// its contexts was current.
    #[must_use]
    pub fn calls(&self) -> Vec<CallRecord> {
        self.with(|device| device.log.records())
    }

    /// Forgets the calls.
    pub fn clear_calls(&self) {
        self.with(|device| device.log.clear());
    }

    /// Makes a call fail.
    pub fn inject(&self, fault: Fault) -> FaultId {
        self.with(|device| device.faults.inject(fault))
    }

    /// Takes a fault away; false when it is gone already, because it has struck or been removed.
    pub fn remove_fault(&self, id: FaultId) -> bool {
        self.with(|device| device.faults.remove(id))
    }

    /// Takes every fault away.
    pub fn clear_faults(&self) {
        self.with(|device| device.faults.clear());
    }

    /// Makes allocations beyond this many bytes fail with `CUDA_ERROR_OUT_OF_MEMORY`; `None` is all of the device's memory.
    pub fn set_memory_limit(&self, bytes: Option<u64>) {
        self.shared.driver.lock().memory.set_limit(self.ordinal, bytes);
    }

    /// How many items are queued on a stream (by its handle, as a number) and have not run.
    ///
    /// Zero for a handle that names no stream of this device.
    #[must_use]
    pub fn pending(&self, stream: u64) -> usize {
        let driver = self.shared.driver.lock();
        let lane = self.find(&driver, stream).and_then(|id| driver.streams.get(id)).map(|stream| stream.lane);
        lane.and_then(|lane| driver.lanes.get(&lane)).map_or(0, crate::engine::Lane::len)
    }

    /// How many items are queued on all streams of the device.
    #[must_use]
    pub fn pending_total(&self) -> usize {
        let driver = self.shared.driver.lock();
        let lanes = driver.lanes.values().filter(|lane| driver.device_of_context(lane.context) == self.ordinal);
        lanes.map(crate::engine::Lane::len).sum()
    }

    /// Runs the next item of a stream, or one slice of it. False when nothing could move.
    pub fn step(&self, stream: u64) -> bool {
        let mut driver = self.shared.driver.lock();
        let lane = self.find(&driver, stream).and_then(|id| driver.streams.get(id)).map(|stream| stream.lane);
        let goal = lane.map_or_else(Goal::default, |lane| driver.lane_goal(lane));
        crate::engine::step(self.shared, &mut driver, &goal)
    }

    /// Stops a stream: its work does not run, however long anybody waits, until it is [released](Self::release).
    ///
    /// # Panics
    ///
    /// When the handle names no stream of this device.
    pub fn hang(&self, stream: u64) {
        self.set_hung(stream, true);
    }

    /// Lets a stopped stream go on and wakes those who wait for it.
    ///
    /// # Panics
    ///
    /// When the handle names no stream of this device.
    pub fn release(&self, stream: u64) {
        self.set_hung(stream, false);
        self.shared.wake.notify_all();
    }

    /// Destroys every object on the device, drops its pending work and heals it of a device fault. Violations, faults and the
    /// call log are forgotten, too.
    pub fn reset(&self) {
        self.shared.driver.lock().reset_device(self.ordinal);
        self.shared.wake.notify_all();
    }

    fn set_hung(&self, stream: u64, hung: bool) {
        let mut driver = self.shared.driver.lock();
        let lane = self.find(&driver, stream).and_then(|id| driver.streams.get(id)).map(|stream| stream.lane);
        let lane = lane.and_then(|lane| driver.lanes.get_mut(&lane));
        lane.expect("the handle names a stream of this device").hung = hung;
    }

    /// A stream of this device by its handle; the default streams are those of the primary context.
    fn find(&self, driver: &crate::model::Driver, stream: u64) -> Option<StreamId> {
        let on_device = |id: &StreamId| driver.device_of_stream(*id) == self.ordinal;
        match stream {
            0 | 1 => {
                let primary = driver.devices.get(self.ordinal as usize)?.primary?;
                driver
                    .streams
                    .iter()
                    .find(|(_, stream)| stream.context == primary.context && stream.kind == StreamKind::Legacy)
            }
            .map(|(id, _)| id),
            raw => driver.streams.find(raw).ok().filter(on_device),
        }
    }

    fn with<R>(&self, body: impl FnOnce(&mut crate::model::Device) -> R) -> R {
        let mut driver = self.shared.driver.lock();
        body(&mut driver.devices[self.ordinal as usize])
    }
}
