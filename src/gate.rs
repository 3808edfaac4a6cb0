//! A room for captures or for what no capture survives, never for both.
//!
//! Waiting for a whole context (`cuCtxSynchronize`), or for the legacy stream while a blocking stream captures, spoils every
//! capture there, in every mode and from every thread (D4). This crate makes no such call; an engine may have to. It
//! enters the room as a synchroniser meanwhile, and every capture of this crate is in the room for as long as it is open.
//!
//! Invariants:
//!
//! 1. Captures and synchronisers are never in the room together; any number of one kind is.
//! 2. A thread that is in the room as the one kind and asks for the other is refused: it would wait for itself.
//! 3. A synchroniser that waits is let in before captures that come later, so that it does not starve; a thread that has a capture in
//!    the room may bring in another.
//!
//! Knows nothing of the driver, so a model checker can run it.

use std::fmt;

use crate::error::Misuse;
use crate::sync::{Arc, Condvar, Mutex, OnceLock, this_thread};

/// The room of this process.
fn room() -> &'static Arc<Room> {
    static ROOM: OnceLock<Arc<Room>> = OnceLock::new();
    ROOM.get_or_init(Arc::default)
}

/// The process-wide gate between captures and what no capture survives.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::{CaptureGate, Device, Enqueue, ThreadLocal};
///
/// let device = Device::open(0)?;
/// {
///     let _room = CaptureGate::synchronising()?; // waits until no capture is open, and keeps new ones waiting
///     // SAFETY: no slice is made in the context.
///     unsafe { device.context() }.synchronize()?;
/// }
/// let mut stream = device.stream()?;
/// let buffer = stream.alloc::<u32>(1)?;
/// let captured = stream.capture(ThreadLocal, |c| c.fill(&buffer, 1))?;
/// # Ok::<(), dacapo::Error>(())
/// ```
#[derive(Debug)]
pub struct CaptureGate(());

impl CaptureGate {
    /// Waits until no capture of this crate is open, on any device, and keeps captures waiting for as long as the returned value
    /// lives. Any number of threads may have one at a time.
    ///
    /// # Errors
    /// [`Misuse::GateHeld`] if this thread has begun a capture that is open: it would wait for itself. (A relaxed capture that has
    /// moved to another thread counts for the one that began it.)
    pub fn synchronising() -> Result<Synchronising, Misuse> {
        Room::enter(room(), Kind::Synchroniser).map(Synchronising)
    }

    /// Whether a capture of this crate is open somewhere. Another thread may begin or end one right after.
    #[must_use]
    pub fn is_capturing() -> bool {
        room().captures() > 0
    }

    /// A capture is open for as long as the returned value lives.
    pub(crate) fn capturing() -> Result<Visit, Misuse> {
        Room::enter(room(), Kind::Capture)
    }
}

/// In the room as a synchroniser: no capture is open, and none begins. Leaves when dropped.
#[must_use = "captures are let in again when this is dropped"]
pub struct Synchronising(#[expect(dead_code, reason = "held for its destructor")] Visit);

impl fmt::Debug for Synchronising {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Synchronising")
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Capture,
    Synchroniser,
}

impl Kind {
    fn other(self) -> Self {
        match self {
            Self::Capture => Self::Synchroniser,
            Self::Synchroniser => Self::Capture,
        }
    }
}

/// Who is in the room, by the thread of each visit, and who waits. A capture that moves counts for the thread that began it.
#[derive(Default)]
struct State {
    captures: Vec<u64>,
    synchronisers: Vec<u64>,
    waiting_synchronisers: u32,
}

impl State {
    fn inside(&mut self, kind: Kind) -> &mut Vec<u64> {
        match kind {
            Kind::Capture => &mut self.captures,
            Kind::Synchroniser => &mut self.synchronisers,
        }
    }

    /// Whether `thread` has to wait before it comes in.
    fn must_wait(&mut self, kind: Kind, thread: u64) -> bool {
        let is_inside = self.inside(kind).contains(&thread);
        let lets_others_first = kind == Kind::Capture && self.waiting_synchronisers > 0 && !is_inside;
        !self.inside(kind.other()).is_empty() || lets_others_first
    }
}

#[derive(Default)]
pub(crate) struct Room {
    state: Mutex<State>,
    /// Woken when somebody leaves.
    left: Condvar,
}

/// A stay in the room, which ends when this is dropped.
pub(crate) struct Visit {
    room: Arc<Room>,
    kind: Kind,
    thread: u64,
}

impl Room {
    fn captures(&self) -> usize {
        self.state.lock().captures.len()
    }

    pub(crate) fn enter(room: &Arc<Self>, kind: Kind) -> Result<Visit, Misuse> {
        let thread = this_thread();
        let mut state = room.state.lock();
        if state.inside(kind.other()).contains(&thread) {
            return Err(Misuse::GateHeld);
        }
        if kind == Kind::Synchroniser {
            state.waiting_synchronisers += 1;
        }
        while state.must_wait(kind, thread) {
            room.left.wait(&mut state);
        }
        if kind == Kind::Synchroniser {
            state.waiting_synchronisers -= 1;
        }
        state.inside(kind).push(thread);
        Ok(Visit { room: room.clone(), kind, thread })
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut state = self.room.state.lock();
        let inside = state.inside(self.kind);
        if let Some(position) = inside.iter().position(|&thread| thread == self.thread) {
            inside.swap_remove(position);
        }
        drop(state);
        self.room.left.notify_all();
    }
}
