//! `Stream<Instantiated>`: the graph is there, and nobody else knows it.

use super::Stream;
use super::published::PublishedData;
use super::transition::{CanPublish, sealed};
use crate::error::Rejected;
use crate::graph::Census;
use crate::runtime::{Captured, InFlight, Publication, Retained};
use crate::seal::OnlyForDacapo;
use crate::state::sealed_state;
use crate::state::{Idle, Instantiated, Phase, Published, State};

impl sealed_state::State for Instantiated {
    type Data = Captured;

    const PHASE: Phase = Phase::Instantiated;

    fn retained<'a>(in_flight: &'a mut InFlight, _: &'a mut Captured, _: OnlyForDacapo) -> &'a mut Retained {
        in_flight.retained()
    }
}

impl<S: State> Stream<S> {
    /// Makes the graph the stream's next generation, to be replayed from any thread. Makes no driver call.
    ///
    /// # Errors
    /// Still `Instantiated`, with [`Misuse::GenerationsExhausted`](crate::Misuse::GenerationsExhausted).
    pub fn publish(self) -> Result<Stream<Published>, Rejected<Stream<Instantiated>>>
    where
        S: CanPublish,
    {
        S::publish(self, OnlyForDacapo::new())
    }
}

impl sealed::Publish for Instantiated {
    fn publish(stream: Stream<Self>, _: OnlyForDacapo) -> Result<Stream<Published>, Rejected<Stream<Instantiated>>> {
        match Publication::new(&stream.core.lane, &stream.data) {
            Ok(publication) => {
                let Stream { data: captured, core } = stream;
                Ok(Stream { data: PublishedData { publication, captured }, core })
            }
            Err(misuse) => Err(Rejected::new(stream, misuse)),
        }
    }
}

impl Stream<Instantiated> {
    /// What was captured.
    #[must_use]
    pub fn census(&self) -> &Census {
        self.data.census()
    }

    /// Drains, destroys the graph, lets go of what it used.
    ///
    /// # Errors
    /// `Idle` but [`Poisoned`](crate::Poisoned) if the drain fails: nothing is let go then, see
    /// [`FailStop`](crate::FailStop).
    #[doc(alias = "cuGraphExecDestroy")]
    pub fn discard(self) -> Result<Stream<Idle>, Rejected<Stream<Idle>>> {
        let Self { data: captured, core } = self;
        let idle = Stream { data: (), core };
        match captured.release() {
            Ok(()) => Ok(idle),
            Err(poisoned) => Err(Rejected::new(idle, poisoned)),
        }
    }
}

static_assertions::assert_impl_all!(Stream<Instantiated>: Send);
