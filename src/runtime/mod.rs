//! What lives on while graphs are replayed: lanes, generations, replayers, and what captured work holds.
//!
//! *Where it sits.* Above `graph`, below the typed streams, of which it knows nothing: `Stream<Published>` hands a
//! [`Replayer`] out.

mod captured;
mod host;
mod in_flight;
mod lane;
mod policy;
mod replayer;
mod retained;
mod slots;

pub(crate) use captured::Captured;
pub(crate) use host::HostCall;
pub(crate) use in_flight::InFlight;
pub(crate) use lane::{Claim, Lane};
pub use policy::{CapturePolicy, FailStop, MemoryNodes};
pub(crate) use replayer::Publication;
pub use replayer::Replayer;
pub(crate) use retained::Retained;
pub use slots::Token;
