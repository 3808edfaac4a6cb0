//! One device, seen from a test.

use std::fmt;
use std::time::Duration;

use super::Shared;
use crate::engine::QueueDepth;
use crate::report::{CallRecord, Fault, FaultId, Live, Violation, WorkFault};

/// One simulated device, seen from a test.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use dacapo_sim::{Fault, WorkFault};
///
/// let device = dacapo_sim::install()?.device(0);
/// let full = device.inject(Fault::on("cuMemAlloc").code(2));
/// let ecc = device.inject_work(WorkFault::kernel().nth(3).code(214));
/// // … run the code under test …
/// println!("struck: {} and {} times", device.struck(full), device.struck(ecc));
/// device.reset();
/// assert!(device.violations().is_empty());
/// assert!(device.live().is_empty(), "left over:\n{}", device.live());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct SimDevice {
    pub(super) shared: &'static Shared,
    pub(super) ordinal: u32,
}

impl fmt::Debug for SimDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimDevice").field("ordinal", &self.ordinal).finish()
    }
}

impl SimDevice {
    pub(super) fn new(shared: &'static Shared, ordinal: u32) -> SimDevice {
        SimDevice { shared, ordinal }
    }

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

    /// The latest calls that concern the device, oldest first: those whose handles belong to it, and those made while
    /// one of its contexts was current.
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

    /// Makes a piece of work fail, and the device with it, or hang, when its turn comes.
    ///
    /// # Panics
    ///
    /// When the fault is bound to a stream and the handle names no stream of this device.
    #[track_caller]
    pub fn inject_work(&self, fault: WorkFault) -> FaultId {
        let mut driver = self.shared.driver.lock();
        let lane =
            fault.stream.map(|stream| self.lane(&driver, stream).expect("the handle names a stream of this device"));
        driver.devices[self.ordinal as usize].faults.inject_work(fault, lane)
    }

    /// How often a fault of either kind has struck so far. That is still known when the fault has been removed, until
    /// the device is [`reset`](Self::reset).
    ///
    /// # Panics
    ///
    /// When the fault was not injected into this device, or before its last reset.
    #[must_use]
    #[track_caller]
    pub fn struck(&self, id: FaultId) -> u64 {
        self.with(|device| device.faults.struck(id)).expect("the fault was injected here since the last reset")
    }

    /// Takes a fault away; false when it is not in force any more, because it has struck or been removed.
    pub fn remove_fault(&self, id: FaultId) -> bool {
        self.with(|device| device.faults.remove(id))
    }

    /// Takes every fault away.
    pub fn clear_faults(&self) {
        self.with(|device| device.faults.clear());
    }

    /// Makes allocations beyond this many bytes fail with `CUDA_ERROR_OUT_OF_MEMORY`; `None` is all of the device's
    /// memory.
    ///
    /// What counts are the bytes that calls have asked for: `cuMemAlloc`, allocations from pools (freed as soon as the
    /// freeing call is made), variables of modules, and what launched graphs have allocated (all of a graph's
    /// allocations at once; a launch that does not fit is refused and changes nothing). Contexts, page-locked and
    /// managed memory take nothing.
    pub fn set_memory_limit(&self, bytes: Option<u64>) {
        self.shared.driver.lock().memory.set_limit(self.ordinal, bytes);
    }

    /// Changes how many items a stream's queue holds before a call waits for room. What waits already is not concerned.
    pub fn set_queue_depth(&self, depth: QueueDepth) {
        self.shared.driver.lock().set_queue_depth(self.ordinal, depth);
    }

    /// Gives up a wait when nothing that it waits for gets done for this long: the device fails with
    /// `CUDA_ERROR_LAUNCH_TIMEOUT`, and a [`Violation::TimedOut`] names the work. `None`, the default, is what a
    /// data-centre GPU does: a kernel that never ends, a wait for a word that nobody writes, a stream that
    /// [hangs](Self::hang) block whoever waits for ever.
    ///
    /// This is for test suites, which had rather fail than hang. It is host time, so choose it with room for a slow
    /// machine; a single kernel that takes longer is given up, too.
    pub fn set_patience(&self, patience: Option<Duration>) {
        self.with(|device| device.patience = patience);
        self.shared.wake.notify_all();
    }

    /// Destroys every object on the device, drops its pending work and heals it of a device fault. Violations, faults,
    /// the call log, and the settings for memory, queues and patience are forgotten, too; being coupled is not.
    pub fn reset(&self) {
        self.shared.driver.lock().reset_device(self.ordinal);
        self.shared.wake.notify_all();
    }

    fn with<R>(&self, body: impl FnOnce(&mut crate::model::Device) -> R) -> R {
        let mut driver = self.shared.driver.lock();
        body(&mut driver.devices[self.ordinal as usize])
    }
}
