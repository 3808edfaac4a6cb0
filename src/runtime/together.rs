//! What several lanes release together: none of it until all of them have drained.
//!
//! The graphs of ranks read each other's memory, and wait for each other on the device. So that one lane has drained proves nothing for
//! what its neighbours' work uses.
//!
//! Invariants:
//!
//! 1. Every lane is tried, whatever became of the ones before it.
//! 2. Nothing is released unless all have drained; otherwise everything is kept for good, and all lanes are poisoned.
//! 3. While a capture is open on one of the lanes the whole is put off until that has ended.

use std::time::{Duration, Instant};

use super::lane::Lane;
use super::load::Deferred;
use super::policy::FailStop;
use super::retained::Retained;
use super::segment::Segment;
use crate::error::{DriverCode, DriverError, Error, RankDrain, RankFailures, Unproven};
use crate::sync::Arc;

/// The graphs of several lanes.
pub(crate) struct Together {
    /// In the order of the ranks.
    lanes: Vec<Arc<Lane>>,
    segments: Vec<Segment>,
    fail_stop: FailStop,
    drain_limit: Option<Duration>,
}

impl Together {
    pub(crate) fn new(
        lanes: &[Arc<Lane>],
        segments: Vec<Segment>,
        fail_stop: FailStop,
        drain_limit: Option<Duration>,
    ) -> Box<Self> {
        Box::new(Self { lanes: lanes.to_vec(), segments, fail_stop, drain_limit })
    }

    /// Drains all lanes, then releases; never if one cannot be drained. Put off while one of them captures.
    pub(crate) fn release(mut self: Box<Self>) -> Result<(), Unproven> {
        loop {
            match self.drain() {
                Ok(drained) => return self.settle(drained),
                Err(capturing) => match capturing.order().defer(self, Deferred::Together) {
                    Ok(()) => {
                        capturing.counts().deferred();
                        return Ok(());
                    }
                    // It has ended meanwhile.
                    Err(back) => self = back,
                },
            }
        }
    }

    /// Drains all lanes, unless one of them captures: then that one.
    fn drain(&self) -> Result<Result<Vec<Retained>, Unproven>, Arc<Lane>> {
        let draining = self.lanes.iter().map(|lane| lane.order().drain().map_err(|_| lane.clone()));
        let _draining: Vec<_> = draining.collect::<Result<_, _>>()?;
        Ok(drain_together(&self.lanes, self.drain_limit))
    }

    /// The same where there is nobody to return an error to.
    pub(crate) fn release_in_a_drop(self: Box<Self>) {
        let lanes = self.lanes.clone();
        if let Err(unproven) = self.release() {
            tell(&lanes, &unproven);
        }
    }

    fn settle(self, drained: Result<Vec<Retained>, Unproven>) -> Result<(), Unproven> {
        let Self { lanes, segments, fail_stop, .. } = self;
        match drained {
            Ok(loose) => {
                drop(segments);
                drop(loose);
                Ok(())
            }
            Err(unproven) => {
                std::mem::forget(segments);
                keep_for_good(&lanes, &unproven, fail_stop);
                Err(unproven)
            }
        }
    }
}

/// Waits until every lane has nothing to do, all of them no longer than `limit`. Returns what is to be let go, or every failure.
///
/// For who knows that no capture of ours is open on any of them and that none begins meanwhile.
pub(crate) fn drain_together(lanes: &[Arc<Lane>], limit: Option<Duration>) -> Result<Vec<Retained>, Unproven> {
    let (mut loose, mut failures) = (Vec::with_capacity(lanes.len()), Vec::new());
    for (rank, (lane, in_time)) in lanes.iter().zip(wait_together(lanes, limit)).enumerate() {
        match in_time.and_then(|()| lane.synchronize()) {
            Ok(retained) => loose.push(retained),
            Err(cause) => {
                lane.device().note(cause);
                failures.push(RankDrain { rank, cause });
            }
        }
    }
    if failures.is_empty() {
        return Ok(loose);
    }
    // Another rank's work may use what this one's eager work does.
    std::mem::forget(loose);
    Err(Unproven::of(failures))
}

/// For so long a wait looks again and again, before it sleeps between looks: longer than a step takes, whose end is not to be
/// noticed late.
const SPIN: Duration = Duration::from_millis(5);

/// Waits until every lane has nothing to do, all of them no longer than `limit`; those that have are asked no more. Returns what each
/// said last. For the same caller.
pub(crate) fn wait_together(lanes: &[Arc<Lane>], limit: Option<Duration>) -> Vec<Result<(), DriverError>> {
    let Some(limit) = limit else { return lanes.iter().map(|_| Ok(())).collect() };
    let start = Instant::now();
    let mut pause = Duration::from_micros(20);
    let mut said: Vec<_> = lanes.iter().map(|lane| lane.query()).collect();
    while said.iter().any(is_busy) && start.elapsed() < limit {
        if start.elapsed() > SPIN {
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(1));
        }
        for (lane, said) in lanes.iter().zip(&mut said).filter(|(_, said)| is_busy(said)) {
            *said = lane.query();
        }
    }
    said
}

/// Whether that is the word of a lane that has something to do.
fn is_busy(said: &Result<(), DriverError>) -> bool {
    said.is_err_and(|error| error.code == DriverCode::NOT_READY)
}

/// Waits until every lane has nothing to do, in nobody's turn. What is left then is for the caller to drain, which takes no time.
///
/// # Errors
/// [`Misuse::CaptureOpen`](crate::Misuse::CaptureOpen) while a capture of ours is open on one of them; [`Unproven`], if one is not done
/// within `limit`: then it is as [`keep_for_good`] says.
pub(crate) fn finish_together(lanes: &[Arc<Lane>], limit: Option<Duration>, fail_stop: FailStop) -> Result<(), Error> {
    let draining = RankFailures::all(lanes.iter().map(|lane| Ok(lane.order().drain()?)))?;
    let said = wait_together(lanes, limit);
    drop(draining);
    let late = said.iter().enumerate().filter(|(_, said)| is_busy(said));
    let late: Vec<_> = late.filter_map(|(rank, said)| Some(RankDrain { rank, cause: said.err()? })).collect();
    if late.is_empty() {
        return Ok(());
    }
    let unproven = Unproven::of(late);
    keep_for_good(lanes, &unproven, fail_stop);
    Err(unproven.into())
}

/// Poisons the lanes, or ends the process. What their work uses must not be let go afterwards.
#[expect(clippy::print_stderr, reason = "the process ends here")]
pub(crate) fn keep_for_good(lanes: &[Arc<Lane>], unproven: &Unproven, fail_stop: FailStop) {
    if fail_stop == FailStop::Abort {
        eprintln!("dacapo: {unproven}");
        std::process::abort();
    }
    for lane in lanes {
        lane.device().note(unproven.first().cause);
        lane.poison(unproven.first().cause);
    }
}

#[expect(clippy::print_stderr, reason = "there is nobody to return it to")]
fn tell(lanes: &[Arc<Lane>], unproven: &Unproven) {
    for RankDrain { rank, cause } in unproven.iter() {
        lanes[rank].device().park(Err(cause));
    }
    eprintln!("dacapo: {unproven}");
}
