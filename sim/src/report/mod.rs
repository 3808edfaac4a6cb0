//! What a test may ask of the simulator: the call log, violations, live objects, pending work, faults.
//!
//! These are plain values; the driver model fills them and [`SimDevice`](crate::SimDevice) hands them out.

mod armed;
mod fault;
mod live;
mod log;
mod violation;
mod work;

pub(crate) use armed::{Faults, Verdict};
pub use fault::{Fault, FaultId, UnknownFunction};
pub use live::{Live, Object, ObjectKind};
pub use log::CallRecord;
pub(crate) use log::Log;
pub(crate) use violation::Violations;
pub use violation::{Range, Violation};
pub(crate) use work::Effect;
pub use work::{Pending, WorkFault, WorkKind};

use std::fmt;

/// Where in the sequence of driver calls something happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// The number of the call, counted over the process from 1.
    pub call: u64,
    /// The driver function.
    pub name: &'static str,
    /// The thread that called, numbered in the order of its first call.
    pub thread: u32,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {} {} on thread {}", self.call, self.name, self.thread)
    }
}
