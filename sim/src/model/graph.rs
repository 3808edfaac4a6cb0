//! Graphs: nodes with an order, made by a capture, by hand, or by cloning.
//!
//! 1. A child graph and the bodies of a conditional node belong to their node and go with it.
//! 2. A graph with memory nodes or conditional nodes cannot be cloned and has at most one live executable.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::id::{ConditionId, ContextId, GraphId, Miss, NodeId, UserObjectId};
use super::work::Work;
use super::{CaptureId, Driver};
use crate::code::{Code, Outcome};
use crate::report::{ObjectKind, Site};

/// A graph.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) device: u32,
    /// In the order in which they were made.
    pub(crate) nodes: Vec<NodeId>,
    /// The open capture that records into it.
    pub(crate) capture: Option<CaptureId>,
    /// The number that captures into it show; it is that of the first, and stays.
    pub(crate) sequence: Option<u64>,
    /// Whether it has ever been asked to hold an allocation or a free, even if that was refused.
    pub(crate) memory: bool,
    /// Whether a node owns it.
    pub(crate) nested: bool,
    pub(crate) conditions: Vec<ConditionId>,
    /// User objects that it keeps alive, with counts.
    pub(crate) objects: Vec<(UserObjectId, u32)>,
    /// For a clone: the nodes of the original, and their copies.
    pub(crate) copies: BTreeMap<NodeId, NodeId>,
    /// The number that its picture is labelled with.
    pub(crate) serial: u64,
    pub(crate) made: Site,
}

/// A conditional handle.
#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) graph: GraphId,
    /// The value at the start of a launch, if the handle has one.
    pub(crate) default: Option<u32>,
    /// Whether a node uses it.
    pub(crate) used: bool,
}

impl Driver {
    /// The graph that a caller's handle names.
    pub(crate) fn graph(&self, raw: u64) -> Outcome<GraphId> {
        self.graphs.find(raw).map_err(|_: Miss| Code::INVALID_VALUE)
    }

    /// Makes an empty graph that belongs to a context's device.
    pub(crate) fn make_graph(&mut self, context: ContextId, by: Site) -> GraphId {
        self.make_graph_on(self.device_of_context(context), false, by)
    }

    pub(super) fn make_graph_on(&mut self, device: u32, nested: bool, by: Site) -> GraphId {
        let serial = self.next_graph;
        self.next_graph += 1;
        self.graphs.insert(Graph {
            device,
            nodes: Vec::new(),
            capture: None,
            sequence: None,
            memory: false,
            nested,
            conditions: Vec::new(),
            objects: Vec::new(),
            copies: BTreeMap::new(),
            serial,
            made: by,
        })
    }

    /// `cuGraphCreate`.
    pub(crate) fn graph_create(&mut self, flags: u32, by: Site) -> Outcome<GraphId> {
        if !self.initialised {
            return Err(Code::NOT_INITIALIZED);
        }
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let device = self.top(by.thread).map_or(0, |context| self.device_of_context(context));
        Ok(self.make_graph_on(device, false, by))
    }

    /// `cuGraphDestroy`: executables made from it live on.
    pub(crate) fn graph_destroy(&mut self, raw: u64, by: Site) -> Outcome {
        if let Err(Miss::Stale(first)) = self.graphs.find(raw) {
            self.destroyed_twice(ObjectKind::Graph, raw, first, by);
        }
        let id = self.graph(raw)?;
        let refused = self.graphs.get(id).is_none_or(|graph| graph.capture.is_some() || graph.nested);
        if refused {
            return Err(Code::INVALID_VALUE);
        }
        self.drop_graph(id, by);
        Ok(())
    }

    /// Takes a graph away with everything that it owns.
    pub(crate) fn drop_graph(&mut self, id: GraphId, by: Site) {
        let Some(graph) = self.graphs.remove(id, by) else { return };
        for node in graph.nodes {
            match self.nodes.remove(node, by).map(|node| node.work) {
                Some(Work::Alloc { address, .. }) => self.disown_block(address, by),
                Some(Work::Child(child)) => self.drop_graph(child, by),
                Some(Work::Conditional { bodies, .. }) => bodies.iter().for_each(|body| self.drop_graph(*body, by)),
                _ => {}
            }
        }
        for condition in graph.conditions {
            self.conditions.remove(condition, by);
        }
        for (object, count) in graph.objects {
            self.release_object(object, count, by);
        }
    }

    /// The work of every node of a graph.
    pub(super) fn graph_works(&self, graph: GraphId) -> impl Iterator<Item = &Work> {
        let nodes = self.graphs.get(graph).map_or(&[][..], |graph| &graph.nodes);
        nodes.iter().filter_map(|node| self.nodes.get(*node)).map(|node| &node.work)
    }

    /// Whether a graph has a conditional node.
    pub(super) fn has_conditionals(&self, graph: GraphId) -> bool {
        self.graph_works(graph).any(|work| matches!(work, Work::Conditional { .. }))
    }

    /// These nodes and every node before them.
    pub(crate) fn ancestors(&self, nodes: &[NodeId]) -> BTreeSet<NodeId> {
        let mut seen = BTreeSet::new();
        let mut open = nodes.to_vec();
        while let Some(node) = open.pop() {
            if seen.insert(node) {
                open.extend(self.nodes.get(node).map_or(&[][..], |node| &node.deps));
            }
        }
        seen
    }

    /// `cuGraphClone`.
    pub(crate) fn graph_clone(&mut self, raw: u64, by: Site) -> Outcome<GraphId> {
        let original = self.graph(raw)?;
        if self.graphs.get(original).is_some_and(|graph| graph.capture.is_some()) {
            return Err(Code::INVALID_VALUE);
        }
        self.copy_graph(original, false, by)
    }

    /// A copy of a graph, owned by a node if `nested`.
    pub(super) fn copy_graph(&mut self, original: GraphId, nested: bool, by: Site) -> Outcome<GraphId> {
        if self.has_memory_nodes(original) || self.has_conditionals(original) {
            return Err(Code::NOT_SUPPORTED);
        }
        let source = self.graphs.get(original).ok_or(Code::INVALID_VALUE)?;
        let (device, nodes, objects) = (source.device, source.nodes.clone(), source.objects.clone());
        let copy = self.make_graph_on(device, nested, by);
        let mut copies = BTreeMap::new();
        for id in &nodes {
            let Some(mut node) = self.nodes.get(*id).cloned() else { continue };
            node.graph = copy;
            if let Work::Child(child) = node.work {
                node.work = Work::Child(self.copy_graph(child, true, by)?);
            }
            copies.insert(*id, self.nodes.insert(node));
        }
        for id in copies.values() {
            if let Some(node) = self.nodes.get_mut(*id) {
                node.deps = node.deps.iter().filter_map(|dep| copies.get(dep).copied()).collect();
            }
        }
        for (object, count) in &objects {
            self.retain_object(*object, *count);
        }
        if let Some(graph) = self.graphs.get_mut(copy) {
            graph.nodes = nodes.iter().filter_map(|id| copies.get(id).copied()).collect();
            graph.objects = objects;
            graph.copies = copies;
        }
        Ok(copy)
    }

    /// `cuGraphAddChildGraphNode`: the child is copied into the node.
    pub(crate) fn add_child(&mut self, graph: u64, deps: &[u64], child: u64, by: Site) -> Outcome<NodeId> {
        let (graph, deps) = self.node_target(graph, deps)?;
        let child = self.graph(child)?;
        let context = self.context_for_node(by)?;
        let copy = self.copy_graph(child, true, by)?;
        self.insert_node(graph, deps, Work::Child(copy), context)
    }

    /// The context that a node made by hand runs in.
    pub(crate) fn context_for_node(&self, by: Site) -> Outcome<ContextId> {
        self.current(by.thread)
    }

    /// `cuGraphConditionalHandleCreate`; bit 0 of `flags` gives launches a default value.
    pub(crate) fn condition_create(&mut self, graph: u64, default: u32, flags: u32) -> Outcome<ConditionId> {
        let graph = self.graph(graph)?;
        if flags > 1 {
            return Err(Code::INVALID_VALUE);
        }
        let default = (flags == 1).then_some(default);
        let condition = self.conditions.insert(Condition { graph, default, used: false });
        if let Some(graph) = self.graphs.get_mut(graph) {
            graph.conditions.push(condition);
        }
        Ok(condition)
    }

    /// A conditional node with `size` empty bodies (kind IF 0, WHILE 1, SWITCH 2), and where the array of their handles is: it
    /// lives as long as the node.
    pub(crate) fn add_conditional(
        &mut self,
        graph: u64,
        deps: &[u64],
        (handle, kind, size): (u64, u32, u32),
        by: Site,
    ) -> Outcome<(NodeId, u64)> {
        let (graph, deps) = self.node_target(graph, deps)?;
        let condition = self.conditions.find(handle).map_err(|_: Miss| Code::INVALID_VALUE)?;
        let entry = self.conditions.get(condition).ok_or(Code::INVALID_VALUE)?;
        let sizes_fit = matches!((kind, size), (0, 1 | 2) | (1, 1) | (2, 1..=64));
        if entry.used || entry.graph != graph || !sizes_fit {
            return Err(Code::INVALID_VALUE);
        }
        let context = self.context_for_node(by)?;
        let device = self.device_of_context(context);
        let bodies: Arc<[GraphId]> = (0..size).map(|_| self.make_graph_on(device, true, by)).collect();
        let array = bodies.as_ptr() as u64;
        if let Some(entry) = self.conditions.get_mut(condition) {
            entry.used = true;
        }
        let work = Work::Conditional { handle: condition, kind, bodies };
        let node = self.insert_node(graph, deps, work, context)?;
        Ok((node, array))
    }
}
