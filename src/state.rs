//! The states of a stream, and the modes of a capture, as types.
//!
//! ```text
//!             begin                end                  publish
//!    Idle ───────────▶ Capturing ───────▶ Instantiated ─────────▶ Published
//!     ▲ ▲                  ┆                │                        │
//!     │ └┄┄ abort, drop, ┄┄┘                │                        │
//!     │     any failure                     │                        │
//!     ├───────────── discard ───────────────┘                        │
//!     └───────────────────────── reset ──────────────────────────────┘
//! ```
//!
//! The markers here are empty types: no value of them exists. What a state *has* is in its stream's data (see the files
//! of `stream/`), so there is no second state machine beside the types.

use std::convert::Infallible;
use std::marker::PhantomData;

use crate::driver::CaptureMode;

/// Nothing is captured. Eager work may be pending.
///
/// *Got here* by [`Device::stream`](crate::Device::stream), `adopt_stream`, `abort`, `discard`, `reset`, or a capture
/// that failed. *Left* by `begin` or `capture`.
#[derive(Debug)]
pub enum Idle {}

/// A capture is open: what is enqueued is recorded, and does not run.
///
/// `M` is the capture's mode, `From` the state that it began in and that `abort` goes back to. You will not often spell
/// either; they show up in the compiler's messages.
///
/// *Got here* by `begin`. *Left* by `end` or `abort`; dropping the stream ends the capture too.
#[derive(Debug)]
pub struct Capturing<M = ThreadLocal, From = Idle>(Infallible, PhantomData<(M, From)>);

/// The capture has ended, and its graph is instantiated. Nobody else knows it yet.
///
/// *Got here* by `end` or `capture`. *Left* by `publish` or `discard`.
#[derive(Debug)]
pub enum Instantiated {}

/// The graph may be replayed, from any thread, through a [`Replayer`](crate::Replayer).
///
/// *Got here* by `publish`. *Left* by `reset`; dropping the stream does the same.
#[derive(Debug)]
pub enum Published {}

/// The phase of a stream as a value: for messages only. Nothing decides by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    Idle,
    Capturing,
    Instantiated,
    Published,
}

/// A capture that restrains, and may be ended by, the thread that began it. The default.
///
/// While it is open, calls that could break it (`cuMemAlloc` and the like, made by code that is not ours) fail on this
/// thread and invalidate it; other threads are free. The stream is `!Send`: the driver loses a capture that is ended on
/// another thread (trace `thread.end_on_other_thread.THREAD_LOCAL`: 908).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ThreadLocal;

/// A capture that restrains every thread. For finding out who makes unsafe calls; not for production.
///
/// While it is open, an unsafe call on *any* thread, on any device, fails and invalidates it. Eight threads that capture
/// at once in this mode crashed or hung the driver (D17). The stream is `!Send`, as with [`ThreadLocal`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Global;

/// A capture that restrains nobody, and that any thread may end. The stream is `Send`.
///
/// Calls that would otherwise be refused go through; whether they make sense during a capture is for the caller to know.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Relaxed;

/// Makes a capturing stream `!Send`: the driver wants the capture ended on the thread that began it.
///
/// Capture in [`Relaxed`] mode if the stream has to move. The name is what the compiler prints.
#[derive(Debug)]
pub struct MustEndOnTheThreadThatBeganIt(
    /// Always null; there for what it is not: `Send` and `Sync`.
    #[expect(dead_code, reason = "there for its type")]
    *const (),
);

impl Default for MustEndOnTheThreadThatBeganIt {
    fn default() -> Self {
        Self(std::ptr::null())
    }
}

/// A state of a stream: [`Idle`], [`Capturing`], [`Instantiated`] or [`Published`].
///
/// Sealed: the driver has these and no others, and every transition between them is written in this crate.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a state of a stream",
    note = "the states are `Idle`, `Capturing`, `Instantiated` and `Published`"
)]
pub trait State: sealed_state::State {}

/// A state in which nothing is being captured: [`Idle`], [`Instantiated`] or [`Published`].
///
/// Sealed, as [`State`] is.
#[diagnostic::on_unimplemented(
    message = "not while capturing: a `Stream<{Self}>` only records work, nothing has run yet",
    label = "needs a stream that is not capturing",
    note = "end the capture first (`end`, or the end of the `capture` closure), then synchronise, read, write or allocate",
    note = "inside a capture, record `download` into a `Pinned` instead of reading, and `upload` from one instead of writing"
)]
pub trait Resting: State + sealed_state::Resting {}

/// A capture mode: [`ThreadLocal`], [`Global`] or [`Relaxed`].
///
/// Sealed: the driver has these three.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a capture mode",
    note = "the modes are `ThreadLocal` (the default choice), `Relaxed` and `Global`"
)]
pub trait Mode: sealed_mode::Mode {}

impl State for Idle {}
impl<M: Mode, From: Resting> State for Capturing<M, From> {}
impl State for Instantiated {}
impl State for Published {}

impl Resting for Idle {}
impl Resting for Instantiated {}
impl Resting for Published {}

impl Mode for ThreadLocal {}
impl Mode for Global {}
impl Mode for Relaxed {}

/// What a state has and does, for this crate alone.
pub(crate) mod sealed_state {
    use super::Phase;
    use crate::runtime::{InFlight, Keep};
    use crate::seal::OnlyForDacapo;

    /// A state that a capture can begin in.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be made a state of a stream: the driver has no such state",
        note = "the states are `Idle`, `Capturing`, `Instantiated` and `Published`"
    )]
    pub trait Resting: State {
        /// What such a capture is for, besides; known when it begins.
        type Target: Copy;

        /// The state that its end leads to.
        type Captured: super::State;
    }

    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be made a state of a stream: the driver has no such state",
        note = "the states are `Idle`, `Capturing`, `Instantiated` and `Published`"
    )]
    pub trait State: Sized {
        /// What a stream in this state has, beyond what every stream has.
        type Data;

        /// The state that the end of an open capture leads to. Every state names one, so that a message about a state without a
        /// capture is about that alone.
        type Ended: super::State;

        /// The state that the open capture began in, and that a failure leads back to; else itself, or what it rests in.
        type From: super::Resting;

        /// The state as a value, for messages.
        const PHASE: Phase;

        /// Where work that is enqueued in this state keeps what it uses.
        fn keep<'a>(in_flight: &'a InFlight, data: &'a Self::Data, _: OnlyForDacapo) -> Keep<'a>;
    }
}

/// What a mode is to the driver, for this crate alone. Apart from the states' module, so that a message about one never
/// lists the other.
pub(crate) mod sealed_mode {
    use super::CaptureMode;

    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be made a capture mode: the driver has no such mode",
        note = "the modes are `ThreadLocal` (the default choice), `Relaxed` and `Global`"
    )]
    pub trait Mode: Copy {
        /// Decides whether the capturing stream is `Send`.
        type Affinity: Default;

        /// The driver's value.
        const MODE: CaptureMode;
    }
}

impl sealed_mode::Mode for ThreadLocal {
    type Affinity = MustEndOnTheThreadThatBeganIt;
    const MODE: CaptureMode = CaptureMode::ThreadLocal;
}

impl sealed_mode::Mode for Global {
    type Affinity = MustEndOnTheThreadThatBeganIt;
    const MODE: CaptureMode = CaptureMode::Global;
}

impl sealed_mode::Mode for Relaxed {
    type Affinity = ();
    const MODE: CaptureMode = CaptureMode::Relaxed;
}
