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

    /// Whether what it was recorded after has finished; so it has if it was never recorded.
    pub(crate) fn has_happened(&self) -> Result<bool, DriverError> {
        // SAFETY: (1) alive as `self` is.
        unsafe { self.device.driver().event_query(self.handle) }
    }

    /// Waits for that.
    pub(crate) fn wait(&self) -> Result<(), DriverError> {
        // SAFETY: (1) alive as `self` is.
        unsafe { self.device.driver().event_synchronize(self.handle) }
    }

    /// Milliseconds from this event to a later one. Both have happened, and tell the time.
    pub(crate) fn milliseconds_until(&self, end: &Self) -> Result<f32, DriverError> {
        // SAFETY: (1) alive as both values are.
        unsafe { self.device.driver().event_elapsed_time(self.handle, end.handle) }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: (1) owned, and this is its last use.
        self.device.park(unsafe { self.device.driver().event_destroy(self.handle) });
    }
}
