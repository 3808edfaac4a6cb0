//! The kinds of a graph's nodes, by the driver's names.

use std::fmt;

/// The kind of a graph's node, in the driver's terms.
///
/// # JSON
/// With the feature `serde`: a string, the kind as it displays.
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

    /// The kind that displays as `name`.
    #[cfg(feature = "serde")]
    fn named(name: &str) -> Option<Self> {
        if let Some(number) = name.strip_prefix("kind ") {
            return number.parse().ok().map(Self::of_number);
        }
        let mut known = (0..).map(Self::of_number).take_while(|kind| !matches!(kind, Self::Other(_)));
        known.find(|kind| kind.to_string() == name)
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

#[cfg(feature = "serde")]
impl serde::Serialize for NodeKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for NodeKind {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::named(&name)
            .ok_or_else(|| serde::de::Error::invalid_value(serde::de::Unexpected::Str(&name), &"a kind of node"))
    }
}
