//! What lives on while graphs are replayed: lanes, generations, replayers, and what captured work holds.
//!
//! *Where it sits.* Above `graph`, below the typed streams, of which it knows nothing: `Stream<Published>` hands a
//! [`Replayer`] out.

mod branches;
mod captured;
mod completion;
mod counter;
mod eager;
mod event;
mod fork;
mod freeze;
mod host;
mod in_flight;
mod lane;
mod load;
mod measure;
mod order;
mod policy;
mod program;
mod replayer;
mod retained;
mod ring;
mod segment;
mod site;
mod slots;
mod stats;
mod together;
mod work;

pub(crate) use branches::Branches;
pub(crate) use captured::Captured;
pub use completion::{Completion, Waiting};
pub use counter::DeviceCounter;
pub use eager::Eager;
pub use freeze::Freeze;
pub(crate) use host::HostCall;
pub(crate) use in_flight::InFlight;
pub(crate) use lane::{CaptureTurn, Claim, Lane, LaneExclusive, LaneTurn};
pub(crate) use load::Load;
pub use measure::Measurement;
#[cfg(all(loom, test))]
pub(crate) use order::Order;
pub(crate) use order::turns;
pub use policy::{CapturePolicy, FailStop, MemoryNodes, UpdatePolicy};
pub(crate) use program::{Check, Program, Seam, Step};
pub use replayer::{Follower, Replayer};
pub(crate) use replayer::{Loose, Publication};
pub(crate) use retained::Retained;
pub use ring::{Answer, Input, Output};
pub(crate) use segment::{Former, Fresh, Segment};
pub(crate) use site::{Keep, Place, Site, Turns};
#[cfg(all(loom, test))]
pub(crate) use slots::Current;
pub use slots::Token;
pub use stats::Stats;
pub(crate) use together::{Together, drain_together, finish_together, keep_for_good, wait_together};
pub use work::Work;
