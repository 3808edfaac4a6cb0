//! Which kernel of a captured graph is meant, and what may be wrong with it.
//!
//! *Where it sits.* Beside [`Node`], below the errors; looks at nodes as plain data, and knows no graph.

use crate::node::{KernelLaunch, Node};
use crate::node_kind::NodeKind;

/// Names a kernel of a captured graph: see [`Stream::update_kernel`](crate::Stream::update_kernel).
///
/// A name alone is one, where the graph launches it once; so is a name with a number, and a position.
///
/// # Examples
/// ```
/// use dacapo::KernelAt;
///
/// assert_eq!(KernelAt::from("argmax"), KernelAt::Only("argmax"));
/// assert_eq!(KernelAt::from(("matvec", 3)), KernelAt::Nth("matvec", 3));
/// assert_eq!(KernelAt::from(7), KernelAt::Position(7));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KernelAt<'a> {
    /// The only launch of the kernel of this name.
    Only(&'a str),
    /// One of the launches of the kernel of this name, counted from 0 in the order of
    /// [`Census::kernels`](crate::Census::kernels).
    Nth(&'a str, usize),
    /// The node at this position in [`Census::in_order`](crate::Census::in_order). Of several segments: of all of them together, as
    /// the stream's `census` lists them.
    Position(usize),
}

impl<'a> From<&'a str> for KernelAt<'a> {
    fn from(name: &'a str) -> Self {
        Self::Only(name)
    }
}

impl<'a> From<(&'a str, usize)> for KernelAt<'a> {
    fn from((name, nth): (&'a str, usize)) -> Self {
        Self::Nth(name, nth)
    }
}

impl From<usize> for KernelAt<'_> {
    fn from(position: usize) -> Self {
        Self::Position(position)
    }
}

impl KernelAt<'_> {
    /// The position of the kernel among these nodes, and its launch.
    pub(crate) fn find<'n>(
        self,
        nodes: impl Iterator<Item = &'n Node> + Clone,
    ) -> Result<(usize, &'n KernelLaunch), KernelMismatch> {
        let launches = nodes.clone().enumerate().filter_map(|(at, node)| Some((at, node.kernel()?)));
        let (name, nth) = match self {
            Self::Only(name) => (name, None),
            Self::Nth(name, nth) => (name, Some(nth)),
            Self::Position(position) => {
                return match nodes.clone().nth(position) {
                    Some(Node::Kernel(launch)) => Ok((position, launch)),
                    Some(node) => Err(KernelMismatch::NotAKernel { position, found: node.kind() }),
                    None => Err(KernelMismatch::NoSuchNode { position, of: nodes.count() }),
                };
            }
        };
        let mut named = launches.clone().filter(|(_, launch)| launch.name.as_deref() == Some(name));
        let of = named.clone().count();
        match (of, nth) {
            (0, _) => {
                let mut known: Vec<_> =
                    launches.filter_map(|(_, launch)| launch.name.as_deref().map(Box::from)).collect();
                known.sort_unstable();
                known.dedup();
                Err(KernelMismatch::NoSuchKernel { kernel: name.into(), known: known.into() })
            }
            (2.., None) => Err(KernelMismatch::Ambiguous { kernel: name.into(), launches: of }),
            (_, nth) => {
                let nth = nth.unwrap_or(0);
                named.nth(nth).ok_or_else(|| KernelMismatch::NoSuchLaunch { kernel: name.into(), nth, of })
            }
        }
    }
}

/// A kernel of a captured graph that was not found, or that cannot be updated with what was given. Nothing has changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelMismatch {
    /// The graph launches no kernel of this name.
    #[error("the graph launches no kernel {kernel} (it launches: {})", known.join(", "))]
    NoSuchKernel {
        /// The name that was asked for.
        kernel: Box<str>,
        /// The kernels that the graph launches, as far as their names are known; sorted, each once.
        known: Box<[Box<str>]>,
    },
    /// The graph launches the kernel several times, and it was not said which launch is meant.
    #[error("the graph launches kernel {kernel} {launches} times: say which, by a number from 0")]
    Ambiguous {
        /// The kernel's name.
        kernel: Box<str>,
        /// How often the graph launches it.
        launches: usize,
    },
    /// The graph does not launch the kernel so often.
    #[error("no launch {nth} of kernel {kernel}, counted from 0: the graph launches it {of} times")]
    NoSuchLaunch {
        /// The kernel's name.
        kernel: Box<str>,
        /// The number that was asked for, from 0.
        nth: usize,
        /// How often the graph launches it.
        of: usize,
    },
    /// The graph has no node at this position.
    #[error("no node {position}: the graph has {of}")]
    NoSuchNode {
        /// The position that was asked for, from 0.
        position: usize,
        /// Nodes that there are.
        of: usize,
    },
    /// The node is no kernel.
    #[error("node {position} of the graph is a {found} node, not a kernel")]
    NotAKernel {
        /// Its position, from 0.
        position: usize,
        /// What it is.
        found: NodeKind,
    },
    /// The node launches another kernel than the one that was given.
    #[error("node {position} of the graph launches kernel {expected}, not {found}")]
    OtherKernel {
        /// Its position, from 0.
        position: usize,
        /// The kernel that it launches.
        expected: Box<str>,
        /// The kernel that was given.
        found: Box<str>,
    },
    /// The shared memory or the attributes differ from those that were captured, which such an update leaves as they are.
    #[error("shared memory and attributes of a launch cannot be updated: captured was {expected}, given was {found}")]
    OtherLaunch {
        /// The launch that could be had: the grid and block that were given, the rest as it was captured.
        expected: Box<KernelLaunch>,
        /// The launch as it was given.
        found: Box<KernelLaunch>,
    },
    /// Whether the kernel may begin before the one in front of it has finished, differs from what was captured: an edge of the graph.
    #[error("kernel {kernel} was captured {}, which an update cannot change", if *.expected { "as programmatic" } else { "as not programmatic" })]
    Programmatic {
        /// The kernel's name.
        kernel: Box<str>,
        /// Whether it was captured so.
        expected: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::LaunchConfig;

    fn nodes() -> Vec<Node> {
        let kernel = |name: &str| Node::from(KernelLaunch::new(name, LaunchConfig::new(1, 1)));
        let unnamed = Node::from(KernelLaunch { name: None, ..KernelLaunch::new("", LaunchConfig::new(1, 1)) });
        vec![kernel("b"), NodeKind::Memcpy.into(), kernel("a"), unnamed, kernel("b")]
    }

    fn find(at: KernelAt<'_>) -> Result<usize, String> {
        at.find(nodes().iter()).map(|(position, _)| position).map_err(|mismatch| mismatch.to_string())
    }

    #[test]
    fn a_kernel_is_found_by_name_number_and_position() {
        assert_eq!(find("a".into()), Ok(2));
        assert_eq!(find(("b", 0).into()), Ok(0));
        assert_eq!(find(("b", 1).into()), Ok(4));
        assert_eq!(find(3.into()), Ok(3), "one without a name has its position");
    }

    #[test]
    fn what_is_not_found_is_named_with_what_there_is() {
        assert_eq!(find("c".into()).unwrap_err(), "the graph launches no kernel c (it launches: a, b)");
        assert_eq!(find(("c", 1).into()).unwrap_err(), "the graph launches no kernel c (it launches: a, b)");
        assert_eq!(find("b".into()).unwrap_err(), "the graph launches kernel b 2 times: say which, by a number from 0");
        let too_far = "no launch 2 of kernel b, counted from 0: the graph launches it 2 times";
        assert_eq!(find(("b", 2).into()).unwrap_err(), too_far);
        assert_eq!(find(1.into()).unwrap_err(), "node 1 of the graph is a memcpy node, not a kernel");
        assert_eq!(find(5.into()).unwrap_err(), "no node 5: the graph has 5");
    }
}
