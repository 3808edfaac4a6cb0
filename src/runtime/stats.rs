//! Counts of what happens on a lane.

use crate::sync::{AtomicU64, Ordering};

/// How often what has happened on a CUDA stream, over all siblings, since it was made or adopted. A look: other threads go on.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::{Device, Enqueue, ThreadLocal};
///
/// let mut stream = Device::open(0)?.stream()?;
/// let buffer = stream.alloc::<u32>(1)?;
/// let rejected = stream.capture(ThreadLocal, |_| Ok(())).unwrap_err(); // nothing
/// let published = rejected.into_stream().capture(ThreadLocal, |c| c.fill(&buffer, 1))?.publish()?;
/// published.replay()?;
/// published.replay()?;
/// let stats = published.stats();
/// assert_eq!((stats.captures, stats.captures_lost, stats.replays), (1, 1, 2));
/// # Ok::<(), dacapo::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// Captures that have ended in a graph that was taken.
    pub captures: u64,
    /// Captures that were begun and have not: failed, refused, aborted.
    pub captures_lost: u64,
    /// Whole replays that the driver has taken, of every generation.
    pub replays: u64,
    /// Updates within an executable.
    pub updates: u64,
    /// Updates that the driver refused, and swaps: new generations of a published graph.
    pub new_generations: u64,
    /// Releases that were put off because a sibling was capturing.
    pub deferred: u64,
    /// Times that somebody had to wait for a turn, or was refused one.
    pub waits: u64,
}

/// The counts of a lane.
///
/// Every access is relaxed: each count stands for itself and orders nothing.
#[derive(Default)]
pub(crate) struct Counts {
    captures: AtomicU64,
    captures_lost: AtomicU64,
    replays_before: AtomicU64,
    updates: AtomicU64,
    new_generations: AtomicU64,
    deferred: AtomicU64,
}

impl Counts {
    pub(crate) fn captured(&self) {
        self.captures.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn lost_a_capture(&self) {
        self.captures_lost.fetch_add(1, Ordering::Relaxed);
    }

    /// A generation is retired that was replayed so often.
    pub(crate) fn retired(&self, replays: u64) {
        self.replays_before.fetch_add(replays, Ordering::Relaxed);
    }

    pub(crate) fn updated(&self) {
        self.updates.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn replaced(&self) {
        self.new_generations.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn deferred(&self) {
        self.deferred.fetch_add(1, Ordering::Relaxed);
    }

    /// With what the live slots and the order of the lane count themselves.
    pub(crate) fn look(&self, live_replays: u64, waits: u64) -> Stats {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Stats {
            captures: of(&self.captures),
            captures_lost: of(&self.captures_lost),
            replays: of(&self.replays_before) + live_replays,
            updates: of(&self.updates),
            new_generations: of(&self.new_generations),
            deferred: of(&self.deferred),
            waits,
        }
    }
}
