//! What a captured graph holds.

use std::collections::BTreeMap;
use std::fmt;

/// The kind of a graph's node, in the driver's terms.
///
/// # References
/// [CUgraphNodeType](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum NodeKind {
    /// A kernel launch.
    Kernel,
    /// A copy.
    Memcpy,
    /// A fill.
    Memset,
    /// A host function.
    Host,
    /// A graph within the graph.
    ChildGraph,
    /// Nothing; orders others.
    Empty,
    /// A wait on an event from outside the graph.
    WaitEvent,
    /// A record of an event that is used outside the graph.
    EventRecord,
    /// A signal to an external semaphore.
    ExternalSemaphoreSignal,
    /// A wait on an external semaphore.
    ExternalSemaphoreWait,
    /// An allocation.
    MemAlloc,
    /// A free.
    MemFree,
    /// Stream memory operations.
    BatchMemOp,
    /// A conditional node.
    Conditional,
    /// A kind that this crate does not know, by the driver's number.
    Other(u32),
}

impl NodeKind {
    /// The kind with the driver's number.
    pub(crate) const fn of_number(number: u32) -> Self {
        match number {
            0 => Self::Kernel,
            1 => Self::Memcpy,
            2 => Self::Memset,
            3 => Self::Host,
            4 => Self::ChildGraph,
            5 => Self::Empty,
            6 => Self::WaitEvent,
            7 => Self::EventRecord,
            8 => Self::ExternalSemaphoreSignal,
            9 => Self::ExternalSemaphoreWait,
            10 => Self::MemAlloc,
            11 => Self::MemFree,
            12 => Self::BatchMemOp,
            13 => Self::Conditional,
            other => Self::Other(other),
        }
    }
}

impl fmt::Display for NodeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kernel => "kernel",
            Self::Memcpy => "memcpy",
            Self::Memset => "memset",
            Self::Host => "host",
            Self::ChildGraph => "child graph",
            Self::Empty => "empty",
            Self::WaitEvent => "wait event",
            Self::EventRecord => "event record",
            Self::ExternalSemaphoreSignal => "external semaphore signal",
            Self::ExternalSemaphoreWait => "external semaphore wait",
            Self::MemAlloc => "mem alloc",
            Self::MemFree => "mem free",
            Self::BatchMemOp => "batch mem op",
            Self::Conditional => "conditional",
            Self::Other(number) => return write!(f, "kind {number}"),
        })
    }
}

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
    }
}
