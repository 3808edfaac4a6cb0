//! `Stream<Published>`: the graph may be replayed, from any thread.

use cudarc::driver::sys::CUgraphExec;

use super::Stream;
use super::transition::{HasPublished, sealed};
use crate::error::{Error, Rejected};
use crate::graph::Census;
use crate::runtime::{Captured, InFlight, Publication, Replayer, Retained, Token};
use crate::seal::OnlyForDacapo;
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

    fn retained<'a>(in_flight: &'a mut InFlight, _: &'a mut PublishedData, _: OnlyForDacapo) -> &'a mut Retained {
        in_flight.retained()
    }
}

impl sealed::HasPublished for Published {
    fn publication(data: &PublishedData, _: OnlyForDacapo) -> &Publication {
        &data.publication
    }

    fn reset(stream: Stream<Self>, _: OnlyForDacapo) -> Result<Stream<Idle>, Rejected<Stream<Idle>>> {
        let Stream { data: PublishedData { publication, captured }, core } = stream;
        drop(publication);
        Stream::<Instantiated> { data: captured, core }.discard()
    }
}

impl<S: State> Stream<S> {
    /// Launches the published graph once, as [`Replayer::replay`] does.
    ///
    /// # Errors
    /// [`DriverError`](crate::DriverError) if the driver refuses the launch; nothing was enqueued then.
    #[doc(alias = "cuGraphLaunch")]
    #[inline]
    pub fn replay(&self) -> Result<(), Error>
    where
        S: HasPublished,
    {
        S::publication(&self.data, OnlyForDacapo::new()).replayer().replay()
    }

    /// A handle to replay with: `Clone + Send + Sync`, for any thread. It keeps nothing of the graph alive.
    #[must_use]
    pub fn replayer(&self) -> Replayer
    where
        S: HasPublished,
    {
        S::publication(&self.data, OnlyForDacapo::new()).replayer().clone()
    }

    /// Takes the graph back: retires the generation, waits for replays that were already admitted, drains what they
    /// enqueued, destroys the graph, lets go of what it used, in that order.
    ///
    /// Once this has returned, and from some moment before, no replay is newly enqueued: replayers get
    /// [`Stale`](crate::Stale).
    ///
    /// # Errors
    /// `Idle` but [`Poisoned`](crate::Poisoned) if the drain fails: nothing is let go then, see
    /// [`FailStop`](crate::FailStop).
    #[doc(alias = "cuGraphExecDestroy")]
    pub fn reset(self) -> Result<Stream<Idle>, Rejected<Stream<Idle>>>
    where
        S: HasPublished,
    {
        S::reset(self, OnlyForDacapo::new())
    }
}

impl Stream<Published> {
    /// What was captured.
    #[must_use]
    pub fn census(&self) -> &Census {
        self.data.captured.census()
    }

    /// The executable, for calls of the driver that this crate has no wrapper for.
    ///
    /// # Safety
    /// 1. It is not destroyed, and not used once the stream has been reset or dropped.
    /// 2. The driver does not synchronise executables (D8): while it is used, nobody replays it.
    /// 3. What is launched or changed through it keeps to what the graph retains: an address that is put into a node outlives
    ///    the graph.
    #[expect(unsafe_code, reason = "lends what the driver does not guard")]
    #[must_use]
    pub unsafe fn cu_graph_exec(&self) -> CUgraphExec {
        self.data.captured.executable().raw()
    }

    /// What the publication is called.
    #[must_use]
    pub fn token(&self) -> Token {
        self.data.publication.replayer().token()
    }

    /// Replays that the driver has taken so far, by all replayers of this generation. Waits for one that is being submitted.
    #[must_use]
    pub fn replays(&self) -> u64 {
        self.data.publication.replays()
    }
}

static_assertions::assert_impl_all!(Stream<Published>: Send);
