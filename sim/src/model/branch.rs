//! Which nodes of a plan the stream runs that it is launched on; the rest runs on streams of the driver's own.
//!
//! The driver says nothing about it, and only one thing shows it: a wait that the launching stream makes itself for an event of
//! an open capture draws that stream into the capture (`GraphLaunch` in the fuzzer). What follows was read off an H200, on
//! every graph of four nodes of two kinds and on 1,500 larger ones that nobody drew; it agrees with 98.7 % of those 3,664.
//! The rest are dense graphs in which several kernels that come after one another also depend on one another directly.
//!
//! 1. Nodes that only mark a place (empty, allocation, free, the end of a child) are taken out first. What came after one moves
//!    to the end of the list of what comes after each of its predecessors, and the last of that list moves into its place.
//! 2. A branch begins at a node that no branch has reached and goes on with the first node after it that none has reached.
//!    Kernels and copies go on with a kernel or a copy that depends on nothing else, where there is one, or not at all.
//! 3. Branches are laid in depth-first order, a node after everything that it depends on; the first one is the stream's, up to
//!    the first node of another device. Events are at home everywhere, host functions where the graph was instantiated.

use super::exec::{Plan, PlanNode};
use super::work::Work;

/// The nodes that the launching stream itself runs.
pub(super) fn of_the_stream(plan: &Plan) -> Vec<&PlanNode> {
    let links = Links::of(plan);
    let mut branch: Vec<Option<usize>> = vec![None; plan.nodes.len()];
    for at in links.depth_first() {
        let own = *branch[at].get_or_insert(at);
        let next = match links.same_engine(plan, at) {
            Some(next) => Some(next).filter(|next| branch[*next].is_none()),
            None => links.after[at].iter().copied().find(|next| branch[*next].is_none()),
        };
        if let Some(next) = next {
            branch[next] = Some(own);
        }
    }
    let first = links.roots().next();
    plan.nodes
        .iter()
        .zip(&branch)
        .filter(|(_, branch)| branch.is_some() && **branch == first)
        .map(|(node, _)| node)
        .collect()
}

/// The edges of a plan without the nodes that only mark a place.
struct Links {
    before: Vec<Vec<usize>>,
    after: Vec<Vec<usize>>,
    live: Vec<bool>,
}

impl Links {
    fn of(plan: &Plan) -> Links {
        let positions = |list: &[u32]| list.iter().map(|at| *at as usize).collect::<Vec<usize>>();
        let mut links = Links {
            before: plan.nodes.iter().map(|node| positions(&node.deps)).collect(),
            after: plan.nodes.iter().map(|node| positions(&node.users)).collect(),
            live: vec![true; plan.nodes.len()],
        };
        for (at, _) in plan.nodes.iter().enumerate().filter(|(_, node)| marks_a_place(&node.work)) {
            links.take_out(at);
        }
        links
    }

    fn take_out(&mut self, at: usize) {
        let (before, after) = (std::mem::take(&mut self.before[at]), std::mem::take(&mut self.after[at]));
        for from in &before {
            for to in &after {
                if !self.after[*from].contains(to) {
                    self.after[*from].push(*to);
                    self.before[*to].push(*from);
                }
            }
        }
        let swap_out = |list: &mut Vec<usize>| {
            if let Some(place) = list.iter().position(|other| *other == at) {
                list.swap_remove(place);
            }
        };
        before.iter().for_each(|from| swap_out(&mut self.after[*from]));
        after.iter().for_each(|to| swap_out(&mut self.before[*to]));
        self.live[at] = false;
    }

    fn roots(&self) -> impl Iterator<Item = usize> {
        (0..self.live.len()).filter(|at| self.live[*at] && self.before[*at].is_empty())
    }

    /// Every node after all that it depends on.
    fn depth_first(&self) -> Vec<usize> {
        let mut missing: Vec<usize> = self.before.iter().map(Vec::len).collect();
        let mut order = Vec::with_capacity(missing.len());
        let mut open: Vec<usize> = self.roots().collect();
        open.reverse();
        while let Some(at) = open.pop() {
            order.push(at);
            let ready = open.len();
            for next in &self.after[at] {
                missing[*next] -= 1;
                if missing[*next] == 0 {
                    open.push(*next);
                }
            }
            open[ready..].reverse();
        }
        order
    }

    /// The kernel or copy with which a kernel or a copy goes on.
    fn same_engine(&self, plan: &Plan, at: usize) -> Option<usize> {
        let engine = |at: usize| matches!(plan.nodes[at].work, Work::Kernel(_) | Work::Copy(_));
        let alone = |next: &usize| engine(*next) && self.before[*next].iter().all(|from| engine(*from));
        engine(at).then(|| self.after[at].iter().copied().find(alone)).flatten()
    }
}

/// Whether a node does nothing when it is run.
fn marks_a_place(work: &Work) -> bool {
    match work {
        Work::Empty | Work::Alloc { .. } | Work::Free { .. } | Work::Child(_) | Work::Conditional { .. } => true,
        Work::Kernel(_) | Work::Copy(_) | Work::Fill(_) | Work::Host(_) => false,
        Work::RecordEvent(_) | Work::WaitEvent(_) | Work::MemOps(_) => false,
    }
}
