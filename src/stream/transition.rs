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
    note = "go back to idle first: `abort` a capture, `discard` a graph that is not published, `reset` one that is"
)]
pub trait CanBegin: State + sealed::Begin {}

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
pub trait CanPublish: State + sealed::Publish {}

/// A state with a published graph: [`Published`].
///
/// Sealed, as [`State`] is.
#[diagnostic::on_unimplemented(
    message = "no graph is published on a `Stream<{Self}>`",
    label = "needs a `Stream<Published>`",
    note = "to replay: `capture` some work (or `begin`, enqueue, `end`), then `publish`, and use what that returns",
    note = "to go back to idle: `abort` a capture, `discard` a graph that is not published, `reset` one that is"
)]
pub trait HasPublished: State + sealed::HasPublished {}

impl CanBegin for Idle {}
impl<M: Mode> CanEnd for Capturing<M, Idle> {}
impl CanPublish for Instantiated {}
impl HasPublished for Published {}

/// The transitions themselves, each written in the file of the state that it starts from.
pub(super) mod sealed {
    use super::super::Stream;
    use super::{Capturing, Idle, Instantiated, Mode, Published, State};
    use crate::error::{Error, Rejected};
    use crate::runtime::Publication;
    use crate::seal::OnlyForDacapo;

    pub trait Begin: State {
        fn begin<M: Mode>(
            stream: Stream<Self>,
            _: OnlyForDacapo,
        ) -> Result<Stream<Capturing<M>>, Rejected<Stream<Idle>>>;
    }

    pub trait End: State {
        fn end(stream: Stream<Self>, _: OnlyForDacapo) -> Result<Stream<Instantiated>, Rejected<Stream<Idle>>>;
        fn fail(stream: Stream<Self>, body: Error, _: OnlyForDacapo) -> Rejected<Stream<Idle>>;
    }

    pub trait Publish: State {
        fn publish(stream: Stream<Self>, _: OnlyForDacapo)
        -> Result<Stream<Published>, Rejected<Stream<Instantiated>>>;
    }

    pub trait HasPublished: State {
        fn publication(data: &Self::Data, _: OnlyForDacapo) -> &Publication;
        fn reset(stream: Stream<Self>, _: OnlyForDacapo) -> Result<Stream<Idle>, Rejected<Stream<Idle>>>;
    }
}
