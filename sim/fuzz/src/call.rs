//! Sequences of driver calls as data, and as text.
//!
//! A step is one line: the thread, the call, its operands. `T1 StreamBeginCapture s0 global`.
//!
//! 1. A call is named as the driver names it, without `cu` and without a version.
//! 2. What is printed can be read back, and is the same then.

use std::fmt;
use std::str::FromStr;

use crate::names::*;

/// How many threads make calls: `T0`, `T1`, `T2`.
pub const THREADS: usize = 3;

macro_rules! calls {
    ($($name:ident { $($field:ident: $ty:ty),* })*) => {
        /// A call of the driver, and what is given to it.
        #[derive(Clone, PartialEq, Eq, Debug)]
        #[allow(missing_docs, reason = "calls and operands are named as in the driver's manual")]
        pub enum Call {
            $($name { $($field: $ty),* }),*
        }

        impl Call {
            /// The names of all calls.
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// What the call is named.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Call::$name { .. } => stringify!($name)),*
                }
            }

            /// The objects that must be there for the call to be made.
            #[must_use]
            pub fn uses(&self) -> Vec<Name> {
                match self {
                    $(Call::$name { $($field),* } => {
                        let names: &[Vec<Name>] = &[$($field.uses()),*];
                        names.concat()
                    })*
                }
            }

            /// The places that must be there.
            #[must_use]
            pub fn places(&self) -> Vec<Place> {
                match self {
                    $(Call::$name { $($field),* } => {
                        let places: &[Option<Place>] = &[$($field.place()),*];
                        places.iter().flatten().copied().collect()
                    })*
                }
            }

            fn words(&self) -> Vec<String> {
                match self {
                    $(Call::$name { $($field),* } => vec![$($field.to_string()),*]),*
                }
            }

            fn parse(name: &str, words: &[&str]) -> Option<Call> {
                let mut words = words.iter();
                let call = match name {
                    $(stringify!($name) => Call::$name { $($field: words.next()?.parse().ok()?),* },)*
                    _ => return None,
                };
                words.next().is_none().then_some(call)
            }
        }
    };
}

calls! {
    CtxSetCurrent { place: Place }
    CtxSynchronize {}
    CtxEnablePeerAccess { peer: Place }
    CtxDisablePeerAccess { peer: Place }
    CtxRecordEvent { place: Place, event: Event }
    CtxWaitEvent { place: Place, event: Event }
    ThreadExchangeStreamCaptureMode { mode: Mode }

    StreamCreate { new: New<Stream>, kind: StreamKind }
    StreamDestroy { stream: Stream }
    StreamSynchronize { stream: StreamArg }
    StreamQuery { stream: StreamArg }
    StreamGetFlags { stream: StreamArg }
    StreamGetPriority { stream: StreamArg }
    StreamGetCtx { stream: StreamArg }
    StreamWaitEvent { stream: StreamArg, event: Event, side: Side }
    StreamAddCallback { stream: StreamArg }
    StreamWriteValue { stream: StreamArg, place: Place, cell: Cell, value: Number }

    StreamBeginCapture { stream: StreamArg, mode: Mode }
    StreamBeginCaptureToGraph { stream: Stream, graph: Graph, after: Nodes, mode: Mode }
    StreamEndCapture { stream: StreamArg, new: New<Graph> }
    StreamIsCapturing { stream: StreamArg }
    StreamGetCaptureInfo { stream: StreamArg, new: New<Node> }
    StreamUpdateCaptureDependencies { stream: StreamArg, nodes: Nodes, change: Change }

    EventCreate { new: New<Event>, timing: Timing }
    EventDestroy { event: Event }
    EventRecord { event: Event, stream: StreamArg, side: Side }
    EventQuery { event: Event }
    EventSynchronize { event: Event }
    EventElapsedTime { from: Event, to: Event }

    MemAlloc { new: New<Pointer> }
    MemFree { pointer: Pointer }
    MemAllocAsync { new: New<Pointer>, stream: StreamArg }
    MemFreeAsync { pointer: Pointer, stream: StreamArg }
    MemHostAlloc { new: New<Block> }
    MemFreeHost { block: Block }
    MemPoolTrimTo { place: Place }
    MemGetInfo {}
    Memset { place: Place, cell: Cell, value: Number }
    MemsetAsync { place: Place, cell: Cell, value: Number, stream: StreamArg }
    MemcpyHtoD { place: Place, cell: Cell, host: Host }
    MemcpyHtoDAsync { place: Place, cell: Cell, host: Host, stream: StreamArg }
    MemcpyDtoH { place: Place, host: Host }
    MemcpyDtoHAsync { place: Place, host: Host, stream: StreamArg }
    MemcpyDtoD { from: Place, to: Place, cell: Cell }
    MemcpyDtoDAsync { from: Place, to: Place, cell: Cell, stream: StreamArg }
    MemcpyPeerAsync { from: Place, to: Place, cell: Cell, stream: StreamArg }

    ModuleLoadData { new: New<Module> }
    ModuleUnload { module: Module }
    ModuleGetFunction { module: Module }
    ModuleGetGlobal { module: Module }
    FuncGetAttribute { place: Place }
    LaunchKernel { stream: StreamArg, place: Place, cell: Cell }
    LaunchHostFunc { stream: StreamArg }

    GraphCreate { new: New<Graph> }
    GraphDestroy { graph: Graph }
    GraphClone { new: New<Graph>, graph: Graph }
    GraphGetNodes { graph: Graph }
    GraphGetRootNodes { graph: Graph }
    GraphGetEdges { graph: Graph }
    GraphNodeGetType { node: Node }
    GraphNodeGetDependencies { node: Node }
    GraphDestroyNode { node: Node }
    GraphAddEmptyNode { new: New<Node>, graph: Graph, after: Nodes }
    GraphAddKernelNode { new: New<Node>, graph: Graph, after: Nodes, place: Place, cell: Cell }
    GraphAddMemsetNode { new: New<Node>, graph: Graph, after: Nodes, place: Place, cell: Cell, value: Number }
    GraphAddMemcpyNode { new: New<Node>, graph: Graph, after: Nodes, from: Place, to: Place, cell: Cell }
    GraphAddHostNode { new: New<Node>, graph: Graph, after: Nodes }
    GraphAddEventRecordNode { new: New<Node>, graph: Graph, after: Nodes, event: Event }
    GraphAddEventWaitNode { new: New<Node>, graph: Graph, after: Nodes, event: Event }
    GraphAddChildGraphNode { new: New<Node>, graph: Graph, after: Nodes, child: Graph }
    GraphAddMemAllocNode { new: New<Node>, graph: Graph, after: Nodes, place: Place, pointer: New<Pointer> }
    GraphAddMemFreeNode { new: New<Node>, graph: Graph, after: Nodes, pointer: Pointer }
    GraphAddDependencies { graph: Graph, from: Node, to: Node }
    GraphRemoveDependencies { graph: Graph, from: Node, to: Node }
    GraphKernelNodeSetParams { node: Node, place: Place, cell: Cell }

    GraphInstantiate { new: New<Exec>, graph: Graph, flags: Number }
    GraphExecDestroy { exec: Exec }
    GraphExecGetFlags { exec: Exec }
    GraphUpload { exec: Exec, stream: StreamArg }
    GraphLaunch { exec: Exec, stream: StreamArg }
    GraphExecUpdate { exec: Exec, graph: Graph }
    GraphExecKernelNodeSetParams { exec: Exec, node: Node, place: Place, cell: Cell }
    GraphNodeSetEnabled { exec: Exec, node: Node, switch: Switch }
    GraphNodeGetEnabled { exec: Exec, node: Node }

    UserObjectCreate { new: New<Object> }
    UserObjectRetain { object: Object }
    UserObjectRelease { object: Object }
    GraphRetainUserObject { graph: Graph, object: Object }
    GraphReleaseUserObject { graph: Graph, object: Object }
}

/// A call and the thread that makes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The thread, below [`THREADS`].
    pub thread: usize,
    /// The call.
    pub call: Call,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T{} {}", self.thread, self.call.name())?;
        self.call.words().iter().try_for_each(|word| write!(f, " {word}"))
    }
}

/// A line that is no step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadStep(pub String);

impl fmt::Display for BadStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a step: {}", self.0)
    }
}

impl std::error::Error for BadStep {}

impl FromStr for Step {
    type Err = BadStep;

    fn from_str(line: &str) -> Result<Step, BadStep> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let step = || {
            let (thread, rest) = words.split_first()?;
            let (name, operands) = rest.split_first()?;
            let thread = thread.strip_prefix('T')?.parse().ok().filter(|thread| *thread < THREADS)?;
            Some(Step { thread, call: Call::parse(name, operands)? })
        };
        step().ok_or_else(|| BadStep(line.to_owned()))
    }
}

/// Steps, made one after another.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sequence(pub Vec<Step>);

impl Sequence {
    /// How many devices it needs: those up to the last that it names.
    #[must_use]
    pub fn devices(&self) -> usize {
        let places = self.0.iter().flat_map(|step| step.call.places());
        places.map(|place| place.0 + 1).max().unwrap_or(1)
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}

/// The lines of a text that say something, without comments, each with what is expected of it.
fn lines(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    text.lines().map(|line| line.split('#').next().unwrap_or("").trim()).filter(|line| !line.is_empty()).map(|line| {
        match line.split_once("=>") {
            Some((step, expected)) => (step.trim(), Some(expected.trim())),
            None => (line, None),
        }
    })
}

/// What the line of the end begins with.
pub(crate) const END: &str = "end";

impl FromStr for Sequence {
    type Err = BadStep;

    /// Reads a step a line. What follows a `#` is a comment, what follows a `=>` is what is [expected](expectations).
    fn from_str(text: &str) -> Result<Sequence, BadStep> {
        let steps = lines(text).map(|(step, _)| step).filter(|step| *step != END);
        steps.map(str::parse).collect::<Result<_, _>>().map(Sequence)
    }
}

/// What a text expects of each step and of the end, as far as it says so. Where it has the answers of two drivers, with
/// `<>` between them, the first is expected.
#[must_use]
pub fn expectations(text: &str) -> Vec<Option<String>> {
    let first = |expected: &str| expected.split("<>").next().unwrap_or("").trim().to_owned();
    lines(text).map(|(_, expected)| expected.map(first)).collect()
}
