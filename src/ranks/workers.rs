//! Parked threads that submit for their ranks, so that the launches of a replay happen side by side.
//!
//! Invariants:
//!
//! 1. A worker launches only what who holds all lanes has put on its desk, and that one waits for it: so a launch is in a turn as ever.
//! 2. At most one submission is on the desks at a time, because everybody who has these workers needs the same lanes.
//! 3. The threads end when the last handle to them is dropped.

use std::io;
use std::thread::{Builder, JoinHandle, park};

use super::submit::Refused;
use crate::driver::ExecutableHandle;
use crate::error::Error;
use crate::runtime::Replayer;
use crate::sync::{Arc, AtomicU64, Mutex, Ordering};

/// How often an idle worker looks at its desk before it parks: some tens of microseconds.
const LOOKS: u32 = 10_000;

/// The threads of all ranks but the first, whose launches are made by who replays.
pub(super) struct Workers<const N: usize> {
    /// By rank; none for the first.
    workers: [Option<Worker>; N],
}

struct Worker {
    desk: Arc<Desk>,
    /// There until dropped.
    thread: Option<JoinHandle<()>>,
}

/// What a worker is to do, and what became of it.
struct Desk {
    /// One of the constants below.
    state: AtomicU64,
    order: Mutex<Option<ExecutableHandle>>,
    outcome: Mutex<Result<(), Error>>,
}

const IDLE: u64 = 0;
const ORDERED: u64 = 1;
const DONE: u64 = 2;
const OVER: u64 = 3;

impl<const N: usize> Workers<N> {
    pub(super) fn start(ranks: &[Replayer; N]) -> io::Result<Self> {
        let mut workers = [const { None }; N];
        for (rank, replayer) in ranks.iter().enumerate().skip(1) {
            workers[rank] = Some(Worker::start(rank, replayer.clone())?);
        }
        Ok(Self { workers })
    }

    /// Launches an executable on each rank, side by side, and waits until all have been submitted or refused. For who has a turn on every
    /// lane.
    pub(super) fn launch(&self, ranks: &[Replayer; N], executables: [ExecutableHandle; N]) -> Result<(), Refused> {
        for (worker, executable) in self.workers.iter().zip(executables) {
            if let Some(worker) = worker {
                worker.order(executable);
            }
        }
        let mut refused: Option<(usize, Error)> = None;
        let mut submitted = 0;
        for (rank, worker) in self.workers.iter().enumerate() {
            let launched = match worker {
                Some(worker) => worker.outcome(),
                None => ranks[rank].launch(executables[rank]),
            };
            match launched {
                Ok(()) => submitted += 1,
                Err(error) => refused = refused.or(Some((rank, error))),
            }
        }
        refused.map_or(Ok(()), |(rank, source)| Err(Refused { submitted, rank, source }))
    }
}

impl Worker {
    fn start(rank: usize, replayer: Replayer) -> io::Result<Self> {
        let desk = Desk { state: AtomicU64::new(IDLE), order: Mutex::new(None), outcome: Mutex::new(Ok(())) };
        let desk = Arc::new(desk);
        let own = desk.clone();
        let thread = Builder::new().name(format!("dacapo-rank-{rank}")).spawn(move || own.work(&replayer))?;
        Ok(Self { desk, thread: Some(thread) })
    }

    fn order(&self, executable: ExecutableHandle) {
        *self.desk.order.lock() = Some(executable);
        self.set(ORDERED);
    }

    fn set(&self, state: u64) {
        // Release: pairs with the acquire of the worker's look.
        self.desk.state.store(state, Ordering::Release);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// Waits for what was ordered.
    fn outcome(&self) -> Result<(), Error> {
        let mut looks = 0;
        // Acquire: pairs with the release of the worker's word that it is done.
        while self.desk.state.load(Ordering::Acquire) != DONE {
            looks += 1;
            // A launch blocks while the driver's queue is full.
            if looks < LOOKS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        // Relaxed: the next order is what is published.
        self.desk.state.store(IDLE, Ordering::Relaxed);
        std::mem::replace(&mut *self.desk.outcome.lock(), Ok(()))
    }
}

impl Desk {
    /// What the thread does.
    fn work(&self, replayer: &Replayer) {
        while let Some(executable) = self.next() {
            *self.outcome.lock() = replayer.launch(executable);
            // Release: pairs with the acquire of who waits for it.
            self.state.store(DONE, Ordering::Release);
        }
    }

    /// Waits for an order; none once it is over.
    fn next(&self) -> Option<ExecutableHandle> {
        let mut looks = 0;
        loop {
            // Acquire: pairs with the release of who orders.
            match self.state.load(Ordering::Acquire) {
                ORDERED => return self.order.lock().take(),
                OVER => return None,
                _ if looks < LOOKS => {
                    looks += 1;
                    std::hint::spin_loop();
                }
                // An order that comes right before this has left its token, and parking returns at once.
                _ => park(),
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.set(OVER);
        if let Some(thread) = self.thread.take() {
            // A worker runs no code of a user's, and does not panic.
            let _ = thread.join();
        }
    }
}
