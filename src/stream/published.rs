//! `Stream<Published>`: the graph may be replayed, from any thread.

use cudarc::driver::sys::CUgraphExec;

use super::Stream;
use super::capturing::Recorded;
use super::transition::{HasPublished, sealed};
use crate::error::{Error, Misuse, Rejected, UpdateRefused};
use crate::graph::Census;
use crate::runtime::{
    CapturePolicy, Captured, Eager, Follower, InFlight, Keep, Publication, Replayer, Segment, Token, UpdatePolicy,
};
use crate::seal::OnlyForDacapo;
use crate::state::sealed_state;
use crate::state::{Capturing, Idle, Instantiated, Mode, Phase, Published, State};
use crate::trace::{section, tell};

/// What a published stream has.
pub struct PublishedData {
    /// First, so that it is dropped first: it retires the generation before the graph is destroyed.
    pub(super) publication: Publication,
    pub(super) captured: Captured,
    pub(super) last_update: Option<Update>,
}

/// What became of the last update of a published graph.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::{Device, Enqueue, ThreadLocal, Update};
///
/// let mut stream = Device::open(0)?.stream()?;
/// let (a, b) = (stream.alloc::<u32>(1)?, stream.alloc::<u32>(1)?);
/// let published = stream.capture(ThreadLocal, |c| c.fill(&a, 1))?.publish()?;
/// let published = published.update(ThreadLocal, |c| {
///     c.fill(&a, 1)?;
///     c.copy(&a, &b)
/// })?;
/// match published.last_update() {
///     Some(Update::NewGeneration(why)) => println!("generation {}: {why}", published.token().generation()),
///     other => println!("{other:?}"),
/// }
/// assert_eq!(published.token().generation(), 2);
/// # Ok::<(), dacapo::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Update {
    /// The executable took the new contents: same generation, and replayers of it go on.
    InPlace,
    /// The driver refused that, for this reason, and the new capture was published as the next generation.
    NewGeneration(UpdateRefused),
    /// A graph that was captured on another stream was published as the next generation.
    Swapped,
}

impl PublishedData {
    fn token(&self) -> Token {
        self.publication.replayer().token()
    }

    pub(super) fn new(publication: Publication, captured: Captured) -> Self {
        Self { publication, captured, last_update: None }
    }

    /// Puts what was recorded in the place of a segment: within its executable, or as the next generation. On an error
    /// everything is as it was.
    fn update(&mut self, index: usize, recorded: Recorded, policy: &CapturePolicy) -> Result<(), Error> {
        let section =
            section!("update", stream = self.token().stream(), generation = self.token().generation(), segment = index);
        let _entered = section.span.enter();
        let (fresh, turn) = recorded.check(policy)?;
        let published = self.captured.segment_mut(index)?;
        let (fresh, refused) = match published.update(fresh) {
            Ok(Ok(())) => {
                self.last_update = Some(Update::InPlace);
                self.publication.replayer().lane().counts().updated();
                tell!(
                    DEBUG,
                    stream = self.token().stream(),
                    generation = self.token().generation(),
                    "updated in place"
                );
                return Ok(());
            }
            Ok(Err(refused)) => refused,
            Err(error) => {
                // What the driver has made of the executable is not known.
                if let (Err(_), Error::Driver(cause)) = (published.restore(), &error) {
                    self.publication.replayer().lane().poison(*cause);
                }
                return Err(error);
            }
        };
        tell!(DEBUG, stream = self.token().stream(), generation = self.token().generation(), reason = %refused, "update refused");
        if policy.on_refused_update() == UpdatePolicy::Keep {
            return Err(refused.into());
        }
        let lane = self.publication.replayer().lane().clone();
        let segment = Segment::new(&lane, policy, fresh)?;
        let old = std::mem::replace(self.captured.segment_mut(index)?, segment);
        if let Err(error) = self.publication.replace(&self.captured) {
            *self.captured.segment_mut(index)? = old;
            return Err(error);
        }
        self.last_update = Some(Update::NewGeneration(refused));
        // The release waits for the lane.
        drop(turn);
        Ok(lane.release(self.captured.load(vec![old]))?)
    }
}

impl sealed_state::State for Published {
    type Data = PublishedData;

    type Ended = Self;
    type From = Self;

    const PHASE: Phase = Phase::Published;

    fn keep<'a>(in_flight: &'a InFlight, _: &'a PublishedData, _: OnlyForDacapo) -> Keep<'a> {
        Keep { retained: in_flight.retained(), branches: None }
    }
}

impl sealed_state::Resting for Published {
    /// The segment to be updated.
    type Target = usize;
    type Captured = Self;
}

impl sealed::BeginsCapture for Published {
    fn land(
        mut from: PublishedData,
        target: usize,
        recorded: Recorded,
        policy: &CapturePolicy,
        _: OnlyForDacapo,
    ) -> Result<PublishedData, (PublishedData, Error)> {
        match from.update(target, recorded, policy) {
            Ok(()) => Ok(from),
            Err(error) => Err((from, error)),
        }
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
        S::is_ref(self).data.publication.replayer().replay()
    }

    /// Launches one segment of the published graph; see [`Replayer::replay_segment`].
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "cuGraphLaunch")]
    pub fn replay_segment(&self, index: usize) -> Result<(), Error>
    where
        S: HasPublished,
    {
        S::is_ref(self).data.publication.replayer().replay_segment(index)
    }

    /// Enqueues what `body` does and then replays, with nobody else's work in between; see [`Replayer::replay_with`].
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "cuGraphLaunch")]
    pub fn replay_with(&self, body: impl FnOnce(&mut Eager<'_>) -> Result<(), Error>) -> Result<(), Error>
    where
        S: HasPublished,
    {
        S::is_ref(self).data.publication.replayer().replay_with(body)
    }

    /// A handle that follows the graph from generation to generation, through [`swap`](Stream::swap) and updates.
    #[must_use]
    pub fn follower(&self) -> Follower
    where
        S: HasPublished,
    {
        self.replayer().follower()
    }

    /// Begins a capture whose end updates the published graph: within its executable where the driver can
    /// (`cuGraphExecUpdate`), or else as the policy says ([`UpdatePolicy`]). While the capture is open nothing is replayed:
    /// [`Misuse::CaptureOpen`]. Aborted or failed, the graph is published as it was.
    ///
    /// What can be updated: parameters, grids and functions of kernels, addresses and sizes of copies and fills; not what depends
    /// on what, and not a kernel that is launched in clusters. Within the executable the generation stays, and with it every
    /// replayer; see [`last_update`](Stream::last_update).
    ///
    /// # Errors
    /// Still `Published`, with what [`begin`](Self::begin) returns; [`Misuse::SeveralSegments`].
    ///
    /// # References
    /// [cuGraphExecUpdate](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html)
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, ThreadLocal, Update};
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let (a, b) = (stream.alloc::<u32>(1)?, stream.alloc::<u32>(1)?);
    /// let published = stream.capture(ThreadLocal, |c| c.fill(&a, 1))?.publish()?;
    /// let published = published.begin_update(ThreadLocal)?.abort(); // published as it was
    /// let mut capturing = published.begin_update(ThreadLocal)?;
    /// capturing.fill(&b, 1)?;
    /// let mut published = capturing.end()?;
    /// assert_eq!(published.last_update(), Some(&Update::InPlace));
    /// published.replay()?;
    /// assert_eq!((published.read(&a)?, published.read(&b)?), (vec![0], vec![1]));
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[doc(alias = "cuGraphExecUpdate")]
    #[doc(alias = "cuStreamBeginCapture")]
    pub fn begin_update<M: Mode>(self, _mode: M) -> Result<Stream<Capturing<M, Published>>, Rejected<Stream<Published>>>
    where
        S: HasPublished,
    {
        let stream = S::is(self);
        match stream.data.captured.segments().count() {
            1 => stream.open(0),
            of => Err(Rejected::new(stream, Misuse::SeveralSegments { of })),
        }
    }

    /// As [`begin_update`](Self::begin_update), for one of several segments, counted from 0.
    ///
    /// # Errors
    /// Still `Published`, with what [`begin`](Self::begin) returns; [`Misuse::NoSuchSegment`].
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, ThreadLocal};
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let (a, b) = (stream.alloc::<u32>(1)?, stream.alloc::<u32>(1)?);
    /// let captured = stream.capture(ThreadLocal, |c| c.fill(&a, 1))?.capture_segment(ThreadLocal, |c| c.fill(&b, 1))?;
    /// let mut capturing = captured.publish()?.begin_update_segment(1, ThreadLocal)?;
    /// capturing.fill(&b, 2)?;
    /// let mut published = capturing.end()?;
    /// published.replay()?;
    /// assert_eq!((published.read(&a)?, published.read(&b)?), (vec![1], vec![2]));
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[doc(alias = "cuGraphExecUpdate")]
    pub fn begin_update_segment<M: Mode>(
        self,
        index: usize,
        _mode: M,
    ) -> Result<Stream<Capturing<M, Published>>, Rejected<Stream<Published>>>
    where
        S: HasPublished,
    {
        let stream = S::is(self);
        match stream.data.captured.segment(index).map(drop) {
            Ok(()) => stream.open(index),
            Err(misuse) => Err(Rejected::new(stream, misuse)),
        }
    }

    /// Captures what `body` enqueues and updates the published graph with it. The closure form of
    /// [`begin_update`](Self::begin_update), as [`capture`](Self::capture) is of `begin`.
    ///
    /// # Errors
    /// Still `Published`, as it was, with what `begin_update` or [`end`](Self::end) return.
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, ThreadLocal, Update};
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let buffer = stream.alloc::<u32>(1)?;
    /// let published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 1))?.publish()?;
    /// let replayer = published.replayer();
    /// let mut published = published.update(ThreadLocal, |c| c.fill(&buffer, 2))?;
    /// assert_eq!(published.last_update(), Some(&Update::InPlace));
    /// replayer.replay()?;
    /// assert_eq!(published.read(&buffer)?, [2]);
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    pub fn update<M: Mode>(
        self,
        mode: M,
        body: impl FnOnce(&mut Stream<Capturing<M, Published>>) -> Result<(), Error>,
    ) -> Result<Stream<Published>, Rejected<Stream<Published>>>
    where
        S: HasPublished,
    {
        self.begin_update(mode)?.run(body)
    }

    /// A handle to replay with: `Clone + Send + Sync`, for any thread. It keeps nothing of the graph alive.
    #[must_use]
    pub fn replayer(&self) -> Replayer
    where
        S: HasPublished,
    {
        S::is_ref(self).data.publication.replayer().clone()
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
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, Error, ThreadLocal};
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let buffer = stream.alloc::<u32>(1)?;
    /// let published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 7))?.publish()?;
    /// let replayer = published.replayer();
    /// replayer.replay()?;
    /// let mut stream = published.reset()?; // waits for that
    /// assert!(matches!(replayer.replay(), Err(Error::Stale(_))));
    /// assert_eq!(stream.read(&buffer)?, [7]);
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[doc(alias = "cuGraphExecDestroy")]
    pub fn reset(self) -> Result<Stream<Idle>, Rejected<Stream<Idle>>>
    where
        S: HasPublished,
    {
        let Stream { data: PublishedData { publication, captured, .. }, core } = S::is(self);
        drop(publication);
        Stream::<Instantiated> { data: captured, core }.discard()
    }
}

impl Stream<Published> {
    /// What was captured.
    #[must_use]
    pub fn census(&self) -> Census {
        self.data.captured.census()
    }

    /// What each segment holds, in the order in which they are replayed.
    #[must_use]
    pub fn segments(&self) -> Vec<Census> {
        self.data.captured.segments().map(Segment::census).cloned().collect()
    }

    /// Whether there is one segment only, and no seam: then a replay is one launch.
    #[must_use]
    pub fn is_single_segment(&self) -> bool {
        self.data.captured.is_single_segment()
    }

    /// What became of the last update or swap; `None` before the first.
    #[must_use]
    pub fn last_update(&self) -> Option<&Update> {
        self.data.last_update.as_ref()
    }

    /// Publishes what was captured on another stream as the next generation, in place of what is published here, while replays
    /// go on: each runs whole, on the old graph or on the new one. Replayers of the old generation are stale from then on,
    /// followers go on. Then drains, and releases the old graph.
    ///
    /// Gives back the other stream, idle.
    ///
    /// # Errors
    /// The other stream comes back as it was, with [`Misuse::WrongContext`] unless both are of one device;
    /// [`Misuse::GenerationsExhausted`]; [`DriverError`](crate::DriverError) if the other stream cannot be drained.
    /// The swap has happened if the release of the old graph fails: [`Poisoned`](crate::Poisoned) is then what the next operation
    /// on this stream says.
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, ThreadLocal, Update};
    ///
    /// let device = Device::open(0)?;
    /// let mut stream = device.stream()?;
    /// let buffer = stream.alloc::<u32>(1)?;
    /// let mut published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 1))?.publish()?;
    /// let follower = published.follower();
    /// let other = device.stream()?.capture(ThreadLocal, |c| c.fill(&buffer, 2))?;
    /// let _idle = std::thread::scope(|scope| {
    ///     let replays = scope.spawn(|| (0..100).try_for_each(|_| follower.replay().map(drop)));
    ///     let swapped = published.swap(other);
    ///     replays.join().unwrap()?; // none was lost
    ///     swapped.map_err(dacapo::Error::from)
    /// })?;
    /// assert_eq!(published.last_update(), Some(&Update::Swapped));
    /// follower.replay()?;
    /// assert_eq!(published.read(&buffer)?, [2]);
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    pub fn swap(&mut self, other: Stream<Instantiated>) -> Result<Stream<Idle>, Rejected<Stream<Instantiated>>> {
        let lane = self.core.lane.clone();
        let ready = lane.check_context(other.device(), "graph").map_err(Error::from);
        // What it was uploaded with is on the other stream.
        let ready = ready.and_then(|()| other.core.lane.drain());
        if let Err(error) = ready.and_then(|()| self.data.publication.replace(&other.data)) {
            return Err(Rejected::new(other, error));
        }
        let Stream { data: mut captured, core } = other;
        captured.move_to(&lane);
        let old = std::mem::replace(&mut self.data.captured, captured);
        self.data.last_update = Some(Update::Swapped);
        if let Err(poisoned) = old.release() {
            lane.tell(&poisoned);
        }
        Ok(Stream { data: (), core })
    }

    /// The executable of the first segment, for calls of the driver that this crate has no wrapper for.
    ///
    /// # Safety
    /// 1. It is not destroyed, and not used once the stream has been reset or dropped.
    /// 2. The driver does not synchronise executables (D8): while it is used, nobody replays it.
    /// 3. What is launched or changed through it keeps to what the graph retains: an address that is put into a node outlives
    ///    the graph.
    #[expect(unsafe_code, reason = "lends what the driver does not guard")]
    #[must_use]
    pub unsafe fn cu_graph_exec(&self) -> CUgraphExec {
        self.data.captured.program().first.raw()
    }

    /// What the publication is called.
    #[must_use]
    pub fn token(&self) -> Token {
        self.data.token()
    }

    /// Replays that the driver has taken so far, by all replayers of this generation. Waits for one that is being submitted.
    #[must_use]
    pub fn replays(&self) -> u64 {
        self.data.publication.replays()
    }
}

static_assertions::assert_impl_all!(Stream<Published>: Send);
static_assertions::assert_impl_all!(Rejected<Stream<Published>>: Send, Sync);
