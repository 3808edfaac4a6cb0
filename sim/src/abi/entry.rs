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
    /// Whether the log names this function only once.
    pub(crate) once: bool,
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
        engine::wait(self.shared, &mut self.driver, goal, self.by);
        self.driver.healthy(device)
    }

    /// Runs what a context has queued, unless a test has stopped one of its streams.
    pub(crate) fn drain(&mut self, context: ContextId) {
        let stopped = self.driver.lanes.values().any(|lane| lane.context == context && lane.hung);
        if !stopped {
            let goal = Goal::all(self.driver.context_tickets(context));
            engine::wait(self.shared, &mut self.driver, &goal, self.by);
        }
    }

    /// Waits until the queues that the call has filled beyond their depth have room again.
    #[cold]
    fn make_room(&mut self) -> Outcome {
        while let Some((lane, goal)) = self.driver.next_crowded(self.by.thread) {
            let Some(context) = self.driver.lanes.get(&lane).map(|lane| lane.context) else { continue };
            let device = self.driver.device_of_context(context);
            self.wait(&goal, device)?;
        }
        Ok(())
    }

    /// Runs code of the caller's in the middle of the call, without the lock. Anything may have changed afterwards.
    pub(crate) fn unlocked<T>(&mut self, body: impl FnOnce() -> T) -> T {
        MutexGuard::unlocked(&mut self.driver, body)
    }

    /// Whether a goal is reached; if not, moves it by one step.
    pub(crate) fn poll(&mut self, goal: &Goal) -> Outcome {
        if self.driver.reached(goal) {
            self.driver.observe(goal);
            return Ok(());
        }
        engine::nudge(self.shared, &mut self.driver, goal);
        Err(Code::NOT_READY)
    }
}

/// Functions that only look something up: they are always allowed, and neither logged nor made to fail, so that
/// printing an error disturbs nothing.
const INERT: [&str; 2] = ["cuGetErrorName", "cuGetErrorString"];

/// Whether a function is one of them.
pub(crate) fn is_inert(name: &str) -> bool {
    INERT.contains(&name)
}

/// Makes a call of the driver.
pub(crate) fn enter(
    name: &'static str,
    device: impl Fn(&Driver) -> Option<u32>,
    stream: impl Fn() -> Option<u64>,
    body: impl FnOnce(&mut Call) -> Outcome,
) -> u32 {
    let inert = is_inert(name);
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
            return body(&mut Call { shared, driver, by, detail: None, once: false });
        }
        let device = device(&driver).or_else(|| driver.top(thread).map(|context| driver.device_of_context(context)));
        let verdict = match device.and_then(|device| driver.devices.get_mut(device as usize)) {
            Some(device) => device.faults.meet(name, thread, stream),
            None => driver.faults.meet(name, thread, stream),
        };
        let discarded = driver.discarded;
        let mut call = Call { shared, driver, by, detail: None, once: false };
        let mut result = match verdict {
            Verdict::Fail(code) => Err(code),
            Verdict::Pass | Verdict::FailAfter(..) => body(&mut call),
        };
        if !call.driver.crowded.is_empty() {
            let room = call.make_room();
            result = result.and(room);
        }
        if call.driver.discarded != discarded {
            // Others may wait for what is gone.
            shared.wake.notify_all();
        }
        if let (Ok(()), Verdict::FailAfter(id, code)) = (result, verdict) {
            result = Err(code);
            match device.and_then(|device| call.driver.devices.get_mut(device as usize)) {
                Some(device) => device.faults.struck_after(id),
                None => call.driver.faults.struck_after(id),
            }
        }
        let record = CallRecord {
            number: by.call,
            name,
            thread,
            device,
            result: Code::from(result),
            detail: call.detail.take(),
        };
        let once = call.once;
        let Driver { devices, log, .. } = &mut *call.driver;
        match device.and_then(|device| devices.get_mut(device as usize)).map_or(log, |device| &mut device.log) {
            log if once => log.push_once(record),
            log => log.push(record),
        }
        engine::run_destructors(&mut call.driver);
        result
    }));
    match outcome {
        Ok(result) => Code::from(result).number(),
        Err(panic) => {
            let mut driver = shared.driver.lock();
            driver.crowded.retain(|(own, _)| *own != thread);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_and_a_violation_and_the_driver_goes_on() {
        let enter = |body: fn(&mut Call) -> Outcome| enter("cuTest", |_| None, || None, body);
        assert_eq!(enter(|_| panic!("it broke")), 999);
        let violations = Shared::get().driver.lock().violations.take();
        let [Violation::Internal { message, during }] = violations.as_slice() else { panic!("{violations:?}") };
        assert_eq!((message.as_str(), during.name, during.thread), ("it broke", "cuTest", thread_number()));
        assert_eq!(enter(|_| Ok(())), 0);
        assert_eq!(enter(|_| Err(Code::INVALID_VALUE)), 1);
        in_host_code(|| assert_eq!(enter(|_| Ok(())), 800));
    }
}
