//! The queues of a device's streams, seen from a test: what is pending, one step at a time, hanging.

use super::SimDevice;
use crate::abi::thread_number;
use crate::engine::{Goal, Item, Lane, LaneId};
use crate::model::Driver;
use crate::report::Pending;

/// Streams are given by their handles, as numbers: 0 and 1 are the legacy default stream of the device's primary
/// context, 2 is the calling thread's default stream there.
impl SimDevice {
    /// How many items are queued on a stream and have not run.
    ///
    /// Zero for a handle that names no stream of this device.
    #[must_use]
    pub fn pending(&self, stream: u64) -> usize {
        let driver = self.shared.driver.lock();
        self.lane(&driver, stream).and_then(|lane| driver.lanes.get(&lane)).map_or(0, Lane::len)
    }

    /// The items that are queued on a stream and have not run, the next one first.
    ///
    /// None for a handle that names no stream of this device.
    #[must_use]
    pub fn pending_work(&self, stream: u64) -> Vec<Pending> {
        let driver = self.shared.driver.lock();
        let lane = self.lane(&driver, stream).and_then(|lane| driver.lanes.get(&lane));
        lane.into_iter().flat_map(Lane::items).map(Item::pending).collect()
    }

    /// How many items are queued on all streams of the device, those included that have been destroyed.
    #[must_use]
    pub fn pending_total(&self) -> usize {
        let driver = self.shared.driver.lock();
        let lanes = driver.lanes.values().filter(|lane| driver.device_of_context(lane.context) == self.ordinal);
        lanes.map(Lane::len).sum()
    }

    /// Runs the next item of a stream, or one slice of it, or one step of what it waits for. False when nothing could
    /// move.
    pub fn step(&self, stream: u64) -> bool {
        let mut driver = self.shared.driver.lock();
        let lane = self.lane(&driver, stream);
        let goal = lane.map_or_else(Goal::default, |lane| driver.lane_goal(lane));
        crate::engine::step(self.shared, &mut driver, &goal)
    }

    /// Stops a stream: its work does not run, however long anybody waits, until it is [released](Self::release).
    /// Whoever waits sleeps; queries answer `CUDA_ERROR_NOT_READY`; other streams go on. Never released, it is a hang
    /// for ever, unless the device has [patience](Self::set_patience).
    ///
    /// # Panics
    ///
    /// When the handle names no stream of this device.
    #[track_caller]
    pub fn hang(&self, stream: u64) {
        self.set_hung(stream, true);
    }

    /// Lets a stopped stream go on and wakes those who wait for it.
    ///
    /// # Panics
    ///
    /// When the handle names no stream of this device.
    #[track_caller]
    pub fn release(&self, stream: u64) {
        self.set_hung(stream, false);
        self.shared.wake.notify_all();
    }

    /// The same for every stream of the device.
    pub fn release_all(&self) {
        let mut driver = self.shared.driver.lock();
        let Driver { lanes, context_devices, .. } = &mut *driver;
        for lane in lanes.values_mut().filter(|lane| context_devices.get(&lane.context) == Some(&self.ordinal)) {
            lane.hung = false;
        }
        self.shared.wake.notify_all();
    }

    #[track_caller]
    fn set_hung(&self, stream: u64, hung: bool) {
        let mut driver = self.shared.driver.lock();
        let lane = self.lane(&driver, stream).expect("the handle names a stream of this device");
        if let Some(lane) = driver.lanes.get_mut(&lane) {
            lane.hung = hung;
        }
    }

    /// The queue of a stream of this device.
    pub(super) fn lane(&self, driver: &Driver, stream: u64) -> Option<LaneId> {
        let primary = driver.devices.get(self.ordinal as usize)?.primary.map(|primary| primary.context);
        let id = match stream {
            0 | 1 => driver.contexts.get(primary?)?.legacy,
            2 => *driver.contexts.get(primary?)?.per_thread.get(&thread_number())?,
            raw => driver.streams.find(raw).ok().filter(|id| driver.device_of_stream(*id) == self.ordinal)?,
        };
        driver.streams.get(id).map(|stream| stream.lane)
    }
}
