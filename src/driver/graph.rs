//! Graphs and their executables.
//!
//! NVIDIA: graph objects "are not internally synchronized and must not be accessed concurrently from multiple threads"
//! (CUDA Driver API 13.0, Graph object thread safety). Every function here that takes a handle has that as a condition.

use std::ffi::{CStr, c_uint};
use std::ptr;

use cudarc::driver::sys::{CUgraph, CUgraphExec, CUgraphNode, CUstream};

use super::{Driver, NodeHandle, StreamHandle};
use crate::error::{DriverCode, DriverError};

/// A graph's handle. Names the graph; owns nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GraphHandle(pub(super) CUgraph);

// SAFETY: a `CUgraph` is an opaque name, never dereferenced. Any thread may make the calls, one at a time (trace
// `thread.graph_and_exec_move_between_threads`); not `Sync`, because two at a time are not allowed.
unsafe impl Send for GraphHandle {}

/// An executable's handle. Names the executable; owns nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ExecutableHandle(pub(super) CUgraphExec);

// SAFETY: as for `GraphHandle`.
unsafe impl Send for ExecutableHandle {}
// SAFETY: a number that many may look at. What must not happen at once are calls with it, and each of them has that as a condition.
unsafe impl Sync for ExecutableHandle {}

/// `CUgraphExecUpdateResultInfo`, with its enumeration as a number.
#[repr(C)]
pub(super) struct ExecUpdateResultInfo {
    result: c_uint,
    error_node: CUgraphNode,
    error_from_node: CUgraphNode,
}

/// An update that the driver has refused, as it says why.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused {
    /// `CUgraphExecUpdateResult`.
    pub(crate) result: u32,
    /// The node of the new graph.
    pub(crate) node: Option<NodeHandle>,
}

/// How much `cuGraphDebugDotPrint` says of each node.
///
/// # References
/// [CUgraphDebugDot_flags](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DriverDot {
    /// Its kind, or the kernel's name.
    Names = 0,
    /// The shape of kernel launches, too.
    Launches = 4,
    /// Everything that the driver knows, handles and addresses included.
    Verbose = 1,
}

impl ExecutableHandle {
    pub(crate) fn raw(self) -> CUgraphExec {
        self.0
    }
}

/// `cuGraphLaunch` for one stream, with everything at hand that the call needs.
#[derive(Clone, Copy)]
pub(crate) struct GraphLauncher {
    call: unsafe extern "C" fn(CUgraphExec, CUstream) -> u32,
    stream: StreamHandle,
    driver: &'static Driver,
}

impl GraphLauncher {
    /// `cuGraphLaunch`. Needs no current context (D9).
    /// [Manual](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html).
    ///
    /// # Safety
    /// 1. `executable` is alive, and no other thread uses it meanwhile.
    /// 2. Everything that its nodes name is alive until the launch has run, and sound to use as they do.
    /// 3. The stream is alive and not capturing, or losing that capture is intended (D2).
    #[inline]
    pub(crate) unsafe fn graph_launch(&self, executable: ExecutableHandle) -> Result<(), DriverError> {
        // SAFETY: (1), (2), (3).
        match unsafe { (self.call)(executable.0, self.stream.0) } {
            0 => Ok(()),
            code => self.driver.check(self.driver.graph_launch.name, code),
        }
    }
}

/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`.
const AUTO_FREE_ON_LAUNCH: u64 = 1;

impl Driver {
    /// A graph's nodes, in no particular order.
    /// [Manual](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html).
    ///
    /// # Safety
    /// 1. `graph` is alive, and no other thread uses it meanwhile.
    pub(crate) unsafe fn graph_get_nodes(&self, graph: GraphHandle) -> Result<Vec<NodeHandle>, DriverError> {
        let mut count = 0;
        // SAFETY: (1); without an array the call writes the number of nodes.
        let code = unsafe { (self.graph_get_nodes.call)(graph.0, ptr::null_mut(), &raw mut count) };
        self.check(self.graph_get_nodes.name, code)?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut nodes: Vec<CUgraphNode> = vec![ptr::null_mut(); count];
        // SAFETY: (1); `nodes` has room for `count` handles, and the call writes no more and says how many.
        let code = unsafe { (self.graph_get_nodes.call)(graph.0, nodes.as_mut_ptr(), &raw mut count) };
        self.check(self.graph_get_nodes.name, code)?;
        nodes.truncate(count);
        Ok(nodes.into_iter().map(NodeHandle::of).collect())
    }

    /// `cuGraphDebugDotPrint`: writes a picture of the graph, in the DOT language, to a file.
    ///
    /// # Safety
    /// 1. `graph` is alive, and no other thread uses it meanwhile.
    /// 2. The modules of its kernels are loaded.
    pub(crate) unsafe fn graph_debug_dot_print(
        &self,
        graph: GraphHandle,
        path: &CStr,
        detail: DriverDot,
    ) -> Result<(), DriverError> {
        // SAFETY: (1), (2); the path ends in NUL.
        let code =
            self.relaxed(|| unsafe { (self.graph_debug_dot_print.call)(graph.0, path.as_ptr(), detail as c_uint) });
        self.check(self.graph_debug_dot_print.name, code)
    }

    /// `cuGraphExecUpdate`: makes an executable launch what `graph` holds. Refused if it differs by more than what can be
    /// updated; the executable is as it was then (trace `update.cases`). Launches in flight keep what they were enqueued with.
    ///
    /// # Safety
    /// 1. Both are alive, and no other thread uses either meanwhile.
    pub(crate) unsafe fn graph_exec_update(
        &self,
        executable: ExecutableHandle,
        graph: GraphHandle,
    ) -> Result<Result<(), Refused>, DriverError> {
        let mut info =
            ExecUpdateResultInfo { result: 0, error_node: ptr::null_mut(), error_from_node: ptr::null_mut() };
        // SAFETY: (1); a live out-pointer to a struct of the layout in `cuda.h`.
        let code = self.relaxed(|| unsafe { (self.graph_exec_update.call)(executable.0, graph.0, &raw mut info) });
        match self.check(self.graph_exec_update.name, code) {
            Ok(()) => Ok(Ok(())),
            Err(error) if error.code == DriverCode::GRAPH_EXEC_UPDATE_FAILURE => {
                let node = (!info.error_node.is_null()).then(|| NodeHandle::of(info.error_node));
                Ok(Err(Refused { result: info.result, node }))
            }
            Err(error) => Err(error),
        }
    }

    /// `cuGraphClone`: a graph of the same nodes. Not of one with memory nodes, which is refused (trace
    /// `mem.freed_inside.relaunch_reinstantiate_clone`: 801).
    ///
    /// # Safety
    /// 1. `graph` is alive, and no other thread uses it meanwhile.
    pub(crate) unsafe fn graph_clone(&self, graph: GraphHandle) -> Result<GraphHandle, DriverError> {
        let mut clone = ptr::null_mut();
        // SAFETY: (1); a live out-pointer.
        let code = self.relaxed(|| unsafe { (self.graph_clone.call)(&raw mut clone, graph.0) });
        self.check(self.graph_clone.name, code)?;
        Ok(GraphHandle(clone))
    }

    /// `cuGraphInstantiateWithFlags`, in the current context, which it needs (trace `context.*`: 201 without one).
    ///
    /// # Safety
    /// 1. `graph` is alive, and no other thread uses it meanwhile.
    pub(crate) unsafe fn graph_instantiate(
        &self,
        graph: GraphHandle,
        auto_free_on_launch: bool,
    ) -> Result<ExecutableHandle, DriverError> {
        let flags = if auto_free_on_launch { AUTO_FREE_ON_LAUNCH } else { 0 };
        let mut executable = ptr::null_mut();
        // SAFETY: (1); a live out-pointer.
        let code = self.relaxed(|| unsafe { (self.graph_instantiate.call)(&raw mut executable, graph.0, flags) });
        self.check(self.graph_instantiate.name, code)?;
        Ok(ExecutableHandle(executable))
    }

    /// `cuGraphUpload`: readies the device for the first launch, in stream order.
    ///
    /// # Safety
    /// 1. `executable` is alive, and no other thread uses it meanwhile.
    /// 2. `stream` is alive and not capturing, or losing that capture is intended.
    pub(crate) unsafe fn graph_upload(
        &self,
        executable: ExecutableHandle,
        stream: StreamHandle,
    ) -> Result<(), DriverError> {
        // SAFETY: (1), (2).
        let code = unsafe { (self.graph_upload.call)(executable.0, stream.0) };
        self.check(self.graph_upload.name, code)
    }

    /// What launches graphs into `stream`.
    pub(crate) fn graph_launcher(&'static self, stream: StreamHandle) -> GraphLauncher {
        GraphLauncher { call: self.graph_launch.call, stream, driver: self }
    }

    /// `cuGraphExecDestroy`. Launches in flight finish (trace `launch.exec_destroyed_in_flight`).
    ///
    /// # Safety
    /// 1. `executable` is alive, is not used after this, and no other thread uses it meanwhile.
    pub(crate) unsafe fn graph_exec_destroy(&self, executable: ExecutableHandle) -> Result<(), DriverError> {
        // SAFETY: (1).
        let code = self.relaxed(|| unsafe { (self.graph_exec_destroy.call)(executable.0) });
        self.check(self.graph_exec_destroy.name, code)
    }

    /// `cuGraphDestroy`. Executables made from it live on.
    ///
    /// # Safety
    /// 1. `graph` is alive, owned by the caller, is not used after this, and no other thread uses it meanwhile.
    pub(crate) unsafe fn graph_destroy(&self, graph: GraphHandle) -> Result<(), DriverError> {
        // SAFETY: (1).
        let code = self.relaxed(|| unsafe { (self.graph_destroy.call)(graph.0) });
        self.check(self.graph_destroy.name, code)
    }
}
