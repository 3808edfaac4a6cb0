//! Publishing a captured graph, and replaying it from any thread.

#![allow(unsafe_code)]

use std::fmt;

use super::captured::Captured;
use super::lane::Lane;
use super::slots::Token;
use crate::driver::GraphLauncher;
use crate::error::{Error, Misuse};
use crate::sync::{Arc, AtomicBool, Ordering};

/// Replays one published graph. Cheap to clone; any thread.
///
/// A replayer names one generation. Once that is reset or dropped, [`replay`](Self::replay) refuses with
/// [`Stale`](crate::Stale) and launches nothing. It keeps the CUDA stream and its context alive, and nothing of the graph.
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
    /// Whether the slot is live. Written under the lane's lock, with it; read without: for a look, not for admission.
    live: Arc<AtomicBool>,
    /// The lane's, at hand: a replay comes from a driver call that has emptied the caches, and the fewer lines it touches
    /// the better.
    launcher: GraphLauncher,
}

impl Replayer {
    /// Launches the graph, after everything enqueued on the stream so far. Returns once it is enqueued.
    ///
    /// Allocates nothing, binds no context, and takes no lock but the lane's, which is held for the length of one
    /// launch. That launch blocks while the driver's queue is full (D18), and everybody who wants the lock with it.
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

    /// Whether the generation is still published. Another thread may reset it right after. Waits for nothing.
    #[must_use]
    pub fn is_current(&self) -> bool {
        // Acquire: pairs with the release of the retirement, so who sees it retired sees what came before that.
        self.live.load(Ordering::Acquire)
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
        let (lane, launcher) = (lane.clone(), lane.driver().graph_launcher(lane.handle()));
        Ok(Self(Replayer { lane, token, live: Arc::new(AtomicBool::new(true)), launcher }))
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
        let mut slots = self.0.lane.slots();
        slots.retire(self.0.token);
        // Release: pairs with the acquire of `is_current`.
        self.0.live.store(false, Ordering::Release);
    }
}

static_assertions::assert_impl_all!(Replayer: Send, Sync, Clone);
