//! Whose turn it is on a lane: everybody's, one after the other, and nobody's while a capture is open.
//!
//! Siblings share a CUDA stream, and replayers of one are on many threads. What is put on the stream while one of them captures
//! would be recorded, or would spoil the capture (D2, D4). So whoever puts work on a lane holds its [`Turn`] meanwhile.
//! Knows nothing of the driver, so a model checker can run it.
//!
//! Invariants:
//!
//! 1. The lock is held for the length of one driver call that enqueues, never across a wait for the device or a user's closure.
//! 2. A *capture* begins once every turn, drain and exclusive holder has finished; until it has ended turns and drains are refused.
//! 3. An *exclusive* holder alone has turns; others wait, but for its own thread, which would wait for itself and is refused.
//! 4. What is [deferred](Order::defer) is handed to who ends the capture, and to nobody else.
//! 5. Once it is [closed](Order::close) no turn is given any more; who has one, or a capture, ends it as ever.

use super::slots::{Slots, Token};
use crate::error::{Error, Misuse, Poisoned};
use crate::sync::{AtomicU64, Condvar, Mutex, MutexGuard, OnceLock, Ordering, this_thread};

/// Aligned to a cache line, so that the lock and what it guards are in one (see [`Slots`]).
#[repr(align(64))]
struct Aligned<T>(T);

/// The order of one lane. `P` is what a slot publishes, `D` what is put off until a capture has ended.
pub(crate) struct Order<P, D> {
    turn: Aligned<Mutex<Turn<P>>>,
    /// Woken when a drain or an exclusive holder has finished.
    changed: Condvar,
    /// The thread of the exclusive holder. Written and read under the lock; an atomic so that it need not lie in its cache line.
    holder: AtomicU64,
    /// Locked under `turn`, and never the other way round.
    deferred: Mutex<Vec<D>>,
    /// Times that somebody did not get a turn at once. Relaxed: a count that orders nothing.
    waits: AtomicU64,
    /// Why it is closed. Written under the lock, once.
    closed: OnceLock<Poisoned>,
}

/// The right to put work on the lane, while the lock is held.
pub(crate) struct Turn<P> {
    pub(crate) slots: Slots<P>,
    held: Held,
    drains: u32,
}

const _: () = assert!(size_of::<Turn<[usize; 2]>>() <= 56, "with its lock, within a cache line of 64 bytes");

/// Who keeps others from having a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Held {
    Free,
    ByCapture,
    Exclusively,
    Closed,
}

pub(crate) type TurnGuard<'a, P> = MutexGuard<'a, Turn<P>>;

impl<P, D> Order<P, D> {
    pub(crate) fn new() -> Self {
        Self {
            turn: Aligned(Mutex::new(Turn { slots: Slots::new(), held: Held::Free, drains: 0 })),
            changed: Condvar::new(),
            holder: AtomicU64::new(0),
            deferred: Mutex::new(Vec::new()),
            waits: AtomicU64::new(0),
            closed: OnceLock::new(),
        }
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// [`Misuse::CaptureOpen`], [`Misuse::OutOfTurn`], [`Poisoned`].
    #[inline]
    pub(crate) fn turn(&self) -> Result<TurnGuard<'_, P>, Error> {
        let turn = self.turn.0.lock();
        if turn.held == Held::Free { Ok(turn) } else { self.wait(turn) }
    }

    /// Waits for a turn to replay what `token` names. That it is stale is what is said first.
    #[inline]
    pub(crate) fn turn_for(&self, token: Token) -> Result<TurnGuard<'_, P>, Error> {
        let turn = self.turn.0.lock();
        if turn.held == Held::Free { Ok(turn) } else { self.wait_for(turn, token) }
    }

    #[cold]
    fn wait_for<'a>(&'a self, mut turn: TurnGuard<'a, P>, token: Token) -> Result<TurnGuard<'a, P>, Error> {
        turn.slots.admit(token)?;
        self.wait(turn)
    }

    #[cold]
    fn wait<'a>(&'a self, mut turn: TurnGuard<'a, P>) -> Result<TurnGuard<'a, P>, Error> {
        self.waits.fetch_add(u64::from(turn.held != Held::Free), Ordering::Relaxed);
        loop {
            match turn.held {
                Held::Free => return Ok(turn),
                Held::ByCapture => return Err(Misuse::CaptureOpen.into()),
                Held::Exclusively if self.is_holder() => return Err(Misuse::OutOfTurn.into()),
                Held::Closed => return Err(self.check().expect_err("closed for a reason").into()),
                Held::Exclusively => self.changed.wait(&mut turn),
            }
        }
    }

    /// Times that somebody did not get a turn at once.
    pub(crate) fn waits(&self) -> u64 {
        self.waits.load(Ordering::Relaxed)
    }

    /// Whether the calling thread is the exclusive holder. Asked under the lock.
    fn is_holder(&self) -> bool {
        // Relaxed: the lock orders it.
        self.holder.load(Ordering::Relaxed) == this_thread()
    }

    /// The slots, whoever has the turn: to publish, to look, to retire.
    pub(crate) fn slots(&self) -> TurnGuard<'_, P> {
        self.turn.0.lock()
    }

    /// The slots, once no exclusive holder of another thread is at work: for a retirement, after which nothing that was admitted
    /// before may still be submitted. What the calling thread holds exclusively looks again at every step.
    pub(crate) fn slots_at_rest(&self) -> TurnGuard<'_, P> {
        let mut turn = self.turn.0.lock();
        while turn.held == Held::Exclusively && !self.is_holder() {
            self.changed.wait(&mut turn);
        }
        turn
    }

    /// Refuses every turn from here on, for the first reason that was given; returns that.
    pub(crate) fn close(&self, why: Poisoned) -> Poisoned {
        let mut turn = self.turn.0.lock();
        let why = *self.closed.get_or_init(|| why);
        if turn.held == Held::Free {
            turn.held = Held::Closed;
        }
        why
    }

    /// Refuses if it is closed.
    pub(crate) fn check(&self) -> Result<(), Poisoned> {
        self.closed.get().map_or(Ok(()), |why| Err(*why))
    }

    /// What it is once nobody holds it. Asked under the lock.
    fn at_rest(&self) -> Held {
        if self.closed.get().is_some() { Held::Closed } else { Held::Free }
    }

    /// Takes every turn until the returned value is dropped.
    pub(crate) fn hold_exclusively<'a>(&'a self, mut turn: TurnGuard<'a, P>) -> Exclusive<'a, P, D> {
        turn.held = Held::Exclusively;
        // Relaxed: the lock orders it.
        self.holder.store(this_thread(), Ordering::Relaxed);
        Exclusive(self)
    }

    /// A drain is going on for as long as the returned value lives.
    ///
    /// # Errors
    /// [`Misuse::CaptureOpen`].
    pub(crate) fn drain(&self) -> Result<Draining<'_, P, D>, Misuse> {
        let mut turn = self.turn.0.lock();
        if turn.held == Held::ByCapture {
            return Err(Misuse::CaptureOpen);
        }
        turn.drains += 1;
        Ok(Draining(self))
    }

    /// Keeps everybody from putting work on the lane, or waiting for it, until [`end_capture`](Self::end_capture). Waits for
    /// who is at it.
    ///
    /// # Errors
    /// As [`turn`](Self::turn).
    pub(crate) fn begin_capture(&self) -> Result<(), Error> {
        let mut turn = self.turn()?;
        while turn.drains > 0 {
            self.changed.wait(&mut turn);
            turn = self.wait(turn)?;
        }
        turn.held = Held::ByCapture;
        Ok(())
    }

    /// Lets others at the lane again, and hands out what was deferred meanwhile: to be drained and dropped.
    pub(crate) fn end_capture(&self) -> Vec<D> {
        let mut turn = self.turn.0.lock();
        turn.held = self.at_rest();
        std::mem::take(&mut *self.deferred.lock())
    }

    /// Puts `value` off until the open capture has ended. Given back if none is open.
    pub(crate) fn defer(&self, value: D) -> Result<(), D> {
        let turn = self.turn.0.lock();
        if turn.held != Held::ByCapture {
            return Err(value);
        }
        self.deferred.lock().push(value);
        Ok(())
    }
}

/// Has every turn of the lane until it is dropped.
pub(crate) struct Exclusive<'a, P, D>(&'a Order<P, D>);

impl<P, D> Exclusive<'_, P, D> {
    /// Whether it is `order` that is held.
    pub(crate) fn is_of(&self, order: &Order<P, D>) -> bool {
        std::ptr::eq(self.0, order)
    }

    /// A turn of the holder's.
    pub(crate) fn turn(&self) -> TurnGuard<'_, P> {
        self.0.slots()
    }
}

impl<P, D> Drop for Exclusive<'_, P, D> {
    fn drop(&mut self) {
        let mut turn = self.0.turn.0.lock();
        turn.held = self.0.at_rest();
        self.0.holder.store(0, Ordering::Relaxed);
        drop(turn);
        self.0.changed.notify_all();
    }
}

/// A drain that is going on.
pub(crate) struct Draining<'a, P, D>(&'a Order<P, D>);

impl<P, D> Drop for Draining<'_, P, D> {
    fn drop(&mut self) {
        self.0.turn.0.lock().drains -= 1;
        self.0.changed.notify_all();
    }
}
