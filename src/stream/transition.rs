//! Which transition starts from which state.
//!
//! A transition is a method of every stream, bound to one of these traits, so that the compiler says what to do instead where it
//! does not apply.

use crate::state::{Capturing, Idle, Instantiated, Mode, Published, State};

/// A state in which a capture can begin: [`Idle`].
///
/// Sealed, as [`State`] is.
#[diagnostic::on_unimplemented(
    message = "no capture can begin on a `Stream<{Self}>`",
    label = "needs a `Stream<Idle>`",
    note = "go back to idle first: `abort` a capture, `discard` a graph that is not published, `reset` one that is",
    note = "to capture one more segment after those of an instantiated graph: `begin_segment`; to update a published one: `begin_update`"
)]
pub trait CanBegin: State + sealed::Is<Idle> {}

/// A state in which one more segment can be captured: [`Instantiated`].
///
/// Sealed, as [`State`] is.
#[diagnostic::on_unimplemented(
    message = "no segment can be added on a `Stream<{Self}>`",
    label = "needs a `Stream<Instantiated>`",
    note = "the first segment is what `capture`, or `begin` and `end`, give you; a published graph takes no more of them"
)]
pub trait CanBeginSegment: State + sealed::Is<Instantiated> {}

/// A state with a capture to end: [`Capturing`].
///
/// Sealed, as [`State`] is.
#[diagnostic::on_unimplemented(
    message = "no capture is open on a `Stream<{Self}>`",
    label = "needs a `Stream<Capturing>`",
    note = "`begin` opens a capture, and `end` closes it once; the closure form, `capture`, does both"
)]
pub trait CanEnd: State + sealed::End {}

/// A state with a graph to publish: [`Instantiated`].
///
/// Sealed, as [`State`] is.
#[diagnostic::on_unimplemented(
    message = "nothing to publish on a `Stream<{Self}>`",
    label = "needs a `Stream<Instantiated>`",
    note = "a graph comes from `capture`, or from `begin` and `end`, and is published once; `replayer` hands out more handles"
)]
pub trait CanPublish: State + sealed::Is<Instantiated> {}

/// A state with a published graph: [`Published`].
///
/// Sealed, as [`State`] is.
#[diagnostic::on_unimplemented(
    message = "no graph is published on a `Stream<{Self}>`",
    label = "needs a `Stream<Published>`",
    note = "to replay: `capture` some work (or `begin`, enqueue, `end`), then `publish`, and use what that returns",
    note = "to go back to idle: `abort` a capture, `discard` a graph that is not published, `reset` one that is"
)]
pub trait HasPublished: State + sealed::Is<Published> {}

/// A state with a captured graph to look at: [`Instantiated`] or [`Published`].
///
/// Sealed, as [`State`] is.
#[diagnostic::on_unimplemented(
    message = "there is no captured graph on a `Stream<{Self}>` to look at",
    label = "needs a `Stream<Instantiated>` or a `Stream<Published>`",
    note = "a graph comes from `capture`, or from `begin` and `end`"
)]
pub trait HasGraph: State + sealed::HasGraph {}

impl CanBegin for Idle {}
impl CanBeginSegment for Instantiated {}
impl<M: Mode, From: sealed::BeginsCapture> CanEnd for Capturing<M, From> {}
impl CanPublish for Instantiated {}
impl HasPublished for Published {}
impl HasGraph for Instantiated {}
impl HasGraph for Published {}

/// What the traits stand for, for this crate alone.
pub(super) mod sealed {
    use super::super::Stream;
    use super::super::capturing::Recorded;
    use super::State;
    use crate::error::{Error, Rejected};
    use crate::runtime::{CapturePolicy, Captured};
    use crate::seal::OnlyForDacapo;
    use crate::state::{Resting, sealed_state};

    /// A state that is `T`: what a bound promises, told to the compiler.
    pub trait Is<T: State>: State {
        fn is(stream: Stream<Self>) -> Stream<T>;
        fn is_ref(stream: &Stream<Self>) -> &Stream<T>;
    }

    impl<S: State> Is<S> for S {
        fn is(stream: Stream<S>) -> Stream<S> {
            stream
        }

        fn is_ref(stream: &Stream<S>) -> &Stream<S> {
            stream
        }
    }

    /// A state that a capture begins in, and what its end makes of it.
    pub trait BeginsCapture: Resting {
        /// Makes of what was recorded, and of what the stream had before, what it has afterwards.
        fn land(
            from: Self::Data,
            target: Self::Target,
            recorded: Recorded,
            policy: &CapturePolicy,
            _: OnlyForDacapo,
        ) -> Result<<Self::Captured as sealed_state::State>::Data, (Self::Data, Error)>;
    }

    /// A state that has captured something.
    pub trait HasGraph: State {
        fn captured(data: &Self::Data, _: OnlyForDacapo) -> &Captured;
        fn captured_mut(data: &mut Self::Data, _: OnlyForDacapo) -> &mut Captured;
    }

    pub trait End: State {
        fn end(stream: Stream<Self>, _: OnlyForDacapo) -> Result<Stream<Self::Ended>, Rejected<Stream<Self::From>>>;
        fn fail(stream: Stream<Self>, body: Error, _: OnlyForDacapo) -> Rejected<Stream<Self::From>>;
    }
}
