//! What happens around every call: lock, count, faults, the call itself, the log.
//!
//! 1. A panic never leaves a C function: it becomes `CUDA_ERROR_UNKNOWN` and a violation of the simulator's own.
//! 2. A thread that runs code of the caller's for the driver (a host function, a destructor) may not call the driver.

use std::any::Any;
use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::MutexGuard;

use crate::code::{Code, Outcome};
use crate::engine::{self, Goal};
use crate::model::Driver;
use crate::model::id::ContextId;
use crate::report::{CallRecord, Site, Verdict, Violation};
use crate::shared::Shared;

thread_local! {
    static THREAD: Cell<Option<u32>> = const { Cell::new(None) };
    static IN_HOST_CODE: Cell<bool> = const { Cell::new(false) };
}

/// The number of this thread, given out at its first call.
pub(crate) fn thread_number() -> u32 {
    /// The next number. Only read and raised by this one operation.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    THREAD.with(|thread| match thread.get() {
        Some(number) => number,
        None => {
            // Relaxed: only distinctness matters; nothing is published with the number.
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            thread.set(Some(number));
            number
        }
    })
}

/// Runs code of the caller's during which this thread may not call the driver.
pub(crate) fn in_host_code(body: impl FnOnce()) {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            IN_HOST_CODE.with(|flag| flag.set(self.0));
        }
    }
    let _restore = Restore(IN_HOST_CODE.with(|flag| flag.replace(true)));
    body();
}

/// A call under way: the locked driver, and who calls.
pub(crate) struct Call {
    shared: &'static Shared,
    driver: MutexGuard<'static, Driver>,
    /// The call and its thread.
    pub(crate) by: Site,
    /// What the log should say beside the result.
    pub(crate) detail: Option<String>,
}

impl Deref for Call {
    type Target = Driver;

    fn deref(&self) -> &Driver {
        &self.driver
    }
}

impl DerefMut for Call {
    fn deref_mut(&mut self) -> &mut Driver {
        &mut self.driver
    }
}

impl Call {
    /// Blocks until a goal is reached, then reports the fault of a device that has had one.
    pub(crate) fn wait(&mut self, goal: &Goal, device: u32) -> Outcome {
        engine::wait(self.shared, &mut self.driver, goal);
        self.driver.healthy(device)
    }

    /// Runs what a context has queued, unless a test has stopped one of its streams.
    pub(crate) fn drain(&mut self, context: ContextId) {
        let stopped = self.driver.lanes.values().any(|lane| lane.context == context && lane.hung);
        if !stopped {
            let goal = Goal::all(self.driver.context_tickets(context));
            engine::wait(self.shared, &mut self.driver, &goal);
        }
    }

    /// Whether a goal is reached; if not, moves it by one step.
    pub(crate) fn poll(&mut self, goal: &Goal) -> Outcome {
        if self.driver.reached(goal) {
            return Ok(());
        }
        engine::step(self.shared, &mut self.driver, goal);
        Err(Code::NOT_READY)
    }
}

/// Functions that only look something up: they are always allowed, and neither logged nor made to fail, so that printing an
/// error disturbs nothing.
const INERT: [&str; 2] = ["cuGetErrorName", "cuGetErrorString"];

/// Makes a call of the driver.
pub(crate) fn enter(
    name: &'static str,
    device: impl Fn(&Driver) -> Option<u32>,
    body: impl FnOnce(&mut Call) -> Outcome,
) -> u32 {
    let inert = INERT.contains(&name);
    if IN_HOST_CODE.with(Cell::get) && !inert {
        return Code::NOT_PERMITTED.number();
    }
    let shared = Shared::get();
    let thread = thread_number();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut driver = shared.driver.lock();
        driver.calls += u64::from(!inert);
        let by = Site { call: driver.calls, name, thread };
        if inert {
            return body(&mut Call { shared, driver, by, detail: None });
        }
        let device = device(&driver).or_else(|| driver.top(thread).map(|context| driver.device_of_context(context)));
        let verdict = match device.and_then(|device| driver.devices.get_mut(device as usize)) {
            Some(device) => device.faults.meet(name, thread),
            None => driver.faults.meet(name, thread),
        };
        let mut call = Call { shared, driver, by, detail: None };
        let mut result = match verdict {
            Verdict::Fail(code) => Err(code),
            Verdict::Pass | Verdict::FailAfter(_) => body(&mut call),
        };
        if let (Ok(()), Verdict::FailAfter(code)) = (result, verdict) {
            result = Err(code);
        }
        let record = CallRecord {
            number: by.call,
            name,
            thread,
            device,
            result: Code::from(result),
            detail: call.detail.take(),
        };
        let log = device.and_then(|device| call.driver.devices.get_mut(device as usize)).map(|device| &mut device.log);
        match log {
            Some(log) => log.push(record),
            None => call.driver.log.push(record),
        }
        engine::run_destructors(&mut call.driver);
        result
    }));
    match outcome {
        Ok(result) => Code::from(result).number(),
        Err(panic) => {
            let mut driver = shared.driver.lock();
            let during = Site { call: driver.calls, name, thread };
            driver.violate(None, Violation::Internal { message: message(&*panic), during });
            Code::UNKNOWN.number()
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("panic").to_owned()
}
