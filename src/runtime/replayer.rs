//! Publishing a captured graph, and replaying it from any thread.

#![allow(unsafe_code)]

use std::fmt;

use super::captured::Captured;
use super::completion::{Completion, Waiting};
use super::eager::Eager;
use super::in_flight::InFlight;
use super::lane::{Lane, LaneExclusive, LaneTurn};
use super::measure::{Measurement, Stopwatch};
use super::program::{Program, Step};
use super::slots::{Current, Token};
use crate::driver::{ExecutableHandle, GraphLauncher};
use crate::error::{Error, Misuse, PartialReplay};
use crate::sync::Arc;
use crate::trace::{range, tell};

/// Replays one published graph. Cheap to clone; any thread.
///
/// A replayer names one generation. Once that is reset or dropped, [`replay`](Self::replay) refuses with
/// [`Stale`](crate::Stale) and launches nothing. It keeps the CUDA stream and its context alive, and nothing of the graph.
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
/// std::thread::scope(|scope| scope.spawn(|| replayer.replay()).join().unwrap())?;
/// drop(published);
/// assert!(matches!(replayer.replay(), Err(Error::Stale(_))));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Replayer {
    lane: Arc<Lane>,
    token: Token,
    /// For a look, not for admission.
    current: Arc<Current>,
    /// The lane's, at hand: a replay comes from a driver call that has emptied the caches, and the fewer lines it touches
    /// the better.
    launcher: GraphLauncher,
}

impl Replayer {
    /// Launches the graph, after everything enqueued on the stream so far. Returns once it is enqueued.
    ///
    /// Allocates nothing, binds no context, and takes no lock but the lane's, which is held for the length of one
    /// launch. That launch blocks while the driver's queue is full (D18), and everybody who wants the lock with it.
    ///
    /// What has several segments launches them all, in order, with nobody else's work in between; its
    /// [seams](crate::Stream::seam) run on this thread.
    ///
    /// # Errors
    /// [`Stale`](crate::Stale) if the generation is not published any more; [`Misuse::CaptureOpen`] while a sibling of the stream
    /// captures; [`Misuse::OutOfTurn`] in a seam of the same stream; [`NotValid`](crate::NotValid) if the engine's own check refuses
    /// ([`valid_while`](crate::Stream::valid_while)); [`DriverError`](crate::DriverError) if the
    /// driver refuses the launch. In all these cases nothing was enqueued. [`PartialReplay`] if a later segment or a seam fails.
    ///
    /// # References
    /// [cuGraphLaunch](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html)
    #[doc(alias = "cuGraphLaunch")]
    #[inline]
    pub fn replay(&self) -> Result<(), Error> {
        self.replay_as(self.token)
    }

    #[inline]
    fn replay_as(&self, token: Token) -> Result<(), Error> {
        let _range = range!("replay");
        let replayed = self.replay_untold(token);
        told(token, None, &replayed);
        replayed
    }

    #[inline]
    fn replay_untold(&self, token: Token) -> Result<(), Error> {
        let mut turn = self.lane.order().turn_for(token)?;
        let live = turn.slots.admit(token)?;
        if live.program.rest.is_some() {
            return self.replay_steps(turn, token);
        }
        self.launch(live.program.first)?;
        live.replays += 1;
        Ok(())
    }

    /// Launches what a live slot publishes, in a turn.
    #[inline]
    pub(crate) fn launch(&self, executable: ExecutableHandle) -> Result<(), Error> {
        // SAFETY:
        // 1. A live slot's executables are alive (invariant 2 of `slots`), and are launched in a turn only.
        // 2. `Captured` holds what its nodes name, until the slot is retired and the stream has drained; that the
        //    kernels are sound to run is what the `unsafe` recording of each vouched for.
        // 3. The lane keeps the stream alive. Nobody has a turn while a capture of ours is open on it.
        let launched = unsafe { self.launcher.graph_launch(executable) };
        self.lane.heard(launched)
    }

    /// Replays what is more than one segment, or has a check.
    #[cold]
    fn replay_steps(&self, turn: LaneTurn<'_>, token: Token) -> Result<(), Error> {
        let mut turn = self.checked(turn, token)?;
        let live = turn.slots.admit(token)?;
        let program = live.program.clone();
        if program.has_seams() {
            let exclusive = self.lane.order().hold_exclusively(turn);
            return self.run(token, &program, &exclusive, &mut Loose::new(&self.lane));
        }
        for (done, executable) in program.executables().enumerate() {
            self.launch(executable).map_err(|error| PartialReplay::after(done, program.steps().count(), error))?;
        }
        live.replays += 1;
        Ok(())
    }

    /// A turn for something other than a plain replay.
    fn turn(&self) -> Result<LaneTurn<'_>, Error> {
        self.checked(self.lane.order().turn_for(self.token)?, self.token)
    }

    /// A turn in which the engine's own checks have passed, if there are any. They are asked between turns, and the generation may
    /// have gone when this returns; within a generation they stay the same.
    fn checked<'a>(&'a self, mut turn: LaneTurn<'a>, token: Token) -> Result<LaneTurn<'a>, Error> {
        let program = &turn.slots.admit(token)?.program;
        if !program.has_checks() {
            return Ok(turn);
        }
        let program = program.clone();
        drop(turn);
        program.check()?;
        self.lane.order().turn_for(token)
    }

    /// Runs all of a program, for an exclusive holder.
    fn run(
        &self,
        token: Token,
        program: &Program,
        exclusive: &LaneExclusive<'_>,
        work: &mut Loose<'_>,
    ) -> Result<(), Error> {
        for (done, step) in program.steps().enumerate() {
            let stepped = match step {
                Step::Seam(seam) => seam.run(&mut Eager::in_turn(exclusive, &self.lane, &mut work.in_flight)),
                Step::Launch(executable) => self.launch_in(exclusive, token, executable),
            };
            stepped.map_err(|error| PartialReplay::after(done, program.steps().count(), error))?;
        }
        // A seam may have retired it, on this thread.
        if let Ok(live) = exclusive.turn().slots.admit(token) {
            live.replays += 1;
        }
        Ok(())
    }

    /// Launches in a turn of the exclusive holder's, if the publication still stands: a seam may have retired it.
    fn launch_in(
        &self,
        exclusive: &LaneExclusive<'_>,
        token: Token,
        executable: ExecutableHandle,
    ) -> Result<(), Error> {
        let mut turn = exclusive.turn();
        turn.slots.admit(token)?;
        self.launch(executable)
    }

    /// Launches one segment of the graph, counted from 0.
    ///
    /// Does not count as a replay. Refused if the graph has seams: they would be left out.
    ///
    /// # Errors
    /// As [`replay`](Self::replay); [`Misuse::NoSuchSegment`], [`Misuse::HasSeams`].
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, ThreadLocal};
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let (a, b) = (stream.alloc::<u32>(1)?, stream.alloc::<u32>(1)?);
    /// let captured = stream.capture(ThreadLocal, |c| c.fill(&a, 1))?.capture_segment(ThreadLocal, |c| c.fill(&b, 1))?;
    /// let mut published = captured.publish()?;
    /// published.replayer().replay_segment(1)?;
    /// assert_eq!((published.read(&a)?, published.read(&b)?), (vec![0], vec![1]));
    /// assert!(published.replay_segment(2).is_err());
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[doc(alias = "cuGraphLaunch")]
    pub fn replay_segment(&self, index: usize) -> Result<(), Error> {
        let _range = range!("replay");
        let replayed = self.replay_segment_untold(index);
        told(self.token, Some(index), &replayed);
        replayed
    }

    fn replay_segment_untold(&self, index: usize) -> Result<(), Error> {
        let mut turn = self.turn()?;
        let live = turn.slots.admit(self.token)?;
        let of = live.program.executables().count();
        let executable = live.program.executables().nth(index).ok_or(Misuse::NoSuchSegment { index, of })?;
        if live.program.has_seams() {
            return Err(Misuse::HasSeams.into());
        }
        self.launch(executable)
    }

    /// Enqueues what `body` does and then replays, with nobody else's work in between: two threads that upload inputs and
    /// replay never mix them.
    ///
    /// # Errors
    /// `body`'s own, and then nothing is launched; or as [`replay`](Self::replay).
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, ThreadLocal};
    ///
    /// let device = Device::open(0)?;
    /// let mut stream = device.stream()?;
    /// let (input, output) = (stream.alloc::<u32>(2)?, stream.alloc::<u32>(2)?);
    /// let published = stream.capture(ThreadLocal, |c| c.copy(&input, &output))?.publish()?;
    /// let replayer = published.replayer();
    /// replayer.replay_with(|eager| eager.fill(&input, 7))?;
    /// # let mut published = published;
    /// assert_eq!(published.read(&output)?, [7, 7]);
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    pub fn replay_with(&self, body: impl FnOnce(&mut Eager<'_>) -> Result<(), Error>) -> Result<(), Error> {
        self.replay_around(body, |_| Ok(()))
    }

    /// Enqueues what `before` does, replays, and enqueues what `after` does, with nobody else's work in between: an answer that is
    /// read there is this replay's. Returns what `after` does.
    ///
    /// # Errors
    /// `before`'s own, and then nothing is launched; as [`replay`](Self::replay); or `after`'s own.
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, Output, ThreadLocal};
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let input = stream.alloc::<u32>(1)?;
    /// let output = Output::<u32>::new(&mut stream.eager(), 1, 2)?;
    /// let published = stream.capture(ThreadLocal, |c| c.copy(&input, output.buffer()))?.publish()?;
    /// let replayer = published.replayer();
    /// let answers = [7, 8].map(|token| replayer.replay_around(|eager| eager.fill(&input, token), |eager| output.read(eager)));
    /// for (answer, token) in answers.into_iter().zip([7, 8]) {
    ///     assert_eq!(answer?.wait()?, [token]); // its own, though both were on their way
    /// }
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    pub fn replay_around<R>(
        &self,
        before: impl FnOnce(&mut Eager<'_>) -> Result<(), Error>,
        after: impl FnOnce(&mut Eager<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let _range = range!("replay");
        let replayed = self.replay_around_untold(before, after);
        told(self.token, None, &replayed);
        replayed
    }

    fn replay_around_untold<R>(
        &self,
        before: impl FnOnce(&mut Eager<'_>) -> Result<(), Error>,
        after: impl FnOnce(&mut Eager<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let mut turn = self.turn()?;
        turn.slots.admit(self.token)?;
        self.lane.device().check_fault()?;
        let exclusive = self.lane.order().hold_exclusively(turn);
        let mut work = Loose::new(&self.lane);
        before(&mut Eager::in_turn(&exclusive, &self.lane, &mut work.in_flight))?;
        self.replay_in(&exclusive, &mut work)?;
        after(&mut Eager::in_turn(&exclusive, &self.lane, &mut work.in_flight))
    }

    /// Replays all of it, for an exclusive holder.
    fn replay_in(&self, exclusive: &LaneExclusive<'_>, work: &mut Loose<'_>) -> Result<(), Error> {
        let program = exclusive.turn().slots.admit(self.token)?.program.clone();
        self.run(self.token, &program, exclusive, work)
    }

    /// Replays, and returns what tells when that replay has finished, whatever is enqueued after it.
    ///
    /// # Errors
    /// As [`replay`](Self::replay), and if the event cannot be had; then nothing was launched.
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use std::time::Duration;
    /// use dacapo::{Device, Enqueue, ThreadLocal, Waiting};
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let buffer = stream.alloc::<u32>(1)?;
    /// let published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 7))?.publish()?;
    /// let completion = published.replayer().replay_tracked(Waiting::Sleep)?;
    /// while !completion.wait_for(Duration::from_millis(100))? {
    ///     println!("still running");
    /// }
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[doc(alias = "cuEventRecord")]
    pub fn replay_tracked(&self, waiting: Waiting) -> Result<Completion, Error> {
        let completion = Completion::unrecorded(&self.lane, waiting)?;
        self.replay_around(|_| Ok(()), |eager| eager.record(completion.event()))?;
        Ok(completion)
    }

    /// Replays so many times, one right after the other and with nobody else's work in between, and measures that by the device's
    /// clock. Waits until the last has finished.
    ///
    /// # Errors
    /// [`Misuse::NoIterations`] for none; as [`replay`](Self::replay).
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, ThreadLocal};
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let buffer = stream.alloc::<u32>(1024)?;
    /// let published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 7))?.publish()?;
    /// let measured = published.replayer().measure(10)?;
    /// println!("{:?} a replay", measured.per_replay());
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[doc(alias = "cuEventElapsedTime")]
    pub fn measure(&self, iterations: u32) -> Result<Measurement, Error> {
        if iterations == 0 {
            return Err(Misuse::NoIterations.into());
        }
        let stopwatch = Stopwatch::new(&self.lane)?;
        let exclusive = self.lane.order().hold_exclusively(self.turn()?);
        let mut work = Loose::new(&self.lane);
        stopwatch.start(&self.lane)?;
        for _ in 0..iterations {
            self.replay_in(&exclusive, &mut work)?;
        }
        stopwatch.stop(&self.lane)?;
        drop(exclusive);
        let total = stopwatch.elapsed(&self.lane)?;
        tell!(
            DEBUG,
            stream = self.token.stream(),
            generation = self.token.generation(),
            iterations,
            ?total,
            "measured"
        );
        Ok(Measurement { iterations, total })
    }

    /// A handle that follows the graph from generation to generation, through hot swaps and updates, until it is reset.
    #[must_use]
    pub fn follower(&self) -> Follower {
        Follower(self.clone())
    }

    /// Whether the generation is still published. Another thread may reset it right after. Waits for nothing.
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, ThreadLocal};
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let buffer = stream.alloc::<u32>(1)?;
    /// let published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 7))?.publish()?;
    /// let replayer = published.replayer();
    /// assert!(replayer.is_current());
    /// drop(published.reset()?);
    /// assert!(!replayer.is_current());
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.current.get(self.token) == Some(self.token)
    }

    pub(crate) fn lane(&self) -> &Arc<Lane> {
        &self.lane
    }

    /// What this replayer names.
    #[must_use]
    pub fn token(&self) -> Token {
        self.token
    }
}

/// Tells of a replay, or of one that was refused or has failed.
#[inline]
#[cfg_attr(not(feature = "tracing"), expect(unused_variables, reason = "nobody is told"))]
fn told<R>(token: Token, segment: Option<usize>, replayed: &Result<R, Error>) {
    match replayed {
        Ok(_) => tell!(TRACE, stream = token.stream(), generation = token.generation(), segment, "replay"),
        Err(error) => {
            tell!(DEBUG, stream = token.stream(), generation = token.generation(), segment, %error, "replay refused");
        }
    }
}

/// Eager work of nobody's stream: handed to the lane when it is done, on unwinding too.
pub(crate) struct Loose<'a> {
    lane: &'a Arc<Lane>,
    pub(crate) in_flight: InFlight,
}

impl<'a> Loose<'a> {
    pub(crate) fn new(lane: &'a Arc<Lane>) -> Self {
        Self { lane, in_flight: InFlight::new(lane) }
    }
}

impl Drop for Loose<'_> {
    fn drop(&mut self) {
        if !self.in_flight.is_empty() {
            self.lane.keep(self.in_flight.take());
        }
    }
}

/// Replays whatever generation of a graph is published at that moment. Cheap to clone; any thread.
///
/// Where a [`Replayer`] names one generation and is stale once that is replaced, a follower goes on with the next. Each replay
/// runs whole, on one generation, whose token it returns. After a reset it is [`Stale`](crate::Stale) too.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::{Device, Enqueue, Error, ThreadLocal};
///
/// let device = Device::open(0)?;
/// let mut stream = device.stream()?;
/// let buffer = stream.alloc::<u32>(1)?;
/// let mut published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 1))?.publish()?;
/// let (replayer, follower) = (published.replayer(), published.follower());
/// let other = device.stream()?.capture(ThreadLocal, |c| c.fill(&buffer, 2))?;
/// let _idle = published.swap(other)?;
/// assert!(matches!(replayer.replay(), Err(Error::Stale(_))));
/// assert_eq!(follower.replay()?, published.token());
/// assert_eq!(published.read(&buffer)?, [2]);
/// # Ok::<(), dacapo::Error>(())
/// ```
#[derive(Clone)]
pub struct Follower(Replayer);

impl Follower {
    /// Launches the graph that is published now; see [`Replayer::replay`].
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "cuGraphLaunch")]
    pub fn replay(&self) -> Result<Token, Error> {
        self.0.current.follow(self.0.token, |token| self.0.replay_as(token))
    }

    /// A replayer of the generation that is published now; `None` after a reset.
    #[must_use]
    pub fn current(&self) -> Option<Replayer> {
        let token = self.0.current.get(self.0.token)?;
        Some(Replayer { token, ..self.0.clone() })
    }
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower")
            .field("current", &self.current().map(|replayer| replayer.token))
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Replayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replayer").field("token", &self.token).finish_non_exhaustive()
    }
}

/// A slot that is live for as long as this value.
///
/// Dropping it retires the generation: once that returns no replay is newly enqueued, and every one that was admitted
/// has been.
pub(crate) struct Publication(Replayer);

impl Publication {
    /// Publishes `captured`, which has to outlive the publication.
    pub(crate) fn new(lane: &Arc<Lane>, captured: &Captured) -> Result<Self, Misuse> {
        Self::of(lane, captured.program())
    }

    /// Publishes a program whose executables outlive the publication.
    pub(crate) fn of(lane: &Arc<Lane>, program: Program) -> Result<Self, Misuse> {
        let token = lane.order().slots().slots.publish(lane.id(), program)?;
        let (lane, launcher) = (lane.clone(), lane.driver().graph_launcher(lane.handle()));
        let current = Arc::new(Current::new(token));
        tell!(DEBUG, stream = token.stream(), generation = token.generation(), "published");
        Ok(Self(Replayer { lane, token, current, launcher }))
    }

    /// Publishes `captured` as the next generation, in place of the present one. Once this returns no replay of that is newly
    /// enqueued, and every one that was admitted has been.
    pub(crate) fn replace(&mut self, captured: &Captured) -> Result<(), Error> {
        let mut turn = self.0.lane.order().slots_at_rest();
        let (token, replays) = turn.slots.replace(self.0.token, captured.program())?;
        self.0.token = token;
        self.0.lane.counts().retired(replays);
        self.0.lane.counts().replaced();
        self.0.current.set(Some(token));
        drop(turn);
        tell!(DEBUG, stream = token.stream(), generation = token.generation(), "new generation");
        Ok(())
    }

    pub(crate) fn replayer(&self) -> &Replayer {
        &self.0
    }

    /// Launches that the driver has taken.
    pub(crate) fn replays(&self) -> u64 {
        // Live for as long as `self`, so there is a count.
        self.0.lane.order().slots().slots.admit(self.0.token).map_or(0, |live| live.replays)
    }
}

impl Drop for Publication {
    fn drop(&mut self) {
        // Waits for the lock, and so for a replay that was admitted.
        let mut turn = self.0.lane.order().slots_at_rest();
        let replays = turn.slots.retire(self.0.token);
        self.0.lane.counts().retired(replays);
        self.0.current.set(None);
        drop(turn);
        tell!(DEBUG, stream = self.0.token.stream(), generation = self.0.token.generation(), replays, "retired");
    }
}

static_assertions::assert_impl_all!(Replayer: Send, Sync, Clone);
static_assertions::assert_impl_all!(Follower: Send, Sync, Clone);
