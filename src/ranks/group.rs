//! What ranks have in every state: their lanes, the order of these, and what the ranks agree on.

use super::order::SubmissionOrder;
use super::policy::RanksPolicy;
use crate::error::{DriverError, Error, Misuse, RankFailures};
use crate::gate::{CaptureGate, Visit};
use crate::runtime::{CaptureTurn, Lane, wait_together};
use crate::state::Idle;
use crate::stream::{Core, Recording, Stream};
use crate::sync::Arc;

/// What ranks have in every state.
pub struct Group<const N: usize> {
    pub(super) cores: [Core; N],
    /// The ranks in the order of their lanes' numbers: the order in which everybody takes them.
    pub(super) in_order: [usize; N],
    pub(super) policy: RanksPolicy<N>,
    pub(super) order: Option<SubmissionOrder>,
}

impl<const N: usize> Group<N> {
    /// Of streams on distinct devices.
    pub(super) fn new(streams: [Stream<Idle>; N]) -> Result<Self, ([Stream<Idle>; N], Error)> {
        const { assert!(N > 0, "there is no such thing as no ranks") };
        match check(&streams) {
            Ok(()) => Ok(Self::of(streams.map(Stream::into_core), RanksPolicy::new(), None)),
            Err(error) => Err((streams, error)),
        }
    }

    fn of(cores: [Core; N], policy: RanksPolicy<N>, order: Option<SubmissionOrder>) -> Self {
        let mut in_order: [usize; N] = std::array::from_fn(|rank| rank);
        in_order.sort_by_key(|&rank| cores[rank].lane.id());
        Self { cores, in_order, policy, order }
    }

    pub(super) fn sibling(&self) -> Self {
        Self::of(self.cores.each_ref().map(Core::sibling), self.policy.clone(), self.order.clone())
    }

    pub(super) fn lanes(&self) -> [Arc<Lane>; N] {
        self.cores.each_ref().map(|core| core.lane.clone())
    }

    /// Refuses on ranks that are poisoned, or of which one's device has faulted.
    pub(super) fn check(&self) -> Result<(), Error> {
        spread_faults(&self.lanes());
        RankFailures::all(self.cores.iter().map(|core| core.lane.check())).map(drop)
    }

    /// Passes an error on, and sees to it that a device fault of one rank is one of all.
    pub(super) fn heard(&self, error: Error) -> Error {
        spread_faults(&self.lanes());
        error
    }

    /// What comes before a capture, on every rank: nobody else puts work on its lane, and earlier work has finished.
    pub(super) fn clear(&mut self) -> Result<Cleared<N>, Error> {
        self.check()?;
        let visit = CaptureGate::capturing()?;
        let mut turns = [const { None }; N];
        for &rank in &self.in_order {
            let turn = CaptureTurn::begin_among_others(&self.cores[rank].lane);
            turns[rank] = Some(turn.map_err(|error| RankFailures::at(rank, error))?);
        }
        let turns = turns.map(|turn| turn.expect("`in_order` lists every rank"));
        RankFailures::all(self.cores.iter().map(|core| core.lane.check_capturable()))?;
        // Nothing is released by this, so a rank that is not done in time is an error like any other.
        let waited = wait_together(&self.lanes(), self.policy.drain_limit());
        RankFailures::all(self.cores.iter().zip(waited).map(|(core, said)| core.lane.heard(said)))?;
        RankFailures::all(self.cores.iter_mut().map(Recording::clear))?;
        Ok(Cleared { turns, visit })
    }
}

/// The lanes of all ranks, with nobody else on them and nothing pending.
pub(super) struct Cleared<const N: usize> {
    pub(super) turns: [CaptureTurn; N],
    /// Of the thread that begins; for all ranks.
    pub(super) visit: Visit,
}

fn check<const N: usize>(streams: &[Stream<Idle>; N]) -> Result<(), Error> {
    for (second, stream) in streams.iter().enumerate() {
        let device = stream.device();
        let same =
            |other: &Stream<Idle>| other.device().ordinal() == device.ordinal() || other.device().same_context(device);
        if let Some(first) = streams[..second].iter().position(same) {
            return Err(Misuse::SameDevice { first, second }.into());
        }
    }
    RankFailures::all(streams.iter().map(|stream| stream.core().lane.check_capturable())).map(drop)
}

/// A kernel that faults on one device takes the contexts of the others down with it (measured), or will make them wait for ever.
pub(super) fn spread_faults(lanes: &[Arc<Lane>]) {
    let Some(cause) = lanes.iter().find_map(|lane| lane.device().fault()) else { return };
    fault_all(lanes, cause);
}

#[cold]
fn fault_all(lanes: &[Arc<Lane>], cause: DriverError) {
    for lane in lanes {
        lane.device().note(cause);
        lane.poison(cause);
    }
}
