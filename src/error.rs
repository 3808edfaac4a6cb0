//! What can go wrong, by family.
//!
//! | family | meaning | the stream afterwards |
//! |---|---|---|
//! | [`DriverError`] | a driver call failed; it says which, and the driver's own name for the code | as the returned state says |
//! | [`Unavailable`] | no driver library, a driver too old, no such device | there is none yet |
//! | [`CaptureFailure`] | a capture did not yield a graph: the body's error, the end's, a parked one | the state the capture began in |
//! | [`Refusal`] | a capture yielded a graph that the policy does not take | the state the capture began in |
//! | [`UpdateRefused`] | a published graph could not be updated in place, and the policy keeps it then | still published, as it was |
//! | [`KernelMismatch`] | a kernel to be updated was not found, or is launched in another way | unchanged |
//! | [`NotValid`] | the engine's own check refused a replay | unchanged, nothing was launched |
//! | [`PartialReplay`] | a replay of several steps has stopped after the first of them | unchanged; what was launched runs |
//! | [`RankFailures`] | one or several of the ranks of a [`Ranks`](crate::Ranks) failed; each with its own error | as the returned state says |
//! | [`PartialSubmission`] | a replay was submitted on some ranks and refused on another; those were drained | unchanged, or poisoned as it says |
//! | [`Unproven`] | ranks could not be drained, so what all of them had captured was kept for good | refuses everything from here on |
//! | [`Misuse`] | an argument that could not be ruled out at compile time, or a call out of turn | unchanged |
//! | [`Stale`] | a replay of a generation that is no longer published | unchanged, nothing was launched |
//! | [`Parked`] | an earlier `Drop` failed, and nobody has heard of it yet | unchanged; the report clears it |
//! | [`Faulted`] | the device has faulted, and its context is lost | refuses everything from here on |
//! | [`Poisoned`] | completion could not be proven, so captured storage was kept for good | refuses everything from here on |
//!
//! Display texts are one line, lower case, without a full stop. No variant holds a free-form string of our own.

mod ranks;

use std::error::Error as StdError;
use std::fmt;

pub use ranks::{PartialSubmission, RankDifference, RankDrain, RankFailure, RankFailures, Unproven};

use crate::kernel_at::KernelMismatch;
use crate::node::{KernelLaunch, Node};
use crate::node_kind::NodeKind;
use crate::sync::StaticMutex;

/// A boxed error of somebody else's, as a capture body may return it.
pub type BoxError = Box<dyn StdError + Send + Sync + 'static>;

/// Any error of this crate.
///
/// Its `Debug` is its `Display`, so that a `main` that returns it, and an `unwrap`, say what a user can read.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A driver call failed.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// There is no usable driver or device.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// A capture failed, in its body, at its end, or both.
    #[error(transparent)]
    Capture(#[from] Box<CaptureFailure>),
    /// A capture succeeded, but the graph is not one that the policy takes.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A published graph could not be updated in place.
    #[error(transparent)]
    UpdateRefused(#[from] Box<UpdateRefused>),
    /// A kernel of a captured graph could not be found, or is not what it is to be updated with.
    #[error(transparent)]
    Kernel(#[from] Box<KernelMismatch>),
    /// The engine's own check refused a replay.
    #[error(transparent)]
    NotValid(#[from] Box<NotValid>),
    /// A replay of several steps has stopped in the middle.
    #[error(transparent)]
    PartialReplay(#[from] Box<PartialReplay>),
    /// One or several ranks failed.
    #[error(transparent)]
    Ranks(#[from] Box<RankFailures>),
    /// A replay was submitted on some ranks and refused on another.
    #[error(transparent)]
    PartialSubmission(#[from] Box<PartialSubmission>),
    /// Ranks could not be drained, so what they had captured was kept for good.
    #[error(transparent)]
    Unproven(#[from] Box<Unproven>),
    /// An argument was wrong.
    #[error(transparent)]
    Misuse(#[from] Misuse),
    /// A replay named a generation that is not the published one.
    #[error(transparent)]
    Stale(#[from] Stale),
    /// An error of an earlier `Drop` that nobody has been told of.
    #[error(transparent)]
    Parked(#[from] Parked),
    /// The device has faulted, and its context is lost.
    #[error(transparent)]
    Faulted(#[from] Faulted),
    /// Captured storage was kept for good because its work could not be proven complete.
    #[error(transparent)]
    Poisoned(#[from] Poisoned),
    /// A closure given to [`Enqueue::host`](crate::Enqueue::host) panicked on the driver's thread.
    #[error("a host call panicked: {0}")]
    HostPanicked(Box<str>),
    /// PTX or a cubin was refused; the second part is the driver's own log.
    #[error("{0}: {1}")]
    Module(DriverError, Box<str>),
    /// An error of a capture body that is not one of ours.
    #[error(transparent)]
    Body(BoxError),
}

impl Error {
    /// Wraps an error of a capture body, keeping ours and cudarc's as what they are.
    pub fn from_body(error: impl Into<BoxError>) -> Self {
        fn family<E: StdError + Into<Error> + 'static>(error: BoxError) -> Result<Error, BoxError> {
            error.downcast::<E>().map(|own| (*own).into())
        }
        Err(error.into())
            .or_else(family::<Self>)
            .or_else(family::<cudarc::driver::DriverError>)
            .or_else(family::<DriverError>)
            .or_else(family::<Unavailable>)
            .or_else(family::<CaptureFailure>)
            .or_else(family::<Refusal>)
            .or_else(family::<UpdateRefused>)
            .or_else(family::<KernelMismatch>)
            .or_else(family::<NotValid>)
            .or_else(family::<PartialReplay>)
            .or_else(family::<RankFailures>)
            .or_else(family::<PartialSubmission>)
            .or_else(family::<Unproven>)
            .or_else(family::<Misuse>)
            .or_else(family::<Stale>)
            .or_else(family::<Parked>)
            .or_else(family::<Faulted>)
            .or_else(family::<Poisoned>)
            .unwrap_or_else(Self::Body)
    }

    /// The driver's code, if a driver call is what failed first.
    #[must_use]
    pub fn code(&self) -> Option<DriverCode> {
        match self {
            Self::Driver(error) | Self::Module(error, _) => Some(error.code),
            Self::Parked(parked) => Some(parked.error.code),
            Self::Faulted(faulted) => Some(faulted.cause.code),
            Self::Poisoned(poisoned) => Some(poisoned.cause.code),
            Self::PartialReplay(partial) => partial.source.code(),
            Self::Ranks(failures) => failures.first().error.code(),
            Self::PartialSubmission(partial) => partial.source.code(),
            Self::Unproven(unproven) => Some(unproven.first().cause.code),
            Self::NotValid(not_valid) => not_valid.why.code(),
            Self::Capture(failure) => failure.body.as_ref().and_then(Self::code).or(failure.end.map(|end| end.code)),
            _ => None,
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<CaptureFailure> for Error {
    fn from(failure: CaptureFailure) -> Self {
        Self::Capture(Box::new(failure))
    }
}

impl From<UpdateRefused> for Error {
    fn from(refused: UpdateRefused) -> Self {
        Self::UpdateRefused(Box::new(refused))
    }
}

impl From<KernelMismatch> for Error {
    fn from(mismatch: KernelMismatch) -> Self {
        Self::Kernel(Box::new(mismatch))
    }
}

impl From<NotValid> for Error {
    fn from(not_valid: NotValid) -> Self {
        Self::NotValid(Box::new(not_valid))
    }
}

impl From<PartialReplay> for Error {
    fn from(partial: PartialReplay) -> Self {
        Self::PartialReplay(Box::new(partial))
    }
}

impl<T> From<Rejected<T>> for Error {
    fn from(rejected: Rejected<T>) -> Self {
        rejected.into_error()
    }
}

/// A transition that did not happen: the error, and the stream in the state that the driver has really left it in.
///
/// A plain `?` in a function that returns [`Error`], or a boxed error, keeps the error and drops the stream, or keeps it in the box;
/// [`into_parts`](Self::into_parts) keeps both.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::{Device, Enqueue, Error, Misuse, ThreadLocal};
///
/// let mut stream = Device::open(0)?.stream()?;
/// let (short, long) = (stream.alloc::<u32>(1)?, stream.alloc::<u32>(2)?);
/// let rejected = stream.capture(ThreadLocal, |c| c.copy(&short, &long)).unwrap_err();
/// let (stream, error) = rejected.into_parts();
/// assert!(matches!(error, Error::Misuse(Misuse::LengthMismatch { source_len: 1, destination_len: 2 })));
/// let captured = stream.capture(ThreadLocal, |c| c.fill(&long, 1))?; // the stream is idle, as it was
/// # Ok::<(), dacapo::Error>(())
/// ```
#[must_use = "dropping this drops the stream with it"]
pub struct Rejected<T>(
    /// The stream in a lock that is never taken: so this can be shared between threads, as the error types of many programs ask,
    /// though a stream cannot.
    Box<(StaticMutex<T>, Error)>,
);

impl<T> Rejected<T> {
    pub(crate) fn new(stream: T, error: impl Into<Error>) -> Self {
        Self(Box::new((StaticMutex::new(stream), error.into())))
    }

    /// Why the transition did not happen.
    #[must_use]
    pub fn error(&self) -> &Error {
        &self.0.1
    }

    /// The error alone; the stream is dropped.
    #[must_use]
    pub fn into_error(self) -> Error {
        self.0.1
    }

    /// The stream alone, usable in the state its type names.
    pub fn into_stream(self) -> T {
        self.0.0.into_inner()
    }

    /// Both.
    pub fn into_parts(self) -> (T, Error) {
        let (stream, error) = *self.0;
        (stream.into_inner(), error)
    }
}

impl<T> fmt::Debug for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<T> fmt::Display for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error().fmt(f)
    }
}

impl<T> StdError for Rejected<T> {
    /// What caused the error, as it says itself; the error is what this displays as.
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.error().source()
    }
}

/// The name of a driver call, as the driver's manual spells it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Call(pub(crate) &'static str);

impl Call {
    /// The name, such as `cuStreamEndCapture`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A driver result code, known to us or not.
///
/// An open number, not a closed enum: a driver newer than the bindings may return any value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DriverCode(pub(crate) u32);

#[expect(missing_docs, reason = "the driver's own names, in its own words in the manual's section on CUresult")]
impl DriverCode {
    pub const INVALID_VALUE: Self = Self(1);
    pub const OUT_OF_MEMORY: Self = Self(2);
    pub const NO_DEVICE: Self = Self(100);
    pub const INVALID_CONTEXT: Self = Self(201);
    pub const INVALID_PTX: Self = Self(218);
    pub const INVALID_HANDLE: Self = Self(400);
    pub const ILLEGAL_STATE: Self = Self(401);
    pub const NOT_FOUND: Self = Self(500);
    pub const NOT_READY: Self = Self(600);
    pub const ILLEGAL_ADDRESS: Self = Self(700);
    pub const LAUNCH_FAILED: Self = Self(719);
    pub const PEER_ACCESS_ALREADY_ENABLED: Self = Self(704);
    pub const NOT_SUPPORTED: Self = Self(801);
    pub const STREAM_CAPTURE_UNSUPPORTED: Self = Self(900);
    pub const STREAM_CAPTURE_INVALIDATED: Self = Self(901);
    pub const STREAM_CAPTURE_MERGE: Self = Self(902);
    pub const STREAM_CAPTURE_UNMATCHED: Self = Self(903);
    pub const STREAM_CAPTURE_UNJOINED: Self = Self(904);
    pub const STREAM_CAPTURE_ISOLATION: Self = Self(905);
    pub const STREAM_CAPTURE_IMPLICIT: Self = Self(906);
    pub const CAPTURED_EVENT: Self = Self(907);
    pub const STREAM_CAPTURE_WRONG_THREAD: Self = Self(908);
    pub const GRAPH_EXEC_UPDATE_FAILURE: Self = Self(910);

    /// Whether the code says that work on the device has faulted in a way that loses the context.
    pub(crate) const fn loses_the_context(self) -> bool {
        // ECC and NVLink errors; illegal address, timeout, assertion, and the exceptions of device code.
        matches!(self.0, 214 | 220 | 226 | 700 | 702 | 710 | 714..=719)
    }

    /// The number, as in `cuda.h`.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for DriverCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A driver call that failed: which, with what code, and the driver's own name for that code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DriverError {
    /// The call that failed.
    pub call: Call,
    /// What it returned.
    pub code: DriverCode,
    /// `cuGetErrorName` of the code; `None` where the driver itself does not know it.
    pub name: Option<&'static str>,
}

impl DriverError {
    pub(crate) const fn new(call: Call, code: DriverCode, name: Option<&'static str>) -> Self {
        Self { call, code, name }
    }
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.call, self.name.unwrap_or("unknown driver code"), self.code.0)
    }
}

impl StdError for DriverError {}

/// Why there is no driver or device to work with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// No driver library could be loaded.
    #[error(
        "no CUDA driver library found (libcuda.so, or nvcuda.dll); install the NVIDIA driver, or the simulated one"
    )]
    NoLibrary,
    /// The driver library lacks a call that this crate needs.
    #[error("the CUDA driver has no {0}: it is older than CUDA 12.0")]
    MissingCall(Call),
    /// The driver runs, but there is no device.
    #[error("the CUDA driver finds no device")]
    NoDevice,
    /// There are devices, but not this one.
    #[error("no device with ordinal {ordinal}: the driver has {count}")]
    NoSuchDevice {
        /// The ordinal that was asked for.
        ordinal: usize,
        /// How many devices there are; ordinals start at 0.
        count: usize,
    },
}

/// A capture that yielded no graph. At least one of the parts is there.
///
/// The body's error comes first: it is the cause more often than not. An end that failed says what the driver made of
/// the capture; a parked error is one that a `Drop` inside the capture had nobody to return it to.
#[derive(Debug)]
#[non_exhaustive]
pub struct CaptureFailure {
    /// What the capture's body returned.
    pub body: Option<Error>,
    /// What `cuStreamEndCapture` returned.
    pub end: Option<DriverError>,
    /// What a `Drop` parked while the capture was open, on whatever thread: the place where such errors are kept is the
    /// context's.
    pub parked: Option<Parked>,
}

impl CaptureFailure {
    /// The error of a failed capture; a body's error that stands alone is returned as it is.
    pub(crate) fn report(body: Option<Error>, end: Option<DriverError>, parked: Option<Parked>) -> Error {
        match (body, end, parked) {
            (Some(body), None, None) => body,
            (body, end, parked) => Self { body, end, parked }.into(),
        }
    }
}

impl fmt::Display for CaptureFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("capture failed")?;
        if let Some(body) = &self.body {
            write!(f, ": {body}")?;
        }
        if let Some(end) = &self.end {
            write!(f, "; ending it: {end}")?;
            if let Some(meaning) = meaning_of_end(end.code) {
                write!(f, ", {meaning}")?;
            }
        }
        if let Some(parked) = &self.parked {
            write!(f, "; {parked}")?;
        }
        Ok(())
    }
}

impl StdError for CaptureFailure {
    /// What caused the body's error. The parts themselves are in the text.
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.body.as_ref()?.source()
    }
}

/// What the driver means by a code of `cuStreamEndCapture`, in a user's words.
fn meaning_of_end(code: DriverCode) -> Option<&'static str> {
    Some(match code {
        DriverCode::STREAM_CAPTURE_INVALIDATED => {
            "a call that is not permitted during capture was made, on this thread or, in Global mode, on another"
        }
        DriverCode::STREAM_CAPTURE_UNJOINED => "another stream was drawn into the capture and not joined again",
        DriverCode::STREAM_CAPTURE_WRONG_THREAD => "it was ended on another thread than the one that began it",
        DriverCode::ILLEGAL_STATE => "the stream was not capturing any more: other code ended it",
        _ => return None,
    })
}

/// A graph that was captured without an error and that the policy does not take.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Nothing was recorded: the work went to another stream, or there was none.
    #[error(
        "the captured graph is empty: the work went to another stream, or there was none (CapturePolicy::allow_empty)"
    )]
    Empty,
    /// Memory was allocated or freed inside the capture.
    #[error(
        "the captured graph allocates memory ({allocations} allocation and {frees} free nodes): allocate before the capture (CapturePolicy::memory_nodes)"
    )]
    MemoryNodes {
        /// Allocation nodes in the graph.
        allocations: usize,
        /// Free nodes in the graph.
        frees: usize,
    },
    /// There are more or fewer nodes of a kind than the policy expects.
    #[error("the captured graph has {found} {kind} nodes, expected were {expected} (CapturePolicy::expect)")]
    Count {
        /// The first kind that differs, in the driver's order.
        kind: NodeKind,
        /// Nodes of it that the policy expects.
        expected: usize,
        /// Nodes of it in the graph.
        found: usize,
    },
    /// The graph launches something else than the manifest says.
    #[error(transparent)]
    Manifest(#[from] Box<ManifestMismatch>),
    /// A rank has captured something else than rank 0.
    #[error("{difference} (RanksPolicy::same_on_all)")]
    RanksDiffer {
        /// Where it first differs.
        difference: Box<RankDifference>,
    },
}

/// Where a captured graph first differs from its manifest.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ManifestMismatch {
    /// The position, from 0, in the order of [`Census::in_order`](crate::Census::in_order).
    pub position: usize,
    /// What the manifest has there; `None` if it ends before.
    pub expected: Option<Node>,
    /// What the graph has there; `None` if it ends before.
    pub found: Option<Node>,
}

impl fmt::Display for ManifestMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_end = |node: &Option<Node>| node.as_ref().map_or_else(|| "the end".to_owned(), Node::to_string);
        let (expected, found) = (or_end(&self.expected), or_end(&self.found));
        write!(f, "node {} of the captured graph is not what the manifest says: ", self.position)?;
        write!(f, "expected {expected}, found {found}")
    }
}

impl StdError for ManifestMismatch {}

/// A new capture that cannot take the place of a published graph within its executable. The executable is as it was.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct UpdateRefused {
    /// Why.
    pub reason: UpdateReason,
    /// The node of the new graph that does not fit, as far as the driver names one.
    pub node: Option<NodeName>,
}

impl UpdateRefused {
    /// The refusal of a kernel that is launched in clusters of more than one block.
    pub(crate) fn of_clusters(launch: &KernelLaunch) -> Option<Self> {
        launch.cluster.filter(|blocks| blocks.iter().any(|&along| along > 1))?;
        let node = NodeName { kind: NodeKind::Kernel, kernel: launch.name.as_deref().map(Box::from) };
        Some(Self { reason: UpdateReason::Cluster, node: Some(node) })
    }
}

impl fmt::Display for UpdateRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the published graph cannot be updated in place: {}", self.reason)?;
        match &self.node {
            Some(node) => write!(f, ", at {node}"),
            None => Ok(()),
        }
    }
}

impl StdError for UpdateRefused {}

/// A node of a graph, as a message names it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NodeName {
    /// Its kind.
    pub kind: NodeKind,
    /// The kernel's name, if it is a kernel node and the driver tells (from CUDA 12.3 on).
    pub kernel: Option<Box<str>>,
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kernel {
            Some(kernel) => write!(f, "kernel {kernel}"),
            None => write!(f, "a {} node", self.kind),
        }
    }
}

/// Why an executable cannot take a new graph.
///
/// # References
/// [CUgraphExecUpdateResult](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html)
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateReason {
    /// The number of nodes, or what depends on what, has changed.
    #[error("nodes or edges have changed")]
    Topology,
    /// A node is of another kind than its counterpart.
    #[error("a node is of another kind")]
    Kind,
    /// A kernel node calls another function, in a way that cannot be updated.
    #[error("a kernel node calls another function")]
    Function,
    /// Parameters have changed in a way that cannot be updated.
    #[error("parameters have changed in a way that cannot be updated")]
    Parameters,
    /// The node cannot be updated.
    #[error("the node cannot be updated")]
    NotSupported,
    /// A kernel's attributes have changed in a way that cannot be updated.
    #[error("attributes of a kernel have changed")]
    Attributes,
    /// A kernel is launched in clusters. The driver takes such an update, and may keep the old cluster shape; so it is not asked.
    #[error("a kernel is launched in clusters, whose shape an update may leave as it was")]
    Cluster,
    /// Another reason, by the driver's number.
    #[error("reason {0} of the driver")]
    Other(u32),
}

impl UpdateReason {
    /// The reason with the driver's number.
    pub(crate) const fn of_number(number: u32) -> Self {
        match number {
            2 => Self::Topology,
            3 => Self::Kind,
            4 | 7 => Self::Function,
            5 => Self::Parameters,
            6 => Self::NotSupported,
            8 => Self::Attributes,
            other => Self::Other(other),
        }
    }
}

/// A replay of several steps that has stopped: what came before the failed step has been launched, the rest has not.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::{Device, Enqueue, Error, ThreadLocal};
///
/// let mut stream = Device::open(0)?.stream()?;
/// let buffer = stream.alloc::<u32>(1)?;
/// let captured = stream
///     .capture(ThreadLocal, |c| c.fill(&buffer, 1))?
///     .seam(|_| Err(Error::from_body("no page left in the cache")));
/// match captured.publish()?.replay() {
///     Err(Error::PartialReplay(partial)) => assert_eq!((partial.done, partial.of), (1, 2)),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), dacapo::Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[error("the replay stopped after {done} of {of} steps: {source}")]
#[non_exhaustive]
pub struct PartialReplay {
    /// Steps (segments and seams) that were launched or run.
    pub done: usize,
    /// Steps in all.
    pub of: usize,
    /// Why the next one was not.
    pub source: Error,
}

impl PartialReplay {
    /// The error of a replay that has stopped there; of one that has not begun, its cause.
    pub(crate) fn after(done: usize, of: usize, source: Error) -> Error {
        if done == 0 { source } else { Self { done, of, source }.into() }
    }
}

/// A replay that the engine's own check has refused ([`valid_while`](crate::Stream::valid_while)). Nothing was launched.
#[derive(Debug, thiserror::Error)]
#[error("the captured work is not valid now, and was not launched: {why}")]
#[non_exhaustive]
pub struct NotValid {
    /// What the check returned.
    pub why: Error,
}

/// A request that the types could not rule out. Nothing has been done.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Misuse {
    /// A buffer or copy of no bytes.
    #[error("a length of zero: the driver has no memory of no bytes")]
    ZeroLength,
    /// More bytes than an address can count.
    #[error("{elements} elements of {size} bytes are more than memory can hold")]
    SizeOverflow {
        /// Elements asked for.
        elements: usize,
        /// Bytes an element.
        size: usize,
    },
    /// The two sides of a copy differ in length.
    #[error("lengths differ: {source_len} elements into {destination_len}")]
    LengthMismatch {
        /// Elements on the source's side.
        source_len: usize,
        /// Elements on the destination's side.
        destination_len: usize,
    },
    /// A range that is not inside the buffer.
    #[error("range {start}..{end} is not inside a buffer of {len} elements")]
    OutOfRange {
        /// First element.
        start: usize,
        /// One past the last element.
        end: usize,
        /// Elements in the buffer.
        len: usize,
    },
    /// A copy between ranges of one allocation that overlap.
    #[error("source and destination of the copy overlap")]
    Overlap,
    /// Memory, a kernel or a stream of another context than the stream's.
    #[error("the {what} belongs to another context than the stream")]
    WrongContext {
        /// What it is that belongs elsewhere.
        what: &'static str,
    },
    /// A name with a NUL byte in it.
    #[error("a name or text with a NUL byte in it")]
    InteriorNul,
    /// Text that is no PTX: what the driver tells it by is missing.
    #[error("not PTX: the text does not begin with a .version directive")]
    NotPtx,
    /// A module has no kernel of this name.
    #[error("the module has no kernel {kernel}{known}")]
    NoSuchKernel {
        /// The name that was asked for.
        kernel: Box<str>,
        /// The names that the module has, as far as its PTX tells.
        known: KnownKernels,
    },
    /// A launch with a grid or block dimension of zero.
    #[error("a launch of kernel {kernel} with a dimension of zero: grid {grid:?}, block {block:?}")]
    EmptyLaunch {
        /// The kernel's name.
        kernel: Box<str>,
        /// Blocks in x, y, z.
        grid: [u32; 3],
        /// Threads of a block in x, y, z.
        block: [u32; 3],
    },
    /// A launch in clusters whose grid is not made of whole ones.
    #[error("a launch of kernel {kernel} in clusters of {cluster:?} blocks, of which a grid of {grid:?} is not made")]
    ClusterShape {
        /// The kernel's name.
        kernel: Box<str>,
        /// Blocks in x, y, z.
        grid: [u32; 3],
        /// Blocks of a cluster in x, y, z.
        cluster: [u32; 3],
    },
    /// Too many or too few kernel arguments.
    #[error("kernel {kernel} takes {expected} arguments, not {found}")]
    ArgumentCount {
        /// The kernel's name.
        kernel: Box<str>,
        /// Parameters that the kernel declares.
        expected: usize,
        /// Arguments that were given.
        found: usize,
    },
    /// A kernel argument of another size than the parameter.
    #[error("argument {index} of kernel {kernel} has {found} bytes, the parameter {expected}")]
    ArgumentSize {
        /// The kernel's name.
        kernel: Box<str>,
        /// Position, from 0.
        index: usize,
        /// Bytes of the declared parameter.
        expected: usize,
        /// Bytes of the argument.
        found: usize,
    },
    /// The legacy default stream, or the per-thread one, which is another stream on every thread.
    #[error("the default stream cannot be captured: create one with CudaContext::new_stream")]
    DefaultStream,
    /// Another `Stream` already stands for this CUDA stream.
    #[error("this CUDA stream is already adopted")]
    StreamInUse,
    /// Two ranks on one device.
    #[error("ranks {first} and {second} are on one device: each needs its own")]
    SameDevice {
        /// The one.
        first: usize,
        /// The other.
        second: usize,
    },
    /// Somebody else's capture is open on the stream.
    #[error("the stream is capturing already: other code began a capture on it")]
    AlreadyCapturing,
    /// A sibling is capturing on the same CUDA stream: what is enqueued would be recorded there.
    #[error(
        "a capture is open on this CUDA stream, by a sibling of this one or an update: nothing else can be put on it"
    )]
    CaptureOpen,
    /// A replay, a capture or a fork in the middle of another one of the same CUDA stream: in a seam, before a replay, in a fork. It
    /// would wait for itself.
    #[error(
        "this thread is in the middle of a replay or a fork on the CUDA stream: \
         it cannot be replayed, captured or forked to from within"
    )]
    OutOfTurn,
    /// A branch onto the CUDA stream that it was to be forked off.
    #[error("a branch must be on another CUDA stream than the one it is forked off; a sibling is on the same")]
    ForkToItself,
    /// An input or output on another CUDA stream than the one that it was made on.
    #[error("the input or output was made on another CUDA stream")]
    OtherStream,
    /// Every slot of an output is held by an answer.
    #[error("all {slots} slots of the output are held by answers: drop or wait for one, or make it with more")]
    RingFull {
        /// Slots that the output has.
        slots: usize,
    },
    /// A measurement of no replays.
    #[error("nothing to measure: no iterations")]
    NoIterations,
    /// A capture on a thread that keeps captures out of the gate, or the other way round.
    #[error("this thread is in the capture gate already, as the other kind: it would wait for itself")]
    GateHeld,
    /// An operation in a list that is to be captured, and that says that it cannot be.
    #[error("operation {position}, {name}, cannot be captured")]
    NotCapturable {
        /// Its position in the list, from 0.
        position: usize,
        /// What it calls itself.
        name: Box<str>,
    },
    /// A segment that there is not.
    #[error("no segment {index}: the graph has {of}")]
    NoSuchSegment {
        /// The number that was asked for, from 0.
        index: usize,
        /// Segments that there are.
        of: usize,
    },
    /// One segment of a graph was to be launched alone, or it was to be updated as if it were one.
    #[error("the graph has {of} segments: say which (begin_update_segment)")]
    SeveralSegments {
        /// Segments that there are.
        of: usize,
    },
    /// One segment of a graph with seams was to be launched alone: its seams would be left out.
    #[error("the graph has seams, which a replay of one segment would leave out")]
    HasSeams,
    /// No replicas, of which there is to be at least one.
    #[error("nothing to replicate: no replicas were asked for")]
    NoReplicas,
    /// A graph of which the driver takes one executable at a time (`CUDA_ERROR_NOT_SUPPORTED`).
    #[error("a graph with {kind} nodes (here {count}) has one executable at a time: it cannot be replicated")]
    OneExecutable {
        /// The kind of node that is the reason.
        kind: NodeKind,
        /// Nodes of it.
        count: usize,
    },
    /// A graph with seams was to be replicated: a seam is one closure, which cannot run twice at once.
    #[error("the graph has seams, each one closure, which cannot run in several replays at once")]
    SeamsInReplicas,
    /// cudarc's event tracking is on.
    #[error(
        "event tracking is on in this CudaContext: it waits on events from outside a capture, which invalidates it \
         (call disable_event_tracking before anything is allocated)"
    )]
    EventTracking,
    /// All generation numbers of this stream are used up.
    #[error("the stream has used up its generation numbers")]
    GenerationsExhausted,
}

/// The names of a module's kernels, sorted; none if the module came from a cubin, which does not say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownKernels(pub(crate) Box<[Box<str>]>);

impl KnownKernels {
    /// The names.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|name| &**name)
    }
}

impl fmt::Display for KnownKernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 12;
        for (position, name) in self.iter().take(SHOWN).enumerate() {
            write!(f, "{}{name}", if position == 0 { " (it has " } else { ", " })?;
        }
        match self.0.len() {
            0 => Ok(()),
            count if count > SHOWN => write!(f, " and {} more)", count - SHOWN),
            _ => f.write_str(")"),
        }
    }
}

impl Misuse {
    /// Whether the two sides of a copy are of one length.
    pub(crate) fn check_lengths(source_len: usize, destination_len: usize) -> Result<(), Self> {
        if source_len == destination_len { Ok(()) } else { Err(Self::LengthMismatch { source_len, destination_len }) }
    }
}

/// A replay of a graph that is not the published one any more. Nothing was launched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Stale {
    /// The generation that the replayer or token names.
    pub held: u64,
    /// The generation published in its place; `None` after a reset.
    pub current: Option<u64>,
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the graph of this replayer (generation {}) was reset or dropped: ", self.held)?;
        match self.current {
            Some(current) => write!(f, "take a new replayer, of generation {current}"),
            None => f.write_str("nothing is published in its place"),
        }
    }
}

impl StdError for Stale {}

/// An error that a `Drop` could not return. Reporting it clears it: asking again goes through.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("an earlier drop failed: {error}")]
#[non_exhaustive]
pub struct Parked {
    /// What failed.
    pub error: DriverError,
}

/// The device has faulted: its context is lost, and every call on it fails with the same code (D13 in
/// [`manual::safety`](crate::manual::safety)).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the device has faulted, and its context is lost: {cause}")]
#[non_exhaustive]
pub struct Faulted {
    /// The call that the fault showed up in first.
    pub cause: DriverError,
}

/// Work could not be proven complete, so what it uses is kept for good, and the stream refuses everything.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("completion is unproven since {cause}: captured storage is kept, the stream refuses everything")]
#[non_exhaustive]
pub struct Poisoned {
    /// The first failure.
    pub cause: DriverError,
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: DriverError = DriverError::new(
        Call("cuStreamEndCapture"),
        DriverCode::STREAM_CAPTURE_INVALIDATED,
        Some("CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"),
    );

    #[test]
    fn a_capture_failure_names_the_body_before_the_end() {
        let body = Error::from(Misuse::ZeroLength);
        let text = CaptureFailure::report(Some(body), Some(END), None).to_string();
        let (first, second) = (text.find("length of zero").unwrap(), text.find("901").unwrap());
        assert!(first < second, "{text}");
    }

    #[test]
    fn a_body_error_that_stands_alone_is_returned_as_it_is() {
        let error = CaptureFailure::report(Some(Misuse::ZeroLength.into()), None, None);
        assert!(matches!(error, Error::Misuse(Misuse::ZeroLength)), "{error}");
    }

    #[test]
    fn a_boxed_error_of_ours_is_unwrapped_and_a_foreign_one_is_kept() {
        let ours: BoxError = Box::new(Error::from(Misuse::Overlap));
        assert!(matches!(Error::from_body(ours), Error::Misuse(Misuse::Overlap)));
        assert!(matches!(Error::from_body(Misuse::Overlap), Error::Misuse(Misuse::Overlap)));
        assert!(matches!(Error::from_body("an engine's own"), Error::Body(_)));
    }

    #[test]
    fn an_error_fits_in_a_few_words() {
        assert!(size_of::<Error>() <= 64, "{}", size_of::<Error>());
        assert_eq!(size_of::<Rejected<[u64; 32]>>(), size_of::<usize>());
    }
}
