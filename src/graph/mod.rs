//! Graphs: who owns them, and what is in them.

mod census;
mod handles;

pub use census::{Census, NodeKind};
pub(crate) use handles::{Executable, Graph};
