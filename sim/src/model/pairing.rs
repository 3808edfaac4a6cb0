//! Which node of an executable stands for which node of the graph that it is updated from.
//!
//! 1. Both graphs are walked from their ends towards their roots, level by level and the latest end first; nodes are paired by
//!    their place in that walk, never by when they were made. What was an end before, and is one again because an edge or a
//!    node went or a capture ended, is the latest.
//! 2. The first pair that does not fit is the verdict. Of one pair the number of edges is looked at first, then the kind, then
//!    the parameters, then whether the nodes before have other partners already; a child graph is walked when its node is reached.

use std::collections::VecDeque;

use super::exec::Plan;
use super::id::NodeId;
use super::update::{Refused, Update};

/// The nodes of a graph before its children are flattened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    pub(crate) nodes: Vec<ShapeNode>,
}

/// A node of a [`Shape`].
#[derive(Clone, Debug)]
pub(crate) struct ShapeNode {
    pub(crate) node: NodeId,
    /// Its position in the plan.
    pub(crate) at: u32,
    /// The positions in the shape of the nodes before it, in the order in which the edges were made.
    pub(crate) deps: Vec<usize>,
    /// The graphs inside it.
    pub(crate) inner: Vec<Shape>,
    /// When it last became an end.
    pub(crate) end_since: u64,
}

impl Shape {
    /// The nodes that nothing comes after, in the order in which they became ends.
    fn ends(&self) -> Vec<usize> {
        let mut inside = vec![false; self.nodes.len()];
        self.nodes.iter().flat_map(|node| &node.deps).for_each(|at| inside[*at] = true);
        let mut ends: Vec<usize> = (0..self.nodes.len()).filter(|at| !inside[*at]).collect();
        ends.sort_by_key(|at| self.nodes[*at].end_since);
        ends
    }
}

/// Calls `fit` with the positions of every two nodes that stand for one another, the old plan's first, and refuses what does
/// not fit.
pub(super) fn fit(old: &Plan, new: &Plan, fit: &mut impl FnMut(u32, u32) -> Result<(), Update>) -> Result<(), Refused> {
    Walk { old, new, fit }.graph(&old.shape, &new.shape)
}

struct Walk<'a, F> {
    old: &'a Plan,
    new: &'a Plan,
    fit: &'a mut F,
}

impl<F: FnMut(u32, u32) -> Result<(), Update>> Walk<'_, F> {
    fn graph(&mut self, old: &Shape, new: &Shape) -> Result<(), Refused> {
        let topology = |node: Option<NodeId>| Err((Update::TopologyChanged, node));
        let (ends, fresh_ends) = (old.ends(), new.ends());
        // With fewer ends no node of the new graph is at fault: one of the old graph has lost its partner.
        if old.nodes.len() != new.nodes.len() || ends.len() > fresh_ends.len() {
            return topology(None);
        }
        if ends.len() < fresh_ends.len() {
            return topology(fresh_ends.last().map(|end| new.nodes[*end].node));
        }
        let mut partners: Vec<Option<usize>> = vec![None; old.nodes.len()];
        let mut taken = vec![false; new.nodes.len()];
        let mut open: VecDeque<(usize, usize)> = VecDeque::new();
        let mut reach = |open: &mut VecDeque<_>, at: usize, fresh_at: usize| match partners[at] {
            Some(partner) => partner == fresh_at,
            None if taken[fresh_at] => false,
            None => {
                partners[at] = Some(fresh_at);
                taken[fresh_at] = true;
                open.push_back((at, fresh_at));
                true
            }
        };
        for (at, fresh_at) in ends.into_iter().zip(fresh_ends).rev() {
            reach(&mut open, at, fresh_at);
        }
        while let Some((at, fresh_at)) = open.pop_front() {
            let (kept, fresh) = (&old.nodes[at], &new.nodes[fresh_at]);
            if kept.deps.len() != fresh.deps.len() {
                return topology(Some(fresh.node));
            }
            self.node(kept, fresh)?;
            for (at, fresh_at) in kept.deps.iter().zip(&fresh.deps) {
                if !reach(&mut open, *at, *fresh_at) {
                    return topology(Some(fresh.node));
                }
            }
        }
        Ok(())
    }

    fn node(&mut self, kept: &ShapeNode, fresh: &ShapeNode) -> Result<(), Refused> {
        let kind = |plan: &Plan, at: u32| plan.nodes.get(at as usize).map(|node| node.work.number());
        if kind(self.old, kept.at) != kind(self.new, fresh.at) {
            return Err((Update::NodeTypeChanged, Some(fresh.node)));
        }
        if kept.inner.len() != fresh.inner.len() {
            return Err((Update::ParametersChanged, Some(fresh.node)));
        }
        for (kept, fresh) in kept.inner.iter().zip(&fresh.inner) {
            self.graph(kept, fresh)?;
        }
        (self.fit)(kept.at, fresh.at).map_err(|why| (why, Some(fresh.node)))
    }
}
