//! What eager work uses, until a drain shows that it has finished.

use super::lane::Lane;
use super::retained::Retained;
use crate::error::DriverError;

/// A bag of what pending eager work uses. Emptied when the stream is known to have drained.
#[derive(Default)]
pub struct InFlight(Retained);

/// So many things may be in before a drain empties the bag, so that a stream that is never synchronised does not keep
/// everything. A thing that is used again and again counts once.
const LIMIT: usize = 1024;

impl InFlight {
    /// Where the next work keeps what it uses.
    pub(crate) fn retained(&mut self, lane: &Lane) -> Result<&mut Retained, DriverError> {
        if self.0.len() >= LIMIT {
            lane.drain()?;
            self.let_go(lane);
        }
        Ok(&mut self.0)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    /// Empties the bag. The lane has drained.
    pub(crate) fn let_go(&mut self, lane: &Lane) {
        std::mem::take(&mut self.0).release(lane.driver());
    }

    /// Never lets go: what may still be running must not lose what it uses.
    pub(crate) fn keep_for_good(&mut self) {
        std::mem::forget(std::mem::take(&mut self.0));
    }
}
