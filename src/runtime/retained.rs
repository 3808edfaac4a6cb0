//! What enqueued or recorded work holds, so that it outlives the work.

use std::any::Any;
use std::collections::HashSet;

use crate::driver::Driver;
use crate::sync::Arc;

/// A bag of owners. Holds each shared object once, however often it is put in.
///
/// # Dropping
/// Drops what is in, in the order in which it was put in, under the relaxed thread mode: a destructor that frees device memory,
/// ours or cudarc's, hurts no capture. Forgetting the bag keeps everything for good.
pub struct Retained {
    driver: &'static Driver,
    owners: Vec<Owner>,
    /// The addresses of the shared ones; unambiguous, because what is in there is alive.
    addresses: HashSet<usize>,
}

/// Held for its destructor.
enum Owner {
    Shared(Arc<dyn Any + Send + Sync>),
    Sole(#[expect(dead_code, reason = "held for its destructor")] Box<dyn Any + Send>),
}

impl Retained {
    pub(crate) fn new(driver: &'static Driver) -> Self {
        Self { driver, owners: Vec::new(), addresses: HashSet::new() }
    }

    /// Puts one more owner of `value` in, unless there is one already.
    pub(crate) fn share<T: Any + Send + Sync>(&mut self, value: &Arc<T>) {
        if self.addresses.insert(Arc::as_ptr(value).addr()) {
            self.owners.push(Owner::Shared(value.clone()));
        }
    }

    /// Puts `value` itself in.
    pub(crate) fn own(&mut self, value: impl Any + Send) {
        self.owners.push(Owner::Sole(Box::new(value)));
    }

    /// Puts in what is in `other`.
    pub(crate) fn append(&mut self, other: &mut Self) {
        for owner in other.owners.drain(..) {
            match owner {
                Owner::Shared(value) => {
                    if self.addresses.insert(Arc::as_ptr(&value).addr()) {
                        self.owners.push(Owner::Shared(value));
                    }
                }
                sole @ Owner::Sole(_) => self.owners.push(sole),
            }
        }
        other.addresses.clear();
    }

    /// How many things are in.
    pub(crate) fn len(&self) -> usize {
        self.owners.len()
    }

    /// Everything that is in, out of here.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(self.driver))
    }
}

impl Drop for Retained {
    fn drop(&mut self) {
        if !self.owners.is_empty() {
            self.driver.relaxed(|| self.owners.clear());
        }
    }
}
