//! Every lock, atomic and shared pointer that the crate uses, from one place.
//!
//! `clippy.toml` forbids naming the originals anywhere else, so a model checker can take their place by changing this file
//! alone. These are aliases and not re-exports because the lint sees through a re-export.

#![expect(clippy::disallowed_types, reason = "this is the one place that names them")]

pub(crate) use std::sync::atomic::Ordering;

pub(crate) type Arc<T> = std::sync::Arc<T>;
pub(crate) type AtomicU64 = std::sync::atomic::AtomicU64;
pub(crate) type Condvar = parking_lot::Condvar;
pub(crate) type Mutex<T> = parking_lot::Mutex<T>;
pub(crate) type MutexGuard<'a, T> = parking_lot::MutexGuard<'a, T>;
pub(crate) type OnceLock<T> = std::sync::OnceLock<T>;

/// Names the calling thread: no two threads that live at the same time have the same number.
pub(crate) fn this_thread() -> u64 {
    std::thread_local! {
        static HERE: u8 = const { 0 };
    }
    HERE.with(|here| std::ptr::from_ref(here).addr() as u64)
}
