//! Graphs: making, looking at and changing them.

use super::Call;
use super::args::{ContextArg, GraphArg, In, NodeArg, Out, Text, handle};
use super::structs::EdgeData;
use crate::code::{Code, Outcome};
use crate::model::id::{GraphId, NodeId};
use crate::model::work::Work;

pub(super) fn cuGraphCreate(call: &mut Call, graph: Out<u64>, flags: u32) -> Outcome {
    graph.wanted()?;
    let by = call.by;
    graph.set(handle(call.graph_create(flags, by)?))
}

pub(super) fn cuGraphDestroy(call: &mut Call, graph: GraphArg) -> Outcome {
    let by = call.by;
    call.graph_destroy(graph.0, by)
}

pub(super) fn cuGraphClone(call: &mut Call, clone: Out<u64>, graph: GraphArg) -> Outcome {
    clone.wanted()?;
    let by = call.by;
    clone.set(handle(call.graph_clone(graph.0, by)?))
}

pub(super) fn cuGraphNodeFindInClone(call: &mut Call, node: Out<u64>, original: NodeArg, clone: GraphArg) -> Outcome {
    let clone = call.graph(clone.0)?;
    let original = call.node_of(original.0, None)?;
    let copy = call.graphs.get(clone).and_then(|graph| graph.copies.get(&original)).copied();
    node.set(handle(copy.ok_or(Code::INVALID_VALUE)?))
}

/// Writes a list the way that the driver's list functions do: with no array, its length; with an array, which must have room,
/// as many as fit, and null behind them.
fn write_list(lists: &[(Out<u64>, Vec<u64>)], count: Out<usize>) -> Outcome {
    let length = lists.first().map_or(0, |(_, values)| values.len());
    if lists.iter().all(|(array, _)| array.is_null()) {
        return count.set(length);
    }
    let room = count.get()?;
    if room == 0 || room > super::capture::MANY {
        return Err(Code::INVALID_VALUE);
    }
    for (array, values) in lists.iter().filter(|(array, _)| !array.is_null()) {
        array.set_array(values, room)?;
        if room > length {
            array.add(length).set_array(&vec![0; room - length], room - length)?;
        }
    }
    count.set(room.min(length))
}

/// Writes edge data: no edge has any.
fn write_data(data: Out<EdgeData>, count: Out<usize>) -> Outcome {
    if data.is_null() {
        return Ok(());
    }
    let count = count.get()?;
    data.set_array(&vec![EdgeData::default(); count], count)
}

fn nodes_of(call: &Call, graph: GraphId) -> Vec<NodeId> {
    call.graphs.get(graph).map_or_else(Vec::new, |graph| graph.nodes.clone())
}

fn handles(nodes: &[NodeId]) -> Vec<u64> {
    nodes.iter().map(|node| handle(*node)).collect()
}

pub(super) fn cuGraphGetNodes(call: &mut Call, graph: GraphArg, nodes: Out<u64>, count: Out<usize>) -> Outcome {
    let graph = call.graph(graph.0)?;
    write_list(&[(nodes, handles(&nodes_of(call, graph)))], count)
}

pub(super) fn cuGraphGetRootNodes(call: &mut Call, graph: GraphArg, nodes: Out<u64>, count: Out<usize>) -> Outcome {
    let graph = call.graph(graph.0)?;
    let mut roots = nodes_of(call, graph);
    roots.retain(|node| call.nodes.get(*node).is_some_and(|node| node.deps.is_empty()));
    write_list(&[(nodes, handles(&roots))], count)
}

pub(super) fn cuGraphGetEdges(
    call: &mut Call,
    graph: GraphArg,
    from: Out<u64>,
    to: Out<u64>,
    count: Out<usize>,
) -> Outcome {
    let graph = call.graph(graph.0)?;
    let (mut sources, mut targets) = (Vec::new(), Vec::new());
    for node in nodes_of(call, graph) {
        for dep in call.nodes.get(node).map_or(&[][..], |node| &node.deps) {
            sources.push(handle(*dep));
            targets.push(handle(node));
        }
    }
    write_list(&[(from, sources), (to, targets)], count)
}

pub(super) fn cuGraphGetEdges_v2(
    call: &mut Call,
    graph: GraphArg,
    from: Out<u64>,
    to: Out<u64>,
    data: Out<EdgeData>,
    count: Out<usize>,
) -> Outcome {
    cuGraphGetEdges(call, graph, from, to, count)?;
    if from.is_null() && to.is_null() { Ok(()) } else { write_data(data, count) }
}

pub(super) fn cuGraphNodeGetType(call: &mut Call, node: NodeArg, kind: Out<u32>) -> Outcome {
    let (_, node) = call.node(node.0)?;
    kind.set(node.work.number())
}

pub(super) fn cuGraphNodeGetDependencies(
    call: &mut Call,
    node: NodeArg,
    nodes: Out<u64>,
    count: Out<usize>,
) -> Outcome {
    let (_, node) = call.node(node.0)?;
    write_list(&[(nodes, handles(&node.deps))], count)
}

pub(super) fn cuGraphNodeGetDependencies_v2(
    call: &mut Call,
    node: NodeArg,
    nodes: Out<u64>,
    data: Out<EdgeData>,
    count: Out<usize>,
) -> Outcome {
    cuGraphNodeGetDependencies(call, node, nodes, count)?;
    if nodes.is_null() { Ok(()) } else { write_data(data, count) }
}

pub(super) fn cuGraphNodeGetDependentNodes(
    call: &mut Call,
    node: NodeArg,
    nodes: Out<u64>,
    count: Out<usize>,
) -> Outcome {
    let (id, _) = call.node(node.0)?;
    write_list(&[(nodes, handles(&call.dependents(id)))], count)
}

pub(super) fn cuGraphNodeGetDependentNodes_v2(
    call: &mut Call,
    node: NodeArg,
    nodes: Out<u64>,
    data: Out<EdgeData>,
    count: Out<usize>,
) -> Outcome {
    cuGraphNodeGetDependentNodes(call, node, nodes, count)?;
    if nodes.is_null() { Ok(()) } else { write_data(data, count) }
}

fn edit(call: &mut Call, graph: GraphArg, from: In<u64>, to: In<u64>, count: usize, add: bool) -> Outcome {
    let from = super::capture::nodes(from, count)?;
    let to = super::capture::nodes(to, count)?;
    let edges: Vec<(u64, u64)> = from.into_iter().zip(to).collect();
    call.edit_edges(graph.0, &edges, add)
}

pub(super) fn cuGraphAddDependencies(
    call: &mut Call,
    graph: GraphArg,
    from: In<u64>,
    to: In<u64>,
    count: usize,
) -> Outcome {
    edit(call, graph, from, to, count, true)
}

pub(super) fn cuGraphAddDependencies_v2(
    call: &mut Call,
    graph: GraphArg,
    from: In<u64>,
    to: In<u64>,
    _data: In<EdgeData>,
    count: usize,
) -> Outcome {
    edit(call, graph, from, to, count, true)
}

pub(super) fn cuGraphRemoveDependencies(
    call: &mut Call,
    graph: GraphArg,
    from: In<u64>,
    to: In<u64>,
    count: usize,
) -> Outcome {
    edit(call, graph, from, to, count, false)
}

pub(super) fn cuGraphRemoveDependencies_v2(
    call: &mut Call,
    graph: GraphArg,
    from: In<u64>,
    to: In<u64>,
    _data: In<EdgeData>,
    count: usize,
) -> Outcome {
    edit(call, graph, from, to, count, false)
}

pub(super) fn cuGraphDestroyNode(call: &mut Call, node: NodeArg) -> Outcome {
    let by = call.by;
    call.node_destroy(node.0, by)
}

pub(super) fn cuGraphChildGraphNodeGetGraph(call: &mut Call, node: NodeArg, graph: Out<u64>) -> Outcome {
    let (_, node) = call.node(node.0)?;
    match node.work {
        Work::Child(child) => graph.set(handle(child)),
        _ => Err(Code::INVALID_VALUE),
    }
}

pub(super) fn cuGraphDebugDotPrint(call: &mut Call, graph: GraphArg, path: Text, flags: u32) -> Outcome {
    let picture = call.dot(graph.0, flags)?;
    std::fs::write(path.get()?, picture).map_err(|_| Code::OPERATING_SYSTEM)
}

pub(super) fn cuGraphConditionalHandleCreate(
    call: &mut Call,
    out: Out<u64>,
    graph: GraphArg,
    context: ContextArg,
    default: u32,
    flags: u32,
) -> Outcome {
    out.wanted()?;
    if context.0 != 0 {
        call.context(context.0)?;
    }
    out.set(handle(call.condition_create(graph.0, default, flags)?))
}
