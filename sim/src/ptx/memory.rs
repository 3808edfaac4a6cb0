//! The memory that a kernel sees, as the rest of the simulator provides it.

/// Finds the memory behind a device address.
///
/// # Safety
///
/// Whoever implements this vouches for every [`Region`] that `region` returns, until the call of
/// [`Grid::run`](super::Grid::run) that the memory was passed to has returned:
///
/// 1. `data .. data + len` is one allocation that stays mapped, readable and writable.
/// 2. No Rust reference to any of these bytes is used meanwhile.
/// 3. Unless `host_shared` is set, no other thread touches the bytes meanwhile. If it is set, other threads touch them only
///    with atomic operations, or from outside of Rust.
pub unsafe trait Memory {
    /// The mapped range that contains `address`, or nothing.
    fn region(&mut self, address: u64) -> Option<Region>;
}

/// One contiguous mapped range of device addresses.
#[derive(Debug, Clone, Copy)]
pub struct Region {
    /// The first device address.
    pub base: u64,
    /// The number of bytes.
    pub len: u64,
    /// Where the bytes are.
    pub data: *mut u8,
    /// Host threads may touch the bytes while a kernel runs (pinned host memory): they are accessed atomically.
    pub host_shared: bool,
}

impl Region {
    /// Whether `size` bytes from `address` on lie in the region.
    pub(super) fn holds(&self, address: u64, size: u64) -> bool {
        address.checked_sub(self.base).is_some_and(|offset| offset <= self.len && size <= self.len - offset)
    }
}

/// The regions that the running call has seen. They are forgotten when the call returns, as the contract demands.
pub(super) struct Regions<'m> {
    memory: &'m mut dyn Memory,
    recent: [Option<Region>; 8],
    next: usize,
}

impl<'m> Regions<'m> {
    pub(super) fn new(memory: &'m mut dyn Memory) -> Self {
        Regions { memory, recent: [None; 8], next: 0 }
    }

    /// The region that holds `size` bytes from `address` on.
    pub(super) fn find(&mut self, address: u64, size: u64) -> Option<Region> {
        if let Some(region) = self.recent.iter().flatten().find(|r| r.holds(address, size)) {
            return Some(*region);
        }
        let region = self.memory.region(address).filter(|r| r.holds(address, size))?;
        self.recent[self.next] = Some(region);
        self.next = (self.next + 1) % self.recent.len();
        Some(region)
    }
}
