//! What enqueued or recorded work holds, so that it outlives the work.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashSet;

use super::freeze::{Freeze, Frozen};
use crate::buffer::Allocation;
use crate::device::Device;
use crate::driver::{Driver, FunctionHandle};
use crate::graph::RetainedMemory;
use crate::kernel::Loaded;
use crate::pinned::Block;
use crate::sync::Arc;

/// A bag of owners. Holds each shared object once, however often it is put in.
///
/// Things are put in through a shared reference, because the two sides of a fork put them into one bag, in the order in which they
/// are handed in. No code of a user's runs while the cell is borrowed.
///
/// # Dropping
/// Drops what is in, in the order in which it was put in, under the relaxed thread mode: a destructor that frees device memory,
/// ours or cudarc's, hurts no capture. Forgetting the bag keeps everything for good.
pub struct Retained {
    driver: &'static Driver,
    bag: RefCell<Bag>,
}

#[derive(Default)]
struct Bag {
    owners: Vec<Owner>,
    /// The addresses of the shared ones; unambiguous, because what is in there is alive.
    addresses: HashSet<usize>,
    /// The addresses of the frozen ones.
    frozen: HashSet<usize>,
}

/// Held for its destructor.
enum Owner {
    Shared(Arc<dyn Any + Send + Sync>),
    Sole(#[expect(dead_code, reason = "held for its destructor")] Box<dyn Any + Send>),
}

impl Owner {
    /// The memory that it is, if it is a buffer or a pinned block.
    fn memory(&self) -> Option<RetainedMemory> {
        let Self::Shared(value) = self else { return None };
        if let Some(allocation) = value.downcast_ref::<Allocation>() {
            let (address, bytes) = allocation.span();
            return Some(RetainedMemory { pinned: false, address, bytes });
        }
        let (address, bytes) = value.downcast_ref::<Block>()?.span();
        Some(RetainedMemory { pinned: true, address, bytes })
    }
}

impl Retained {
    pub(crate) fn new(driver: &'static Driver) -> Self {
        Self { driver, bag: RefCell::default() }
    }

    /// Puts one more owner of `value` in, unless there is one already.
    pub(crate) fn share<T: Any + Send + Sync>(&self, value: &Arc<T>) {
        let bag = &mut *self.bag.borrow_mut();
        if bag.addresses.insert(Arc::as_ptr(value).addr()) {
            bag.owners.push(Owner::Shared(value.clone()));
        }
    }

    /// Keeps `value` frozen. Once, however often it is put in.
    pub(crate) fn freeze<T: Freeze>(&self, value: &Arc<T>) {
        let address = Arc::as_ptr(value).addr();
        if self.bag.borrow().frozen.contains(&address) {
            return;
        }
        let frozen = Frozen::new(value);
        self.bag.borrow_mut().frozen.insert(address);
        self.own(frozen);
    }

    /// Puts `value` itself in.
    pub(crate) fn own(&self, value: impl Any + Send) {
        let owner = Owner::Sole(Box::new(value));
        self.bag.borrow_mut().owners.push(owner);
    }

    /// Puts in what is in `other`.
    pub(crate) fn append(&mut self, other: &mut Self) {
        let (bag, other) = (self.bag.get_mut(), other.bag.get_mut());
        for owner in other.owners.drain(..) {
            match owner {
                Owner::Shared(value) => {
                    if bag.addresses.insert(Arc::as_ptr(&value).addr()) {
                        bag.owners.push(Owner::Shared(value));
                    }
                }
                sole @ Owner::Sole(_) => bag.owners.push(sole),
            }
        }
        bag.frozen.extend(other.frozen.drain());
        other.addresses.clear();
    }

    /// How many things are in.
    pub(crate) fn len(&self) -> usize {
        self.bag.borrow().owners.len()
    }

    /// The name of a function of one of the modules, if it was looked up there.
    pub(crate) fn kernel_name(&self, function: FunctionHandle) -> Option<Arc<str>> {
        let bag = self.bag.borrow();
        bag.shared().find_map(|value| value.downcast_ref::<Loaded>()?.name_of(function))
    }

    /// Whether a module is in that is loaded on this device.
    pub(crate) fn has_module_on(&self, device: &Device) -> bool {
        let bag = self.bag.borrow();
        bag.shared().filter_map(|value| value.downcast_ref::<Loaded>()).any(|loaded| loaded.is_on(device))
    }

    /// The buffers and pinned blocks that are in here or in `more`, as they were put in, and how many other things are.
    pub(crate) fn contents_with(&self, more: &Self) -> (Vec<RetainedMemory>, usize) {
        let (bag, more) = (self.bag.borrow(), more.bag.borrow());
        let new = |owner: &&Owner| match owner {
            Owner::Shared(value) => !bag.addresses.contains(&Arc::as_ptr(value).addr()),
            Owner::Sole(_) => true,
        };
        let owners = || bag.owners.iter().chain(more.owners.iter().filter(new));
        let memory: Vec<_> = owners().filter_map(Owner::memory).collect();
        let others = owners().count() - memory.len();
        (memory, others)
    }

    /// Everything that is in, out of here.
    pub(crate) fn take(&self) -> Self {
        Self { driver: self.driver, bag: RefCell::new(self.bag.take()) }
    }
}

impl Bag {
    fn shared(&self) -> impl Iterator<Item = &(dyn Any + Send + Sync)> {
        self.owners.iter().filter_map(|owner| match owner {
            Owner::Shared(value) => Some(&**value),
            Owner::Sole(_) => None,
        })
    }
}

impl Drop for Retained {
    fn drop(&mut self) {
        let owners = &mut self.bag.get_mut().owners;
        if !owners.is_empty() {
            self.driver.relaxed(|| owners.clear());
        }
    }
}
