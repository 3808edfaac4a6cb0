//! Updating an executable from another graph, or one node of it.
//!
//! 1. Nodes are paired as `pairing` says, which a repeated capture by the same code keeps.
//! 2. A refused update leaves the executable as it was.
//! 3. A kernel's cluster shape is not updated, though the update is accepted: that is what the driver does.

use std::sync::Arc;

use super::Driver;
use super::exec::{Executable, Plan, PlanNode};
use super::id::{ContextId, ExecId, NodeId};
use super::pairing;
use super::work::{Copy, Place, Work};
use crate::code::{Code, Outcome};
use crate::report::Site;

/// `CUgraphExecUpdateResult`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Update {
    /// The executable is up to date.
    Success = 0,
    /// Nodes or edges differ.
    TopologyChanged = 2,
    /// A node is of another kind.
    NodeTypeChanged = 3,
    /// Something about a node that cannot change has changed.
    ParametersChanged = 5,
    /// A kernel belongs to another context.
    UnsupportedFunctionChange = 7,
    /// An attribute that cannot change has changed.
    AttributesChanged = 8,
}

/// Why an update was refused, and the node of the new graph at fault, if any.
pub(super) type Refused = (Update, Option<NodeId>);

impl Driver {
    /// `cuGraphExecUpdate`. The inner result is the driver's verdict; the outer one is for arguments that name nothing.
    pub(crate) fn exec_update(&mut self, exec: u64, graph: u64, by: Site) -> Outcome<Result<(), Refused>> {
        let exec = self.exec(exec)?;
        let graph = self.graph(graph)?;
        if self.graphs.get(graph).is_some_and(|graph| graph.capture.is_some()) {
            return Err(Code::INVALID_VALUE);
        }
        let exclusive = self.has_memory_nodes(graph) || self.has_conditionals(graph);
        let taken = |(other, entry): (ExecId, &Executable)| other != exec && entry.exclusive == Some(graph);
        if exclusive && self.execs.iter().any(taken) {
            return Err(Code::NOT_SUPPORTED);
        }
        let new = self.plan(graph)?;
        let old = Arc::clone(&self.exec_at(exec)?.plan);
        let plan = match self.merge(&old, &new) {
            Ok(plan) => plan,
            Err(refused) => return Ok(Err(refused)),
        };
        for block in plan.blocks() {
            self.own_block(block);
        }
        if let Some(entry) = self.execs.get_mut(exec) {
            entry.plan = Arc::new(plan);
            if exclusive {
                entry.exclusive = Some(graph);
            }
        }
        for block in old.blocks() {
            self.disown_block(block, by);
        }
        Ok(Ok(()))
    }

    /// The old plan with the new one's work, if every pair of nodes allows it.
    fn merge(&self, old: &Plan, new: &Plan) -> Result<Plan, Refused> {
        let mut plan = old.clone();
        let mut fit = |kept: u32, fresh: u32| {
            let (Some(kept), Some(fresh)) = (plan.nodes.get_mut(kept as usize), new.nodes.get(fresh as usize)) else {
                return Err(Update::TopologyChanged);
            };
            kept.work = self.replacement(kept, fresh.work.clone(), fresh.context)?;
            Ok(())
        };
        pairing::fit(old, new, &mut fit)?;
        Ok(plan)
    }

    /// The work that takes the place of a node's, if it may.
    pub(crate) fn replacement(&self, kept: &PlanNode, fresh: Work, context: ContextId) -> Result<Work, Update> {
        match (&kept.work, fresh) {
            (Work::Kernel(old), Work::Kernel(new)) => {
                if context != kept.context {
                    return Err(Update::UnsupportedFunctionChange);
                }
                if old.cooperative != new.cooperative {
                    return Err(Update::AttributesChanged);
                }
                if old.cluster == new.cluster {
                    return Ok(Work::Kernel(new));
                }
                let mut merged = (*new).clone();
                merged.cluster = old.cluster;
                Ok(Work::Kernel(Arc::new(merged)))
            }
            (Work::Copy(old), Work::Copy(new)) => match self.same_memories(old, &new) && context == kept.context {
                true => Ok(Work::Copy(new)),
                false => Err(Update::ParametersChanged),
            },
            (Work::Fill(old), Work::Fill(new)) => {
                let same = self.memory.device_of(old.dst) == self.memory.device_of(new.dst);
                if same && context == kept.context { Ok(Work::Fill(new)) } else { Err(Update::ParametersChanged) }
            }
            (_, fresh) => Ok(fresh),
        }
    }

    /// Whether two copies go between the same kinds of memory on the same devices.
    fn same_memories(&self, old: &Copy, new: &Copy) -> bool {
        let same = |a: &Place, b: &Place| {
            a.memory_type() == b.memory_type()
                && self.memory.device_of(a.address()) == self.memory.device_of(b.address())
        };
        same(&old.dst, &new.dst) && same(&old.src, &new.src)
    }

    /// `cuGraphExec…NodeSetParams`: a node of an executable gets other work.
    pub(crate) fn exec_set(&mut self, exec: u64, node: u64, work: Work, context: ContextId) -> Outcome {
        let found = self.exec(exec)?;
        let id = self.node_of(node, None)?;
        let kept = self.exec_at(found)?.plan.nodes.iter().find(|other| other.node == id).ok_or(Code::INVALID_VALUE)?;
        if kept.work.number() != work.number() {
            return Err(Code::INVALID_VALUE);
        }
        let work = self.replacement(kept, work, context).map_err(|_| Code::INVALID_VALUE)?;
        self.exec_edit(exec, node, |node| {
            node.work = work;
            Ok(())
        })
    }
}
