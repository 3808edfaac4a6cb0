//! What eager work uses, until a drain shows that it has finished.

use super::lane::Lane;
use super::retained::Retained;

/// A bag of what pending eager work uses. Emptied when the stream is known to have drained.
pub struct InFlight {
    retained: Retained,
    /// How many things may be in before the driver is asked whether they are still needed.
    limit: usize,
}

/// Things that are kept before the driver is first asked.
const FIRST_LIMIT: usize = 256;

impl Default for InFlight {
    fn default() -> Self {
        Self { retained: Retained::default(), limit: FIRST_LIMIT }
    }
}

impl InFlight {
    /// Where the next work keeps what it uses. Lets go of what has finished once much has gathered, so that a stream
    /// that is never synchronised does not keep everything.
    pub(crate) fn retained(&mut self, lane: &Lane) -> &mut Retained {
        if self.retained.len() >= self.limit {
            if matches!(lane.is_drained(), Ok(true)) {
                self.let_go(lane);
            } else {
                self.limit *= 2;
            }
        }
        &mut self.retained
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.retained.len() == 0
    }

    /// Empties the bag. The lane has drained.
    pub(crate) fn let_go(&mut self, lane: &Lane) {
        self.limit = FIRST_LIMIT;
        std::mem::take(&mut self.retained).release(lane.driver());
    }

    /// Never lets go: what may still be running must not lose what it uses.
    pub(crate) fn keep_for_good(&mut self) {
        std::mem::forget(std::mem::take(&mut self.retained));
    }
}
