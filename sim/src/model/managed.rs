//! Managed memory: one address for the host and all devices.
//!
//! 1. It is page-locked host memory that `cuMemFree` frees. Everything sees the same bytes at once, as on a device with concurrent
//!    managed access; so there is nothing to migrate, and where memory is said to live or is attached changes nothing.
//! 2. Freeing it waits for the work that names it.
//! 3. What moves or attaches memory is work of its stream all the same, and is checked like it.

use super::Driver;
use super::enqueue::Target;
use super::pinned::Pinned;
use super::work::Work;
use crate::code::{Code, Outcome};
use crate::engine::{Goal, Ticket};
use crate::report::{Range, Site, Violation};

/// `CU_MEM_ATTACH_GLOBAL`, `HOST` and `SINGLE`.
const ATTACH_GLOBAL: u32 = 1;
const ATTACH_HOST: u32 = 2;
const ATTACH_SINGLE: u32 = 4;
/// `CU_MEM_ADVISE_SET_READ_MOSTLY` to `CU_MEM_ADVISE_UNSET_ACCESSED_BY`.
const ADVICE: std::ops::RangeInclusive<u32> = 1..=6;

/// Where managed memory may be said to live.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Home {
    /// On a device.
    Device(i32),
    /// With the host, or one of its memory nodes.
    Host,
}

impl Driver {
    /// `cuMemAllocManaged`.
    pub(crate) fn managed_alloc(&mut self, bytes: u64, flags: u32, by: Site) -> Outcome<u64> {
        if bytes == 0 || !matches!(flags, ATTACH_GLOBAL | ATTACH_HOST) {
            return Err(Code::INVALID_VALUE);
        }
        self.own_pinned(bytes, 0, true, by)
    }

    /// What must be waited for before managed memory at an address is freed: the streams whose pending work names it. Nothing if the
    /// address begins none, or nobody uses it.
    pub(crate) fn managed_users(&mut self, address: u64, by: Site) -> Outcome<Option<Goal>> {
        self.current(by.thread)?;
        self.unsafe_call(by.thread)?;
        let block = match self.memory.pinned.get(&address) {
            Some(pinned) if pinned.managed => Range { address, bytes: pinned.len },
            _ => return Ok(None),
        };
        let device = self.memory.pinned.get(&address).map(|pinned| pinned.device);
        for used in self.pending_users(block) {
            self.violate(device, Violation::FreedWhileInUse { block, freed: by, used });
        }
        let busy = self.lanes.iter().filter(|(_, lane)| lane.users_of(block, 0).next().is_some());
        let tickets: Vec<Ticket> = busy.filter_map(|(id, lane)| lane.tail(*id)).collect();
        Ok((!tickets.is_empty()).then(|| Goal::all(tickets)))
    }

    /// Frees managed memory if an address begins some; whether it does.
    pub(crate) fn managed_free(&mut self, address: u64, by: Site) -> bool {
        let managed = self.memory.pinned.get(&address).is_some_and(|pinned| pinned.managed);
        if managed {
            self.drop_pinned(address, by);
        }
        managed
    }

    /// `cuStreamAttachMemAsync`: all of an allocation, given by its beginning.
    pub(crate) fn managed_attach(&mut self, stream: u64, address: u64, bytes: u64, flags: u32, by: Site) -> Outcome {
        let single_on_default = flags == ATTACH_SINGLE && stream == 0;
        if !matches!(flags, ATTACH_GLOBAL | ATTACH_HOST | ATTACH_SINGLE) || single_on_default {
            return Err(Code::INVALID_VALUE);
        }
        match self.memory.pinned.get(&address) {
            Some(pinned) if pinned.managed && (bytes == 0 || bytes == pinned.len) => {}
            _ => return Err(Code::INVALID_VALUE),
        }
        self.managed_work(stream, by)
    }

    /// `cuMemPrefetchAsync`.
    pub(crate) fn managed_prefetch(&mut self, address: u64, bytes: u64, home: Home, stream: u64, by: Site) -> Outcome {
        self.managed_range(address, bytes)?;
        self.home(home)?;
        self.managed_work(stream, by)
    }

    /// `cuMemAdvise`: a hint, which has nothing to change here.
    pub(crate) fn managed_advise(&mut self, address: u64, bytes: u64, advice: u32, home: Home, by: Site) -> Outcome {
        self.current(by.thread)?;
        self.managed_range(address, bytes)?;
        self.home(home)?;
        if ADVICE.contains(&advice) { Ok(()) } else { Err(Code::INVALID_VALUE) }
    }

    /// Queues work that only keeps its place in the stream's order.
    fn managed_work(&mut self, stream: u64, by: Site) -> Outcome {
        let stream = self.stream(stream, by)?;
        match self.target(stream)? {
            // No node does this.
            Target::Captured(capture) => Err(self.conflict(capture)),
            Target::Eager => self.submit(stream, Work::Empty, by).map(|_| ()),
        }
    }

    fn managed_range(&self, address: u64, bytes: u64) -> Outcome {
        match self.pinned_at(address) {
            Some((base, Pinned { managed: true, len, .. })) if bytes > 0 && bytes <= len - (address - base) => Ok(()),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn home(&self, home: Home) -> Outcome {
        match home {
            Home::Device(ordinal) => self.ordinal(ordinal).map(|_| ()),
            Home::Host => Ok(()),
        }
    }
}
