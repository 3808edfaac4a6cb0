//! What a capture is to launch, in order, and the first difference from that.

use std::fmt;

use super::Census;
use crate::error::ManifestMismatch;
use crate::kernel::{LaunchAttributes, LaunchConfig};
use crate::node::{KernelLaunch, Node};

/// The ordered launches of a capture: declared beforehand, or recorded from an earlier one
/// ([`Stream::manifest`](crate::Stream::manifest)). As part of a policy ([`CapturePolicy::manifest`](crate::CapturePolicy::manifest))
/// it is compared at the end of every capture, in the order of [`Census::in_order`].
///
/// A kernel is compared in all that [`KernelLaunch`] holds; of any other node the kind. `node(NodeKind::Kernel)` stands for a kernel
/// that is not known beforehand, such as a library's.
///
/// # JSON
/// With the feature `serde`: `{"nodes": […]}`, with each [`Node`] in order.
///
/// # Examples
/// Declared, and captured otherwise:
/// ```standalone_crate
/// # dacapo_sim::install().unwrap();
/// use dacapo::{CapturePolicy, Device, Enqueue, LaunchConfig, Manifest, NodeKind, ThreadLocal};
///
/// let device = Device::open(0)?;
/// let mut stream = device.stream()?;
/// let scale = device.load_ptx(include_str!("../../kernels/basic.ptx"))?.kernel("scale_f32")?;
/// let (x, y) = (stream.alloc::<f32>(1024)?, stream.alloc::<f32>(1024)?);
///
/// let manifest = Manifest::new().kernel("scale_f32", LaunchConfig::new(4, 256)).node(NodeKind::Memcpy);
/// let rejected = stream
///     .with_policy(CapturePolicy::new().manifest(manifest))
///     // SAFETY: scale_f32(data, factor, n), over half of the elements.
///     .capture(ThreadLocal, |c| unsafe { c.launch(&scale, LaunchConfig::new(2, 256), (&x, 2.0f32, 512u32)) })
///     .unwrap_err();
/// assert_eq!(
///     rejected.error().to_string(),
///     "node 0 of the captured graph is not what the manifest says: expected kernel scale_f32 <<<4, 256>>>, \
///      found kernel scale_f32 <<<2, 256>>>"
/// );
/// # Ok::<(), dacapo::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Manifest {
    nodes: Vec<Node>,
}

impl Manifest {
    /// Of nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { nodes: Vec::new() }
    }

    /// Next, a launch of the kernel with this name, in this shape, with these attributes.
    #[must_use]
    pub fn kernel(self, name: &str, config: impl Into<LaunchConfig>) -> Self {
        self.node(KernelLaunch::new(name, config))
    }

    /// Next, this node: a [`KernelLaunch`], or any node of a [`NodeKind`](crate::NodeKind).
    #[must_use]
    pub fn node(mut self, node: impl Into<Node>) -> Self {
        self.nodes.push(node.into());
        self
    }

    /// The nodes in order.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Compares with what was captured.
    ///
    /// # Errors
    /// The first difference.
    pub fn check(&self, census: &Census) -> Result<(), Box<ManifestMismatch>> {
        let (expected, found) = (&self.nodes, census.in_order());
        let same = expected.iter().zip(found).take_while(|(expected, found)| expected.admits(found)).count();
        match (expected.get(same), found.get(same)) {
            (None, None) => Ok(()),
            (expected, found) => {
                let (expected, found) = (expected.cloned(), found.cloned());
                Err(Box::new(ManifestMismatch { position: same, expected, found }))
            }
        }
    }
}

impl FromIterator<Node> for Manifest {
    fn from_iter<I: IntoIterator<Item = Node>>(nodes: I) -> Self {
        Self { nodes: nodes.into_iter().collect() }
    }
}

impl fmt::Display for Manifest {
    /// A line a node, with its position.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, node) in self.nodes.iter().enumerate() {
            writeln!(f, "{position:>4}  {node}")?;
        }
        Ok(())
    }
}

impl KernelLaunch {
    /// A launch of the kernel with this name, in this shape, with these attributes. (That it is programmatic is a matter of the
    /// [`Edge`](crate::Edge) before it.)
    #[must_use]
    pub fn new(name: &str, config: impl Into<LaunchConfig>) -> Self {
        let LaunchConfig { grid, block, shared_bytes, attributes } = config.into();
        let LaunchAttributes { cooperative, cluster, priority, .. } = attributes;
        let priority = priority.unwrap_or(0);
        Self { name: Some(name.into()), grid, block, shared_bytes, cluster, cooperative, priority }
    }
}
