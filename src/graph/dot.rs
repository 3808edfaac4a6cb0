//! Captured work in the DOT language.

use std::fmt;

use super::inspection::{detail, title};
use super::{InspectedSegment, Inspection};

/// Displays captured work in the DOT language, for Graphviz; from [`Inspection::dot`].
///
/// A cluster a segment; seams stand between them. Programmatic dependencies are dashed. The memory that a segment keeps is listed in
/// a note.
#[derive(Clone, Copy, Debug)]
pub struct Dot<'a>(pub(super) &'a Inspection);

impl fmt::Display for Dot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "digraph captured {{")?;
        writeln!(f, "  compound=true;")?;
        writeln!(f, "  node [shape=box, fontname=\"monospace\", fontsize=10];")?;
        let mut before: Option<String> = None;
        for (position, (number, part)) in self.0.numbered().enumerate() {
            let (first, last) = match part {
                Some(segment) => {
                    cluster(f, number, segment)?;
                    (node(number, 0), node(number, segment.census.nodes().saturating_sub(1)))
                }
                None => {
                    writeln!(f, "  seam_{position} [label=\"seam\", shape=diamond];")?;
                    (format!("seam_{position}"), format!("seam_{position}"))
                }
            };
            if let Some(before) = before {
                writeln!(f, "  {before} -> {first} [style=bold, color=gray];")?;
            }
            before = Some(last);
        }
        writeln!(f, "}}")
    }
}

fn node(segment: usize, position: usize) -> String {
    format!("node_{segment}_{position}")
}

fn cluster(f: &mut fmt::Formatter<'_>, number: usize, segment: &InspectedSegment) -> fmt::Result {
    writeln!(f, "  subgraph cluster_{number} {{")?;
    writeln!(f, "    label=\"segment {number}: {}\";", segment.census)?;
    if segment.census.nodes() == 0 {
        writeln!(f, "    {} [label=\"no nodes\"];", node(number, 0))?;
    }
    for (position, what) in segment.census.in_order().iter().enumerate() {
        let (title, detail) = (title(what), detail(what));
        let lines = if detail.is_empty() { title } else { format!("{title}\n{detail}") };
        writeln!(f, "    {} [label=\"{position} {}\"];", node(number, position), Quoted(&lines))?;
    }
    for edge in segment.census.edges() {
        let style = if edge.programmatic { " [style=dashed]" } else { "" };
        writeln!(f, "    {} -> {}{style};", node(number, edge.from), node(number, edge.to))?;
    }
    if !segment.memory.is_empty() || segment.others > 0 {
        write!(f, "    kept_{number} [shape=note, label=\"kept\\l")?;
        for memory in &segment.memory {
            write!(f, "{memory}\\l")?;
        }
        writeln!(f, "other things: {}\\l\"];", segment.others)?;
    }
    writeln!(f, "  }}")
}

/// Text within a quoted string of the DOT language.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '"' | '\\' => write!(f, "\\{character}")?,
                '\n' => f.write_str("\\n")?,
                character => write!(f, "{character}")?,
            }
        }
        Ok(())
    }
}
