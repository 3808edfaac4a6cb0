//! Waiting: the loop that a blocked call spins in, with the lock released whenever it can be.

use std::time::Duration;

use parking_lot::MutexGuard;

use super::{Advance, Goal, HostJob, Pace};
use crate::abi::in_host_code;
use crate::model::Driver;
use crate::shared::Shared;

/// How long a wait that nothing can move sleeps before it looks again: memory that the device waits for may be written by
/// host threads, which tell nobody. Only how soon the wait notices depends on it.
const NAP: Duration = Duration::from_millis(1);

/// Blocks until a goal is reached. Runs whatever the goal needs, host functions included, on the calling thread.
pub(crate) fn wait(shared: &Shared, driver: &mut MutexGuard<'_, Driver>, goal: &Goal) {
    loop {
        match driver.advance(goal, Pace::All) {
            Advance::Done => {
                shared.wake.notify_all();
                return;
            }
            Advance::Moved => {
                shared.wake.notify_all();
                MutexGuard::bump(driver);
            }
            Advance::Host(job) => run_host(shared, driver, &job),
            Advance::Stuck => {
                shared.wake.wait_for(driver, NAP);
            }
        }
    }
}

/// Moves a goal by one step; whether anything moved.
pub(crate) fn step(shared: &Shared, driver: &mut MutexGuard<'_, Driver>, goal: &Goal) -> bool {
    match driver.advance(goal, Pace::One) {
        Advance::Done | Advance::Stuck => false,
        Advance::Moved => {
            shared.wake.notify_all();
            true
        }
        Advance::Host(job) => {
            run_host(shared, driver, &job);
            true
        }
    }
}

fn run_host(shared: &Shared, driver: &mut MutexGuard<'_, Driver>, job: &HostJob) {
    let call = job.call;
    MutexGuard::unlocked(driver, || {
        in_host_code(|| {
            // SAFETY: the lock is released, and the item stays marked as busy until `host_done`, so no other thread calls the
            // function for the same item.
            unsafe { call.call() };
        });
    });
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
