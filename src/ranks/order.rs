//! One order of submission for ranks that share more than CUDA streams.

use std::fmt;

use crate::sync::{Arc, Mutex, MutexGuard};

/// One order of submission for several [`Ranks`](crate::Ranks): of two replays, one is submitted on all of its ranks before the other is
/// on any.
///
/// Ranks on the same CUDA streams (siblings) have that anyway. It is for ranks on *different* streams of the same devices whose
/// graphs use one communicator: collectives that were submitted in different orders on two devices wait for each other for ever. Cheap
/// to clone; give each of them a clone with [`Ranks::with_order`](crate::Ranks::with_order).
#[derive(Clone, Default)]
pub struct SubmissionOrder(
    /// Locked while a replay is submitted, once the lanes are there: who has it waits for nobody's lane.
    Arc<Mutex<()>>,
);

impl SubmissionOrder {
    /// An order of its own.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn enter(&self) -> MutexGuard<'_, ()> {
        self.0.lock()
    }
}

impl fmt::Debug for SubmissionOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SubmissionOrder")
    }
}
