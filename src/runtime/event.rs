//! Owned events.

#![allow(unsafe_code)]

use super::lane::Lane;
use crate::device::Device;
use crate::driver::{EventHandle, EventKind};
use crate::error::DriverError;

/// An event of a device. Destroyed when dropped, under the relaxed thread mode; an error of that is parked.
pub(crate) struct Event {
    device: Device,
    handle: EventHandle,
}

impl Event {
    pub(crate) fn new(device: &Device, kind: EventKind) -> Result<Self, DriverError> {
        let handle = device.with_current(|driver| driver.event_create(kind))?;
        Ok(Self { device: device.clone(), handle })
    }

    /// Records it after what is on the lane, in a turn. The lane is of the event's device.
    pub(crate) fn record(&self, lane: &Lane) -> Result<(), DriverError> {
        // SAFETY: (1) both are alive as their values are, and of one device, which has one context here.
        unsafe { lane.driver().event_record(self.handle, lane.handle()) }
    }

    /// Makes what comes after on the lane wait for it, in a turn. A captured event draws the lane into its capture.
    pub(crate) fn hold_up(&self, lane: &Lane) -> Result<(), DriverError> {
        // SAFETY: (1) both are alive as their values are. (2) Who has a turn of a capture's keeps others away until it has ended.
        unsafe { lane.driver().stream_wait_event(lane.handle(), self.handle) }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: (1) owned, and this is its last use.
        self.device.park(unsafe { self.device.driver().event_destroy(self.handle) });
    }
}
