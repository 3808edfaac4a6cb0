//! Captures with a thread for each rank: every capture is begun and ended on its own.

use std::panic::resume_unwind;
use std::sync::Barrier;
use std::thread::{ScopedJoinHandle, scope};

use super::group::Cleared;
use super::{RankMode, RankResting, Ranks};
use crate::driver::CaptureMode;
use crate::error::{CaptureFailure, Error, RankFailures, Rejected};
use crate::gate::Visit;
use crate::runtime::{CaptureTurn, Work};
use crate::state::{Idle, Instantiated, sealed_state};
use crate::stream::{Recorded, Recording};
use crate::sync::{AtomicU64, Ordering};

impl<S: RankResting, const N: usize> Ranks<S, N> {
    /// Captures one body a rank, each on a thread of its own.
    fn open_on_threads<M: RankMode, B>(
        mut self,
        target: <S as sealed_state::Resting>::Target,
        bodies: [B; N],
    ) -> Result<Ranks<S::Recorded, N>, Rejected<Self>>
    where
        B: FnOnce(&mut Work<'_>) -> Result<(), Error> + Send,
    {
        match self.group.clear() {
            Ok(cleared) => self.land(target, record(cleared, M::MODE, bodies)),
            Err(error) => {
                let error = self.group.heard(error);
                Err(Rejected::new(self, error))
            }
        }
    }
}

impl<const N: usize> Ranks<Idle, N> {
    /// Captures one body for each rank, each on a thread of its own that begins and ends that rank's capture. No body starts before the
    /// capture of every rank has begun. For steps that take long to record, or a library that wants one thread a device.
    ///
    /// # Errors
    /// Still `Idle`, and not capturing on any rank, with [`RankFailures`], which holds the error of each rank's body, begin or end;
    /// otherwise as [`capture`](Self::capture). If a body panics, all captures are ended and the panic goes on.
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, Pair, ThreadLocal};
    ///
    /// let mut ranks = Pair::new([Device::open(0)?.stream()?, Device::open(1)?.stream()?])?;
    /// let [mut a, mut b] = ranks.eager();
    /// let buffers = [a.alloc::<u32>(1)?, b.alloc(1)?];
    /// let bodies = buffers.each_ref().map(|buffer| move |rank: &mut dacapo::Work<'_>| rank.fill(buffer, 7));
    /// let captured = ranks.capture_on_threads(ThreadLocal, bodies)?;
    /// assert_eq!(captured.census(1).to_string(), "memset ×1");
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    pub fn capture_on_threads<M: RankMode, B>(
        self,
        _mode: M,
        bodies: [B; N],
    ) -> Result<Ranks<Instantiated, N>, Rejected<Self>>
    where
        B: FnOnce(&mut Work<'_>) -> Result<(), Error> + Send,
    {
        self.open_on_threads::<M, B>((), bodies)
    }
}

impl<const N: usize> Ranks<Instantiated, N> {
    /// Captures one more segment, with one body for each rank on a thread of its own; see
    /// [`capture_on_threads`](Ranks::capture_on_threads).
    ///
    /// # Errors
    /// Still `Instantiated`, with all segments but this one; otherwise as there.
    pub fn capture_segment_on_threads<M: RankMode, B>(self, _mode: M, bodies: [B; N]) -> Result<Self, Rejected<Self>>
    where
        B: FnOnce(&mut Work<'_>) -> Result<(), Error> + Send,
    {
        self.open_on_threads::<M, B>((), bodies)
    }
}

/// Runs each body on its thread, in a capture of its rank.
fn record<B, const N: usize>(cleared: Cleared<N>, mode: CaptureMode, bodies: [B; N]) -> Result<Vec<Recorded>, Error>
where
    B: FnOnce(&mut Work<'_>) -> Result<(), Error> + Send,
{
    let Cleared { turns, visit } = cleared;
    let begun = Begun { barrier: Barrier::new(N), failed: AtomicU64::new(0) };
    let outcomes: Vec<_> = scope(|scope| {
        let (begun, visit) = (&begun, &visit);
        let rank = |(turn, body)| scope.spawn(move || begun.record(visit, turn, mode, body));
        let threads: Vec<_> = turns.into_iter().zip(bodies).map(rank).collect();
        // All are joined before a panic goes on.
        threads.into_iter().map(ScopedJoinHandle::join).collect()
    });
    let mut results = Vec::with_capacity(N);
    let mut panic = None;
    for outcome in outcomes {
        match outcome {
            Ok(result) => results.push(result),
            Err(payload) => panic = panic.or(Some(payload)),
        }
    }
    if let Some(payload) = panic {
        drop(results);
        resume_unwind(payload);
    }
    if results.iter().any(Option::is_none) {
        // Those that had begun were aborted because another one could not begin.
        let failures = results.into_iter().enumerate().filter_map(|(rank, result)| Some((rank, result?.err()?)));
        return Err(RankFailures::of(failures));
    }
    RankFailures::all(results.into_iter().flatten())
}

/// Whether all ranks have begun.
struct Begun {
    barrier: Barrier,
    /// How many have not. Written before the barrier and read after it, which orders it.
    failed: AtomicU64,
}

impl Begun {
    /// What the thread of a rank does. Nothing, if it has begun and another rank has not.
    fn record(
        &self,
        visit: &Visit,
        turn: CaptureTurn,
        mode: CaptureMode,
        body: impl FnOnce(&mut Work<'_>) -> Result<(), Error>,
    ) -> Option<Result<Recorded, Error>> {
        // So that this thread, too, is known to have a capture open.
        let _here = visit.joined_here();
        let opened = Recording::open(turn, mode);
        if opened.is_err() {
            // Relaxed: the barrier orders it.
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        self.barrier.wait();
        let recording = match opened {
            Ok(recording) => recording,
            Err(error) => return Some(Err(error.into())),
        };
        // Relaxed: the barrier orders it.
        if self.failed.load(Ordering::Relaxed) > 0 {
            return None;
        }
        let done = body(&mut recording.work());
        Some(match done {
            Ok(()) => recording.finish(),
            Err(error) => {
                let (end, parked) = recording.give_up();
                Err(CaptureFailure::report(Some(error), end, parked))
            }
        })
    }
}
