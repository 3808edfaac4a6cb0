//! The lanes that a capture has drawn in.

use std::cell::RefCell;

use super::lane::{CaptureTurn, Lane};
use crate::error::{Error, Misuse};
use crate::sync::Arc;

/// The lanes that the forks of a capture have drawn in. They are the capture's until it has ended, though they are joined earlier:
/// so a lane is drawn in once, and can be forked to again and again.
///
/// Entered through a shared reference, because both sides of a fork may fork again. No code of a user's runs while the cell is
/// borrowed.
#[derive(Default)]
pub(crate) struct Branches(RefCell<Vec<Branch>>);

struct Branch {
    turn: CaptureTurn,
    /// Forked off, and not joined yet.
    open: bool,
}

impl Branches {
    /// Makes a lane the capture's, and a branch until the returned value is dropped.
    ///
    /// # Errors
    /// [`Misuse::OutOfTurn`] if it is a branch already; as [`CaptureTurn::draw_in`].
    pub(super) fn open<'a>(&'a self, lane: &'a Arc<Lane>) -> Result<OpenBranch<'a>, Error> {
        match self.set(lane, true) {
            Some(true) => return Err(Misuse::OutOfTurn.into()),
            Some(false) => {}
            None => {
                let turn = CaptureTurn::draw_in(lane)?;
                self.0.borrow_mut().push(Branch { turn, open: true });
            }
        }
        Ok(OpenBranch { branches: self, lane })
    }

    /// Notes whether a lane is a branch at the moment. Returns whether it was; nothing, if it has not been drawn in.
    fn set(&self, lane: &Arc<Lane>, open: bool) -> Option<bool> {
        let mut branches = self.0.borrow_mut();
        let branch = branches.iter_mut().find(|branch| Arc::ptr_eq(branch.turn.lane(), lane))?;
        Some(std::mem::replace(&mut branch.open, open))
    }
}

/// A branch of a capture, until it is joined.
pub(super) struct OpenBranch<'a> {
    branches: &'a Branches,
    lane: &'a Arc<Lane>,
}

impl Drop for OpenBranch<'_> {
    fn drop(&mut self) {
        self.branches.set(self.lane, false);
    }
}
