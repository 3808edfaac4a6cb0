//! The picture of a graph that `cuGraphDebugDotPrint` writes.

use std::fmt::Write;

use super::id::{GraphId, Id, NodeId};
use super::work::{Copy, Place, Work};
use super::{Driver, Node};
use crate::code::{Code, Outcome};

/// `CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE`.
const VERBOSE: u32 = 1;
/// `CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS`.
const KERNEL_PARAMS: u32 = 4;
/// `CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES`.
const HANDLES: u32 = 1 << 10;

impl Driver {
    /// The picture, in the DOT language.
    pub(crate) fn dot(&self, raw: u64, flags: u32) -> Outcome<String> {
        let graph = self.graph(raw)?;
        let mut text = String::from("digraph dot {\n");
        self.cluster(&mut text, graph, flags).map_err(|_| Code::UNKNOWN)?;
        text.push_str("}\n");
        Ok(text)
    }

    fn cluster(&self, text: &mut String, id: GraphId, flags: u32) -> std::fmt::Result {
        let Some(graph) = self.graphs.get(id) else { return Ok(()) };
        let name = format!("graph_{}", graph.serial);
        writeln!(text, "subgraph cluster_{} {{", graph.serial)?;
        writeln!(text, "label=\"{name}\" graph[style=\"dashed\"];")?;
        let nodes = || graph.nodes.iter().filter_map(|id| self.nodes.get(*id).map(|node| (*id, node)));
        for (at, (id, node)) in nodes().enumerate() {
            let label = self.label(at, id, node, flags);
            let (style, shape, gap) = look(&node.work);
            writeln!(text, "\"{name}_node_{at}\"[style=\"{style}\" shape=\"{shape}\"{gap}label=\"{label}\"];\n")?;
            match &node.work {
                Work::Child(child) => self.cluster(text, *child, flags)?,
                Work::Conditional { bodies, .. } => {
                    bodies.iter().try_for_each(|body| self.cluster(text, *body, flags))?
                }
                _ => {}
            }
        }
        for (at, (_, node)) in nodes().enumerate() {
            for dep in &node.deps {
                if let Some(from) = graph.nodes.iter().position(|other| other == dep) {
                    writeln!(text, "\"{name}_node_{from}\" -> \"{name}_node_{at}\";")?;
                }
            }
        }
        text.push_str("}\n");
        Ok(())
    }

    /// What a node's box says.
    fn label(&self, at: usize, id: NodeId, node: &Node, flags: u32) -> String {
        let mut label = format!("{at}\n{}\n", self.title(&node.work));
        if let Work::Kernel(launch) = &node.work
            && flags & (VERBOSE | KERNEL_PARAMS) != 0
        {
            let dims = |[x, y, z]: [u32; 3]| match (y, z) {
                (1, 1) => x.to_string(),
                _ => format!("({x},{y},{z})"),
            };
            let shape = launch.shape;
            label += &format!("\\<\\<\\<{},{},{}\\>\\>\\>", dims(shape.grid), dims(shape.block), shape.shared);
        }
        if flags & (VERBOSE | HANDLES) != 0 {
            label += &format!("\nhandle {:#x}\ncontext {:#x}\n", id.raw(), node.context.raw());
        }
        label
    }

    fn title(&self, work: &Work) -> String {
        match work {
            Work::Kernel(launch) => launch.code.name().to_owned(),
            Work::Copy(copy) => format!("MEMCPY\n({},{})", direction(copy), copy.rows.width * copy.rows.height),
            Work::Fill(fill) => {
                format!("MEMSET\n({},{})", fill.value, fill.width * u64::from(fill.element) * fill.height)
            }
            Work::Host(_) => "HOST".to_owned(),
            Work::Child(_) => "GRAPH".to_owned(),
            Work::Empty => "EMPTY".to_owned(),
            Work::WaitEvent(_) => "EVENT_WAIT".to_owned(),
            Work::RecordEvent(_) => "EVENT_RECORD".to_owned(),
            Work::Alloc { .. } => "MEM_ALLOC".to_owned(),
            Work::Free { .. } => "MEM_FREE".to_owned(),
            Work::MemOps(_) => "BATCH_MEM_OP".to_owned(),
            Work::Conditional { .. } => "CONDITIONAL".to_owned(),
        }
    }
}

/// Style, shape, and what stands before the label.
fn look(work: &Work) -> (&'static str, &'static str, &'static str) {
    match work {
        Work::Kernel(_) => ("bold", "octagon", " "),
        Work::Fill(_) => ("solid", "invtrapezium", ""),
        Work::Copy(_) => ("solid", "trapezium", ""),
        _ => ("solid", "rectangle", " "),
    }
}

fn direction(copy: &Copy) -> String {
    let letter = |place: &Place| if place.memory_type() == 2 { 'D' } else { 'H' };
    format!("{}to{}", letter(&copy.src), letter(&copy.dst))
}
