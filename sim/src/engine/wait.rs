//! Waiting: the loop of a blocked call, with the lock released whenever it can be.
//!
//! 1. A wait that nothing can move sleeps. Whoever runs work, ends a host function, drops queued work or releases a
//!    stream wakes it, after having done so under the lock.
//! 2. Memory is the exception: host threads write it and tell nobody, so a wait for memory looks again by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::MutexGuard;

use super::patience::Watch;
use super::{Advance, Goal, HostJob, Pace};
use crate::abi::in_host_code;
use crate::model::Driver;
use crate::report::Site;
use crate::shared::Shared;

/// How long a wait for memory sleeps before it looks again; twice as long each time, up to the second. Only how soon
/// the wait notices depends on it.
const NAP: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(8));

/// It sleeps at least so many times as long as the last look took: a look runs a kernel for a while, with the lock held,
/// which takes long where the simulator is not optimised.
const REST: u32 = 4;

/// How long a query waits for a host function that it has started. Those that need nothing of the caller are over by
/// then, so that a query is a step, as for other work.
const COURTESY: Duration = Duration::from_millis(50);

/// Blocks until a goal is reached. Runs whatever the goal needs, host functions included, on the calling thread.
///
/// If the devices have no patience, a goal that cannot be reached blocks for ever.
pub(crate) fn wait(shared: &Shared, driver: &mut MutexGuard<'_, Driver>, goal: &Goal, by: Site) {
    let mut watch = Watch::default();
    let mut nap = NAP.0;
    loop {
        let begin = Instant::now();
        let advance = driver.advance(goal, Pace::All);
        let rest = REST * begin.elapsed();
        let patience = driver.patience(goal).map(|(patience, left)| watch.remaining(left, patience));
        let tired = patience == Some(Duration::ZERO) && !matches!(advance, Advance::Done | Advance::Host(_));
        if tired && driver.time_out(goal, by) {
            shared.wake.notify_all();
            continue;
        }
        match advance {
            Advance::Done => {
                shared.wake.notify_all();
                return;
            }
            Advance::Moved => {
                nap = NAP.0;
                shared.wake.notify_all();
                MutexGuard::bump(driver);
            }
            Advance::Host(job) => run_host(shared, driver, &job),
            Advance::Stuck { polling } => {
                let longest = patience.into_iter().chain(polling.then_some(nap.max(rest))).min();
                match longest {
                    Some(longest) => drop(shared.wake.wait_for(driver, longest.max(NAP.0))),
                    None => shared.wake.wait(driver),
                }
                nap = (nap * 2).min(NAP.1);
            }
        }
    }
}

/// Moves a goal by one step; whether anything moved.
pub(crate) fn step(shared: &Shared, driver: &mut MutexGuard<'_, Driver>, goal: &Goal) -> bool {
    if driver.reached(goal) {
        return false;
    }
    match driver.advance(goal, Pace::One) {
        Advance::Stuck { .. } => false,
        Advance::Done | Advance::Moved => {
            shared.wake.notify_all();
            true
        }
        Advance::Host(job) => {
            run_host(shared, driver, &job);
            true
        }
    }
}

/// Moves a goal by one step for a caller who only asks. A host function runs on a thread of its own then: it may wait
/// for what the caller does next.
pub(crate) fn nudge(shared: &'static Shared, driver: &mut MutexGuard<'_, Driver>, goal: &Goal) {
    match driver.advance(goal, Pace::One) {
        Advance::Stuck { .. } => {}
        Advance::Done | Advance::Moved => {
            shared.wake.notify_all();
        }
        Advance::Host(job) => {
            let started = Arc::new((job, AtomicBool::new(false)));
            let theirs = Arc::clone(&started);
            let body = move || {
                let (job, over) = &*theirs;
                call_host(job);
                let mut driver = shared.driver.lock();
                // Relaxed: written and read under the lock.
                over.store(true, Ordering::Relaxed);
                host_over(shared, &mut driver, job);
            };
            let (job, over) = &*started;
            if thread::Builder::new().name("dacapo-sim host function".to_owned()).spawn(body).is_err() {
                return run_host(shared, driver, job);
            }
            let end = Instant::now() + COURTESY;
            while !over.load(Ordering::Relaxed) && !shared.wake.wait_until(driver, end).timed_out() {}
        }
    }
}

fn run_host(shared: &Shared, driver: &mut MutexGuard<'_, Driver>, job: &HostJob) {
    MutexGuard::unlocked(driver, || call_host(job));
    host_over(shared, driver, job);
}

/// Calls a host function, without the lock.
fn call_host(job: &HostJob) {
    let call = job.call;
    in_host_code(|| {
        // SAFETY: the lock is not held, and the item stays marked as busy until `host_done`, so no other thread calls
        // the function for the same item.
        unsafe { call.call() };
    });
}

fn host_over(shared: &Shared, driver: &mut Driver, job: &HostJob) {
    driver.host_done(job);
    shared.wake.notify_all();
}

/// Runs the destructors of user objects that are due.
pub(crate) fn run_destructors(driver: &mut MutexGuard<'_, Driver>) {
    while let Some(call) = driver.destructors.pop_front() {
        MutexGuard::unlocked(driver, || {
            in_host_code(|| {
                // SAFETY: the lock is released, and the destructor was queued once, when the last reference went.
                unsafe { call.call() };
            });
        });
    }
}
