//! One captured graph with its executable, and what may be changed of it.
//!
//! *Where it sits.* Part of what was captured ([`Captured`](super::Captured)), which says when it is released.
//!
//! Invariants:
//!
//! 1. What an executable's nodes use outlives it: what the graph uses by the fields' order, what a change has brought in likewise, and
//!    what a change has done away with until the lane has drained.
//! 2. The graph is used by one thread at a time: under its lock. Replicas share it, and so the nodes by which the driver names what is
//!    to be changed in an executable.
//! 3. An executable is used in a turn of its lane's, or while nobody else knows it.

#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::CStr;

use super::lane::Lane;
use super::policy::CapturePolicy;
use super::retained::Retained;
use crate::device::Device;
use crate::driver::{DriverDot, ExecutableHandle, NodeHandle};
use crate::error::{DriverError, Error, Misuse, UpdateRefused};
use crate::graph::{Census, Executable, Graph, InspectedSegment};
use crate::kernel::KernelChange;
use crate::node::Node;
use crate::sync::{Arc, Mutex};
use crate::trace::{section, tell};

/// A graph that the policy has taken, and what its nodes use. Dropped in the order of the fields.
pub(crate) struct Fresh {
    graph: Graph,
    retained: Retained,
    census: Census,
    nodes: Box<[NodeHandle]>,
}

impl Fresh {
    /// Looks at the nodes of a captured graph, and asks the policy.
    pub(crate) fn new(policy: &CapturePolicy, retained: Retained, graph: Graph) -> Result<Self, Error> {
        // SAFETY: (1) the modules are retained, or by the conditions of `Enqueue::raw` loaded.
        let (census, nodes) = unsafe { graph.census(|function| retained.kernel_name(function)) }?;
        let fresh = Self { census, graph, retained, nodes };
        policy.check(&fresh.census)?;
        tell!(DEBUG, nodes = fresh.census.nodes(), kernels = fresh.census.kernels().count(), "captured");
        Ok(fresh)
    }

    pub(crate) fn census(&self) -> &Census {
        &self.census
    }

    fn into_parts(self) -> (Source, Census) {
        let Self { graph, retained, census, nodes } = self;
        // Replicas are on many threads, and a bag is not to be looked at by two at once.
        (Source { graph: Mutex::new(graph), nodes, retained: Mutex::new(retained) }, census)
    }
}

/// A graph, and what its nodes use: shared by the executables that are made of it. Dropped in the order of the fields.
struct Source {
    graph: Mutex<Graph>,
    /// Of each node of the census. To be used with the graph locked.
    nodes: Box<[NodeHandle]>,
    /// Locked for a look only.
    retained: Mutex<Retained>,
}

impl Source {
    /// A graph again that can be taken into an executable.
    fn into_fresh(self, census: Census) -> Fresh {
        Fresh { graph: self.graph.into_inner(), retained: self.retained.into_inner(), census, nodes: self.nodes }
    }
}

/// What an executable launched before an [exchange](Segment::exchange): to be dropped, or put back.
pub(crate) struct Former {
    source: Arc<Source>,
    made_of_source: bool,
    census: Census,
    changes: BTreeMap<usize, KernelChange>,
    doubtful: Retained,
}

/// One captured graph, with an executable and what its nodes use. Dropped in the order of the fields.
pub(crate) struct Segment {
    executable: Executable,
    source: Arc<Source>,
    /// Whether the executable was made of that graph. It was not once it has been updated with it: then it goes by the nodes of a graph
    /// that is gone.
    made_of_source: bool,
    census: Census,
    /// What the executable launches in the place of nodes of the graph, by their positions.
    changes: BTreeMap<usize, KernelChange>,
    /// What changes use of which the driver has said that they have failed.
    doubtful: Retained,
}

impl Segment {
    /// Instantiates. Nobody else has a turn on the lane.
    pub(crate) fn new(lane: &Lane, policy: &CapturePolicy, fresh: Fresh) -> Result<Self, Error> {
        let (source, census) = fresh.into_parts();
        Self::instantiate(lane, policy, Arc::new(source), census, BTreeMap::new())
    }

    /// One more of the same graph, with the same changes, for another lane, which nobody else knows yet.
    pub(crate) fn replicate(&self, lane: &Lane, policy: &CapturePolicy) -> Result<Self, Error> {
        Self::instantiate(lane, policy, self.source.clone(), self.census.clone(), self.changes.clone())
    }

    fn instantiate(
        lane: &Lane,
        policy: &CapturePolicy,
        source: Arc<Source>,
        census: Census,
        mut changes: BTreeMap<usize, KernelChange>,
    ) -> Result<Self, Error> {
        let section = section!("instantiate", stream = lane.id(), nodes = census.nodes());
        let _entered = section.span.enter();
        // On an early return it goes after the lock, and before what its nodes use, which is in the parameters.
        let executable;
        let graph = source.graph.lock();
        executable = graph.instantiate(policy.auto_free_on_launch())?;
        for (&position, change) in &mut changes {
            // SAFETY:
            // 1. Nobody else knows the executable, and its graph is locked.
            // 2. A change has the position of a kernel.
            // 3. As it was when it was first made.
            unsafe { executable.set_kernel(source.nodes[position], change) }?;
        }
        drop(graph);
        if policy.uploads() {
            // SAFETY: (1) it has not been published, so nobody else knows it. (2) The lane keeps its stream alive, and
            // no capture is open on it.
            unsafe { executable.upload(lane.handle()) }?;
        }
        let doubtful = Retained::new(lane.driver());
        Ok(Self { executable, source, made_of_source: true, census, changes, doubtful })
    }

    /// Makes the executable launch what `fresh` has recorded; if the driver refuses that, gives it back.
    ///
    /// Nobody else has a turn on the lane, and it has drained since the last launch: so what the old graph used is let go.
    pub(crate) fn update(&mut self, fresh: Fresh) -> Result<Result<(), (Fresh, UpdateRefused)>, Error> {
        Ok(self.exchange(fresh)?.map(drop))
    }

    /// The same, and hands out what was there before.
    pub(crate) fn exchange(&mut self, fresh: Fresh) -> Result<Result<Former, (Fresh, UpdateRefused)>, Error> {
        // SAFETY: (1) nobody else has a turn, as said. (2) The modules are retained, or by the conditions of `Enqueue::raw` loaded.
        match unsafe { self.executable.update(&fresh.graph, &fresh.census) } {
            Ok(Ok(())) => {
                let (source, census) = fresh.into_parts();
                Ok(Ok(Former {
                    source: std::mem::replace(&mut self.source, Arc::new(source)),
                    made_of_source: std::mem::replace(&mut self.made_of_source, false),
                    census: std::mem::replace(&mut self.census, census),
                    changes: std::mem::take(&mut self.changes),
                    doubtful: self.doubtful.take(),
                }))
            }
            Ok(Err(refused)) => Ok(Err((fresh, refused))),
            Err(error) => {
                // What the driver has made of the executable is not known: keep what either names.
                let Fresh { graph, mut retained, .. } = fresh;
                self.doubtful.append(&mut retained);
                drop(graph);
                Err(error.into())
            }
        }
    }

    /// Makes the executable launch again what it did before an exchange, and gives back what that had brought.
    ///
    /// As for the exchange, nobody else has a turn on the lane; and nothing has been launched or replicated since.
    pub(crate) fn put_back(&mut self, former: Former) -> Result<Fresh, Error> {
        let Former { source, made_of_source, census, changes, doubtful } = former;
        let source = std::mem::replace(&mut self.source, source);
        let census = std::mem::replace(&mut self.census, census);
        (self.made_of_source, self.changes, self.doubtful) = (made_of_source, changes, doubtful);
        let Some(source) = Arc::into_inner(source) else { unreachable!("nobody has replicated it since the exchange") };
        let mut fresh = source.into_fresh(census);
        match self.restore() {
            Ok(()) => Ok(fresh),
            Err(error) => {
                self.doubtful.append(&mut fresh.retained);
                Err(error)
            }
        }
    }

    /// Makes the executable launch what it was to launch before an exchange that ended in an error.
    ///
    /// As for an exchange, nobody else has a turn on the lane.
    pub(crate) fn restore(&mut self) -> Result<(), Error> {
        let source = self.source.clone();
        let graph = source.graph.lock();
        if self.changes.is_empty() {
            // SAFETY: (1) nobody else has a turn, as said. (2) The modules are retained, or by the conditions of `Enqueue::raw` loaded.
            return Ok(unsafe { self.executable.update(&graph, &self.census) }??);
        }
        // SAFETY: (1) nobody else has a turn, as said. (2), (3) nothing but what was changed before.
        unsafe { self.update_from(&graph, &source.nodes, None) }
    }

    /// Makes a kernel launch `change` from the next launch on.
    ///
    /// # Safety
    /// 1. The conditions of a captured launch hold for `change`.
    pub(super) unsafe fn update_kernel(
        &mut self,
        lane: &Lane,
        position: usize,
        mut change: KernelChange,
    ) -> Result<(), Error> {
        let Some(captured) = self.census.in_order()[position].kernel() else {
            unreachable!("the node that was found is a kernel")
        };
        let launch = change.replace(captured, position, self.census.is_programmatic(position))?;
        if !self.is_on(change.device(), lane) {
            return Err(Misuse::WrongContext { what: "kernel" }.into());
        }
        lane.make_room()?;
        let source = self.source.clone();
        // The lane before the graph: who has the graph waits for nobody, and on the lane there may be somebody who wants it.
        let held = lane.order().hold_exclusively(lane.order().turn()?);
        let graph = source.graph.lock();
        let changed = if self.made_of_source {
            // SAFETY:
            // 1. With every turn of the lane's, and with the graph locked.
            // 2. The position is that of a kernel.
            // 3. (1) of the caller; the change keeps the module.
            lane.heard(unsafe { self.executable.set_kernel(source.nodes[position], &mut change) })
        } else {
            // SAFETY: (1) with every turn of the lane's. (2), (3) as above.
            unsafe { self.update_from(&graph, &source.nodes, Some((position, &mut change))) }
        };
        drop(graph);
        drop(held);
        if let Err(error) = changed {
            // Measured, such a failure changes nothing. But nothing says so.
            keep(&mut self.doubtful, &change);
            return Err(error);
        }
        tell!(DEBUG, stream = lane.id(), position, kernel = launch.title(), "kernel updated");
        self.census.set(position, Node::Kernel(launch));
        if let Some(old) = self.changes.insert(position, change) {
            // A replay of it may be in flight.
            let mut bag = Retained::new(lane.driver());
            keep(&mut bag, &old);
            lane.keep(bag);
        }
        Ok(())
    }

    /// Changes an executable that was not made of `graph` but updated with it: updates it with a duplicate in which every kernel that
    /// was changed is changed again, and one more.
    ///
    /// # Safety
    /// 1. Nobody else uses the executable meanwhile.
    /// 2. The position is that of a kernel.
    /// 3. The conditions of a captured launch hold for `change`.
    unsafe fn update_from(
        &mut self,
        graph: &Graph,
        nodes: &[NodeHandle],
        change: Option<(usize, &mut KernelChange)>,
    ) -> Result<(), Error> {
        let duplicate = graph.duplicate()?;
        let position = change.as_ref().map(|(position, _)| *position);
        let before = self.changes.iter_mut().filter(|(at, _)| Some(**at) != position).map(|(&at, before)| (at, before));
        for (at, change) in before.chain(change) {
            // SAFETY: (1) nodes of kernels of a graph that is locked. (2) As it was when it was made; of the last, (3).
            unsafe { duplicate.set_kernel_of_duplicate(nodes[at], change) }?;
        }
        // SAFETY: (1). (2) The modules are retained, by the source and by the changes.
        Ok(unsafe { self.executable.update(&duplicate, &self.census) }??)
    }

    /// Whether the segment's kernels are of this device, as far as this crate knows: of the lane's, or of that of a branch.
    fn is_on(&self, device: &Device, lane: &Lane) -> bool {
        device.same_context(lane.device()) || self.source.retained.lock().has_module_on(device)
    }

    pub(crate) fn census(&self) -> &Census {
        &self.census
    }

    pub(crate) fn inspect(&self) -> InspectedSegment {
        let mut changed = Retained::new(self.executable.driver());
        self.changes.values().for_each(|change| keep(&mut changed, change));
        let (memory, others) = self.source.retained.lock().contents_with(&changed);
        InspectedSegment { census: self.census.clone(), memory, others }
    }

    /// Has the driver write its own picture of the graph, as it was captured, to a file.
    pub(crate) fn write_driver_dot(&self, path: &CStr, detail: DriverDot) -> Result<(), DriverError> {
        // SAFETY: (1) the modules are retained, or by the conditions of `Enqueue::raw` loaded.
        unsafe { self.source.graph.lock().write_dot(path, detail) }
    }

    /// The executable, to be used in a turn of the lane's, and until `self` is released.
    pub(crate) fn executable(&self) -> ExecutableHandle {
        self.executable.handle()
    }
}

/// Keeps what a launch uses.
fn keep(retained: &mut Retained, change: &KernelChange) {
    retained.share(change.module());
    change.allocations().iter().for_each(|allocation| retained.share(allocation));
}
