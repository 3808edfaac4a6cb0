//! What is released once a lane has drained.

use std::time::Duration;

use super::lane::Lane;
use super::policy::FailStop;
use super::retained::Retained;
use super::segment::Segment;
use super::together::Together;
use crate::error::{DriverError, Poisoned};
use crate::trace::tell;

/// What is put off until a capture has ended.
pub(crate) enum Deferred {
    Load(Load),
    /// What several lanes release together, of which one captures.
    Together(Box<Together>),
}

/// What must outlive the work of a lane. Released by [`Lane::release`], in no other way.
pub(crate) enum Load {
    /// Graphs that are published no more.
    Graphs { segments: Vec<Segment>, fail_stop: FailStop, drain_limit: Option<Duration> },
    /// What eager work used.
    Eager(Retained),
}

impl Load {
    /// For how long its release may wait; for ever, if it does not say.
    pub(crate) fn drain_limit(&self) -> Option<Duration> {
        match self {
            Self::Graphs { drain_limit, .. } => *drain_limit,
            Self::Eager(_) => None,
        }
    }

    /// How many graphs it is.
    #[cfg(feature = "tracing")]
    fn segments(&self) -> usize {
        match self {
            Self::Graphs { segments, .. } => segments.len(),
            Self::Eager(_) => 0,
        }
    }

    /// Lets go of it if the lane has drained, and never otherwise.
    pub(crate) fn settle(self, lane: &Lane, drained: Result<Retained, DriverError>) -> Result<(), Poisoned> {
        match drained {
            Ok(loose) => {
                tell!(DEBUG, stream = lane.id(), segments = self.segments(), "released");
                drop(self);
                drop(loose);
                Ok(())
            }
            Err(cause) => self.keep_for_good(lane, cause),
        }
    }

    /// What may still be running must not lose what it uses.
    #[expect(clippy::print_stderr, reason = "the process ends here")]
    fn keep_for_good(self, lane: &Lane, cause: DriverError) -> Result<(), Poisoned> {
        match self {
            Self::Graphs { segments, fail_stop, .. } => {
                std::mem::forget(segments);
                let poisoned = lane.poison(cause);
                if fail_stop == FailStop::Abort {
                    eprintln!("dacapo: {poisoned}");
                    std::process::abort();
                }
                Err(poisoned)
            }
            // The lane goes on: a stream whose eager work has faulted is no worse off than any other of its context.
            Self::Eager(retained) => {
                std::mem::forget(retained);
                lane.device().park(Err(cause));
                Ok(())
            }
        }
    }
}
