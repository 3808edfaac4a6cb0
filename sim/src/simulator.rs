//! The test's side of the simulator: what happened, and what is to go wrong next.
//!
//! [`Simulator`] holds what concerns no single device, [`SimDevice`] the rest; `streams` is the part of it that looks
//! at queues and stops them.

mod device;
mod streams;

use std::fmt;

pub use device::SimDevice;

use crate::abi::thread_number;
use crate::report::{CallRecord, Fault, FaultId, Violation};
use crate::shared::Shared;

/// The simulated driver of this process.
///
/// A copyable handle; [`device`](Self::device) leads to everything that belongs to one device. Tests that run side by
/// side use a device each.
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
        SimDevice::new(self.shared, ordinal)
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

    /// How often a fault for calls that concern no device has struck; as [`SimDevice::struck`].
    ///
    /// # Panics
    ///
    /// When the fault was not injected here.
    #[must_use]
    #[track_caller]
    pub fn struck(&self, id: FaultId) -> u64 {
        self.shared.driver.lock().faults.struck(id).expect("the fault was injected here")
    }

    /// Takes a fault for calls that concern no device away; false when it is not in force any more.
    pub fn remove_fault(&self, id: FaultId) -> bool {
        self.shared.driver.lock().faults.remove(id)
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
