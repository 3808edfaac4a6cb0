//! Where the nodes of a graph stand in a picture: in ranks, from top to bottom, and in columns.
//!
//! A node's rank is the length of the longest way to it, so an edge leads down by at least one. In each rank that an edge only
//! passes it has a place like a node's. A chain stays in its column, and a branch has one of its own for as long as it lasts.
//!
//! Invariants:
//!
//! 1. No two places of a rank share a column.
//! 2. A way has a place in every rank from its first node's to its last's.

use std::collections::HashSet;

use super::super::{Census, Edge};

/// A rank and a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) rank: usize,
    pub(super) column: usize,
}

/// The places of a graph.
pub(super) struct Layout {
    /// By the node's position.
    pub(super) nodes: Vec<Place>,
    /// By the edge's: every place that it comes by, first and last node included.
    pub(super) ways: Vec<Vec<Place>>,
    pub(super) ranks: usize,
}

/// What has a place in a rank.
#[derive(Clone, Copy)]
enum Item {
    Node(usize),
    /// An edge that passes.
    Way(usize),
}

impl Layout {
    pub(super) fn of(census: &Census) -> Self {
        let edges = census.edges();
        let node_ranks = node_ranks(census);
        let ranks = node_ranks.iter().max().map_or(0, |last| last + 1);
        let mut members: Vec<Vec<Item>> = vec![Vec::new(); ranks];
        // Edges first: one that has a column keeps it.
        for (way, edge) in edges.iter().enumerate() {
            for members in &mut members[node_ranks[edge.from] + 1..node_ranks[edge.to]] {
                members.push(Item::Way(way));
            }
        }
        for (node, &rank) in node_ranks.iter().enumerate() {
            members[rank].push(Item::Node(node));
        }
        let mut incoming: Vec<Vec<usize>> = vec![Vec::new(); census.nodes()];
        for (way, edge) in edges.iter().enumerate() {
            incoming[edge.to].push(way);
        }

        let mut nodes = vec![Place { rank: 0, column: 0 }; census.nodes()];
        let mut ways: Vec<Vec<Place>> = vec![Vec::new(); edges.len()];
        for (rank, items) in members.into_iter().enumerate() {
            let above = |way: usize| ways[way].last().map_or(nodes[edges[way].from].column, |place| place.column);
            let mut wishes: Vec<(Wish, Item)> = items
                .into_iter()
                .map(|item| match item {
                    Item::Way(way) if ways[way].is_empty() => (Wish::beside(above(way)), item),
                    Item::Way(way) => (Wish::keep(above(way)), item),
                    Item::Node(node) => {
                        let first = incoming[node].iter().map(|&way| above(way)).min();
                        (first.map_or(Wish::beside(0), Wish::below), item)
                    }
                })
                .collect();
            // Stable, so that equals stay in the order of the nodes.
            wishes.sort_by_key(|(wish, _)| (wish.class, wish.column));
            let mut taken = HashSet::new();
            for (wish, item) in wishes {
                let column = nearest_free(&taken, wish.column);
                taken.insert(column);
                let place = Place { rank, column };
                match item {
                    Item::Node(node) => nodes[node] = place,
                    Item::Way(way) => ways[way].push(place),
                }
            }
        }
        for (way, Edge { from, to, .. }) in ways.iter_mut().zip(edges) {
            way.insert(0, nodes[*from]);
            way.push(nodes[*to]);
        }
        Self { nodes, ways, ranks }
    }
}

/// The column that something would have, and who is asked first.
struct Wish {
    class: u8,
    column: usize,
}

impl Wish {
    /// An edge that has come by a place already.
    fn keep(column: usize) -> Self {
        Self { class: 0, column }
    }

    /// A node under what it waits for.
    fn below(column: usize) -> Self {
        Self { class: 1, column }
    }

    /// Whatever is free: an edge that leaves its node, a node that waits for nothing.
    fn beside(column: usize) -> Self {
        Self { class: 2, column }
    }
}

/// The free column nearest to `wish`; of two, the right one.
fn nearest_free(taken: &HashSet<usize>, wish: usize) -> usize {
    let mut candidates = (0..).flat_map(|distance| [wish.checked_add(distance), wish.checked_sub(distance)]).flatten();
    candidates.find(|column| !taken.contains(column)).unwrap_or(wish)
}

fn node_ranks(census: &Census) -> Vec<usize> {
    let mut ranks = vec![0; census.nodes()];
    // Sorted by their first node, and nodes stand in order: what leads to a node has been seen when its edges come.
    for edge in census.edges() {
        ranks[edge.to] = ranks[edge.to].max(ranks[edge.from] + 1);
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node_kind::NodeKind;

    fn layout(nodes: usize, edges: &[(usize, usize)]) -> Layout {
        let edges = edges.iter().map(|&(from, to)| Edge { from, to, programmatic: false });
        Layout::of(&Census::arrange(vec![NodeKind::Empty.into(); nodes], edges.collect()).0)
    }

    fn places(layout: &Layout) -> Vec<(usize, usize)> {
        layout.nodes.iter().map(|place| (place.rank, place.column)).collect()
    }

    fn check(layout: &Layout) {
        let mut all: Vec<(usize, usize)> = places(layout);
        for way in &layout.ways {
            assert!(way.windows(2).all(|step| step[0].rank + 1 == step[1].rank), "{way:?}");
            all.extend(way[1..way.len() - 1].iter().map(|place| (place.rank, place.column)));
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count, "two in one place");
    }

    #[test]
    fn a_chain_stays_in_one_column() {
        let chain = layout(4, &[(0, 1), (1, 2), (2, 3)]);
        assert_eq!(places(&chain), [(0, 0), (1, 0), (2, 0), (3, 0)]);
        assert_eq!(chain.ranks, 4);
    }

    #[test]
    fn a_branch_has_a_column_and_an_edge_that_passes_has_too() {
        // 0 forks to 1-2 and to 3; both join in 4; 0 leads to 5 as well, which also waits for 4.
        let forked = layout(6, &[(0, 1), (1, 2), (0, 3), (2, 4), (3, 4), (0, 5), (4, 5)]);
        assert_eq!(places(&forked), [(0, 0), (1, 0), (2, 0), (1, 1), (3, 0), (4, 0)]);
        check(&forked);
        // The way of the edge from 0 to 5 keeps a column of its own.
        let long: Vec<usize> = forked.ways[2].iter().map(|place| place.column).collect();
        assert_eq!(long, [0, 2, 2, 2, 0]);
    }

    #[test]
    fn nothing_shares_a_place_whatever_the_graph() {
        let mut state = 7u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % below
        };
        for nodes in 2..40 {
            let mut edges: Vec<(usize, usize)> =
                (0..2 * nodes).map(|_| (random(nodes), random(nodes))).filter(|(from, to)| from < to).collect();
            edges.sort_unstable();
            edges.dedup();
            check(&layout(nodes, &edges));
        }
        assert_eq!(layout(0, &[]).ranks, 0);
    }
}
