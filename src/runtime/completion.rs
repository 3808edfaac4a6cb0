//! Whether work has finished, asked without waiting for what came after it.

use std::fmt;
use std::time::{Duration, Instant};

use super::event::Event;
use super::lane::Lane;
use crate::driver::EventKind;
use crate::error::Error;
use crate::sync::Arc;

/// How a thread waits for a [`Completion`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub enum Waiting {
    /// As the driver does by default: it spins, which is quickest and keeps a core busy.
    #[default]
    Spin,
    /// Asleep, until the device wakes it (`CU_EVENT_BLOCKING_SYNC`).
    Sleep,
}

impl Waiting {
    fn kind(self) -> EventKind {
        match self {
            Self::Spin => EventKind::Untimed,
            Self::Sleep => EventKind::Sleeping,
        }
    }
}

/// Stands for everything that was enqueued on a stream until it was made: see [`Stream::completion`](crate::Stream::completion) and
/// [`Replayer::replay_tracked`](crate::Replayer::replay_tracked). Any thread may ask it or wait for it.
///
/// # Dropping
/// Waits for nothing, and stops nothing.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::{Device, Enqueue, Waiting};
///
/// let mut stream = Device::open(0)?.stream()?;
/// let buffer = stream.alloc::<u32>(1)?;
/// stream.fill(&buffer, 7)?;
/// let completion = stream.completion(Waiting::Sleep)?;
/// std::thread::scope(|scope| scope.spawn(|| completion.wait()).join().unwrap())?;
/// assert!(completion.is_done()?);
/// # Ok::<(), dacapo::Error>(())
/// ```
pub struct Completion {
    event: Event,
    lane: Arc<Lane>,
}

impl Completion {
    /// An event that is not recorded yet: made before work is enqueued, so that a failure leaves nothing enqueued.
    pub(crate) fn unrecorded(lane: &Arc<Lane>, waiting: Waiting) -> Result<Self, Error> {
        lane.check()?;
        Ok(Self { event: Event::new(lane.device(), waiting.kind())?, lane: lane.clone() })
    }

    pub(crate) fn event(&self) -> &Event {
        &self.event
    }

    /// Whether the work has finished. Waits for nothing.
    ///
    /// # Errors
    /// [`DriverError`](crate::DriverError): a device fault of earlier work shows up here.
    #[doc(alias = "cuEventQuery")]
    pub fn is_done(&self) -> Result<bool, Error> {
        self.lane.check()?;
        self.lane.heard(self.event.has_happened())
    }

    /// Waits until the work has finished.
    ///
    /// # Errors
    /// [`DriverError`](crate::DriverError): a device fault of earlier work shows up here.
    #[doc(alias = "cuEventSynchronize")]
    pub fn wait(&self) -> Result<(), Error> {
        self.lane.check()?;
        self.lane.heard(self.event.wait())
    }

    /// Waits until the work has finished, but no longer than `limit`: false if it has not by then. Sleeps between looks, for 20 µs
    /// at first and never for more than a millisecond.
    ///
    /// # Errors
    /// As [`is_done`](Self::is_done).
    #[doc(alias = "cuEventQuery")]
    pub fn wait_for(&self, limit: Duration) -> Result<bool, Error> {
        let start = Instant::now();
        let mut pause = Duration::from_micros(20);
        loop {
            if self.is_done()? {
                return Ok(true);
            }
            let left = limit.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Ok(false);
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(Duration::from_millis(1));
        }
    }
}

impl fmt::Debug for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completion").finish_non_exhaustive()
    }
}

static_assertions::assert_impl_all!(Completion: Send, Sync);
