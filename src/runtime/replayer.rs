//! Publishing a captured graph, and replaying it from any thread.

#![allow(unsafe_code)]

use std::fmt;

use super::captured::Captured;
use super::lane::Lane;
use super::slots::Token;
use crate::driver::GraphLauncher;
use crate::error::{Error, Misuse};
use crate::sync::Arc;

/// Replays one published graph. Cheap to clone; any thread.
///
/// A replayer names one generation. Once that is reset or dropped, [`replay`](Self::replay) refuses with
/// [`Stale`](crate::Stale) and launches nothing; it never keeps the graph alive.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::{Device, Enqueue, Error, ThreadLocal};
///
/// let mut stream = Device::open(0)?.stream()?;
/// let buffer = stream.alloc::<u32>(1)?;
/// let published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 7))?.publish()?;
/// let replayer = published.replayer();
/// std::thread::scope(|scope| scope.spawn(|| replayer.replay()).join().unwrap())?;
/// drop(published);
/// assert!(matches!(replayer.replay(), Err(Error::Stale(_))));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Replayer {
    lane: Arc<Lane>,
    token: Token,
    /// The lane's, at hand: a replay comes from a driver call that has emptied the caches, and the fewer lines it touches
    /// the better.
    launcher: GraphLauncher,
}

impl Replayer {
    /// Launches the graph, after everything enqueued on the stream so far. Returns once it is enqueued.
    ///
    /// Allocates nothing, binds no context, and takes no lock but the lane's, which is held for the length of one
    /// launch. The driver itself blocks here once about 1,000 launches are queued (D18).
    ///
    /// # Errors
    /// [`Stale`](crate::Stale) if the generation is not published any more; [`DriverError`](crate::DriverError) if the
    /// driver refuses the launch. In both cases nothing was enqueued.
    ///
    /// # References
    /// [cuGraphLaunch](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html)
    #[doc(alias = "cuGraphLaunch")]
    #[inline]
    pub fn replay(&self) -> Result<(), Error> {
        let mut slots = self.lane.slots();
        let live = slots.admit(self.token)?;
        // SAFETY:
        // 1. A live slot's executable is alive (invariant 2 of `slots`), and is launched under this lock only.
        // 2. `Captured` holds what its nodes name, until the slot is retired and the stream has drained; that the
        //    kernels are sound to run is what the `unsafe` recording of each vouched for.
        // 3. The lane keeps the stream alive. Published is not Capturing: no capture of ours is open on it.
        unsafe { self.launcher.graph_launch(live.executable) }?;
        live.replays += 1;
        Ok(())
    }

    /// Whether the generation is still published. Another thread may reset it right after.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.lane.slots().admit(self.token).is_ok()
    }

    /// What this replayer names.
    #[must_use]
    pub fn token(&self) -> Token {
        self.token
    }
}

impl fmt::Debug for Replayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replayer").field("token", &self.token).finish_non_exhaustive()
    }
}

/// A slot that is live for as long as this value.
///
/// Dropping it retires the generation: once that returns no replay is newly enqueued, and every one that was admitted
/// has been.
pub struct Publication(Replayer);

impl Publication {
    /// Publishes `captured`, which has to outlive the publication.
    pub(crate) fn new(lane: &Arc<Lane>, captured: &Captured) -> Result<Self, Misuse> {
        let token = lane.slots().publish(lane.id(), captured.executable())?;
        Ok(Self(Replayer { lane: lane.clone(), token, launcher: lane.driver().graph_launcher(lane.handle()) }))
    }

    pub(crate) fn replayer(&self) -> &Replayer {
        &self.0
    }

    /// Launches that the driver has taken.
    pub(crate) fn replays(&self) -> u64 {
        // Live for as long as `self`, so there is a count.
        self.0.lane.slots().admit(self.0.token).map_or(0, |live| live.replays)
    }
}

impl Drop for Publication {
    fn drop(&mut self) {
        // Waits for the lock, and so for a replay that was admitted.
        self.0.lane.slots().retire(self.0.token);
    }
}

static_assertions::assert_impl_all!(Replayer: Send, Sync, Clone);
