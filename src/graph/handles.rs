//! Owned graphs and executables: destroyed when dropped, under the relaxed thread mode.

#![allow(unsafe_code)]

use super::Census;
use crate::device::Device;
use crate::driver::{ExecutableHandle, GraphHandle, StreamHandle};
use crate::error::DriverError;

/// A graph that a capture yielded.
pub(crate) struct Graph {
    device: Device,
    /// Owned by this value alone, so no other thread uses it.
    handle: GraphHandle,
}

impl Graph {
    /// # Safety
    /// 1. `handle` is a graph that the caller owns and gives up.
    pub(crate) unsafe fn own(device: &Device, handle: GraphHandle) -> Self {
        Self { device: device.clone(), handle }
    }

    /// Counts the nodes.
    pub(crate) fn census(&self) -> Result<Census, DriverError> {
        // SAFETY: (1) owned, by the field's invariant.
        let kinds = unsafe { self.device.driver().graph_node_kinds(self.handle) }?;
        Ok(Census::of_numbers(kinds))
    }

    /// Instantiates.
    pub(crate) fn instantiate(&self, auto_free_on_launch: bool) -> Result<Executable, DriverError> {
        let handle = self.device.with_current(|driver| {
            // SAFETY: (1) owned, by the field's invariant.
            unsafe { driver.graph_instantiate(self.handle, auto_free_on_launch) }
        })?;
        Ok(Executable { device: self.device.clone(), handle })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: (1) owned, by the field's invariant; this is its last use.
        self.device.park(unsafe { self.device.driver().graph_destroy(self.handle) });
    }
}

/// An executable graph.
///
/// [`handle`](Self::handle) gives out copies, to be used under the lane's lock and while this value lives.
pub(crate) struct Executable {
    device: Device,
    handle: ExecutableHandle,
}

impl Executable {
    pub(crate) fn handle(&self) -> ExecutableHandle {
        self.handle
    }

    /// Readies the device for the first launch.
    ///
    /// # Safety
    /// 1. No other thread uses the executable meanwhile.
    /// 2. `stream` is alive and not capturing.
    pub(crate) unsafe fn upload(&self, stream: StreamHandle) -> Result<(), DriverError> {
        // SAFETY: (1) alive as `self` is; (1), (2) of the caller.
        unsafe { self.device.driver().graph_upload(self.handle, stream) }
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        // SAFETY: (1) owned; every copy of the handle is out of use by now, as `handle` demands of who takes one.
        self.device.park(unsafe { self.device.driver().graph_exec_destroy(self.handle) });
    }
}
