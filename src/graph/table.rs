//! Captured work as a table.

use std::fmt;

use super::inspection::title;
use super::{Census, Edge, Inspection};
use crate::node::{Dimensions, Node};

/// Displays captured work as a table, a row a node; from [`Inspection::table`].
///
/// The columns: position; positions of the nodes that it waits for; name or kind; of a kernel grid, block, dynamic shared memory in
/// bytes, and what attributes are set, if any node has some.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a>(pub(super) &'a Inspection);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, part) in self.0.numbered() {
            match part {
                Some(segment) => {
                    writeln!(f, "segment {number}: {}", segment.summary())?;
                    rows(&segment.census).write(f)?;
                }
                None => writeln!(f, "seam")?,
            }
        }
        Ok(())
    }
}

/// Cells by row; the first row is the heading.
struct Rows(Vec<[String; 7]>);

/// The column whose cells begin at the left, as text does; and the last one.
const NAME: usize = 2;
const ATTRIBUTES: usize = 6;

fn rows(census: &Census) -> Rows {
    let heading = ["#", "after", "node", "grid", "block", "shared", "attributes"].map(str::to_owned);
    let mut rows = vec![heading];
    let mut before: Vec<Vec<&Edge>> = vec![Vec::new(); census.nodes()];
    for edge in census.edges() {
        before[edge.to].push(edge);
    }
    for ((position, node), before) in census.in_order().iter().enumerate().zip(before) {
        let list = |edges: &mut dyn Iterator<Item = &&Edge>| {
            edges.map(|edge| edge.from.to_string()).collect::<Vec<_>>().join(",")
        };
        let mut row: [String; 7] = Default::default();
        row[0] = position.to_string();
        row[1] = list(&mut before.iter());
        row[NAME] = title(node);
        if let Node::Kernel(launch) = node {
            row[3] = Dimensions(launch.grid).to_string();
            row[4] = Dimensions(launch.block).to_string();
            row[5] = launch.shared_bytes.to_string();
            let programmatic = list(&mut before.iter().filter(|edge| edge.programmatic));
            let programmatic = Some(programmatic).filter(|list| !list.is_empty());
            let set = [
                Some(launch.attributes().to_string()).filter(|attributes| !attributes.is_empty()),
                programmatic.map(|list| format!("programmatic after {list}")),
            ];
            row[ATTRIBUTES] = set.into_iter().flatten().collect::<Vec<_>>().join(", ");
        }
        rows.push(row);
    }
    if rows[1..].iter().all(|row| row[ATTRIBUTES].is_empty()) {
        rows[0][ATTRIBUTES].clear();
    }
    Rows(rows)
}

impl Rows {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths = [0; 7];
        for row in &self.0 {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        widths[0] = widths[0].max(2);
        for row in &self.0 {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
                line += "  ";
                line += &match column {
                    NAME | ATTRIBUTES => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                };
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
