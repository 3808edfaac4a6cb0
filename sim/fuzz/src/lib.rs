//! Random sequences of driver calls, run on whichever driver is there, and compared.
//!
//! [`generate`] makes a [`Sequence`](call::Sequence) from a seed and a number, without looking at any driver. A process of
//! its own ([`serve`]) makes the calls; [`runner`] hands it sequences and takes what comes back, a crash included.
//! [`compare`] finds where two drivers differ first, [`shrink`] makes such a sequence short.
//!
//! 1. A sequence is data. What it does depends on nothing but itself, and it can be written down and read back.
//! 2. No sequence does what the driver leaves undefined; calls that would are skipped, on every driver alike.
//! 3. Handles, addresses and times are never compared.

pub mod call;
pub mod compare;
mod driver;
pub mod generate;
mod machine;
pub mod names;
mod rng;
pub mod runner;
pub mod serve;
pub mod shrink;
pub mod stats;
mod structs;
mod world;

pub use driver::DriverError;
