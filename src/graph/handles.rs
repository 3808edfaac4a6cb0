//! Owned graphs and executables: destroyed when dropped, under the relaxed thread mode.

#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::CStr;

use super::{Census, Edge};
use crate::device::Device;
use crate::driver::{
    Callee, Dependency, Driver, DriverDot, ExecutableHandle, FunctionHandle, GraphHandle, KernelAttribute, KernelNode,
    NodeHandle, StreamHandle,
};
use crate::error::{DriverError, NodeName, UpdateReason, UpdateRefused};
use crate::kernel::KernelChange;
use crate::node::{KernelLaunch, Node};
use crate::node_kind::NodeKind;
use crate::sync::Arc;

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

    /// Looks at every node: some five driver calls for a kernel, one for any other. Returns the handle of each node of the census, too.
    ///
    /// `known` names a function where the driver does not.
    ///
    /// # Safety
    /// 1. The modules of its kernels are loaded.
    pub(crate) unsafe fn census(
        &self,
        known: impl Fn(FunctionHandle) -> Option<Arc<str>>,
    ) -> Result<(Census, Box<[NodeHandle]>), DriverError> {
        let mut names = HashMap::new();
        let mut name = |callee: Callee| {
            // SAFETY: (1).
            let of_driver = || unsafe { self.device.driver().name_of_callee(callee) }.map(Arc::from);
            let of_module = || if let Callee::Function(function) = callee { known(function) } else { None };
            names.entry(callee).or_insert_with(|| of_driver().or_else(of_module)).clone()
        };
        // The driver may want the context to load what it has put off, which is nothing that a capture of this thread should see.
        self.device.with_current(|driver| {
            driver.relaxed(|| {
                let handles = self.nodes()?;
                let nodes = handles.iter().map(|&node| self.node(node, &mut name)).collect::<Result<_, _>>()?;
                let places: HashMap<NodeHandle, usize> = handles.iter().copied().zip(0..).collect();
                // SAFETY: (1) owned, by the field's invariant.
                let dependencies = unsafe { driver.graph_get_edges(self.handle) }?;
                let edges = dependencies.into_iter().filter_map(|Dependency { from, to, programmatic }| {
                    Some(Edge { from: *places.get(&from)?, to: *places.get(&to)?, programmatic })
                });
                let (census, listed) = Census::arrange(nodes, edges.collect());
                Ok((census, listed.into_iter().map(|place| handles[place]).collect()))
            })
        })
    }

    fn nodes(&self) -> Result<Vec<NodeHandle>, DriverError> {
        // SAFETY: (1) owned, by the field's invariant.
        unsafe { self.device.driver().graph_get_nodes(self.handle) }
    }

    /// One of its nodes.
    fn node(&self, node: NodeHandle, name: &mut impl FnMut(Callee) -> Option<Arc<str>>) -> Result<Node, DriverError> {
        let driver = self.device.driver();
        // SAFETY: (1) the node is of this graph, which is owned.
        let kind = NodeKind::of_number(unsafe { driver.graph_node_get_type(node) }?);
        if kind != NodeKind::Kernel {
            return Ok(kind.into());
        }
        // SAFETY: (1) a kernel node of this graph, which is owned.
        let KernelNode { callee, grid, block, shared_bytes } = unsafe { driver.graph_kernel_node_get_params(node) }?;
        // SAFETY: as above.
        let attribute = |attribute| unsafe { driver.graph_kernel_node_get_attribute(node, attribute) };
        let cluster = attribute(KernelAttribute::ClusterDimension)?;
        let [cooperative, ..] = attribute(KernelAttribute::Cooperative)?;
        let [priority, ..] = attribute(KernelAttribute::Priority)?;
        Ok(Node::Kernel(KernelLaunch {
            name: callee.and_then(name),
            grid,
            block,
            shared_bytes,
            cluster: (cluster != [0; 3]).then_some(cluster),
            cooperative: cooperative != 0,
            priority: priority.cast_signed(),
        }))
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
            kernel = params.callee.and_then(|callee| unsafe { driver.name_of_callee(callee) });
        }
        Ok(NodeName { kind, kernel })
    }

    /// Has the driver write its picture of the graph to a file.
    ///
    /// # Safety
    /// 1. The modules of its kernels are loaded.
    pub(crate) unsafe fn write_dot(&self, path: &CStr, detail: DriverDot) -> Result<(), DriverError> {
        // SAFETY: (1) owned, by the field's invariant. (2) (1) of the caller.
        self.device.with_current(|driver| unsafe { driver.graph_debug_dot_print(self.handle, path, detail) })
    }

    /// A graph of the same nodes.
    pub(crate) fn duplicate(&self) -> Result<Self, DriverError> {
        // SAFETY: (1) owned, by the field's invariant.
        let handle = self.device.with_current(|driver| unsafe { driver.graph_clone(self.handle) })?;
        // SAFETY: (1) a clone belongs to who has made it.
        Ok(unsafe { Self::own(&self.device, handle) })
    }

    /// Changes what the copy of a node launches, in this graph, which is a [`duplicate`](Self::duplicate).
    ///
    /// # Safety
    /// 1. It is a kernel node of the graph that this is a duplicate of, which is alive and which no other thread uses meanwhile.
    /// 2. The kernel's parameters are the launch's arguments, and its module is loaded.
    pub(crate) unsafe fn set_kernel_of_duplicate(
        &self,
        node: NodeHandle,
        launch: &mut KernelChange,
    ) -> Result<(), DriverError> {
        let (function, shape, mut arguments) = launch.for_driver();
        launch.device().with_current(|driver| {
            // SAFETY: (1) of the caller; this graph is owned.
            let copy = unsafe { driver.graph_node_find_in_clone(node, self.handle) }?;
            // SAFETY: (1) a kernel node of this graph, which is owned. (2) of the caller.
            unsafe { driver.graph_kernel_node_set_params(copy, function, shape, &mut arguments) }
        })
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

    pub(crate) fn driver(&self) -> &'static Driver {
        self.device.driver()
    }

    /// Makes the executable launch what `graph` holds, from the next launch on. Refused, it is as it was.
    ///
    /// # Safety
    /// 1. No other thread uses the executable meanwhile.
    /// 2. The modules of the graph's kernels are loaded.
    pub(crate) unsafe fn update(
        &self,
        graph: &Graph,
        census: &Census,
    ) -> Result<Result<(), UpdateRefused>, DriverError> {
        // What it was instantiated from may be gone, so the new graph alone is looked at: if the old one had clusters and this
        // one has none, the driver compares the attributes and refuses.
        if let Some(refused) = census.kernels().find_map(UpdateRefused::of_clusters) {
            return Ok(Err(refused));
        }
        // SAFETY: (1) alive as `self` and `graph` are; the graph is owned by its value; (1) of the caller.
        match unsafe { self.device.driver().graph_exec_update(self.handle, graph.handle) }? {
            Ok(()) => Ok(Ok(())),
            Err(refused) => {
                // SAFETY: (1) named by the driver as one of this graph. (2) of the caller.
                let node = refused.node.map(|node| unsafe { graph.name(node) }).transpose()?;
                Ok(Err(UpdateRefused { reason: UpdateReason::of_number(refused.result), node }))
            }
        }
    }

    /// Changes what the executable launches in the place of a node, from the next launch on.
    ///
    /// # Safety
    /// 1. No other thread uses the executable meanwhile, nor the graph that it was made of, which is alive.
    /// 2. It is a kernel node of that graph.
    /// 3. The kernel's parameters are the launch's arguments, and its module is loaded.
    pub(crate) unsafe fn set_kernel(&self, node: NodeHandle, launch: &mut KernelChange) -> Result<(), DriverError> {
        let (function, shape, mut arguments) = launch.for_driver();
        launch.device().with_current(|driver| {
            // SAFETY: (1) alive as `self` is; (1) of the caller. (2) of the caller. (3) of the caller: one pointer an argument.
            unsafe { driver.graph_exec_kernel_node_set_params(self.handle, node, function, shape, &mut arguments) }
        })
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
