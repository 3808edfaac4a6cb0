//! Where work is put: the lane, the right to put it there, and who keeps what it uses.

use super::branches::Branches;
use super::lane::{Lane, LaneExclusive, LaneTurn};
use super::retained::Retained;
use crate::error::Error;
use crate::sync::Arc;

/// How somebody comes by turns on a lane.
#[derive(Clone, Copy)]
pub(crate) enum Turns<'a> {
    /// Waits for each.
    Each,
    /// Has them all.
    OfHolder(&'a LaneExclusive<'a>),
    /// Needs none: a capture of its own has the lane.
    OfCapture,
}

impl<'a> Turns<'a> {
    /// The right to put one piece of work on the lane.
    pub(crate) fn take(self, lane: &'a Lane) -> Result<Option<LaneTurn<'a>>, Error> {
        match self {
            Self::Each => lane.order().turn().map(Some),
            Self::OfHolder(exclusive) => Ok(Some(exclusive.turn())),
            Self::OfCapture => Ok(None),
        }
    }
}

/// Who keeps what work uses. The two sides of a fork have the same.
#[derive(Clone, Copy)]
pub struct Keep<'a> {
    pub(crate) retained: &'a Retained,
    /// In a capture: the lanes that were drawn in.
    pub(crate) branches: Option<&'a Branches>,
}

/// Where somebody puts work.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    pub(crate) lane: &'a Arc<Lane>,
    /// The lane that a branch was forked off in the end; itself, if it is none. Panics of host calls are told there.
    pub(crate) root: &'a Arc<Lane>,
    pub(crate) turns: Turns<'a>,
    pub(crate) keep: Keep<'a>,
}

impl<'a> Site<'a> {
    /// Waits for a turn.
    pub(crate) fn enter(self) -> Result<Place<'a>, Error> {
        let Self { lane, root, turns, keep } = self;
        Ok(Place { lane, root, retained: keep.retained, _turn: turns.take(lane)? })
    }
}

/// Where one piece of work is put, with the right to put it there.
pub(crate) struct Place<'a> {
    pub(crate) lane: &'a Lane,
    pub(crate) root: &'a Lane,
    pub(crate) retained: &'a Retained,
    _turn: Option<LaneTurn<'a>>,
}
