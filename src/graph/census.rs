//! What a captured graph holds.

use std::collections::BTreeMap;
use std::fmt;
use std::iter::Sum;

use crate::node_kind::NodeKind;

/// How many nodes of each kind a graph holds, counted when its capture ended. A child graph is one node.
///
/// Displays as a line: `kernel ×2, memcpy ×1`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Census {
    counts: BTreeMap<NodeKind, usize>,
}

impl Census {
    pub(crate) fn of_numbers(kinds: impl IntoIterator<Item = u32>) -> Self {
        let mut counts = BTreeMap::new();
        for kind in kinds {
            *counts.entry(NodeKind::of_number(kind)).or_default() += 1;
        }
        Self { counts }
    }

    /// Nodes in all.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.counts.values().sum()
    }

    /// Nodes of one kind.
    #[must_use]
    pub fn count(&self, kind: NodeKind) -> usize {
        self.counts.get(&kind).copied().unwrap_or(0)
    }

    /// The kinds that occur, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (NodeKind, usize)> + '_ {
        self.counts.iter().map(|(&kind, &count)| (kind, count))
    }
}

impl<'a> Sum<&'a Census> for Census {
    fn sum<I: Iterator<Item = &'a Self>>(censuses: I) -> Self {
        let mut whole = Self::default();
        for (kind, count) in censuses.flat_map(Self::iter) {
            *whole.counts.entry(kind).or_default() += count;
        }
        whole
    }
}

impl fmt::Display for Census {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.counts.is_empty() {
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
    fn a_census_counts_and_prints_by_kind() {
        let census = Census::of_numbers([2, 0, 0, 77]);
        assert_eq!((census.nodes(), census.count(NodeKind::Kernel), census.count(NodeKind::Host)), (4, 2, 0));
        assert_eq!(census.to_string(), "kernel ×2, memset ×1, kind 77 ×1");
        assert_eq!(Census::default().to_string(), "no nodes");
        assert_eq!(
            [&census, &Census::of_numbers([0, 3])].into_iter().sum::<Census>().to_string(),
            "kernel ×3, memset ×1, host ×1, kind 77 ×1"
        );
    }
}
