//! The documents of `docs/`, as they stand in the repository.

/// How the crate is laid out, and the way of one replay through it.
#[doc = include_str!("../docs/architecture.md")]
pub mod architecture {}

/// The states, what each failure leaves in hand, and what dropping does.
#[doc = include_str!("../docs/states.md")]
pub mod states {}

/// Several GPUs in lock step: what they have in common, what each failure leaves, and what dropping does.
#[doc = include_str!("../docs/ranks.md")]
pub mod ranks {}

/// The driver's rules that this crate relies on, and where each comes from.
#[doc = include_str!("../docs/safety.md")]
pub mod safety {}

/// What cannot be written, and what becomes of the mistakes that types cannot see.
#[doc = include_str!("../docs/misuse.md")]
pub mod misuse {}

/// What can be watched: counts, spans and events, ranges.
#[doc = include_str!("../docs/observing.md")]
pub mod observing {}

/// The simulated driver: how to install it, what a test can ask of it, and how faithful it is.
#[doc = include_str!("../docs/simulator.md")]
pub mod simulator {}

/// How the crate is tested, on what, and with what result.
#[doc = include_str!("../docs/testing.md")]
pub mod testing {}

/// What was decided where there was a choice, and why.
#[doc = include_str!("../docs/decisions.md")]
pub mod decisions {}
