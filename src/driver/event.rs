//! Events.

use std::ffi::c_uint;
use std::ptr;

use cudarc::driver::sys::CUevent;

use super::{Driver, StreamHandle};
use crate::error::{DriverCode, DriverError};

/// An event's handle. Names the event; owns nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EventHandle(CUevent);

// SAFETY: a `CUevent` is an opaque name, never dereferenced. Event calls may be made from any thread (CUDA Driver API 13.0, Event
// Management).
unsafe impl Send for EventHandle {}
// SAFETY: as above.
unsafe impl Sync for EventHandle {}

/// What an event is to tell. Numbers as in `cuda.h`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum EventKind {
    /// `CU_EVENT_DEFAULT`: whether it has happened, and when.
    Timed = 0,
    /// `CU_EVENT_DISABLE_TIMING`: whether it has happened. Who waits for it spins, as the context is set up to.
    Untimed = 2,
    /// `CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC`: whether it has happened. Who waits for it sleeps.
    Sleeping = 3,
}

impl Driver {
    /// `cuEventCreate`, in the current context, which it needs.
    /// [Manual](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html).
    pub(crate) fn event_create(&self, kind: EventKind) -> Result<EventHandle, DriverError> {
        let mut event = ptr::null_mut();
        // SAFETY: a live out-pointer. Without a current context the call is an error, not undefined.
        let code = unsafe { (self.event_create.call)(&raw mut event, kind as c_uint) };
        self.check(self.event_create.name, code)?;
        Ok(EventHandle(event))
    }

    /// `cuEventRecord`. On a capturing stream the event stands for what has been captured there so far.
    ///
    /// # Safety
    /// 1. `event` and `stream` are alive, and of one context.
    pub(crate) unsafe fn event_record(&self, event: EventHandle, stream: StreamHandle) -> Result<(), DriverError> {
        // SAFETY: (1).
        let code = unsafe { (self.event_record.call)(event.0, stream.0) };
        self.check(self.event_record.name, code)
    }

    /// `cuStreamWaitEvent`: what comes after on `stream` waits for the event. A captured event draws the stream into its capture.
    ///
    /// # Safety
    /// 1. `event` and `stream` are alive.
    /// 2. If the event is of a capture, nobody but that capture's owner uses the stream until it has ended.
    pub(crate) unsafe fn stream_wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<(), DriverError> {
        // SAFETY: (1), (2).
        let code = unsafe { (self.stream_wait_event.call)(stream.0, event.0, 0) };
        self.check(self.stream_wait_event.name, code)
    }

    /// `cuEventQuery`: whether the event has happened; one that was never recorded has.
    ///
    /// # Safety
    /// 1. `event` is alive.
    pub(crate) unsafe fn event_query(&self, event: EventHandle) -> Result<bool, DriverError> {
        // SAFETY: (1).
        let code = self.relaxed(|| unsafe { (self.event_query.call)(event.0) });
        match self.check(self.event_query.name, code) {
            Ok(()) => Ok(true),
            Err(error) if error.code == DriverCode::NOT_READY => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// `cuEventSynchronize`: waits until the event has happened.
    ///
    /// # Safety
    /// 1. `event` is alive.
    pub(crate) unsafe fn event_synchronize(&self, event: EventHandle) -> Result<(), DriverError> {
        // SAFETY: (1).
        let code = self.relaxed(|| unsafe { (self.event_synchronize.call)(event.0) });
        self.check(self.event_synchronize.name, code)
    }

    /// `cuEventElapsedTime`: milliseconds between two events that have happened, with a resolution of about half a microsecond.
    ///
    /// # Safety
    /// 1. Both are alive.
    pub(crate) unsafe fn event_elapsed_time(&self, start: EventHandle, end: EventHandle) -> Result<f32, DriverError> {
        let mut milliseconds = 0.0;
        // SAFETY: (1); a live out-pointer.
        let code = unsafe { (self.event_elapsed_time.call)(&raw mut milliseconds, start.0, end.0) };
        self.check(self.event_elapsed_time.name, code)?;
        Ok(milliseconds)
    }

    /// `cuEventDestroy`. Work that waits for the event goes on as before.
    ///
    /// # Safety
    /// 1. `event` is alive, and not used after this.
    pub(crate) unsafe fn event_destroy(&self, event: EventHandle) -> Result<(), DriverError> {
        // SAFETY: (1).
        let code = self.relaxed(|| unsafe { (self.event_destroy.call)(event.0) });
        self.check(self.event_destroy.name, code)
    }
}
