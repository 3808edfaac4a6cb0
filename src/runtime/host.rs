//! Host functions: closures that a stream calls.

#![allow(unsafe_code)]

use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::driver::{Driver, StreamHandle};
use crate::error::{DriverError, Error};
use crate::sync::{Arc, Mutex};

/// The first panic of a lane's host calls that nobody has been told of.
#[derive(Default)]
pub(crate) struct HostPanic(Mutex<Option<Box<str>>>);

impl HostPanic {
    /// Takes it.
    pub(crate) fn take(&self) -> Result<(), Error> {
        match self.0.lock().take() {
            Some(message) => Err(Error::HostPanicked(message)),
            None => Ok(()),
        }
    }

    fn record(&self, payload: &(dyn Any + Send)) {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        self.0.lock().get_or_insert_with(|| text.unwrap_or("with a payload that is no text").into());
    }
}

/// A closure and where its panic goes.
pub(crate) struct HostCall {
    function: Box<dyn Fn() + Send + Sync>,
    panic: Arc<HostPanic>,
}

impl HostCall {
    pub(crate) fn new(function: impl Fn() + Send + Sync + 'static, panic: &Arc<HostPanic>) -> Arc<Self> {
        Arc::new(Self { function: Box::new(function), panic: panic.clone() })
    }

    /// Enqueues or records a call of the closure.
    ///
    /// # Safety
    /// 1. `self` stays alive until the call has run; if it is captured, until the graph can run no more.
    /// 2. `stream` is alive.
    pub(crate) unsafe fn enqueue(self: &Arc<Self>, driver: &Driver, stream: StreamHandle) -> Result<(), DriverError> {
        let data = Arc::as_ptr(self).cast_mut().cast();
        // SAFETY:
        // 1. `run` may be called on any thread, any number of times, with a live `HostCall`, which is `Sync`; (1).
        // 2. It does not unwind.
        // 3. (2).
        unsafe { driver.launch_host_func(stream, run, data) }
    }
}

/// Calls the closure; keeps a panic from crossing into the driver.
///
/// # Safety
/// `data` points to a live [`HostCall`].
unsafe extern "C" fn run(data: *mut c_void) {
    // SAFETY: the caller's condition. Shared access only.
    let call = unsafe { &*data.cast_const().cast::<HostCall>() };
    // A closure that was left half done is called again by the next replay, as one that returned early would be.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(&call.function)) {
        call.panic.record(&*payload);
        // The payload's own destructor may panic as well; that payload is kept for good.
        if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            std::mem::forget(second);
        }
    }
}
