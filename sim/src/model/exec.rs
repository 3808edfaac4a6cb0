//! Executable graphs: a frozen plan that is launched again and again.
//!
//! 1. A plan is never changed in place: an update makes a new one, and launches under way keep theirs.
//! 2. One executable never overlaps itself: a launch comes after the previous one, whatever the stream.
//! 3. Everything that a launch reads from the host's state (pageable memory, events) it reads when it is called.

use std::sync::Arc;

use super::branch;
use super::copy::stage;
use super::id::{ContextId, EventId, ExecId, GraphId, Miss, NodeId, StreamId, UserObjectId};
use super::pairing::Shape;
use super::work::{Place, Work};
use super::{Driver, Recorded};
use crate::code::{Code, Outcome};
use crate::engine::{Body, Dep, Mark, Run, Ticket, Unit};
use crate::report::{ObjectKind, Site};

/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`.
pub(crate) const AUTO_FREE: u64 = 1;

/// A node of a plan.
#[derive(Clone, Debug)]
pub(crate) struct PlanNode {
    /// The graph's node that it was made from.
    pub(crate) node: NodeId,
    pub(crate) work: Work,
    pub(crate) context: ContextId,
    /// The positions of the nodes before it.
    pub(crate) deps: Vec<u32>,
    /// The positions of the nodes after it.
    pub(crate) users: Vec<u32>,
    pub(crate) enabled: bool,
}

impl PlanNode {
    /// Whether it is of a kind that can be switched off and on.
    fn can_be_disabled(&self) -> bool {
        matches!(self.work, Work::Kernel(_) | Work::Copy(_) | Work::Fill(_))
    }
}

/// What an executable runs: a graph with its children flattened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) nodes: Vec<PlanNode>,
    /// The graph as it was before it was flattened.
    pub(crate) shape: Shape,
}

impl Plan {
    /// The addresses of its allocation nodes.
    pub(crate) fn blocks(&self) -> Vec<u64> {
        let alloc = |node: &PlanNode| match node.work {
            Work::Alloc { address, .. } => Some(address),
            _ => None,
        };
        self.nodes.iter().filter_map(alloc).collect()
    }
}

/// An executable graph.
#[derive(Debug)]
pub(crate) struct Executable {
    pub(crate) device: u32,
    /// The graph of which it is the one live executable, if that graph allows but one.
    pub(crate) exclusive: Option<GraphId>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) flags: u64,
    pub(crate) objects: Vec<(UserObjectId, u32)>,
    last: Option<Ticket>,
    pub(crate) made: Site,
}

impl Executable {
    /// An executable that was never launched.
    pub(crate) fn new(device: u32, plan: Plan, flags: u64, made: Site) -> Executable {
        Executable { device, exclusive: None, plan: Arc::new(plan), flags, objects: Vec::new(), last: None, made }
    }
}

impl Driver {
    /// The executable that a caller's handle names.
    pub(crate) fn exec(&self, raw: u64) -> Outcome<ExecId> {
        self.execs.find(raw).map_err(|_: Miss| Code::INVALID_VALUE)
    }

    /// The executable of a handle that was just resolved.
    pub(crate) fn exec_at(&self, exec: ExecId) -> Outcome<&Executable> {
        self.execs.get(exec).ok_or(Code::INVALID_VALUE)
    }

    /// `cuGraphExecDestroy`: launches under way finish.
    pub(crate) fn exec_destroy(&mut self, raw: u64, by: Site) -> Outcome {
        self.unsafe_call(by.thread)?;
        if let Err(Miss::Stale(first)) = self.execs.find(raw) {
            self.destroyed_twice(ObjectKind::Executable, raw, first, by);
        }
        let exec = self.exec(raw)?;
        self.drop_exec(exec, by);
        Ok(())
    }

    pub(crate) fn drop_exec(&mut self, exec: ExecId, by: Site) {
        let Some(exec) = self.execs.remove(exec, by) else { return };
        for block in exec.plan.blocks() {
            self.disown_block(block, by);
        }
        for (object, count) in exec.objects {
            self.release_object(object, count, by);
        }
    }

    /// The refusals that launch and upload have in common: a capturing stream is refused, and its capture lost.
    fn exec_target(&mut self, exec: u64, stream: u64, by: Site) -> Outcome<(ExecId, StreamId)> {
        let stream = self.stream(stream, by)?;
        let exec = self.exec(exec)?;
        self.uncaptured(stream)?;
        Ok((exec, stream))
    }

    /// `cuGraphUpload`.
    pub(crate) fn exec_upload(&mut self, exec: u64, stream: u64, by: Site) -> Outcome {
        let (exec, stream) = self.exec_target(exec, stream, by)?;
        let after = self.exec_at(exec)?.last.map(Dep::Ticket);
        self.submit_body(stream, after.into_iter().collect(), |_, _| Body::Mark(None), by).map(|_| ())
    }

    /// `cuGraphLaunch`.
    pub(crate) fn exec_launch(&mut self, exec: u64, stream: u64, by: Site) -> Outcome {
        let (exec, stream) = self.exec_target(exec, stream, by)?;
        let entry = self.exec_at(exec)?;
        let (plan, flags, last, home) = (Arc::clone(&entry.plan), entry.flags, entry.last, entry.device);
        let objects = entry.objects.clone();
        if plan.nodes.iter().any(|node| self.contexts.get(node.context).is_none()) {
            return Err(Code::CONTEXT_IS_DESTROYED);
        }
        self.account_launch(&plan, flags & AUTO_FREE != 0, by)?;
        self.draw_in(stream, &plan, home)?;
        let lane = self.at(stream)?.lane;
        let seq = self.lanes.get(&lane).ok_or(Code::INVALID_HANDLE)?.upcoming();
        let ticket = Ticket { lane, seq };
        let mut run = Run::new(plan);
        self.bind_run(&mut run, ticket);
        for (object, count) in &objects {
            self.retain_object(*object, *count);
        }
        run.objects = objects;
        run.blocks = run.plan().blocks();
        for block in run.blocks.clone() {
            self.own_block(block);
        }
        let after = last.filter(|last| !self.ticket_done(*last)).map(Dep::Ticket);
        self.submit_body(stream, after.into_iter().collect(), |_, _| Body::Run(Box::new(run)), by)?;
        if let Some(exec) = self.execs.get_mut(exec) {
            exec.last = Some(ticket);
        }
        Ok(())
    }

    /// A plan that waits for an event of an open capture draws the stream that it is launched on into that capture, although the
    /// launch itself runs. Only a wait that the stream itself makes does so, and only for an event of its own context.
    fn draw_in(&mut self, stream: StreamId, plan: &Plan, home: u32) -> Outcome {
        if !plan.nodes.iter().any(|node| matches!(node.work, Work::WaitEvent(_))) {
            return Ok(());
        }
        let context = self.at(stream)?.context;
        let device = self.device_of_context(context);
        let there = |node: &&PlanNode| match node.work {
            Work::WaitEvent(_) | Work::RecordEvent(_) => true,
            Work::Host(_) => home == device,
            _ => self.device_of_context(node.context) == device,
        };
        let events: Vec<EventId> = branch::of_the_stream(plan)
            .into_iter()
            .take_while(there)
            .filter_map(|node| match node.work {
                Work::WaitEvent(event) => Some(event),
                _ => None,
            })
            .collect();
        for event in events {
            if let Some(event) = self.events.get(event).filter(|event| event.context == context)
                && let Recorded::Captured { capture, nodes } = &event.last
                && self.is_recording(*capture)
            {
                let (capture, nodes) = (*capture, nodes.clone());
                self.wait_captured(stream, capture, nodes)?;
            }
        }
        Ok(())
    }

    /// Reads what a launch takes from the state of the host at its call.
    fn bind_run(&mut self, run: &mut Run, ticket: Ticket) {
        let plan = Arc::clone(run.plan());
        let mut records: Vec<(u32, EventId)> = Vec::new();
        for (index, node) in (0u32..).zip(&plan.nodes).filter(|(_, node)| node.enabled) {
            match &node.work {
                Work::Copy(copy) => {
                    let mut copy = copy.clone();
                    let bytes = copy.rows.extent(copy.rows.src_pitch);
                    match copy.src {
                        Place::Host(address) => {
                            copy.src = stage(address, bytes);
                            run.replace(index, Unit::new(Work::Copy(copy), node.context));
                        }
                        Place::Pinned(address) => {
                            let source = self.digest(address, bytes);
                            let mut unit = Unit::new(Work::Copy(copy), node.context);
                            unit.source = source;
                            run.replace(index, unit);
                        }
                        Place::Device(_) | Place::Staged(_) => {}
                    }
                }
                Work::RecordEvent(event) => records.push((index, *event)),
                Work::WaitEvent(event) => {
                    if let Some(Recorded::Eager(mark)) = self.events.get(*event).map(|event| &event.last) {
                        run.waits.insert(index, Arc::clone(mark));
                    }
                }
                _ => {}
            }
        }
        for (index, event) in records {
            let mark = Mark::new(ticket);
            run.records.insert(index, Arc::clone(&mark));
            if let Some(event) = self.events.get_mut(event) {
                event.last = Recorded::Eager(mark);
            }
        }
        // A wait for an event that the same launch records means that record.
        for (index, node) in (0u32..).zip(&plan.nodes) {
            if let Work::WaitEvent(event) = node.work
                && let Some((at, _)) = plan
                    .nodes
                    .iter()
                    .enumerate()
                    .find(|(_, other)| matches!(other.work, Work::RecordEvent(recorded) if recorded == event))
                && let Some(mark) = run.records.get(&(at as u32))
                && node.deps.contains(&(at as u32))
            {
                run.waits.insert(index, Arc::clone(mark));
            }
        }
    }

    /// Changes a node of an executable; launches under way keep the old one.
    pub(crate) fn exec_edit(&mut self, exec: u64, node: u64, edit: impl FnOnce(&mut PlanNode) -> Outcome) -> Outcome {
        let exec = self.exec(exec)?;
        let node = self.node_of(node, None)?;
        let entry = self.execs.get_mut(exec).ok_or(Code::INVALID_VALUE)?;
        let at = entry.plan.nodes.iter().position(|other| other.node == node).ok_or(Code::INVALID_VALUE)?;
        let plan = Arc::make_mut(&mut entry.plan);
        edit(plan.nodes.get_mut(at).ok_or(Code::INVALID_VALUE)?)
    }

    /// `cuGraphNodeSetEnabled`: kernels, copies and fills only.
    pub(crate) fn exec_enable(&mut self, exec: u64, node: u64, enabled: bool) -> Outcome {
        self.exec_edit(exec, node, |node| match node.can_be_disabled() {
            true => {
                node.enabled = enabled;
                Ok(())
            }
            false => Err(Code::INVALID_VALUE),
        })
    }

    /// `cuGraphNodeGetEnabled`: of the same kinds of node.
    pub(crate) fn exec_enabled(&self, exec: u64, node: u64) -> Outcome<bool> {
        let exec = self.exec(exec)?;
        let node = self.node_of(node, None)?;
        let found = self.exec_at(exec)?.plan.nodes.iter().find(|other| other.node == node);
        found.filter(|node| node.can_be_disabled()).map(|node| node.enabled).ok_or(Code::INVALID_VALUE)
    }
}
