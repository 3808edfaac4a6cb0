//! Owned graphs and executables: destroyed when dropped, under the relaxed thread mode.

#![allow(unsafe_code)]

use super::Census;
use crate::device::Device;
use crate::driver::{ExecutableHandle, GraphHandle, NodeHandle, StreamHandle};
use crate::error::{DriverError, NodeName, UpdateReason, UpdateRefused};
use crate::node_kind::NodeKind;

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
        let kinds: Result<Vec<u32>, DriverError> = self.nodes()?.into_iter().map(|node| self.kind(node)).collect();
        Ok(Census::of_numbers(kinds?))
    }

    fn nodes(&self) -> Result<Vec<NodeHandle>, DriverError> {
        // SAFETY: (1) owned, by the field's invariant.
        unsafe { self.device.driver().graph_get_nodes(self.handle) }
    }

    /// The driver's number of the kind of one of its nodes.
    fn kind(&self, node: NodeHandle) -> Result<u32, DriverError> {
        // SAFETY: (1) the node is of this graph, which is owned.
        unsafe { self.device.driver().graph_node_get_type(node) }
    }

    /// The first kernel node that is launched in clusters.
    fn clustered(&self) -> Result<Option<NodeHandle>, DriverError> {
        for node in self.nodes()? {
            if NodeKind::of_number(self.kind(node)?) == NodeKind::Kernel {
                // SAFETY: (1) a kernel node of this graph, which is owned.
                let cluster = unsafe { self.device.driver().graph_kernel_node_cluster(node) }?;
                if cluster.iter().any(|&blocks| blocks > 1) {
                    return Ok(Some(node));
                }
            }
        }
        Ok(None)
    }

    /// What to call one of its nodes in a message.
    ///
    /// # Safety
    /// 1. The node is of this graph.
    /// 2. The modules of its kernels are loaded.
    unsafe fn name(&self, node: NodeHandle) -> Result<NodeName, DriverError> {
        let driver = self.device.driver();
        // SAFETY: (1); the graph is owned.
        let kind = NodeKind::of_number(unsafe { driver.graph_node_get_type(node) }?);
        let mut kernel = None;
        if kind == NodeKind::Kernel {
            // SAFETY: a kernel node of this graph, which is owned (1).
            let params = unsafe { driver.graph_kernel_node_get_params(node) }?;
            // SAFETY: (2).
            kernel = params.function.and_then(|function| unsafe { driver.func_get_name(function) });
        }
        Ok(NodeName { kind, kernel })
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

    /// Makes the executable launch what `graph` holds, from the next launch on. Refused, it is as it was.
    ///
    /// # Safety
    /// 1. No other thread uses the executable meanwhile.
    /// 2. The modules of the graph's kernels are loaded.
    pub(crate) unsafe fn update(&self, graph: &Graph) -> Result<Result<(), UpdateRefused>, DriverError> {
        // What it was instantiated from may be gone, so the new graph alone is looked at: if the old one had clusters and this
        // one has none, the driver compares the attributes and refuses.
        let (reason, node) = match graph.clustered()? {
            Some(node) => (UpdateReason::Cluster, Some(node)),
            // SAFETY: (1) alive as `self` and `graph` are; the graph is owned by its value; (1) of the caller.
            None => match unsafe { self.device.driver().graph_exec_update(self.handle, graph.handle) }? {
                Ok(()) => return Ok(Ok(())),
                Err(refused) => (UpdateReason::of_number(refused.result), refused.node),
            },
        };
        // SAFETY: (1) named by the driver as one of this graph. (2) of the caller.
        let node = node.map(|node| unsafe { graph.name(node) }).transpose()?;
        Ok(Err(UpdateRefused { reason, node }))
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
