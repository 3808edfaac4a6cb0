//! `Stream<Instantiated>`: the graph is there, and nobody else knows it.

use super::Stream;
use super::capturing::Recorded;
use super::published::PublishedData;
use super::transition::{CanBeginSegment, CanPublish, sealed};
use crate::error::{BoxError, Error, Rejected};
use crate::graph::Census;
use crate::runtime::{CapturePolicy, Captured, Check, Eager, InFlight, Keep, Publication, Seam, Segment};
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
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, ThreadLocal};
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let (a, b) = (stream.alloc::<u32>(1)?, stream.alloc::<u32>(1)?);
    /// let first = stream.capture(ThreadLocal, |c| c.fill(&a, 7))?;
    /// let first = first.begin_segment(ThreadLocal)?.abort(); // what was there is there still
    /// let mut capturing = first.begin_segment(ThreadLocal)?;
    /// capturing.copy(&a, &b)?;
    /// let captured = capturing.end()?;
    /// assert_eq!(captured.segments().len(), 2);
    /// # Ok::<(), dacapo::Error>(())
    /// ```
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

    /// Launches everything that was captured, once and in order, as a [`replay`](crate::Replayer::replay) does: to try the graph out before
    /// others get at it, or to have its results before more is captured. (It is published for that long, to nobody, and takes a
    /// generation number.)
    ///
    /// # Errors
    /// As [`replay`](crate::Replayer::replay); [`Misuse::GenerationsExhausted`](crate::Misuse::GenerationsExhausted).
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, ThreadLocal};
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let (a, b) = (stream.alloc::<u32>(1)?, stream.alloc::<u32>(1)?);
    /// let mut captured = stream.capture(ThreadLocal, |c| c.fill(&a, 7))?;
    /// captured.launch_all()?;
    /// assert_eq!(captured.read(&a)?, [7]);
    /// let mut captured = captured.capture_segment(ThreadLocal, |c| c.copy(&a, &b))?;
    /// captured.launch_segment(1)?;
    /// assert_eq!(captured.read(&b)?, [7]);
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[doc(alias = "cuGraphLaunch")]
    pub fn launch_all(&mut self) -> Result<(), Error> {
        Publication::new(&self.core.lane, &self.data)?.replayer().replay()
    }

    /// Launches one segment, counted from 0; see [`launch_all`](Self::launch_all).
    ///
    /// # Errors
    /// As [`replay_segment`](crate::Replayer::replay_segment); [`Misuse::GenerationsExhausted`](crate::Misuse::GenerationsExhausted).
    #[doc(alias = "cuGraphLaunch")]
    pub fn launch_segment(&mut self, index: usize) -> Result<(), Error> {
        Publication::new(&self.core.lane, &self.data)?.replayer().replay_segment(index)
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
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use std::sync::Arc;
    /// use dacapo::{Device, Enqueue, ThreadLocal};
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let logits = stream.alloc::<u32>(2)?;
    /// let (seen, largest) = (logits.clone(), Arc::new(AtomicU32::new(0)));
    /// let told = largest.clone();
    /// let captured = stream.capture(ThreadLocal, |c| c.fill(&logits, 5))?.seam(move |eager| {
    ///     let values = eager.read(&seen)?; // waits for the segment before
    ///     told.store(values.into_iter().max().unwrap_or(0), Ordering::Relaxed);
    ///     Ok(())
    /// });
    /// assert!(!captured.is_single_segment());
    /// captured.publish()?.replay()?;
    /// assert_eq!(largest.load(Ordering::Relaxed), 5);
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    pub fn seam(mut self, body: impl FnMut(&mut Eager<'_>) -> Result<(), Error> + Send + 'static) -> Self {
        self.data.push_seam(Seam::new(body));
        self
    }

    /// Has `check` asked before each replay, on the thread that replays: for a plan that depends on a mode or policy of the
    /// engine. If it refuses, the replay fails with [`NotValid`](crate::NotValid) and nothing is launched. Of several, all are asked, in
    /// this order, until one refuses.
    ///
    /// It is called in nobody's turn, so it may take its time and do what it likes, and what it looks at may change right after. It
    /// stays through updates, and goes where the graph goes in a [`swap`](Stream::swap). A graph without one pays nothing.
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use dacapo::{Device, Enqueue, Error, ThreadLocal};
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let buffer = stream.alloc::<u32>(1)?;
    /// let greedy = Arc::new(AtomicBool::new(true));
    /// let mode = greedy.clone();
    /// let published = stream
    ///     .capture(ThreadLocal, |c| c.fill(&buffer, 7))?
    ///     .valid_while(move || match mode.load(Ordering::Relaxed) {
    ///         true => Ok(()),
    ///         false => Err("captured for greedy decoding"),
    ///     })
    ///     .publish()?;
    /// published.replay()?;
    /// greedy.store(false, Ordering::Relaxed);
    /// assert!(matches!(published.replay(), Err(Error::NotValid(_))));
    /// assert_eq!(published.replays(), 1);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn valid_while<E: Into<BoxError>>(mut self, check: impl Fn() -> Result<(), E> + Send + Sync + 'static) -> Self {
        self.data.push_check(Check::new(check));
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
