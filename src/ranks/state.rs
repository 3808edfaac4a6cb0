//! The states of ranks: those of a stream, with what several of them have in common.

use crate::state::{Capturing, Idle, Instantiated, Mode, Published, Relaxed, State, ThreadLocal};

/// A state of [`Ranks`](crate::Ranks): [`Idle`], [`Capturing`], [`Instantiated`] or [`Published`], as of a [`Stream`](crate::Stream).
///
/// Sealed, as [`State`] is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a state of ranks",
    note = "the states are `Idle`, `Capturing`, `Instantiated` and `Published`, with a mode that ranks can capture in"
)]
pub trait RankState: State + sealed::RankState {}

/// A state in which ranks are not capturing: [`Idle`], [`Instantiated`] or [`Published`].
///
/// Sealed, as [`State`] is.
#[diagnostic::on_unimplemented(
    message = "not while capturing: `Ranks<{Self}, N>` only record work, nothing has run yet",
    note = "end the capture first (`end`, or the end of the `capture` closure), then synchronise, read, write or allocate"
)]
pub trait RankResting: RankState + sealed::RankResting {}

/// A state in which ranks have captured graphs to look at: [`Instantiated`] or [`Published`].
///
/// Sealed, as [`State`] is.
#[diagnostic::on_unimplemented(
    message = "there are no captured graphs on `Ranks<{Self}, N>` to look at",
    label = "needs `Instantiated` or `Published` ranks",
    note = "graphs come from `capture`, or from `begin` and `end`"
)]
pub trait RankGraph: RankState + sealed::RankGraph {}

/// A mode in which ranks can capture: [`ThreadLocal`] or [`Relaxed`].
///
/// Not `Global`: that restrains every thread, so the first rank's capture would be spoilt by what the others do to begin and end
/// theirs.
#[diagnostic::on_unimplemented(
    message = "ranks cannot capture in mode `{Self}`",
    label = "needs `ThreadLocal` or `Relaxed`",
    note = "`Global` restrains every thread: several captures at once would spoil each other"
)]
pub trait RankMode: Mode + sealed::RankMode {}

impl RankState for Idle {}
impl<M: RankMode, From: RankResting> RankState for Capturing<M, From> {}
impl RankState for Instantiated {}
impl RankState for Published {}

impl RankResting for Idle {}
impl RankResting for Instantiated {}
impl RankResting for Published {}

impl RankGraph for Instantiated {}
impl RankGraph for Published {}

impl RankMode for ThreadLocal {}
impl RankMode for Relaxed {}

/// What the traits stand for, for this crate alone.
pub(crate) mod sealed {
    use super::super::Group;
    use super::super::captured::{CapturedRanks, FreshRanks};
    use super::{Relaxed, ThreadLocal};
    use crate::error::Error;
    use crate::seal::OnlyForDacapo;
    use crate::state::{Resting, State};

    pub trait RankState: State {
        /// What ranks in this state have, beyond what all have.
        type OnRanks<const N: usize>;
    }

    /// A state that a capture begins in, and what its end makes of it.
    pub trait RankResting: RankState + Resting {
        /// The state that the end leads to.
        type Recorded: super::RankState;

        /// Makes of what was recorded, and of what the ranks had before, what they have afterwards: on all of them, or on none.
        fn land<const N: usize>(
            from: Self::OnRanks<N>,
            target: Self::Target,
            fresh: FreshRanks<N>,
            group: &Group<N>,
            _: OnlyForDacapo,
        ) -> Result<<Self::Recorded as RankState>::OnRanks<N>, (Self::OnRanks<N>, Error)>;
    }

    /// A state that has captured something.
    pub trait RankGraph: RankState {
        fn captured<const N: usize>(data: &Self::OnRanks<N>, _: OnlyForDacapo) -> &CapturedRanks<N>;
    }

    pub trait RankMode {}
    impl RankMode for ThreadLocal {}
    impl RankMode for Relaxed {}
}
