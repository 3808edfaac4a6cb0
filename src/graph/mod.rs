//! Graphs: who owns them, what is in them, and how that is shown.

mod census;
mod counts;
mod dot;
mod handles;
mod inspection;
mod manifest;
#[cfg(feature = "svg")]
mod svg;
mod table;

pub use census::{Census, Edge};
pub use counts::NodeCounts;
pub use dot::Dot;
pub(crate) use handles::{Executable, Graph};
pub use inspection::{InspectedPart, InspectedSegment, Inspection, RetainedMemory};
pub use manifest::Manifest;
#[cfg(feature = "svg")]
pub use svg::Svg;
pub use table::Table;
