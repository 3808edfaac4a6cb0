//! What eager work uses, until a drain shows that it has finished.

use super::lane::Lane;
use super::retained::Retained;
use crate::error::Error;

/// A bag of what pending eager work uses. Emptied when the stream is known to have drained.
pub struct InFlight(Retained);

/// So many things may be in before the next work waits for a drain, so that a stream that is never synchronised does not keep
/// everything. A thing that is used again and again counts once.
pub(super) const IN_FLIGHT_LIMIT: usize = 1024;

impl InFlight {
    pub(crate) fn new(lane: &Lane) -> Self {
        Self(Retained::new(lane.driver()))
    }

    pub(crate) fn retained(&self) -> &Retained {
        &self.0
    }

    /// Drains the lane and empties the bag, if much has gathered.
    pub(crate) fn make_room(&mut self, lane: &Lane) -> Result<(), Error> {
        if self.0.len() >= IN_FLIGHT_LIMIT {
            lane.drain()?;
            self.let_go();
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    /// Empties the bag. The lane has drained.
    pub(crate) fn let_go(&mut self) {
        drop(self.0.take());
    }

    /// Everything that is in, out of here.
    pub(crate) fn take(&mut self) -> Retained {
        self.0.take()
    }
}
