//! `Stream<Instantiated>`: the graph is there, and nobody else knows it.

use super::Stream;
use super::capturing::Recorded;
use super::published::PublishedData;
use super::transition::{CanBeginSegment, CanPublish, sealed};
use crate::error::{Error, Rejected};
use crate::graph::Census;
use crate::runtime::{CapturePolicy, Captured, Eager, InFlight, Keep, Publication, Seam, Segment};
use crate::seal::OnlyForDacapo;
use crate::state::sealed_state;
use crate::state::{Capturing, Idle, Instantiated, Mode, Phase, Published, State};

impl sealed_state::State for Instantiated {
    type Data = Captured;

    type Ended = Self;
    type From = Self;

    const PHASE: Phase = Phase::Instantiated;

    fn keep<'a>(in_flight: &'a InFlight, _: &'a Captured, _: OnlyForDacapo) -> Keep<'a> {
        Keep { retained: in_flight.retained(), branches: None }
    }
}

impl sealed_state::Resting for Instantiated {
    type Target = ();
    type Captured = Instantiated;
}

impl sealed::BeginsCapture for Instantiated {
    fn land(
        mut from: Captured,
        (): (),
        recorded: Recorded,
        policy: &CapturePolicy,
        _: OnlyForDacapo,
    ) -> Result<Captured, (Captured, Error)> {
        match recorded.instantiate(policy) {
            Ok(segment) => {
                from.push(policy, segment);
                Ok(from)
            }
            Err(error) => Err((from, error)),
        }
    }
}

impl<S: State> Stream<S> {
    /// Begins the capture of one more segment, to be replayed after those that are there. As [`begin`](Self::begin), but that
    /// what was captured before is kept, whatever happens: a failure or an [`abort`](Self::abort) gives it back.
    ///
    /// # Errors
    /// Still `Instantiated`, with what [`begin`](Self::begin) returns.
    #[doc(alias = "cuStreamBeginCapture")]
    pub fn begin_segment<M: Mode>(
        self,
        _mode: M,
    ) -> Result<Stream<Capturing<M, Instantiated>>, Rejected<Stream<Instantiated>>>
    where
        S: CanBeginSegment,
    {
        S::is(self).open(())
    }

    /// Captures what `body` enqueues as one more segment. The closure form of [`begin_segment`](Self::begin_segment), as
    /// [`capture`](Self::capture) is of `begin`.
    ///
    /// # Errors
    /// Still `Instantiated`, with all segments but this one, and with what [`capture`](Self::capture) returns.
    ///
    /// # Examples
    /// Work on the host between two segments:
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, ThreadLocal};
    ///
    /// let device = Device::open(0)?;
    /// let mut stream = device.stream()?;
    /// let (a, b) = (stream.buffer_from(&[1u32, 2])?, stream.alloc::<u32>(2)?);
    /// let seam = (a.clone(), b.clone());
    /// let captured = stream
    ///     .capture(ThreadLocal, |c| c.copy(&a, &b))?
    ///     .seam(move |eager| {
    ///         let doubled: Vec<u32> = eager.read(&seam.1)?.iter().map(|x| 2 * x).collect();
    ///         eager.write(&doubled, &seam.0)
    ///     })
    ///     .capture_segment(ThreadLocal, |c| c.copy(&a, &b))?;
    /// let mut published = captured.publish()?;
    /// published.replay()?;
    /// assert_eq!(published.read(&b)?, [2, 4]);
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    pub fn capture_segment<M: Mode>(
        self,
        mode: M,
        body: impl FnOnce(&mut Stream<Capturing<M, Instantiated>>) -> Result<(), Error>,
    ) -> Result<Stream<Instantiated>, Rejected<Stream<Instantiated>>>
    where
        S: CanBeginSegment,
    {
        self.begin_segment(mode)?.run(body)
    }

    /// Makes the graph the stream's next generation, to be replayed from any thread. Makes no driver call.
    ///
    /// # Errors
    /// Still `Instantiated`, with [`Misuse::GenerationsExhausted`](crate::Misuse::GenerationsExhausted).
    pub fn publish(self) -> Result<Stream<Published>, Rejected<Stream<Instantiated>>>
    where
        S: CanPublish,
    {
        let stream = S::is(self);
        match Publication::new(&stream.core.lane, &stream.data) {
            Ok(publication) => {
                let Stream { data: captured, core } = stream;
                Ok(Stream { data: PublishedData::new(publication, captured), core })
            }
            Err(misuse) => Err(Rejected::new(stream, misuse)),
        }
    }
}

impl Stream<Instantiated> {
    /// What was captured, in all segments together.
    #[must_use]
    pub fn census(&self) -> Census {
        self.data.census()
    }

    /// What each segment holds, in the order in which they are replayed.
    #[must_use]
    pub fn segments(&self) -> Vec<Census> {
        self.data.segments().map(Segment::census).cloned().collect()
    }

    /// Whether there is one segment only, and no seam: then a replay is one launch.
    #[must_use]
    pub fn is_single_segment(&self) -> bool {
        self.data.is_single_segment()
    }

    /// Adds a seam after what is there: a closure that runs eagerly, on the thread that replays, between the segment before it
    /// and what is added after. No replay leaves it out. It may wait, read and write, and enqueue work, which is ordered after
    /// the segment before and before the one after.
    ///
    /// A seam has the stream to itself: others who want to replay or enqueue wait for it, and one that would itself replay on
    /// this stream, or begin a capture, gets [`Misuse::OutOfTurn`](crate::Misuse::OutOfTurn). If it fails, the replay stops there
    /// with [`PartialReplay`](crate::PartialReplay). If it panics the panic goes to who replays, and the next replay calls it anew.
    ///
    /// It is dropped when the graph is reset.
    pub fn seam(mut self, body: impl FnMut(&mut Eager<'_>) -> Result<(), Error> + Send + 'static) -> Self {
        self.data.push_seam(Seam::new(body));
        self
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
