//! Branches: work on a second lane that is forked off one and joined to it again, eagerly or in one capture.
//!
//! A fork is an event that the second lane waits for; a join is one that the first waits for. In a capture the first draws the
//! second lane in, and it belongs to the capture until that has ended.

use super::event::Event;
use super::lane::{CaptureTurn, Lane};
use super::site::{Keep, Site, Turns};
use super::work::Work;
use crate::driver::EventKind;
use crate::error::{Error, Misuse};
use crate::sync::Arc;

impl Site<'_> {
    /// Runs `body` on `other`, beside what comes after here, until it is joined: which it is, whatever becomes of the body.
    pub(crate) fn fork(
        self,
        other: &Arc<Lane>,
        body: impl FnOnce(&mut Work<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Site { lane, root, turns, mut keep } = self;
        if Arc::ptr_eq(lane, other) {
            return Err(Misuse::ForkToItself.into());
        }
        lane.check()?;
        other.check()?;
        if let Some(branches) = &mut keep.branches {
            draw_in(branches, other)?;
            return Fork::run(lane, turns, other, Turns::OfCapture, root, keep, body);
        }
        // Nobody else gets at the other lane until it is joined, so joining it cannot be refused.
        let exclusive = other.order().hold_exclusively(other.order().turn()?);
        Fork::run(lane, turns, other, Turns::OfHolder(&exclusive), root, keep, body)
    }
}

/// Makes a lane the capture's, until that has ended.
fn draw_in(branches: &mut Vec<CaptureTurn>, other: &Arc<Lane>) -> Result<(), Error> {
    if !branches.iter().any(|drawn_in| Arc::ptr_eq(drawn_in.lane(), other)) {
        let turn = CaptureTurn::begin(other)?;
        other.check_capturable()?;
        branches.push(turn);
    }
    Ok(())
}

/// A lane that is to be joined. Dropping it joins it.
struct Fork<'a> {
    lane: &'a Arc<Lane>,
    turns: Turns<'a>,
    other: &'a Arc<Lane>,
    other_turns: Turns<'a>,
    joined: Arc<Event>,
    keep: Keep<'a>,
    open: bool,
}

impl<'a> Fork<'a> {
    fn run(
        lane: &'a Arc<Lane>,
        turns: Turns<'a>,
        other: &'a Arc<Lane>,
        other_turns: Turns<'a>,
        root: &'a Arc<Lane>,
        keep: Keep<'a>,
        body: impl FnOnce(&mut Work<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // Both are made now, so that joining needs nothing that may not be had.
        let forked = Arc::new(Event::new(lane.device(), EventKind::Untimed)?);
        let joined = Arc::new(Event::new(other.device(), EventKind::Untimed)?);
        keep.retained.share(&forked);
        keep.retained.share(&joined);
        let turn = turns.take(lane)?;
        forked.record(lane)?;
        drop(turn);
        let turn = other_turns.take(other)?;
        forked.hold_up(other)?;
        drop(turn);

        let mut fork = Self { lane, turns, other, other_turns, joined, keep, open: true };
        let site = Site { lane: other, root, turns: other_turns, keep: fork.keep.reborrow() };
        let done = body(&mut Work::new(site));
        let joined = fork.join();
        done.and(joined)
    }

    fn join(&mut self) -> Result<(), Error> {
        self.open = false;
        let joined = self.try_join();
        // A capture that is not joined yields no graph. But eager work runs: a drain of the first lane does not show then that the
        // other has finished with what is kept there.
        if joined.is_err() && self.keep.branches.is_none() && self.other.drain().is_err() {
            std::mem::forget(self.keep.retained.take());
        }
        joined
    }

    fn try_join(&self) -> Result<(), Error> {
        let turn = self.other_turns.take(self.other)?;
        self.joined.record(self.other)?;
        drop(turn);
        let _turn = self.turns.take(self.lane)?;
        Ok(self.joined.hold_up(self.lane)?)
    }
}

impl Drop for Fork<'_> {
    fn drop(&mut self) {
        if self.open {
            // The body has panicked. That a join fails shows at the end of the capture; eager work is seen to by `join`.
            let _ = self.join();
        }
    }
}
