//! Nodes: a piece of work in a graph, and what it comes after.

use super::id::{ContextId, GraphId, NodeId, StreamId};
use super::work::Work;
use super::{CaptureId, Driver};
use crate::code::{Code, Outcome};
use crate::report::Site;

/// A node.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) graph: GraphId,
    pub(crate) work: Work,
    /// The context in which it runs.
    pub(crate) context: ContextId,
    /// The nodes that it comes after, all of the same graph.
    pub(crate) deps: Vec<NodeId>,
    /// When it last became an end of its graph. An update looks at the ends in this order.
    pub(crate) end_since: u64,
}

impl Driver {
    /// Work on a capturing stream becomes a node; the stream goes on from it.
    pub(super) fn record_node(&mut self, stream: StreamId, capture: CaptureId, work: Work) -> Outcome {
        let graph = self.captures.get(&capture).map(|capture| capture.graph).ok_or(Code::ILLEGAL_STATE)?;
        let (deps, context) = self.at(stream).map(|stream| (stream.deps.clone(), stream.context))?;
        let node = self.insert_node(graph, deps, work, context)?;
        if let Some(stream) = self.streams.get_mut(stream) {
            stream.deps = vec![node];
        }
        Ok(())
    }

    /// Adds a node to a graph.
    pub(crate) fn insert_node(
        &mut self,
        graph: GraphId,
        deps: Vec<NodeId>,
        work: Work,
        context: ContextId,
    ) -> Outcome<NodeId> {
        let end_since = self.next_end();
        let node = self.nodes.insert(Node { graph, work, context, deps, end_since });
        self.graphs.get_mut(graph).ok_or(Code::INVALID_VALUE)?.nodes.push(node);
        Ok(node)
    }

    fn next_end(&mut self) -> u64 {
        self.ends_made += 1;
        self.ends_made
    }

    /// These nodes may have become ends of their graph again; those that have come after all other ends.
    pub(super) fn ends_again(&mut self, nodes: &[NodeId]) {
        for node in nodes {
            if self.dependents(*node).is_empty() {
                let end_since = self.next_end();
                if let Some(node) = self.nodes.get_mut(*node) {
                    node.end_since = end_since;
                }
            }
        }
    }

    /// A `cuGraphAdd…Node` call: the graph and the dependencies that it names.
    pub(crate) fn node_target(&self, graph: u64, deps: &[u64]) -> Outcome<(GraphId, Vec<NodeId>)> {
        let graph = self.graph(graph)?;
        let mut nodes: Vec<NodeId> = Vec::with_capacity(deps.len());
        for raw in deps {
            let node = self.node_of(*raw, Some(graph))?;
            if nodes.contains(&node) {
                return Err(Code::INVALID_VALUE);
            }
            nodes.push(node);
        }
        Ok((graph, nodes))
    }

    /// The node that a caller's handle names.
    pub(crate) fn node(&self, raw: u64) -> Outcome<(NodeId, &Node)> {
        let id = self.node_of(raw, None)?;
        self.nodes.get(id).map(|node| (id, node)).ok_or(Code::INVALID_VALUE)
    }

    /// Gives a node of a graph other work of the same kind.
    pub(crate) fn node_set(&mut self, raw: u64, work: Work, context: ContextId) -> Outcome {
        let (id, node) = self.node(raw)?;
        if node.work.number() != work.number() {
            return Err(Code::INVALID_VALUE);
        }
        if let Some(node) = self.nodes.get_mut(id) {
            node.work = work;
            node.context = context;
        }
        Ok(())
    }

    /// `cuGraphDestroyNode`: takes a node and its edges out of its graph.
    pub(crate) fn node_destroy(&mut self, raw: u64, by: Site) -> Outcome {
        let (id, node) = self.node(raw)?;
        let (graph, deps) = (node.graph, node.deps.clone());
        if self.has_memory_nodes(graph) || matches!(node.work, Work::Conditional { .. }) {
            return Err(Code::NOT_SUPPORTED);
        }
        if self.graphs.get(graph).is_some_and(|graph| graph.capture.is_some()) {
            return Err(Code::INVALID_VALUE);
        }
        let child = match &node.work {
            Work::Child(child) => Some(*child),
            _ => None,
        };
        if let Some(graph) = self.graphs.get_mut(graph) {
            graph.nodes.retain(|other| *other != id);
        }
        for (_, other) in self.nodes.iter_mut() {
            other.deps.retain(|dep| *dep != id);
        }
        self.nodes.remove(id, by);
        self.ends_again(&deps);
        if let Some(child) = child {
            self.drop_graph(child, by);
        }
        Ok(())
    }

    /// `cuGraphAddDependencies` and `cuGraphRemoveDependencies`: each pair says that the second comes after the first.
    /// A cycle is accepted; what is refused is to instantiate it.
    pub(crate) fn edit_edges(&mut self, graph: u64, edges: &[(u64, u64)], add: bool) -> Outcome {
        let graph = self.graph(graph)?;
        if !add && self.has_memory_nodes(graph) {
            return Err(Code::NOT_SUPPORTED);
        }
        for (from, to) in edges {
            let from = self.node_of(*from, Some(graph))?;
            let to = self.node_of(*to, Some(graph))?;
            let known = self.nodes.get(to).is_some_and(|node| node.deps.contains(&from));
            if known == add || from == to {
                return Err(Code::INVALID_VALUE);
            }
            let Some(node) = self.nodes.get_mut(to) else { return Err(Code::INVALID_VALUE) };
            match add {
                true => node.deps.push(from),
                false => {
                    node.deps.retain(|dep| *dep != from);
                    self.ends_again(&[from]);
                }
            }
        }
        Ok(())
    }

    /// The nodes that come directly after a node.
    pub(crate) fn dependents(&self, id: NodeId) -> Vec<NodeId> {
        let Some(node) = self.nodes.get(id) else { return Vec::new() };
        let nodes = self.graphs.get(node.graph).map_or(&[][..], |graph| &graph.nodes);
        let after = |other: &&NodeId| self.nodes.get(**other).is_some_and(|other| other.deps.contains(&id));
        nodes.iter().filter(after).copied().collect()
    }
}
