//! What a captured graph holds.
//!
//! *Where it sits.* Made of a graph when its capture ends (`handles.rs`), held by what was captured; plain data from then on.
//!
//! Invariants, upheld by [`Census::arrange`] and, for one that was read from somewhere, checked:
//!
//! 1. A node stands after every node that it depends on. Of those that could stand next the one comes that the driver lists
//!    first, so the same work captured again has the same order.
//! 2. An edge leads from a node to one that stands after it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::iter::Sum;

use super::{Manifest, NodeCounts};
use crate::node::{KernelLaunch, Node};
use crate::node_kind::NodeKind;

/// The nodes of a graph and what depends on what, as they were when the capture ended. A child graph is one node.
///
/// Holds no handles and no addresses: the censuses of the same work, captured twice, on two devices or in two processes, are
/// equal. Of several segments together: the nodes of each after those of the one before, without edges between them.
///
/// Displays as a line: `kernel ×2, memcpy ×1`. [`Inspection`](crate::Inspection) shows more.
///
/// # JSON
/// With the feature `serde`: `{"nodes": […], "edges": […]}`, with each [`Node`] in order, and each [`Edge`]. What is read back is
/// checked: edges lead from one node to a later one.
///
/// # Examples
/// ```standalone_crate
/// # dacapo_sim::install().unwrap();
/// use dacapo::{Device, Enqueue, LaunchConfig, ThreadLocal};
///
/// let device = Device::open(0)?;
/// let mut stream = device.stream()?;
/// let scale = device.load_ptx(include_str!("../../kernels/basic.ptx"))?.kernel("scale_f32")?;
/// let x = stream.alloc::<f32>(1024)?;
/// let captured = stream.capture(ThreadLocal, |c| {
///     c.fill(&x, 1.0)?;
///     // SAFETY: scale_f32(data, factor, n), over as many elements as the buffer holds.
///     unsafe { c.launch(&scale, LaunchConfig::for_elements(1024), (&x, 2.0f32, 1024u32)) }
/// })?;
/// let census = captured.census();
/// assert_eq!(census.to_string(), "kernel ×1, memset ×1");
/// assert_eq!(census.kernels().next().unwrap().to_string(), "scale_f32 <<<4, 256>>>");
/// assert_eq!((census.edges()[0].from, census.edges()[0].to), (0, 1));
/// # Ok::<(), dacapo::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(try_from = "Unchecked"))]
pub struct Census {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

/// A dependency: `to` begins once `from` is done.
///
/// # JSON
/// With the feature `serde`: `{"from": 0, "to": 1}`, and `"programmatic": true` where it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Edge {
    /// The position of the earlier node in [`Census::in_order`].
    pub from: usize,
    /// The position of the later one.
    pub to: usize,
    /// Whether `to` may begin before `from` is done, as far as the two kernels agree on it (programmatic dependent launch).
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "std::ops::Not::not"))]
    pub programmatic: bool,
}

impl Census {
    /// The census of nodes and edges as the driver lists them, edges by the nodes' places in that list; and the place in that list of
    /// each node of the census.
    pub(crate) fn arrange(listed: Vec<Node>, mut edges: Vec<Edge>) -> (Self, Vec<usize>) {
        let mut awaited = vec![0usize; listed.len()];
        for edge in &edges {
            awaited[edge.to] += 1;
        }
        edges.sort_unstable();
        let mut ready: BinaryHeap<_> = (0..listed.len()).filter(|&node| awaited[node] == 0).map(Reverse).collect();
        let mut position = vec![0; listed.len()];
        let mut nodes: Vec<Option<Node>> = listed.into_iter().map(Some).collect();
        let (mut ordered, mut places) = (Vec::with_capacity(nodes.len()), Vec::with_capacity(nodes.len()));
        while let Some(Reverse(next)) = ready.pop() {
            position[next] = ordered.len();
            ordered.extend(nodes[next].take());
            places.push(next);
            let first = edges.partition_point(|edge| edge.from < next);
            for edge in edges[first..].iter().take_while(|edge| edge.from == next) {
                awaited[edge.to] -= 1;
                if awaited[edge.to] == 0 {
                    ready.push(Reverse(edge.to));
                }
            }
        }
        debug_assert_eq!(ordered.len(), nodes.len(), "the driver takes no edge that closes a circle");
        for edge in &mut edges {
            (edge.from, edge.to) = (position[edge.from], position[edge.to]);
        }
        edges.sort_unstable();
        (Self { nodes: ordered, edges }, places)
    }

    /// Puts another node in the place of one.
    pub(crate) fn set(&mut self, position: usize, node: Node) {
        self.nodes[position] = node;
    }

    /// Whether a node may begin before one that it depends on is done, if it depends on any.
    pub(crate) fn is_programmatic(&self, position: usize) -> Option<bool> {
        let mut before = self.edges.iter().filter(|edge| edge.to == position).peekable();
        before.peek()?;
        Some(before.any(|edge| edge.programmatic))
    }

    /// Nodes in all.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Nodes of one kind.
    #[must_use]
    pub fn count(&self, kind: NodeKind) -> usize {
        self.nodes.iter().filter(|node| node.kind() == kind).count()
    }

    /// The kinds that occur, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (NodeKind, usize)> + '_ {
        self.counts().into_iter()
    }

    /// The counts alone.
    #[must_use]
    pub fn counts(&self) -> NodeCounts {
        self.nodes.iter().map(|node| (node.kind(), 1)).collect()
    }

    /// All nodes, each after those that it depends on; of those that could come next, the one that the driver lists first. The
    /// driver lists them as they were captured (measured, not documented).
    #[must_use]
    pub fn in_order(&self) -> &[Node] {
        &self.nodes
    }

    /// The kernels, in the same order.
    pub fn kernels(&self) -> impl Iterator<Item = &KernelLaunch> {
        self.nodes.iter().filter_map(Node::kernel)
    }

    /// What depends on what, by positions in [`in_order`](Self::in_order); sorted.
    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The nodes in order as a manifest, to compare later captures with.
    #[must_use]
    pub fn manifest(&self) -> Manifest {
        self.nodes.iter().cloned().collect()
    }
}

impl<'a> Sum<&'a Census> for Census {
    fn sum<I: Iterator<Item = &'a Self>>(censuses: I) -> Self {
        let mut whole = Self::default();
        for census in censuses {
            let before = whole.nodes.len();
            let moved = |edge: &Edge| Edge { from: edge.from + before, to: edge.to + before, ..*edge };
            whole.edges.extend(census.edges.iter().map(moved));
            whole.nodes.extend_from_slice(&census.nodes);
        }
        whole
    }
}

impl fmt::Display for Census {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.counts().fmt(f)
    }
}

/// A census that was read from somewhere.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
struct Unchecked {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

/// An edge that leads to no later node.
#[cfg(feature = "serde")]
#[derive(thiserror::Error, Debug)]
#[error("an edge from node {} to node {} of {nodes}: edges lead from a node to a later one", edge.from, edge.to)]
struct BadEdge {
    edge: Edge,
    nodes: usize,
}

#[cfg(feature = "serde")]
impl TryFrom<Unchecked> for Census {
    type Error = BadEdge;

    fn try_from(Unchecked { nodes, mut edges }: Unchecked) -> Result<Self, BadEdge> {
        if let Some(&edge) = edges.iter().find(|edge| edge.from >= edge.to || edge.to >= nodes.len()) {
            return Err(BadEdge { edge, nodes: nodes.len() });
        }
        edges.sort_unstable();
        Ok(Self { nodes, edges })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn census(kinds: &[u32], edges: &[(usize, usize)]) -> Census {
        let edges = edges.iter().map(|&(from, to)| Edge { from, to, programmatic: false });
        Census::arrange(kinds.iter().map(|&kind| NodeKind::of_number(kind).into()).collect(), edges.collect()).0
    }

    #[test]
    fn a_census_counts_and_prints_by_kind() {
        let some = census(&[2, 0, 0, 77], &[(0, 1)]);
        assert_eq!((some.nodes(), some.count(NodeKind::Kernel), some.count(NodeKind::Host)), (4, 2, 0));
        assert_eq!(some.to_string(), "kernel ×2, memset ×1, kind 77 ×1");
        assert_eq!(some.iter().count(), 3);
        assert_eq!(Census::default().to_string(), "no nodes");
        let sum = [&some, &census(&[0, 3], &[(0, 1)])].into_iter().sum::<Census>();
        assert_eq!(sum.to_string(), "kernel ×3, memset ×1, host ×1, kind 77 ×1");
        assert_eq!(sum.edges().iter().map(|edge| (edge.from, edge.to)).collect::<Vec<_>>(), [(0, 1), (4, 5)]);
    }

    #[test]
    fn nodes_stand_after_what_they_depend_on_and_else_as_listed() {
        // Listed: host, memset, memcpy, kernel; the kernel comes first, then either of memset and memcpy, then the host.
        let arranged = census(&[3, 2, 1, 0], &[(3, 1), (3, 2), (1, 0), (2, 0)]);
        let kinds: Vec<NodeKind> = arranged.in_order().iter().map(Node::kind).collect();
        assert_eq!(kinds, [NodeKind::Kernel, NodeKind::Memset, NodeKind::Memcpy, NodeKind::Host]);
        let edges: Vec<_> = arranged.edges().iter().map(|edge| (edge.from, edge.to)).collect();
        assert_eq!(edges, [(0, 1), (0, 2), (1, 3), (2, 3)]);
        assert_eq!(census(&[3, 2, 1], &[]).in_order()[0].kind(), NodeKind::Host);
    }
}
