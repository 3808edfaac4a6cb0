//! A node of a graph as plain data: what a census lists, what a manifest expects, what an error names.
//!
//! *Where it sits.* Beside [`NodeKind`], below the errors that hold nodes. Holds no handle and no address, so two captures of the
//! same work yield equal nodes.

use std::fmt;

use crate::node_kind::NodeKind;
use crate::sync::Arc;

/// A node of a graph: a kernel with its launch, or anything else by its kind.
///
/// # JSON
/// With the feature `serde`: `{"kernel": {…}}` with the fields of [`KernelLaunch`], or `{"kind": "memcpy"}` with the kind as it
/// displays.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Node {
    /// A kernel, launched like this.
    Kernel(KernelLaunch),
    /// A node of this kind. In a [`Manifest`](crate::Manifest): any node of this kind, for
    /// [`NodeKind::Kernel`] too.
    #[cfg_attr(feature = "serde", serde(rename = "kind"))]
    OfKind(NodeKind),
}

impl Node {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> NodeKind {
        match self {
            Self::Kernel(_) => NodeKind::Kernel,
            Self::OfKind(kind) => *kind,
        }
    }

    /// The launch, if it is a kernel.
    #[must_use]
    pub const fn kernel(&self) -> Option<&KernelLaunch> {
        match self {
            Self::Kernel(launch) => Some(launch),
            Self::OfKind(_) => None,
        }
    }

    /// Whether `found` is what this one, as part of a manifest, stands for.
    pub(crate) fn admits(&self, found: &Self) -> bool {
        match self {
            Self::Kernel(_) => self == found,
            Self::OfKind(kind) => *kind == found.kind(),
        }
    }
}

impl From<KernelLaunch> for Node {
    fn from(launch: KernelLaunch) -> Self {
        Self::Kernel(launch)
    }
}

impl From<NodeKind> for Node {
    fn from(kind: NodeKind) -> Self {
        Self::OfKind(kind)
    }
}

impl fmt::Display for Node {
    /// `kernel add_f32 <<<4, 256>>>`, or the kind.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(launch) => write!(f, "kernel {launch}"),
            Self::OfKind(NodeKind::Kernel) => f.write_str("any kernel"),
            Self::OfKind(kind) => kind.fmt(f),
        }
    }
}

/// How a kernel is launched: which, in what shape, with what attributes.
///
/// # JSON
/// With the feature `serde` the fields keep their names here. `cluster`, `cooperative` and `priority` are left out where they are
/// not set.
///
/// # Examples
/// ```
/// use dacapo::{KernelLaunch, LaunchConfig};
///
/// let mut launch = KernelLaunch::new("add_f32", LaunchConfig::new(4, 256).shared(1024));
/// assert_eq!(launch.to_string(), "add_f32 <<<4, 256, 1024>>>");
/// launch.cluster = Some([2, 1, 1]);
/// launch.cooperative = true;
/// launch.priority = -1;
/// assert_eq!(launch.to_string(), "add_f32 <<<4, 256, 1024>>> cluster 2, cooperative, priority -1");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct KernelLaunch {
    /// The kernel's name in the device code; `None` if nobody tells: the driver does from CUDA 12.3 on, and the modules of this
    /// crate know the kernels that were looked up in them.
    pub name: Option<Arc<str>>,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory a block, in bytes.
    pub shared_bytes: u32,
    /// Blocks of a cluster in x, y and z, if it is launched in clusters.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_default"))]
    pub cluster: Option<[u32; 3]>,
    /// Whether all its blocks run at once, so that they can wait for each other.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_default"))]
    pub cooperative: bool,
    /// The driver's priority: 0 by default, smaller goes first. A captured launch has that of its stream.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_default"))]
    pub priority: i32,
}

#[cfg(feature = "serde")]
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl KernelLaunch {
    /// The attributes that are set, in words, with a comma between them; nothing for a plain launch.
    pub(crate) fn attributes(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| {
            let cluster = self.cluster.map(|cluster| format!("cluster {}", Dimensions(cluster)));
            let cooperative = self.cooperative.then(|| "cooperative".to_owned());
            let priority = (self.priority != 0).then(|| format!("priority {}", self.priority));
            let set: Vec<String> = [cluster, cooperative, priority].into_iter().flatten().collect();
            f.write_str(&set.join(", "))
        })
    }

    /// The name, or what stands for it.
    pub(crate) fn title(&self) -> &str {
        self.name.as_deref().unwrap_or("(unnamed)")
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.cluster.is_none() && !self.cooperative && self.priority == 0
    }
}

impl fmt::Display for KernelLaunch {
    /// As in CUDA C++: `add_f32 <<<grid, block, shared bytes>>>`, and the attributes that are set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} <<<{}, {}", self.title(), Dimensions(self.grid), Dimensions(self.block))?;
        if self.shared_bytes > 0 {
            write!(f, ", {}", self.shared_bytes)?;
        }
        f.write_str(">>>")?;
        if self.is_plain() { Ok(()) } else { write!(f, " {}", self.attributes()) }
    }
}

/// A size in up to three dimensions, as one reads it: `32`, `(4,2)`, `(4,2,3)`.
pub(crate) struct Dimensions(pub(crate) [u32; 3]);

impl fmt::Display for Dimensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            [x, 1, 1] => x.to_string(),
            [x, y, 1] => format!("({x},{y})"),
            [x, y, z] => format!("({x},{y},{z})"),
        };
        f.pad(&text)
    }
}
