//! `Stream<Published>`: the graph may be replayed, from any thread.

use super::Stream;
use super::transition::{HasPublished, sealed};
use crate::error::{DriverError, Error, Rejected};
use crate::graph::Census;
use crate::runtime::{Captured, InFlight, Lane, Publication, Replayer, Retained, Token};
use crate::state::sealed_state;
use crate::state::{Idle, Instantiated, Phase, Published, State};

/// What a published stream has.
pub struct PublishedData {
    /// First, so that it is dropped first: it retires the generation before the graph is destroyed.
    pub(super) publication: Publication,
    pub(super) captured: Captured,
}

impl sealed_state::State for Published {
    type Data = PublishedData;

    const PHASE: Phase = Phase::Published;

    fn retained<'a>(
        lane: &Lane,
        in_flight: &'a mut InFlight,
        _: &'a mut PublishedData,
    ) -> Result<&'a mut Retained, DriverError> {
        in_flight.retained(lane)
    }
}

impl sealed::HasPublished for Published {
    fn publication(data: &PublishedData) -> &Publication {
        &data.publication
    }

    fn reset(stream: Stream<Self>) -> Result<Stream<Idle>, Rejected<Stream<Idle>>> {
        let Stream { data: PublishedData { publication, captured }, core } = stream;
        drop(publication);
        Stream::<Instantiated> { data: captured, core }.discard()
    }
}

impl<S: State> Stream<S> {
    /// Launches the published graph once, as [`Replayer::replay`] does.
    ///
    /// # Errors
    /// [`DriverError`] if the driver refuses the launch; nothing was enqueued then.
    #[doc(alias = "cuGraphLaunch")]
    #[inline]
    pub fn replay(&self) -> Result<(), Error>
    where
        S: HasPublished,
    {
        S::publication(&self.data).replayer().replay()
    }

    /// A handle to replay with: `Clone + Send + Sync`, for any thread. It keeps nothing alive.
    #[must_use]
    pub fn replayer(&self) -> Replayer
    where
        S: HasPublished,
    {
        S::publication(&self.data).replayer().clone()
    }

    /// Takes the graph back: retires the generation, waits for replays that were already admitted, drains what they
    /// enqueued, destroys the graph, lets go of what it used, in that order.
    ///
    /// Once this has been called no replay is newly enqueued: replayers get [`Stale`](crate::Stale).
    ///
    /// # Errors
    /// `Idle` but [`Poisoned`](crate::Poisoned) if the drain fails: nothing is let go then, see
    /// [`FailStop`](crate::FailStop).
    #[doc(alias = "cuGraphExecDestroy")]
    pub fn reset(self) -> Result<Stream<Idle>, Rejected<Stream<Idle>>>
    where
        S: HasPublished,
    {
        S::reset(self)
    }
}

impl Stream<Published> {
    /// What was captured.
    #[must_use]
    pub fn census(&self) -> &Census {
        self.data.captured.census()
    }

    /// What the publication is called.
    #[must_use]
    pub fn token(&self) -> Token {
        self.data.publication.replayer().token()
    }

    /// Replays that the driver has taken so far, by all replayers of this generation.
    #[must_use]
    pub fn replays(&self) -> u64 {
        self.data.publication.replays()
    }
}

static_assertions::assert_impl_all!(Stream<Published>: Send);
