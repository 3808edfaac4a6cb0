//! Moves on graphs, executables and user objects.

use super::{Generator, Wanted};
use crate::call::{Call, Step};
use crate::names::*;

impl Generator {
    pub(super) fn graph(&mut self) -> Option<Graph> {
        let graphs: Vec<Graph> = self.model.graphs.iter().map(|guess| guess.name).collect();
        self.rng.pick(&graphs)
    }

    fn all_nodes_of(&self, graph: Graph) -> Vec<Node> {
        let guess = self.model.graphs.iter().find(|guess| guess.name == graph);
        guess.map(|guess| guess.nodes.clone()).unwrap_or_default()
    }

    /// None, one or two nodes of a graph.
    pub(super) fn nodes_of(&mut self, graph: Graph) -> Nodes {
        let nodes = self.all_nodes_of(graph);
        let count = self.rng.below(3);
        let mut chosen: Vec<Node> = (0..count).filter_map(|_| self.rng.pick(&nodes)).collect();
        chosen.dedup();
        Nodes(chosen)
    }

    /// A node: of a graph that has one, or seldom of any.
    fn node(&mut self) -> Option<(Graph, Node)> {
        let nodes: Vec<(Graph, Node)> =
            self.model.graphs.iter().flat_map(|guess| guess.nodes.iter().map(|node| (guess.name, *node))).collect();
        self.rng.pick(&nodes)
    }

    fn exec(&mut self) -> Option<Exec> {
        let execs: Vec<Exec> = self.model.execs.iter().map(|(name, ..)| *name).collect();
        self.rng.pick(&execs)
    }

    pub(super) fn flags(&mut self) -> Number {
        Number([0, 1, 8, 9, 2, 16][self.rng.weighted(&[60, 20, 8, 4, 4, 4])])
    }

    /// A graph with some nodes, and mostly an executable that is launched.
    pub(super) fn build(&mut self) -> Option<Step> {
        let (thread, graph) = (self.thread(), Graph(self.name()));
        let mut nodes: Vec<Node> = Vec::new();
        for _ in 0..self.rng.below(4) {
            let after = Nodes(self.rng.pick(&nodes).into_iter().collect());
            let new = Node(self.name());
            let Some(call) = self.node_call(New(new), graph, after) else { continue };
            self.plan.push_back(Step { thread, call });
            nodes.push(new);
        }
        if self.rng.percent(60) {
            let (exec, flags) = (Exec(self.name()), self.flags());
            self.plan.push_back(Step { thread, call: Call::GraphInstantiate { new: New(exec), graph, flags } });
            let stream = self.stream(Wanted::Idle);
            self.plan.extend(stream.map(|stream| Step { thread, call: Call::GraphLaunch { exec, stream } }));
        }
        Some(Step { thread, call: Call::GraphCreate { new: New(graph) } })
    }

    pub(super) fn add_node(&mut self) -> Option<Step> {
        let graph = self.graph()?;
        let (new, after) = (New(Node(self.name())), self.nodes_of(graph));
        let call = self.node_call(new, graph, after)?;
        Some(self.by_anyone(|_| call))
    }

    /// A call that adds some node.
    fn node_call(&mut self, new: New<Node>, graph: Graph, after: Nodes) -> Option<Call> {
        let (place, cell) = (self.place(), self.cell());
        let value = Number(self.rng.below(1000) + 1);
        Some(match self.rng.weighted(&[32, 12, 10, 6, 8, 4, 4, 6, 6, 6]) {
            0 => Call::GraphAddKernelNode { new, graph, after, place, cell },
            1 => Call::GraphAddMemsetNode { new, graph, after, place, cell, value },
            2 => Call::GraphAddMemcpyNode { new, graph, after, from: place, to: place, cell },
            3 => Call::GraphAddEmptyNode { new, graph, after },
            4 => Call::GraphAddHostNode { new, graph, after },
            5 => Call::GraphAddEventRecordNode { new, graph, after, event: self.event(None)? },
            6 => Call::GraphAddEventWaitNode { new, graph, after, event: self.event(None)? },
            7 => {
                Call::GraphAddChildGraphNode { new, graph, after, child: self.graph().filter(|child| *child != graph)? }
            }
            8 => Call::GraphAddMemAllocNode { new, graph, after, place, pointer: New(Pointer(self.name())) },
            _ => Call::GraphAddMemFreeNode { new, graph, after, pointer: self.rng.pick(&self.model.pointers)? },
        })
    }

    pub(super) fn look_at_graph(&mut self) -> Option<Step> {
        let graph = self.graph()?;
        let call = match self.rng.below(5) {
            0 => Call::GraphGetNodes { graph },
            1 => Call::GraphGetRootNodes { graph },
            2 => Call::GraphGetEdges { graph },
            3 => Call::GraphNodeGetType { node: self.node()?.1 },
            _ => Call::GraphNodeGetDependencies { node: self.node()?.1 },
        };
        Some(self.by_anyone(|_| call))
    }

    pub(super) fn change_graph(&mut self) -> Option<Step> {
        let (place, cell) = (self.place(), self.cell());
        let call = match self.rng.weighted(&[4, 2, 2, 2, 2, 2]) {
            0 | 1 => {
                let (graph, from) = self.node()?;
                let nodes = self.all_nodes_of(graph);
                let others: Vec<Node> = nodes.into_iter().filter(|node| *node != from).collect();
                let to = if self.rng.percent(95) { self.rng.pick(&others)? } else { from };
                // Earlier ones come first: a circle would be refused at best.
                let (from, to) = (from.min(to), from.max(to));
                match self.rng.percent(65) {
                    true => Call::GraphAddDependencies { graph, from, to },
                    false => Call::GraphRemoveDependencies { graph, from, to },
                }
            }
            2 => Call::GraphDestroyNode { node: self.node()?.1 },
            3 => {
                let kernels = self.model.kernels.clone();
                let kernel = if self.rng.percent(70) { self.rng.pick(&kernels) } else { None };
                let node = kernel.or_else(|| self.node().map(|(_, node)| node))?;
                Call::GraphKernelNodeSetParams { node, place, cell }
            }
            4 => Call::GraphClone { new: New(Graph(self.name())), graph: self.graph()? },
            _ => Call::GraphDestroy { graph: self.graph()? },
        };
        Some(self.by_anyone(|_| call))
    }

    pub(super) fn instantiate(&mut self) -> Option<Step> {
        let (graph, flags) = (self.graph()?, self.flags());
        Some(self.by_anyone(|g| Call::GraphInstantiate { new: New(Exec(g.name())), graph, flags }))
    }

    pub(super) fn launch(&mut self) -> Option<Step> {
        let wanted = if self.rng.percent(85) { Wanted::Idle } else { Wanted::Any };
        let (exec, stream) = (self.exec()?, self.stream(wanted)?);
        let call = match self.rng.percent(85) {
            true => Call::GraphLaunch { exec, stream },
            false => Call::GraphUpload { exec, stream },
        };
        Some(self.by_anyone(|_| call))
    }

    /// Something about an executable, most likely with a node of the graph that it was made from.
    pub(super) fn change_exec(&mut self) -> Option<Step> {
        let exec = self.exec()?;
        let (_, source, nodes) = self.model.execs.iter().find(|(name, ..)| *name == exec)?;
        let (source, nodes) = (*source, nodes.clone());
        let (place, cell) = (self.place(), self.cell());
        let own = if self.rng.percent(92) { self.rng.pick(&nodes) } else { None };
        let node = own.or_else(|| self.node().map(|(_, node)| node));
        let call = match self.rng.weighted(&[5, 3, 3, 2, 1, 2]) {
            0 => {
                let graph = if self.rng.percent(60) { source } else { self.graph()? };
                Call::GraphExecUpdate { exec, graph }
            }
            1 => {
                let kernels: Vec<Node> = nodes.into_iter().filter(|node| self.model.kernels.contains(node)).collect();
                let node = self.rng.pick(&kernels).or(node)?;
                Call::GraphExecKernelNodeSetParams { exec, node, place, cell }
            }
            2 => {
                let switch = if self.rng.percent(65) { Switch::Off } else { Switch::On };
                Call::GraphNodeSetEnabled { exec, node: node?, switch }
            }
            3 => Call::GraphNodeGetEnabled { exec, node: node? },
            4 => Call::GraphExecGetFlags { exec },
            _ => Call::GraphExecDestroy { exec },
        };
        Some(self.by_anyone(|_| call))
    }

    pub(super) fn user_object(&mut self) -> Option<Step> {
        let known = self.model.objects.clone();
        let call = match self.rng.pick(&known) {
            None => {
                let (object, graph) = (Object(self.name()), self.graph());
                let retain = graph.map(|graph| self.by_anyone(|_| Call::GraphRetainUserObject { graph, object }));
                self.plan.extend(retain);
                Call::UserObjectCreate { new: New(object) }
            }
            Some(object) => match self.rng.weighted(&[1, 2, 3, 6, 3]) {
                0 => Call::UserObjectCreate { new: New(Object(self.name())) },
                1 => Call::UserObjectRetain { object },
                2 => Call::UserObjectRelease { object },
                3 => Call::GraphRetainUserObject { graph: self.graph()?, object },
                _ => {
                    let (graph, object) = self.rng.pick(&self.model.retained)?;
                    Call::GraphReleaseUserObject { graph, object }
                }
            },
        };
        Some(self.by_anyone(|_| call))
    }
}
