//! What enqueued or recorded work holds, so that it outlives the work.

use std::any::Any;
use std::collections::HashSet;

use crate::driver::Driver;
use crate::sync::Arc;

/// A bag of owners. Holds each shared object once, however often it is put in.
#[derive(Default)]
pub struct Retained {
    shared: Vec<Arc<dyn Any + Send + Sync>>,
    /// The addresses of what is in `shared`; unambiguous, because what is in there is alive.
    addresses: HashSet<usize>,
    owned: Vec<Box<dyn Any + Send>>,
}

impl Retained {
    /// Puts one more owner of `value` in, unless there is one already.
    pub(crate) fn share<T: Any + Send + Sync>(&mut self, value: &Arc<T>) {
        if self.addresses.insert(Arc::as_ptr(value).addr()) {
            self.shared.push(value.clone());
        }
    }

    /// Puts `value` itself in.
    pub(crate) fn own(&mut self, value: impl Any + Send) {
        self.owned.push(Box::new(value));
    }

    /// How many things are in.
    pub(crate) fn len(&self) -> usize {
        self.shared.len() + self.owned.len()
    }

    /// Drops everything, in the order in which it was put in, under the relaxed thread mode: a destructor that frees
    /// device memory, ours or cudarc's, hurts no capture.
    pub(crate) fn release(self, driver: &Driver) {
        if self.len() > 0 {
            driver.relaxed(|| drop(self));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_object_is_held_once() {
        let (one, two) = (Arc::new(1), Arc::new(2));
        let mut retained = Retained::default();
        for value in [&one, &two, &one, &one] {
            retained.share(value);
        }
        assert_eq!((retained.len(), Arc::strong_count(&one), Arc::strong_count(&two)), (2, 2, 2));
        drop(retained);
        assert_eq!((Arc::strong_count(&one), Arc::strong_count(&two)), (1, 1));
    }
}
