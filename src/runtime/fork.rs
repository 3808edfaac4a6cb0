//! Forks: work on further lanes beside what goes on on the first, eagerly or in one capture, and joined to it again.
//!
//! A fork is an event that the other lanes wait for; a join is one of each of them that the first waits for. In between the two
//! sides know nothing of each other, so neither waits for the other. In a capture the first event draws the other lanes in, and
//! they belong to the capture until that has ended.
//!
//! Invariants:
//!
//! 1. A lane that waits for the fork is joined, whatever becomes of the body.
//! 2. Until then nobody else puts work on a branch, nor, eagerly, on the first lane: so no join is refused.

use smallvec::SmallVec;

use super::branches::OpenBranch;
use super::event::Event;
use super::lane::{Lane, LaneExclusive};
use super::site::{Keep, Site, Turns};
use super::work::Work;
use crate::driver::EventKind;
use crate::error::{Error, Misuse};
use crate::sync::Arc;

impl Site<'_> {
    /// Runs `body` with somewhere to put work here and on each of `others`, side by side. When it is over the others are joined.
    pub(crate) fn fork<const N: usize, R>(
        self,
        others: [&Arc<Lane>; N],
        body: impl FnOnce(&mut Work<'_>, &mut [Work<'_>; N]) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.lane.check()?;
        for other in others {
            if Arc::ptr_eq(self.lane, other) {
                return Err(Misuse::ForkToItself.into());
            }
            other.check()?;
        }
        let held = Held::take(self, &others)?;
        let turns = |lane| held.turns(lane).unwrap_or(self.turns);
        let main = Site { turns: turns(self.lane), ..self };
        let branches = others.map(|other| Site { lane: other, turns: turns(other), ..self });
        let mut fork = Fork::open(main, &branches)?;
        let done = body(&mut Work::new(main), &mut branches.map(Work::new));
        let joined = fork.join();
        let done = done?;
        joined.map(|()| done)
    }
}

/// The lanes of a fork, kept from others.
enum Held<'a> {
    Eagerly(SmallVec<[LaneExclusive<'a>; 2]>),
    ByCapture(#[expect(dead_code, reason = "held for its destructor")] SmallVec<[OpenBranch<'a>; 2]>),
}

impl<'a> Held<'a> {
    fn take(main: Site<'a>, others: &[&'a Arc<Lane>]) -> Result<Self, Error> {
        if let Some(branches) = main.keep.branches {
            let open = others.iter().map(|other| branches.open(other));
            return Ok(Self::ByCapture(open.collect::<Result<_, Error>>()?));
        }
        let first = matches!(main.turns, Turns::Each).then_some(&main.lane);
        let mut lanes: SmallVec<[&Arc<Lane>; 3]> = first.into_iter().chain(others).copied().collect();
        // One after the other in the order of their numbers, so that two threads that want the same lanes do not wait for each other.
        lanes.sort_by_key(|lane| lane.id());
        let held = lanes.into_iter().map(|lane| Ok(lane.order().hold_exclusively(lane.order().turn()?)));
        Ok(Self::Eagerly(held.collect::<Result<_, Error>>()?))
    }

    /// The turns on a lane that is among these; in a capture nobody needs any.
    fn turns(&self, lane: &Arc<Lane>) -> Option<Turns<'_>> {
        match self {
            Self::Eagerly(held) => held.iter().find(|held| held.is_of(lane.order())).map(Turns::OfHolder),
            Self::ByCapture(_) => None,
        }
    }
}

/// Lanes that are to be joined. Dropping it joins them.
struct Fork<'a> {
    main: Site<'a>,
    /// Those that wait for the fork, each with the event that the first lane is to wait for.
    branches: SmallVec<[(Site<'a>, Arc<Event>); 2]>,
}

impl<'a> Fork<'a> {
    fn open(main: Site<'a>, branches: &[Site<'a>]) -> Result<Self, Error> {
        // All are made now, so that joining needs nothing that may not be had.
        let event = |lane: &Lane| {
            let event = Arc::new(Event::new(lane.device(), EventKind::Untimed)?);
            main.keep.retained.share(&event);
            Ok::<_, Error>(event)
        };
        let forked = event(main.lane)?;
        let joined: SmallVec<[_; 2]> = branches.iter().map(|branch| event(branch.lane)).collect::<Result<_, _>>()?;
        let turn = main.turns.take(main.lane)?;
        main.lane.heard(forked.record(main.lane))?;
        drop(turn);
        let mut fork = Self { main, branches: SmallVec::new() };
        for (branch, joined) in branches.iter().zip(joined) {
            let _turn = branch.turns.take(branch.lane)?;
            branch.lane.heard(forked.hold_up(branch.lane))?;
            fork.branches.push((*branch, joined));
        }
        Ok(fork)
    }

    /// Joins every branch that is open, whatever becomes of the others. Returns what went wrong first.
    fn join(&mut self) -> Result<(), Error> {
        let mut first = Ok(());
        for (branch, joined) in std::mem::take(&mut self.branches) {
            let done = self.join_one(branch, &joined);
            if done.is_err() {
                settle(branch);
            }
            first = first.and(done);
        }
        first
    }

    fn join_one(&self, branch: Site<'_>, joined: &Event) -> Result<(), Error> {
        let turn = branch.turns.take(branch.lane)?;
        branch.lane.heard(joined.record(branch.lane))?;
        drop(turn);
        let _turn = self.main.turns.take(self.main.lane)?;
        self.main.lane.heard(joined.hold_up(self.main.lane))
    }
}

/// Sees to what a branch uses that could not be joined. In a capture there will be no graph. But eager work runs, and a drain of the
/// first lane does not show that it has finished.
fn settle(Site { lane, keep: Keep { retained, branches }, .. }: Site<'_>) {
    if branches.is_none() && lane.drain().is_err() {
        std::mem::forget(retained.take());
    }
}

impl Drop for Fork<'_> {
    fn drop(&mut self) {
        // Nothing is open but after a panic of the body, or if not every branch could be forked off. That a join fails shows at the
        // end of the capture; eager work is seen to.
        let _ = self.join();
    }
}
