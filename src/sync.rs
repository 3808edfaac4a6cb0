//! Every lock, atomic and shared pointer that the crate uses, from one place.
//!
//! `clippy.toml` forbids naming the originals anywhere else, so a model checker can take the place of those that order something:
//! with `--cfg loom` they are loom's (see `models.rs`). These are aliases and not re-exports because the lint sees through a
//! re-export.

#![expect(clippy::disallowed_types, reason = "this is the one place that names them")]

pub(crate) use std::sync::atomic::Ordering;

pub(crate) type Arc<T> = std::sync::Arc<T>;
pub(crate) type OnceLock<T> = std::sync::OnceLock<T>;
/// For statics, and where there is no contention: no model looks at these.
pub(crate) type StaticMutex<T> = parking_lot::Mutex<T>;
/// For memory that the device writes, and for numbers that are only to be different: no model looks at them.
pub(crate) type PlainAtomicU64 = std::sync::atomic::AtomicU64;

#[cfg(loom)]
pub(crate) use modelled::{AtomicU64, Condvar, Mutex, MutexGuard, this_thread};
#[cfg(not(loom))]
pub(crate) use real::{AtomicU64, Condvar, Mutex, MutexGuard, this_thread};

#[cfg(not(loom))]
mod real {
    pub(crate) type AtomicU64 = std::sync::atomic::AtomicU64;
    pub(crate) type Condvar = parking_lot::Condvar;
    pub(crate) type Mutex<T> = parking_lot::Mutex<T>;
    pub(crate) type MutexGuard<'a, T> = parking_lot::MutexGuard<'a, T>;

    std::thread_local! {
        static HERE: u8 = const { 0 };
    }

    /// Names the calling thread: no two threads that live at the same time have the same number.
    pub(crate) fn this_thread() -> u64 {
        HERE.with(|here| std::ptr::from_ref(here).addr() as u64)
    }
}

/// loom's types, with the methods of the real ones.
#[cfg(loom)]
mod modelled {
    use std::ops::{Deref, DerefMut};

    pub(crate) type AtomicU64 = loom::sync::atomic::AtomicU64;

    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    /// There is a guard but while a condition is waited for.
    pub(crate) struct MutexGuard<'a, T>(Option<loom::sync::MutexGuard<'a, T>>);

    #[derive(Debug, Default)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard(Some(self.0.lock().expect("loom's locks are not poisoned")))
        }

        pub(crate) fn into_inner(self) -> T {
            self.0.into_inner().expect("loom's locks are not poisoned")
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.0.as_ref().expect("a guard")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.0.as_mut().expect("a guard")
        }
    }

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self(loom::sync::Condvar::new())
        }

        pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            let inner = guard.0.take().expect("a guard");
            guard.0 = Some(self.0.wait(inner).expect("loom's locks are not poisoned"));
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }

    loom::thread_local! {
        static HERE: u8 = 0;
    }

    pub(crate) fn this_thread() -> u64 {
        HERE.with(|here| std::ptr::from_ref(here).addr() as u64)
    }
}
