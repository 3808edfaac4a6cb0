//! What a capture may yield, and what happens when its work cannot be proven complete.

use std::time::Duration;

use crate::error::Refusal;
use crate::graph::{Census, Manifest, NodeCounts};
use crate::node_kind::NodeKind;
use crate::sync::Arc;

/// What the end of a capture takes, and how.
///
/// The default refuses an empty graph and one that allocates memory, uploads the executable, and keeps captured storage
/// for good when its work cannot be proven complete. Set it with
/// [`Stream::with_policy`](crate::Stream::with_policy). Cheap to clone.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use std::time::Duration;
/// use dacapo::{CapturePolicy, Device, FailStop, NodeKind, UpdatePolicy};
///
/// let policy = CapturePolicy::new()
///     .expect([(NodeKind::Kernel, 53), (NodeKind::Memcpy, 2)])
///     .update(UpdatePolicy::Keep)
///     .retries(3)
///     .drain_deadline(Duration::from_secs(10))
///     .fail_stop(FailStop::Abort);
/// let stream = Device::open(0)?.stream()?.with_policy(policy.clone());
/// assert_eq!(stream.policy(), policy);
/// # Ok::<(), dacapo::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use]
pub struct CapturePolicy {
    allow_empty: bool,
    memory_nodes: MemoryNodes,
    upload: bool,
    fail_stop: FailStop,
    drain_limit: Option<Duration>,
    update: UpdatePolicy,
    retries: u32,
    expected: Option<Arc<NodeCounts>>,
    manifest: Option<Arc<Manifest>>,
}

impl CapturePolicy {
    /// The default.
    pub const fn new() -> Self {
        Self {
            allow_empty: false,
            memory_nodes: MemoryNodes::Refuse,
            upload: true,
            fail_stop: FailStop::Leak,
            drain_limit: None,
            update: UpdatePolicy::Reinstantiate,
            retries: 0,
            expected: None,
            manifest: None,
        }
    }

    /// Whether a graph without nodes is taken. It instantiates and launches, and does nothing (D14).
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{CapturePolicy, Device, Error, Refusal, ThreadLocal};
    ///
    /// let stream = Device::open(0)?.stream()?;
    /// let rejected = stream.capture(ThreadLocal, |_| Ok(())).unwrap_err();
    /// assert!(matches!(rejected.error(), Error::Refused(Refusal::Empty)));
    /// let stream = rejected.into_stream().with_policy(CapturePolicy::new().allow_empty(true));
    /// assert_eq!(stream.capture(ThreadLocal, |_| Ok(()))?.census().nodes(), 0);
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    pub const fn allow_empty(mut self, allow: bool) -> Self {
        self.allow_empty = allow;
        self
    }

    /// What becomes of a graph that allocates or frees memory, in nodes of its own (those of a child graph are not looked for; a
    /// capture yields none).
    pub const fn memory_nodes(mut self, memory_nodes: MemoryNodes) -> Self {
        self.memory_nodes = memory_nodes;
        self
    }

    /// Whether the executable is uploaded at the end, so that the first replay is as fast as the others (for 1,000
    /// kernels on an H200: 6 µs instead of 820).
    pub const fn upload(mut self, upload: bool) -> Self {
        self.upload = upload;
        self
    }

    /// What happens when captured work cannot be proven complete.
    pub const fn fail_stop(mut self, fail_stop: FailStop) -> Self {
        self.fail_stop = fail_stop;
        self
    }

    /// For how long a reset, discard or drop may wait for captured work to finish. If it has not by then, completion is unproven: what the
    /// work uses is kept for good, and what else happens is as [`fail_stop`](Self::fail_stop) says. Without a limit, which is the
    /// default, it waits for ever.
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use std::time::Duration;
    /// use dacapo::{CapturePolicy, Device, Enqueue, Error, ThreadLocal};
    ///
    /// let policy = CapturePolicy::new().drain_deadline(Duration::from_secs(1));
    /// let mut stream = Device::open(0)?.stream()?.with_policy(policy);
    /// let buffer = stream.alloc::<u32>(1)?;
    /// let published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 1))?.publish()?;
    /// published.replay()?;
    /// match published.reset() {
    ///     Ok(_idle) => {}
    ///     Err(rejected) => match rejected.error() {
    ///         Error::Poisoned(poisoned) => eprintln!("what was captured is kept for good: {poisoned}"),
    ///         other => eprintln!("{other}"),
    ///     },
    /// }
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    pub const fn drain_deadline(mut self, limit: Duration) -> Self {
        self.drain_limit = Some(limit);
        self
    }

    /// What happens to a published graph that cannot be updated in place.
    pub const fn update(mut self, update: UpdatePolicy) -> Self {
        self.update = update;
        self
    }

    /// How often [`capture_or_eager`](crate::Stream::capture_or_eager) makes a capture again that others have invalidated. Not at all
    /// by default.
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{CapturePolicy, CapturedOrEager, Device, Enqueue, ThreadLocal};
    ///
    /// let stream = Device::open(0)?.stream()?;
    /// let mut stream = stream.with_policy(CapturePolicy::new().retries(2));
    /// let buffer = stream.alloc::<u32>(1)?;
    /// match stream.capture_or_eager(ThreadLocal, |work| work.fill(&buffer, 1))? {
    ///     CapturedOrEager::Captured(captured) => println!("{}", captured.census()),
    ///     CapturedOrEager::Eager(_, why) => println!("ran eagerly: {why}"),
    ///     _ => {}
    /// }
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    pub const fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Takes a graph only with so many nodes of each kind, and refuses another with
    /// [`Refusal::Count`](crate::Refusal::Count). Each segment is a graph of its own.
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{CapturePolicy, Device, Enqueue, NodeKind, ThreadLocal};
    ///
    /// let stream = Device::open(0)?.stream()?;
    /// let policy = CapturePolicy::new().expect([(NodeKind::Memset, 1), (NodeKind::Memcpy, 1)]);
    /// let mut stream = stream.with_policy(policy);
    /// let x = stream.alloc::<f32>(4)?;
    /// let rejected = stream.capture(ThreadLocal, |c| c.fill(&x, 1.0)).unwrap_err();
    /// assert_eq!(
    ///     rejected.error().to_string(),
    ///     "the captured graph has 0 memcpy nodes, expected were 1 (CapturePolicy::expect)"
    /// );
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    pub fn expect(mut self, counts: impl Into<NodeCounts>) -> Self {
        self.expected = Some(Arc::new(counts.into()));
        self
    }

    /// Takes a graph only if it launches what the manifest says, in its order, and refuses another with
    /// [`Refusal::Manifest`](crate::Refusal::Manifest), which names the first difference. Each segment is a graph of its own.
    pub fn manifest(mut self, manifest: impl Into<Arc<Manifest>>) -> Self {
        self.manifest = Some(manifest.into());
        self
    }

    /// Whether this graph is one to take.
    pub(crate) fn check(&self, census: &Census) -> Result<(), Refusal> {
        if census.nodes() == 0 && !self.allow_empty {
            return Err(Refusal::Empty);
        }
        let (allocations, frees) = (census.count(NodeKind::MemAlloc), census.count(NodeKind::MemFree));
        if allocations + frees > 0 && self.memory_nodes == MemoryNodes::Refuse {
            return Err(Refusal::MemoryNodes { allocations, frees });
        }
        if let Some(expected) = &self.expected
            && let Some((kind, expected, found)) = expected.first_difference(&census.counts())
        {
            return Err(Refusal::Count { kind, expected, found });
        }
        match &self.manifest {
            Some(manifest) => Ok(manifest.check(census)?),
            None => Ok(()),
        }
    }

    pub(crate) fn drain_limit(&self) -> Option<Duration> {
        self.drain_limit
    }

    pub(crate) fn auto_free_on_launch(&self) -> bool {
        self.memory_nodes == MemoryNodes::AutoFree
    }

    pub(crate) fn uploads(&self) -> bool {
        self.upload
    }

    pub(crate) fn retries_left(&self) -> u32 {
        self.retries
    }

    pub(crate) fn on_refused_update(&self) -> UpdatePolicy {
        self.update
    }

    pub(crate) fn on_unproven(&self) -> FailStop {
        self.fail_stop
    }
}

impl Default for CapturePolicy {
    fn default() -> Self {
        Self::new()
    }
}

/// What becomes of a captured graph that allocates or frees memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MemoryNodes {
    /// Refused, with their number. An allocation that the graph does not free makes its second launch fail with
    /// `CUDA_ERROR_INVALID_VALUE` (D14), so this is the default.
    Refuse,
    /// Taken as it is: the graph frees what it allocates, or you do after each replay.
    Allow,
    /// Taken, and instantiated so that each launch first frees what the one before left
    /// (`CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`). The last launch's allocations are still yours to free.
    AutoFree,
}

/// What happens to a published graph when a new capture cannot take its place within its executable.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::{CapturePolicy, Device, Enqueue, Error, ThreadLocal, UpdatePolicy, UpdateReason};
///
/// let policy = CapturePolicy::new().update(UpdatePolicy::Keep);
/// let mut stream = Device::open(0)?.stream()?.with_policy(policy);
/// let (a, b) = (stream.alloc::<u32>(1)?, stream.alloc::<u32>(1)?);
/// let published = stream.capture(ThreadLocal, |c| c.fill(&a, 1))?.publish()?;
/// let replayer = published.replayer();
/// let (published, error) = published.update(ThreadLocal, |c| c.copy(&a, &b)).unwrap_err().into_parts();
/// match error {
///     Error::UpdateRefused(refused) => assert_eq!(refused.reason, UpdateReason::Kind),
///     other => return Err(other),
/// }
/// replayer.replay()?; // as before
/// # Ok::<(), dacapo::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum UpdatePolicy {
    /// The new capture is instantiated and published as the next generation; the old one is retired and released. Replayers of the
    /// old generation are stale, followers go on.
    Reinstantiate,
    /// The published graph stays as it was, and the update fails with [`UpdateRefused`](crate::UpdateRefused).
    Keep,
}

/// What happens when the drain of captured work fails: it may still be running, so what it uses must not be released.
///
/// (What *eager* work uses is kept for good as well when a drain fails; the error is returned or parked, and the stream goes on.)
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::{CapturePolicy, Device, FailStop};
///
/// // For work that must not go on after what cannot be proven: what several processes or devices share.
/// let policy = CapturePolicy::new().fail_stop(FailStop::Abort);
/// let stream = Device::open(0)?.stream()?.with_policy(policy);
/// # Ok::<(), dacapo::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FailStop {
    /// Keep it for good, poison the stream, return an error.
    Leak,
    /// Print what happened and abort the process. No destructor runs.
    Abort,
}
