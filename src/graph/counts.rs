//! How many nodes of each kind.

use std::collections::BTreeMap;
use std::fmt;

use super::Census;
use crate::node_kind::NodeKind;

/// How many nodes of each kind a graph has, or is to have ([`CapturePolicy::expect`](crate::CapturePolicy::expect)).
///
/// Displays as a line: `kernel ×2, memcpy ×1`.
///
/// # JSON
/// With the feature `serde`: an object, from kinds as they display to numbers.
///
/// # Examples
/// ```
/// use dacapo::{NodeCounts, NodeKind};
///
/// let counts = NodeCounts::from([(NodeKind::Kernel, 53), (NodeKind::Memcpy, 2)]);
/// assert_eq!((counts.nodes(), counts.count(NodeKind::Kernel), counts.count(NodeKind::Host)), (55, 53, 0));
/// assert_eq!(counts.to_string(), "kernel ×53, memcpy ×2");
/// ```
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(from = "BTreeMap<NodeKind, usize>", into = "BTreeMap<NodeKind, usize>")
)]
pub struct NodeCounts(
    /// Without zeros.
    BTreeMap<NodeKind, usize>,
);

impl NodeCounts {
    /// Nodes in all.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.0.values().sum()
    }

    /// Nodes of one kind.
    #[must_use]
    pub fn count(&self, kind: NodeKind) -> usize {
        self.0.get(&kind).copied().unwrap_or(0)
    }

    /// The kinds that occur, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (NodeKind, usize)> + '_ {
        self.0.iter().map(|(&kind, &count)| (kind, count))
    }

    /// The first kind of which `found` has another number, and both numbers.
    pub(crate) fn first_difference(&self, found: &Self) -> Option<(NodeKind, usize, usize)> {
        let kinds = self.0.keys().chain(found.0.keys());
        let different = kinds.copied().filter(|&kind| self.count(kind) != found.count(kind));
        different.min().map(|kind| (kind, self.count(kind), found.count(kind)))
    }
}

impl IntoIterator for NodeCounts {
    type Item = (NodeKind, usize);
    type IntoIter = std::collections::btree_map::IntoIter<NodeKind, usize>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// A kind that comes several times is counted together.
impl FromIterator<(NodeKind, usize)> for NodeCounts {
    fn from_iter<I: IntoIterator<Item = (NodeKind, usize)>>(counts: I) -> Self {
        let mut whole = BTreeMap::new();
        for (kind, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            *whole.entry(kind).or_default() += count;
        }
        Self(whole)
    }
}

impl<const N: usize> From<[(NodeKind, usize); N]> for NodeCounts {
    fn from(counts: [(NodeKind, usize); N]) -> Self {
        counts.into_iter().collect()
    }
}

impl From<BTreeMap<NodeKind, usize>> for NodeCounts {
    fn from(counts: BTreeMap<NodeKind, usize>) -> Self {
        counts.into_iter().collect()
    }
}

impl From<NodeCounts> for BTreeMap<NodeKind, usize> {
    fn from(counts: NodeCounts) -> Self {
        counts.0
    }
}

impl From<&Census> for NodeCounts {
    fn from(census: &Census) -> Self {
        census.counts()
    }
}

impl fmt::Display for NodeCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no nodes");
        }
        for (position, (kind, count)) in self.iter().enumerate() {
            let separator = if position == 0 { "" } else { ", " };
            write!(f, "{separator}{kind} ×{count}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_kind_that_differs_is_named_whichever_side_has_more() {
        let expected = NodeCounts::from([(NodeKind::Kernel, 2), (NodeKind::Host, 1), (NodeKind::Empty, 0)]);
        let found = NodeCounts::from([(NodeKind::Kernel, 1), (NodeKind::Kernel, 1), (NodeKind::Memset, 3)]);
        assert_eq!(expected.first_difference(&found), Some((NodeKind::Memset, 0, 3)));
        assert_eq!(found.first_difference(&expected), Some((NodeKind::Memset, 3, 0)));
        assert_eq!(expected.first_difference(&expected), None);
        assert_eq!(NodeCounts::default().to_string(), "no nodes");
    }
}
