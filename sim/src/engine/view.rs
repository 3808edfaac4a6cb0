//! Device memory as a kernel sees it.

use crate::model::Driver;
use crate::model::id::ContextId;
use crate::ptx;

/// The memory that kernels of one context reach: its device's, its peers', and page-locked host memory.
pub(super) struct View<'a> {
    driver: &'a Driver,
    context: ContextId,
    /// Page-locked ranges that the kernel has reached for.
    pub(super) shared: Vec<u64>,
}

impl<'a> View<'a> {
    /// The view of a context.
    pub(super) fn new(driver: &'a Driver, context: ContextId) -> View<'a> {
        View { driver, context, shared: Vec::new() }
    }
}

// SAFETY: the driver is borrowed for as long as the view lives, so no block can be released and no other access of the
// simulator made while a kernel runs on it; `Memory::region` only names bytes of live blocks. Page-locked memory, which host
// threads may touch meanwhile, is reported as shared.
unsafe impl ptx::Memory for View<'_> {
    fn region(&mut self, address: u64) -> Option<ptx::Region> {
        let memory = &self.driver.memory;
        if let Some(device) = memory.device_of(address)
            && !self.driver.reaches(self.context, device)
        {
            return None;
        }
        let (base, len, span) = memory.region(address).ok()?;
        if span.shared && !self.shared.contains(&base) {
            self.shared.push(base);
        }
        Some(ptx::Region { base, len, data: span.data, host_shared: span.shared })
    }
}
