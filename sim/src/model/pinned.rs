//! Page-locked host memory: allocated by the driver, managed memory included, or registered by the caller.
//!
//! 1. It is real host memory: its device address equals its host address, on every device.
//! 2. Registered ranges stay the caller's; the simulator only remembers them.

use super::Driver;
use super::bytes::Backing;
use super::id::ContextId;
use crate::code::{Code, Outcome};
use crate::report::{ObjectKind, Range, Site, Violation};

/// The page size that allocations are aligned to.
const PAGE: usize = 4096;
/// `CU_MEMHOSTALLOC_PORTABLE | DEVICEMAP | WRITECOMBINED`.
const ALLOC_FLAGS: u32 = 0x07;
/// `CU_MEMHOSTREGISTER_PORTABLE | DEVICEMAP | IOMEMORY | READ_ONLY`.
const REGISTER_FLAGS: u32 = 0x0F;

/// Whether every page of a host range is there.
#[cfg(target_os = "linux")]
fn is_mapped(address: u64, bytes: u64) -> bool {
    let first = address & !(PAGE as u64 - 1);
    let Ok(len) = usize::try_from(address - first + bytes) else { return false };
    let mut resident = vec![0u8; len.div_ceil(PAGE)];
    // SAFETY: the call looks at the page tables only, whatever the address; `resident` has a byte for each page.
    unsafe { libc::mincore(first as *mut libc::c_void, len, resident.as_mut_ptr()) == 0 }
}

/// Elsewhere the caller is believed.
#[cfg(not(target_os = "linux"))]
fn is_mapped(_address: u64, _bytes: u64) -> bool {
    true
}

/// One page-locked range.
#[derive(Debug)]
pub(crate) struct Pinned {
    pub(crate) len: u64,
    pub(crate) flags: u32,
    pub(crate) device: u32,
    pub(crate) context: ContextId,
    pub(crate) made: Site,
    /// Whether it is managed memory, which `cuMemFree` frees.
    pub(crate) managed: bool,
    /// The memory itself, unless the caller registered its own.
    backing: Option<Backing>,
    pub(crate) serial: u64,
    /// How often device work has written here, or may have.
    pub(crate) device_writes: u64,
}

impl Driver {
    /// `cuMemHostAlloc`: the host address.
    pub(crate) fn host_alloc(&mut self, bytes: u64, flags: u32, by: Site) -> Outcome<u64> {
        if bytes == 0 || flags & !ALLOC_FLAGS != 0 {
            return Err(Code::INVALID_VALUE);
        }
        self.own_pinned(bytes, flags, false, by)
    }

    /// Page-locked memory of the driver's own: its address.
    pub(super) fn own_pinned(&mut self, bytes: u64, flags: u32, managed: bool, by: Site) -> Outcome<u64> {
        let context = self.current(by.thread)?;
        self.unsafe_call(by.thread)?;
        let device = self.device_of_context(context);
        let len = usize::try_from(bytes).map_err(|_| Code::OUT_OF_MEMORY)?;
        let backing = Backing::zeroed(len, PAGE).ok_or(Code::OUT_OF_MEMORY)?;
        let address = backing.data() as u64;
        let pinned = Pinned {
            len: bytes,
            flags,
            device,
            context,
            made: by,
            managed,
            backing: Some(backing),
            serial: by.call,
            device_writes: 0,
        };
        self.memory.pinned.insert(address, pinned);
        Ok(address)
    }

    /// `cuMemFreeHost`.
    pub(crate) fn host_free(&mut self, address: u64, by: Site) -> Outcome {
        self.current(by.thread)?;
        self.unsafe_call(by.thread)?;
        match self.memory.pinned.get(&address) {
            Some(Pinned { managed: false, backing: Some(_), .. }) => {}
            _ => return Err(Code::INVALID_VALUE),
        }
        self.drop_pinned(address, by);
        Ok(())
    }

    /// `cuMemHostRegister`.
    pub(crate) fn host_register(&mut self, address: u64, bytes: u64, flags: u32, by: Site) -> Outcome {
        if address == 0 || bytes == 0 || flags & !REGISTER_FLAGS != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let context = self.current(by.thread)?;
        self.unsafe_call(by.thread)?;
        let end = address.checked_add(bytes).ok_or(Code::INVALID_VALUE)?;
        if !is_mapped(address, bytes) {
            return Err(Code::INVALID_VALUE);
        }
        let below = self.memory.pinned.range(..end).next_back();
        if below.is_some_and(|(base, pinned)| base + pinned.len > address) {
            return Err(Code::HOST_MEMORY_ALREADY_REGISTERED);
        }
        let device = self.device_of_context(context);
        let pinned = Pinned {
            len: bytes,
            flags,
            device,
            context,
            made: by,
            managed: false,
            backing: None,
            serial: by.call,
            device_writes: 0,
        };
        self.memory.pinned.insert(address, pinned);
        Ok(())
    }

    /// `cuMemHostUnregister`.
    pub(crate) fn host_unregister(&mut self, address: u64, by: Site) -> Outcome {
        self.current(by.thread)?;
        self.unsafe_call(by.thread)?;
        match self.memory.pinned.get(&address) {
            Some(Pinned { backing: None, .. }) => {}
            Some(_) => return Err(Code::INVALID_VALUE),
            None => return Err(Code::HOST_MEMORY_NOT_REGISTERED),
        }
        self.drop_pinned(address, by);
        Ok(())
    }

    /// Forgets a range, and frees it if it is the driver's own.
    pub(super) fn drop_pinned(&mut self, address: u64, by: Site) {
        let Some(pinned) = self.memory.pinned.get(&address) else { return };
        let (device, block) = (pinned.device, Range { address, bytes: pinned.len });
        for used in self.pending_users(block) {
            self.violate(Some(device), Violation::FreedWhileInUse { block, freed: by, used });
        }
        // Work that names the range looks it up again when it runs, and then meets nothing.
        self.memory.pinned.remove(&address);
    }

    /// The page-locked range that holds an address, if any: its first address and the range.
    pub(crate) fn pinned_at(&self, address: u64) -> Option<(u64, &Pinned)> {
        let (base, pinned) = self.memory.pinned.range(..=address).next_back()?;
        (address - base < pinned.len).then_some((*base, pinned))
    }

    /// The objects of this kind for [`Live`](crate::Live).
    pub(crate) fn live_pinned(&self, device: u32) -> impl Iterator<Item = crate::report::Object> {
        self.memory.pinned.iter().filter(move |(_, pinned)| pinned.device == device).map(|(base, pinned)| {
            let kind = if pinned.managed { ObjectKind::Allocation } else { ObjectKind::Pinned };
            crate::report::Object { kind, handle: *base, bytes: pinned.len, made: pinned.made }
        })
    }
}
