//! Instantiation: from a graph to an executable.

use std::collections::BTreeMap;

use super::Driver;
use super::exec::{AUTO_FREE, Executable, Plan, PlanNode};
use super::id::{ContextId, ExecId, GraphId, NodeId};
use super::pairing::{Shape, ShapeNode};
use super::work::Work;
use crate::code::{Code, Outcome};
use crate::report::Site;

/// `CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD`.
const UPLOAD: u64 = 2;
/// `CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH`.
const DEVICE_LAUNCH: u64 = 4;
/// `CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY`.
const NODE_PRIORITY: u64 = 8;

/// `CUgraphInstantiateResult`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InstantiateResult {
    /// There is an executable.
    Success = 0,
    /// A reason that has no result of its own.
    Error = 1,
    /// A node cannot be launched from the device.
    NodeOperationNotSupported = 3,
    /// A device launch needs one context.
    MultipleContexts = 4,
    /// A conditional handle has no node.
    ConditionalHandleUnused = 5,
}

/// Why an instantiation failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    /// What the call returns.
    pub(crate) code: Code,
    pub(crate) result: InstantiateResult,
    /// The node at fault, where there is one.
    pub(crate) node: Option<NodeId>,
}

impl From<Code> for Refusal {
    fn from(code: Code) -> Refusal {
        Refusal { code, result: InstantiateResult::Error, node: None }
    }
}

impl Driver {
    /// `cuGraphInstantiateWithFlags`, and `…WithParams` when `upload` says where to.
    pub(crate) fn instantiate(
        &mut self,
        raw: u64,
        flags: u64,
        upload: Option<u64>,
        by: Site,
    ) -> Result<ExecId, Refusal> {
        let context = self.current(by.thread)?;
        let known = AUTO_FREE | DEVICE_LAUNCH | NODE_PRIORITY | if upload.is_some() { UPLOAD } else { 0 };
        let both = AUTO_FREE | DEVICE_LAUNCH;
        if flags & !known != 0 || flags & both == both {
            return Err(Code::INVALID_VALUE.into());
        }
        self.unsafe_call(by.thread)?;
        let graph = self.graph(raw)?;
        let entry = self.graphs.get(graph).ok_or(Code::INVALID_VALUE)?;
        if entry.nested {
            return Err(Code::INVALID_VALUE.into());
        }
        if entry.conditions.iter().any(|c| self.conditions.get(*c).is_some_and(|c| !c.used)) {
            let result = InstantiateResult::ConditionalHandleUnused;
            return Err(Refusal { code: Code::INVALID_VALUE, result, node: None });
        }
        let objects = entry.objects.clone();
        let exclusive = self.has_memory_nodes(graph) || self.has_conditionals(graph);
        if exclusive && self.execs.iter().any(|(_, exec)| exec.exclusive == Some(graph)) {
            return Err(Code::NOT_SUPPORTED.into());
        }
        let plan = self.plan(graph)?;
        if flags & DEVICE_LAUNCH != 0 {
            device_launchable(&plan)?;
        }
        for node in &plan.nodes {
            self.check_code(node, by)?;
        }
        let device = self.device_of_context(context);
        let mut exec = Executable::new(device, plan, flags & both, by);
        exec.exclusive = exclusive.then_some(graph);
        exec.objects = objects.clone();
        for (object, count) in objects {
            self.retain_object(object, count);
        }
        for block in exec.plan.blocks() {
            self.own_block(block);
            self.escape_block(block);
        }
        let exec = self.execs.insert(exec);
        if flags & UPLOAD != 0
            && let Some(stream) = upload
        {
            let raw = super::id::Id::raw(exec);
            if let Err(code) = self.exec_upload(raw, stream, by) {
                self.drop_exec(exec, by);
                return Err(code.into());
            }
        }
        Ok(exec)
    }

    /// A kernel whose module is gone cannot be instantiated.
    fn check_code(&mut self, node: &PlanNode, by: Site) -> Outcome {
        let Work::Kernel(launch) = &node.work else { return Ok(()) };
        if self.modules.get(launch.module).is_some() {
            return Ok(());
        }
        self.check_module(node.context, launch.module, launch.code.name(), by);
        Err(Code::INVALID_HANDLE)
    }

    /// A graph with its children flattened: a child's node stands for the end of the child.
    pub(super) fn plan(&self, graph: GraphId) -> Outcome<Plan> {
        let mut builder = Builder::default();
        let (_, shape) = self.flatten(graph, &[], &mut builder)?;
        let mut plan = Plan { nodes: builder.nodes, shape };
        for at in 0..plan.nodes.len() {
            for dep in std::mem::take(&mut plan.nodes[at].deps) {
                plan.nodes[dep as usize].users.push(at as u32);
                plan.nodes[at].deps.push(dep);
            }
        }
        Ok(plan)
    }

    /// Adds a graph whose roots come after `entry`; the positions of its last nodes, and what it was before.
    fn flatten(&self, graph: GraphId, entry: &[u32], builder: &mut Builder) -> Outcome<(Vec<u32>, Shape)> {
        let mut order = self.sorted(graph).ok_or(Code::INVALID_VALUE)?;
        let mut ends: Vec<u32> = Vec::new();
        let mut place: BTreeMap<NodeId, u32> = BTreeMap::new();
        let mut shape = Shape::default();
        let mut local: BTreeMap<NodeId, usize> = BTreeMap::new();
        for id in order.drain(..) {
            let node = self.nodes.get(id).ok_or(Code::INVALID_VALUE)?;
            let mut deps: Vec<u32> = node.deps.iter().filter_map(|dep| place.get(dep).copied()).collect();
            if node.deps.is_empty() {
                deps.extend_from_slice(entry);
            }
            ends.retain(|end| !deps.contains(end));
            let children: Vec<GraphId> = match &node.work {
                Work::Child(child) => vec![*child],
                Work::Conditional { handle, kind, bodies } => self.chosen(*handle, *kind, bodies)?,
                _ => Vec::new(),
            };
            let mut inner: Vec<Shape> = Vec::new();
            for child in children {
                let (last, shape) = self.flatten(child, &deps, builder)?;
                if !last.is_empty() {
                    deps = last;
                }
                inner.push(shape);
            }
            let at = builder.push(id, node.work.clone(), node.context, deps);
            place.insert(id, at);
            ends.push(at);
            local.insert(id, shape.nodes.len());
            let deps = node.deps.iter().filter_map(|dep| local.get(dep).copied()).collect();
            shape.nodes.push(ShapeNode { node: id, at, deps, inner, end_since: node.end_since });
        }
        Ok((ends, shape))
    }

    /// A graph's nodes so that each comes after those it depends on; otherwise in the order in which they were made. None if
    /// nodes depend on one another in a circle.
    fn sorted(&self, graph: GraphId) -> Option<Vec<NodeId>> {
        let nodes = self.graphs.get(graph).map_or(&[][..], |graph| &graph.nodes);
        let in_order =
            nodes.iter().all(|id| self.nodes.get(*id).is_some_and(|node| node.deps.iter().all(|dep| dep < id)));
        if in_order {
            return Some(nodes.to_vec());
        }
        let mut placed: std::collections::BTreeSet<NodeId> = std::collections::BTreeSet::new();
        let mut order = Vec::with_capacity(nodes.len());
        while order.len() < nodes.len() {
            let before = order.len();
            for id in nodes {
                let free = |dep: &NodeId| placed.contains(dep);
                if !placed.contains(id) && self.nodes.get(*id).is_some_and(|node| node.deps.iter().all(free)) {
                    placed.insert(*id);
                    order.push(*id);
                }
            }
            if order.len() == before {
                return None;
            }
        }
        Some(order)
    }

    /// The bodies that a conditional node runs, given the value that its handle starts with.
    fn chosen(&self, handle: super::id::ConditionId, kind: u32, bodies: &[GraphId]) -> Outcome<Vec<GraphId>> {
        const WHILE: u32 = 1;
        const SWITCH: u32 = 2;
        let value = self.conditions.get(handle).and_then(|condition| condition.default).unwrap_or(0);
        let body = match kind {
            // Device code cannot set the value here, so the loop would never end.
            WHILE if value != 0 => return Err(Code::NOT_SUPPORTED),
            WHILE => None,
            SWITCH => bodies.get(value as usize),
            _ if value != 0 => bodies.first(),
            _ => bodies.get(1),
        };
        Ok(body.copied().into_iter().collect())
    }
}

#[derive(Default)]
struct Builder {
    nodes: Vec<PlanNode>,
}

impl Builder {
    fn push(&mut self, node: NodeId, work: Work, context: ContextId, deps: Vec<u32>) -> u32 {
        let at = self.nodes.len() as u32;
        self.nodes.push(PlanNode { node, work, context, deps, users: Vec::new(), enabled: true });
        at
    }
}

/// Whether the device could launch a plan: it must hold something, in one context, of the right kinds.
fn device_launchable(plan: &Plan) -> Result<(), Refusal> {
    let first = plan.nodes.first().ok_or(Code::INVALID_VALUE)?;
    let allowed = |work: &Work| matches!(work, Work::Kernel(_) | Work::Copy(_) | Work::Fill(_) | Work::Child(_));
    if let Some(node) = plan.nodes.iter().find(|node| !allowed(&node.work)) {
        let result = InstantiateResult::NodeOperationNotSupported;
        return Err(Refusal { code: Code::INVALID_VALUE, result, node: Some(node.node) });
    }
    if plan.nodes.iter().any(|node| node.context != first.context) {
        let result = InstantiateResult::MultipleContexts;
        return Err(Refusal { code: Code::INVALID_VALUE, result, node: None });
    }
    Ok(())
}
