//! What lives on while graphs are replayed: lanes, generations, replayers, and what captured work holds.
//!
//! *Where it sits.* Above `graph`, below the typed streams, of which it knows nothing: `Stream<Published>` hands a
//! [`Replayer`] out.

mod captured;
mod eager;
mod event;
mod fork;
mod host;
mod in_flight;
mod lane;
mod load;
mod order;
mod policy;
mod program;
mod replayer;
mod retained;
mod site;
mod slots;

pub(crate) use captured::{Captured, Fresh, Segment};
pub use eager::Eager;
pub use fork::Branch;
pub(crate) use host::HostCall;
pub(crate) use in_flight::InFlight;
pub(crate) use lane::{CaptureTurn, Claim, Lane};
pub(crate) use load::Load;
pub use policy::{CapturePolicy, FailStop, MemoryNodes, UpdatePolicy};
pub(crate) use program::Seam;
pub(crate) use replayer::Publication;
pub use replayer::{Follower, Replayer};
pub(crate) use retained::Retained;
pub(crate) use site::{Keep, Place, Site, Turns};
pub use slots::Token;
