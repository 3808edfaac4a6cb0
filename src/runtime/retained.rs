//! What enqueued or recorded work holds, so that it outlives the work.

use std::any::Any;
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
/// # Dropping
/// Drops what is in, in the order in which it was put in, under the relaxed thread mode: a destructor that frees device memory,
/// ours or cudarc's, hurts no capture. Forgetting the bag keeps everything for good.
pub struct Retained {
    driver: &'static Driver,
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
        Self { driver, owners: Vec::new(), addresses: HashSet::new(), frozen: HashSet::new() }
    }

    /// Puts one more owner of `value` in, unless there is one already.
    pub(crate) fn share<T: Any + Send + Sync>(&mut self, value: &Arc<T>) {
        if self.addresses.insert(Arc::as_ptr(value).addr()) {
            self.owners.push(Owner::Shared(value.clone()));
        }
    }

    /// Keeps `value` frozen. Once, however often it is put in.
    pub(crate) fn freeze<T: Freeze>(&mut self, value: &Arc<T>) {
        if self.frozen.insert(Arc::as_ptr(value).addr()) {
            self.own(Frozen::new(value));
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
        self.frozen.extend(other.frozen.drain());
        other.addresses.clear();
    }

    /// How many things are in.
    pub(crate) fn len(&self) -> usize {
        self.owners.len()
    }

    /// The name of a function of one of the modules, if it was looked up there.
    pub(crate) fn kernel_name(&self, function: FunctionHandle) -> Option<Arc<str>> {
        self.shared().find_map(|value| value.downcast_ref::<Loaded>()?.name_of(function))
    }

    /// Whether a module is in that is loaded on this device.
    pub(crate) fn has_module_on(&self, device: &Device) -> bool {
        self.shared().filter_map(|value| value.downcast_ref::<Loaded>()).any(|loaded| loaded.is_on(device))
    }

    /// The buffers and pinned blocks that are in here or in `more`, as they were put in, and how many other things are.
    pub(crate) fn contents_with(&self, more: &Self) -> (Vec<RetainedMemory>, usize) {
        let new = |owner: &&Owner| match owner {
            Owner::Shared(value) => !self.addresses.contains(&Arc::as_ptr(value).addr()),
            Owner::Sole(_) => true,
        };
        let owners = || self.owners.iter().chain(more.owners.iter().filter(new));
        let memory: Vec<_> = owners().filter_map(Owner::memory).collect();
        let others = owners().count() - memory.len();
        (memory, others)
    }

    fn shared(&self) -> impl Iterator<Item = &(dyn Any + Send + Sync)> {
        self.owners.iter().filter_map(|owner| match owner {
            Owner::Shared(value) => Some(&**value),
            Owner::Sole(_) => None,
        })
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
