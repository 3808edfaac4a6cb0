//! How long a graph takes, by the device's own clock.

use std::time::Duration;

use super::event::Event;
use super::lane::Lane;
use crate::driver::EventKind;
use crate::error::Error;

/// What [`Replayer::measure`](crate::Replayer::measure) has found.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Measurement {
    /// Replays that were measured, one right after the other.
    pub iterations: u32,
    /// From before the first to after the last, on the device. The clock's step is about half a microsecond.
    pub total: Duration,
}

impl Measurement {
    /// The mean of one replay.
    #[must_use]
    pub fn per_replay(&self) -> Duration {
        self.total / self.iterations.max(1)
    }
}

/// Two events of a device, around some work.
pub(super) struct Stopwatch {
    start: Event,
    end: Event,
}

impl Stopwatch {
    pub(super) fn new(lane: &Lane) -> Result<Self, Error> {
        lane.check()?;
        let event = || Event::new(lane.device(), EventKind::Timed);
        Ok(Self { start: event()?, end: event()? })
    }

    /// In a turn.
    pub(super) fn start(&self, lane: &Lane) -> Result<(), Error> {
        lane.heard(self.start.record(lane))
    }

    /// In a turn.
    pub(super) fn stop(&self, lane: &Lane) -> Result<(), Error> {
        lane.heard(self.end.record(lane))
    }

    /// Waits for the end.
    pub(super) fn elapsed(&self, lane: &Lane) -> Result<Duration, Error> {
        lane.heard(self.end.wait())?;
        let milliseconds = lane.heard(self.start.milliseconds_until(&self.end))?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3))
    }
}
