//! Nodes of graphs: what they do, and what they depend on.
//!
//! As for graphs, every function that takes a handle has as a condition that no other thread uses the graph.

use std::ffi::{CStr, c_uint, c_void};
use std::ptr;

use cudarc::driver::sys::{CUcontext, CUfunction, CUgraphNode};

use super::{Driver, ExecutableHandle, FunctionHandle, GraphHandle, KernelShape};
use crate::error::{DriverCode, DriverError};

/// A node's handle. Names the node; owns nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct NodeHandle(CUgraphNode);

// SAFETY: a `CUgraphNode` is an opaque name, never dereferenced. Any thread may make the calls, one at a time for each graph.
unsafe impl Send for NodeHandle {}
// SAFETY: a number that many may look at. What must not happen at once are calls with it, and each of them has that as a condition.
unsafe impl Sync for NodeHandle {}

impl NodeHandle {
    pub(super) fn of(node: CUgraphNode) -> Self {
        Self(node)
    }
}

/// `CUDA_KERNEL_NODE_PARAMS` of CUDA 12.
#[repr(C)]
pub(super) struct KernelNodeParams {
    function: CUfunction,
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    arguments: *mut *mut c_void,
    extra: *mut *mut c_void,
    kernel: *mut c_void,
    context: CUcontext,
}

impl KernelNodeParams {
    /// None: what a call fills in.
    const EMPTY: Self = Self {
        function: ptr::null_mut(),
        grid: [0; 3],
        block: [0; 3],
        shared_bytes: 0,
        arguments: ptr::null_mut(),
        extra: ptr::null_mut(),
        kernel: ptr::null_mut(),
        context: ptr::null_mut(),
    };

    /// A launch of a module's function. The context is the function's, whatever is current.
    fn of_launch(function: FunctionHandle, shape: KernelShape, arguments: &mut [*mut c_void]) -> Self {
        let KernelShape { grid, block, shared_bytes } = shape;
        let (function, arguments) = (function.raw(), arguments.as_mut_ptr());
        Self { function, grid, block, shared_bytes, arguments, ..Self::EMPTY }
    }
}

/// `CUkernelNodeAttrValue`: 64 bytes, of which each attribute uses what it needs.
#[repr(C, align(8))]
pub(super) struct KernelNodeAttribute([c_uint; 16]);

/// The attributes that this crate asks for; numbers as in `cuda.h`.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(crate) enum KernelAttribute {
    Cooperative = 2,
    ClusterDimension = 4,
    Priority = 8,
}

/// `CUgraphEdgeData`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct EdgeData {
    from_port: u8,
    to_port: u8,
    kind: u8,
    reserved: [u8; 5],
}

/// `CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC`.
const PROGRAMMATIC: u8 = 1;

/// What a kernel node launches.
pub(crate) struct KernelNode {
    pub(crate) callee: Option<Callee>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared_bytes: u32,
}

/// The code that a kernel node runs: a module's function, or a library's kernel. Names it; owns nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Callee {
    Function(FunctionHandle),
    LibraryKernel(*mut c_void),
}

/// A dependency between two nodes of a graph.
pub(crate) struct Dependency {
    pub(crate) from: NodeHandle,
    pub(crate) to: NodeHandle,
    pub(crate) programmatic: bool,
}

impl Driver {
    /// `cuGraphNodeGetType`: the driver's number of a node's kind.
    ///
    /// # Safety
    /// 1. The node's graph is alive, and no other thread uses it meanwhile.
    pub(crate) unsafe fn graph_node_get_type(&self, node: NodeHandle) -> Result<u32, DriverError> {
        let mut kind: c_uint = 0;
        // SAFETY: (1); a live out-pointer.
        let code = unsafe { (self.graph_node_get_type.call)(node.0, &raw mut kind) };
        self.check(self.graph_node_get_type.name, code)?;
        Ok(kind)
    }

    /// `cuGraphKernelNodeGetParams`.
    ///
    /// # Safety
    /// 1. It is a kernel node, of a graph that is alive and that no other thread uses meanwhile.
    pub(crate) unsafe fn graph_kernel_node_get_params(&self, node: NodeHandle) -> Result<KernelNode, DriverError> {
        let mut params = KernelNodeParams::EMPTY;
        // SAFETY: (1); a live out-pointer to a struct of the layout in `cuda.h`.
        let code = unsafe { (self.graph_kernel_node_get_params.call)(node.0, &raw mut params) };
        self.check(self.graph_kernel_node_get_params.name, code)?;
        let KernelNodeParams { function, kernel, grid, block, shared_bytes, .. } = params;
        let callee = match (function.is_null(), kernel.is_null()) {
            (false, _) => Some(Callee::Function(FunctionHandle::of(function))),
            (true, false) => Some(Callee::LibraryKernel(kernel)),
            (true, true) => None,
        };
        Ok(KernelNode { callee, grid, block, shared_bytes })
    }

    /// `cuGraphKernelNodeGetAttribute`: the first words of the value; zeros for what the device does not have.
    ///
    /// # Safety
    /// 1. It is a kernel node, of a graph that is alive and that no other thread uses meanwhile.
    pub(crate) unsafe fn graph_kernel_node_get_attribute(
        &self,
        node: NodeHandle,
        attribute: KernelAttribute,
    ) -> Result<[u32; 3], DriverError> {
        let mut value = KernelNodeAttribute([0; 16]);
        // SAFETY: (1); a live out-pointer to 64 bytes.
        let code = unsafe { (self.graph_kernel_node_get_attribute.call)(node.0, attribute as c_uint, &raw mut value) };
        if code == DriverCode::NOT_SUPPORTED.number() {
            return Ok([0; 3]);
        }
        self.check(self.graph_kernel_node_get_attribute.name, code)?;
        let KernelNodeAttribute([x, y, z, ..]) = value;
        Ok([x, y, z])
    }

    /// `cuGraphKernelNodeSetParams`: what a graph's node launches, in executables that are made or updated of the graph from then on.
    /// The arguments are copied now. Attributes stay.
    ///
    /// # Safety
    /// 1. It is a kernel node, of a graph that is alive and that no other thread uses meanwhile.
    /// 2. `arguments` holds one pointer a parameter, each to a value of the parameter's size.
    pub(crate) unsafe fn graph_kernel_node_set_params(
        &self,
        node: NodeHandle,
        function: FunctionHandle,
        shape: KernelShape,
        arguments: &mut [*mut c_void],
    ) -> Result<(), DriverError> {
        let params = KernelNodeParams::of_launch(function, shape, arguments);
        // SAFETY: (1), (2); a live struct of the layout in `cuda.h`.
        let code = self.relaxed(|| unsafe { (self.graph_kernel_node_set_params.call)(node.0, &raw const params) });
        self.check(self.graph_kernel_node_set_params.name, code)
    }

    /// `cuGraphExecKernelNodeSetParams`: what an executable launches in the place of a node of the graph that it was made of, from
    /// the next launch on. The graph's node stays as it is; launches in flight keep what they were enqueued with (trace
    /// `update.kernel_node_set_params`). The arguments are copied now. Attributes stay.
    ///
    /// # Safety
    /// 1. The executable is alive, and no other thread uses it meanwhile.
    /// 2. It is a kernel node, of a graph that is alive and that no other thread uses meanwhile.
    /// 3. `arguments` holds one pointer a parameter, each to a value of the parameter's size.
    pub(crate) unsafe fn graph_exec_kernel_node_set_params(
        &self,
        executable: ExecutableHandle,
        node: NodeHandle,
        function: FunctionHandle,
        shape: KernelShape,
        arguments: &mut [*mut c_void],
    ) -> Result<(), DriverError> {
        let params = KernelNodeParams::of_launch(function, shape, arguments);
        let (call, executable) = (self.graph_exec_kernel_node_set_params.call, executable.raw());
        // SAFETY: (1), (2), (3); a live struct of the layout in `cuda.h`.
        let code = self.relaxed(|| unsafe { call(executable, node.0, &raw const params) });
        self.check(self.graph_exec_kernel_node_set_params.name, code)
    }

    /// `cuGraphNodeFindInClone`: the copy of a node.
    ///
    /// # Safety
    /// 1. `clone` was cloned of the node's graph; both are alive, and no other thread uses either meanwhile.
    pub(crate) unsafe fn graph_node_find_in_clone(
        &self,
        node: NodeHandle,
        clone: GraphHandle,
    ) -> Result<NodeHandle, DriverError> {
        let mut copy = ptr::null_mut();
        // SAFETY: (1); a live out-pointer.
        let code = unsafe { (self.graph_node_find_in_clone.call)(&raw mut copy, node.0, clone.0) };
        self.check(self.graph_node_find_in_clone.name, code)?;
        Ok(NodeHandle(copy))
    }

    /// The dependencies of a graph: `cuGraphGetEdges_v2`, which knows programmatic ones, on drivers that have it (CUDA 12.3), or else
    /// `cuGraphGetEdges`.
    ///
    /// # Safety
    /// 1. `graph` is alive, and no other thread uses it meanwhile.
    pub(crate) unsafe fn graph_get_edges(&self, graph: GraphHandle) -> Result<Vec<Dependency>, DriverError> {
        let list = |from: *mut CUgraphNode, to: *mut CUgraphNode, data: *mut EdgeData, count: &mut usize| {
            let (name, code) = match &self.graph_get_edges_v2 {
                // SAFETY: (1); the arrays are null, and the call writes how many edges there are, or they have room for `count`
                // and it writes no more and says how many.
                Some(newer) => (newer.name, unsafe { (newer.call)(graph.0, from, to, data, count) }),
                // SAFETY: as above.
                None => (self.graph_get_edges.name, unsafe { (self.graph_get_edges.call)(graph.0, from, to, count) }),
            };
            self.check(name, code)
        };
        let mut count = 0;
        list(ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), &mut count)?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let (mut from, mut to) = (vec![ptr::null_mut(); count], vec![ptr::null_mut(); count]);
        let mut data = vec![EdgeData::default(); count];
        list(from.as_mut_ptr(), to.as_mut_ptr(), data.as_mut_ptr(), &mut count)?;
        let edges = from.into_iter().zip(to).zip(data).take(count);
        let dependency = |((from, to), data): ((CUgraphNode, CUgraphNode), EdgeData)| Dependency {
            from: NodeHandle(from),
            to: NodeHandle(to),
            programmatic: data.kind == PROGRAMMATIC,
        };
        Ok(edges.map(dependency).collect())
    }

    /// The name of what a kernel node calls: `cuFuncGetName` or `cuKernelGetName`, on drivers that have them (CUDA 12.3).
    ///
    /// # Safety
    /// 1. The function's module, or the kernel's library, is loaded.
    pub(crate) unsafe fn name_of_callee(&self, callee: Callee) -> Option<Box<str>> {
        let mut name = ptr::null();
        let code = match callee {
            Callee::Function(function) => {
                let call = self.func_get_name.as_ref()?.call;
                // SAFETY: (1); a live out-pointer.
                unsafe { call(&raw mut name, function.raw()) }
            }
            Callee::LibraryKernel(kernel) => {
                let call = self.kernel_get_name.as_ref()?.call;
                // SAFETY: (1); a live out-pointer.
                unsafe { call(&raw mut name, kernel) }
            }
        };
        if code != 0 || name.is_null() {
            return None;
        }
        // SAFETY: after success the name is a NUL-terminated string that lives as long as the module (1).
        Some(unsafe { CStr::from_ptr(name) }.to_string_lossy().into())
    }
}
