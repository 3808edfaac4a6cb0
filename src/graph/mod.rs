//! Graphs: who owns them, and what is in them.

mod census;
mod handles;

pub use census::Census;
pub(crate) use handles::{Executable, Graph};
