//! What can be shown of captured work: its segments and seams, what they hold and what they keep.
//!
//! *Where it sits.* Made by the runtime of what was captured; plain data, which keeps nothing alive.

use std::fmt;

#[cfg(feature = "svg")]
use super::svg::Svg;
use super::{Census, Dot, Table};
use crate::node::{Dimensions, Node};

/// A look at captured work, to be printed: as a [`table`](Self::table), in the [DOT](Self::dot) language, or with the feature `svg`, by
/// its method of that name, as a picture.
///
/// Plain data: it keeps nothing alive, and shows what was there when it was taken.
///
/// # Examples
/// ```standalone_crate
/// # dacapo_sim::install().unwrap();
/// use dacapo::{Device, Enqueue, LaunchConfig, ThreadLocal};
///
/// let device = Device::open(0)?;
/// let mut stream = device.stream()?;
/// let scale = device.load_ptx(include_str!("../../kernels/basic.ptx"))?.kernel("scale_f32")?;
/// let (x, y) = (stream.alloc::<f32>(1024)?, stream.alloc::<f32>(1024)?);
/// let captured = stream.capture(ThreadLocal, |c| {
///     // SAFETY: scale_f32(data, factor, n), over as many elements as the buffer holds.
///     unsafe { c.launch(&scale, LaunchConfig::for_elements(1024), (&x, 2.0f32, 1024u32)) }?;
///     c.copy(&x, &y)
/// })?;
/// let inspection = captured.inspect();
/// assert_eq!(
///     inspection.table().to_string(),
///     "segment 0: kernel ×1, memcpy ×1; keeps 8192 bytes in 2 buffers, and 1 other thing\n\
///      \x20  #  after  node       grid  block  shared\n\
///      \x20  0         scale_f32     4    256       0\n\
///      \x20  1      0  memcpy\n"
/// );
/// assert!(inspection.dot().to_string().starts_with("digraph"));
/// # Ok::<(), dacapo::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inspection {
    parts: Vec<InspectedPart>,
}

/// A step of a replay, as [`Inspection`] shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum InspectedPart {
    /// A graph that is launched.
    Segment(InspectedSegment),
    /// A closure that runs on the thread that replays.
    Seam,
}

/// A captured graph and what it keeps, as [`Inspection`] shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct InspectedSegment {
    /// Its nodes.
    pub census: Census,
    /// The memory that this crate keeps for it: buffers and pinned blocks, as they were first named.
    pub memory: Vec<RetainedMemory>,
    /// How many other things are kept: modules, host calls, events, what was handed to [`retain`](crate::Enqueue::retain).
    pub others: usize,
}

/// Memory that a graph keeps alive, whole allocations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct RetainedMemory {
    /// Whether it is page-locked memory of the host, and not a device's.
    pub pinned: bool,
    /// Where it begins.
    pub address: u64,
    /// How long it is.
    pub bytes: usize,
}

impl Inspection {
    pub(crate) fn new(parts: Vec<InspectedPart>) -> Self {
        Self { parts }
    }

    /// Segments and seams, in the order of a replay.
    #[must_use]
    pub fn parts(&self) -> &[InspectedPart] {
        &self.parts
    }

    /// A table of the nodes.
    #[must_use]
    pub fn table(&self) -> Table<'_> {
        Table(self)
    }

    /// The graph in the DOT language, with names, shapes, and the memory that is kept.
    #[must_use]
    pub fn dot(&self) -> Dot<'_> {
        Dot(self)
    }

    /// A picture.
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, ThreadLocal};
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let x = stream.alloc::<f32>(4)?;
    /// let captured = stream.capture(ThreadLocal, |c| c.fill(&x, 1.0))?;
    /// # let folder = std::env::temp_dir();
    /// std::fs::write(folder.join("graph.svg"), captured.inspect().svg().to_string()).unwrap();
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[cfg(feature = "svg")]
    #[cfg_attr(docsrs, doc(cfg(feature = "svg")))]
    #[must_use]
    pub fn svg(&self) -> Svg<'_> {
        Svg(self)
    }

    /// Each part, and the number of a segment.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (usize, Option<&InspectedSegment>)> {
        let mut segments = 0;
        self.parts.iter().map(move |part| match part {
            InspectedPart::Segment(segment) => {
                segments += 1;
                (segments - 1, Some(segment))
            }
            InspectedPart::Seam => (segments, None),
        })
    }
}

/// One graph that keeps nothing: to draw a census that was read from somewhere.
impl From<Census> for Inspection {
    fn from(census: Census) -> Self {
        Self::new(vec![InspectedPart::Segment(InspectedSegment { census, memory: Vec::new(), others: 0 })])
    }
}

impl InspectedSegment {
    /// What is in it, and what it keeps, in a line.
    pub(super) fn summary(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| {
            fmt::Display::fmt(&self.census, f)?;
            let bytes: usize = self.memory.iter().map(|memory| memory.bytes).sum();
            match (self.memory.len(), self.others) {
                (0, 0) => Ok(()),
                (buffers, others) => {
                    let (buffer, thing) = (plural(buffers, "buffer"), plural(others, "other thing"));
                    write!(f, "; keeps {} in {buffer}, and {thing}", Bytes(bytes))
                }
            }
        })
    }
}

/// A size, as one reads it.
struct Bytes(usize);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary = |shift: u32| self.0 as f64 / f64::from(1u32 << shift);
        match self.0 {
            0..0x2800 => write!(f, "{} bytes", self.0),
            0x2800..0x20_0000 => write!(f, "{:.1} KiB", binary(10)),
            0x20_0000.. => write!(f, "{:.1} MiB", binary(20)),
        }
    }
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

impl fmt::Display for RetainedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}, {} bytes", self.address, self.bytes)?;
        f.write_str(if self.pinned { ", pinned" } else { "" })
    }
}

/// What a node is called in a picture.
pub(super) fn title(node: &Node) -> String {
    match node {
        Node::Kernel(launch) => launch.title().to_owned(),
        Node::OfKind(kind) => kind.to_string(),
    }
}

/// What a picture says of a node besides; empty for anything but a kernel.
pub(super) fn detail(node: &Node) -> String {
    let Node::Kernel(launch) = node else { return String::new() };
    let mut text = format!("grid {}, block {}", Dimensions(launch.grid), Dimensions(launch.block));
    if launch.shared_bytes > 0 {
        text += &format!(", shared {}", launch.shared_bytes);
    }
    if !launch.is_plain() {
        text += &format!(", {}", launch.attributes());
    }
    text
}
