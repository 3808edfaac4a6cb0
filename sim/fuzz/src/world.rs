//! The objects of a sequence, and the rules that keep a real driver from undefined behaviour.
//!
//! 1. A name leads to a handle from the call that made the object until the call that destroys it, whatever that one returns.
//!    Device memory is the exception: a free that fails has freed nothing.
//! 2. Nodes, and memory that a graph allocates, go when their graph does; those of a capture when it is lost.
//! 3. A graph that is being captured into is only looked at or added to. If the capture is lost, so is the graph.
//! 4. An event that some graph names is not destroyed before the end.
//! 5. Nobody releases references to a user object that he does not hold.
//! 6. A graph that one capture records into is not captured into again behind some of its nodes: the driver crashes. With no
//!    node to go on from it refuses the call, so that is made.
//! 7. Memory that its own graph frees loses its name at the graph's next allocation: the driver may give that one the same
//!    address, and a second free would be the first of the other.
//!
//! A call that the rules forbid is skipped. They look only at what calls have returned, so two drivers that agree skip the same.

mod cleanup;
mod graphs;
mod perform;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use crate::call::{Call, Step, THREADS};
use crate::machine::Machine;
use crate::names::*;

/// What a call returned, and what it said.
#[derive(Debug)]
pub(crate) struct Done {
    /// The code as text; `0/600` where a call may find work ready or not.
    pub(crate) code: String,
    /// What else is worth comparing.
    pub(crate) notes: Vec<String>,
}

impl From<u32> for Done {
    fn from(code: u32) -> Done {
        Done { code: code.to_string(), notes: Vec::new() }
    }
}

impl Done {
    /// What a query returned: whether the work is done is a question of time.
    fn ready(code: u32) -> Done {
        match code {
            0 | 600 => Done { code: "0/600".to_owned(), notes: Vec::new() },
            code => code.into(),
        }
    }

    /// Adds what the call said, if it succeeded.
    fn note(mut self, text: impl FnOnce() -> String) -> Done {
        if self.code == "0" {
            self.notes.push(text());
        }
        self
    }
}

/// What is known of a capturing stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Capture {
    /// A capture of this number among those of the sequence, into a graph.
    Active {
        number: usize,
        graph: u64,
    },
    Invalidated,
}

/// The state of a sequence.
pub(crate) struct World {
    machine: Arc<Machine>,
    objects: BTreeMap<Name, u64>,
    /// The graphs that nodes and graph memory belong to.
    owners: BTreeMap<Name, u64>,
    /// Graphs that are being captured into, and the streams on which that began.
    filling: Vec<(Stream, Graph)>,
    /// Events that graphs name.
    kept: BTreeSet<Event>,
    /// Memory that its own graph frees.
    spent: BTreeSet<Pointer>,
    /// References to user objects that the program holds, and that its graphs do.
    held: BTreeMap<Object, u32>,
    held_by: BTreeMap<(Graph, Object), u32>,
    /// Where threads have used their own default stream.
    own: BTreeSet<(usize, Place)>,
    current: [Place; THREADS],
    peers: BTreeSet<(Place, Place)>,
    /// The ids of captures, in the order in which they were seen.
    captures: Vec<u64>,
    /// Streams that are still there although they were to be destroyed.
    undead: bool,
    host_calls: u32,
}

impl World {
    pub(crate) fn new(machine: Arc<Machine>) -> World {
        World {
            machine,
            objects: BTreeMap::new(),
            owners: BTreeMap::new(),
            filling: Vec::new(),
            kept: BTreeSet::new(),
            spent: BTreeSet::new(),
            held: BTreeMap::new(),
            held_by: BTreeMap::new(),
            own: BTreeSet::new(),
            current: [Place(0); THREADS],
            peers: BTreeSet::new(),
            captures: Vec::new(),
            undead: false,
            host_calls: crate::machine::host_calls(),
        }
    }

    /// Makes the call of a step on this thread, which is the step's, and says what came of it.
    pub(crate) fn step(&mut self, step: &Step) -> String {
        let mut text = if self.forbids(step) {
            "skipped".to_owned()
        } else {
            let done = self.perform(step.thread, &step.call);
            [vec![done.code], done.notes].concat().join(" ")
        };
        let statuses = self.observe(step.thread);
        if !statuses.is_empty() {
            text.push_str(" |");
            text.push_str(&statuses);
        }
        text
    }

    /// Whether the call of a step cannot or must not be made.
    fn forbids(&self, step: &Step) -> bool {
        let there = |name: &Name| self.objects.contains_key(name);
        if !step.call.uses().iter().all(there)
            || step.call.places().iter().any(|place| place.0 >= self.machine.places())
        {
            return true;
        }
        let filling = |graph: Graph| self.filling.iter().any(|(_, filled)| *filled == graph);
        match step.call {
            Call::GraphDestroy { graph }
            | Call::GraphClone { graph, .. }
            | Call::GraphAddChildGraphNode { child: graph, .. }
            | Call::GraphExecUpdate { graph, .. }
            | Call::GraphRemoveDependencies { graph, .. } => filling(graph),
            Call::GraphDestroyNode { node } => !self.owners.get(&node.into()).is_some_and(|owner| {
                self.objects
                    .iter()
                    .any(|(name, handle)| name.letter == 'g' && handle == owner && !filling(Graph(name.number)))
            }),
            Call::StreamBeginCaptureToGraph { graph, ref after, .. } => filling(graph) && !after.0.is_empty(),
            Call::EventDestroy { event } => self.kept.contains(&event),
            Call::UserObjectRelease { object } => self.held.get(&object).is_none_or(|count| *count == 0),
            Call::GraphReleaseUserObject { graph, object } => !self.held_by.contains_key(&(graph, object)),
            _ => false,
        }
    }

    /// The handle of an object that [`World::forbids`] has seen to be there.
    fn handle(&self, name: impl Into<Name>) -> u64 {
        self.objects.get(&name.into()).copied().expect("a call is made only when its objects are there")
    }

    fn stream(&self, stream: StreamArg) -> u64 {
        match stream {
            StreamArg::Named(stream) => self.handle(stream),
            StreamArg::Null => 0,
            StreamArg::Legacy => 1,
            StreamArg::Own => 2,
        }
    }

    /// Names what a call has made, if it has.
    fn make(&mut self, code: u32, new: impl Into<Name>, handle: u64) -> Done {
        if code == 0 {
            self.objects.insert(new.into(), handle);
        }
        code.into()
    }

    /// As [`World::make`], for something that goes with a graph.
    fn make_in(&mut self, code: u32, new: impl Into<Name>, handle: u64, graph: u64) -> Done {
        let new = new.into();
        if code == 0 {
            self.owners.insert(new, graph);
        }
        self.make(code, new, handle)
    }

    /// Names what a graph allocates, if it does.
    fn allocate_in(&mut self, code: u32, new: Pointer, address: u64, graph: u64) -> Done {
        if code == 0 {
            let owners = &self.owners;
            let reused = self.spent.extract_if(.., |pointer| owners.get(&(*pointer).into()) == Some(&graph));
            let reused: Vec<Pointer> = reused.collect();
            reused.into_iter().for_each(|pointer| self.forget(pointer));
        }
        self.make_in(code, new, address, graph)
    }

    /// After a free by a node of a graph.
    fn freed_in(&mut self, code: u32, pointer: Pointer, graph: u64) {
        if code == 0 && self.owners.get(&pointer.into()) == Some(&graph) {
            self.spent.insert(pointer);
        }
    }

    fn forget(&mut self, name: impl Into<Name>) {
        let name = name.into();
        self.objects.remove(&name);
        self.owners.remove(&name);
    }

    /// Forgets every name of a node: a stale handle may be that of the next node.
    fn forget_node(&mut self, handle: u64) {
        let gone = |name: &Name, other: u64| name.letter == 'n' && other == handle;
        let objects = &self.objects;
        self.owners.retain(|name, _| !objects.get(name).is_some_and(|other| gone(name, *other)));
        self.objects.retain(|name, other| !gone(name, *other));
    }

    /// Forgets a graph and what it holds.
    fn forget_graph(&mut self, graph: Graph) {
        self.forget(graph);
        self.held_by.retain(|(holder, _), _| *holder != graph);
    }

    /// What a stream is doing, or the code of the call that asks.
    fn capture_of(&mut self, stream: u64) -> Result<Option<Capture>, u32> {
        let driver = &self.machine.driver;
        let (mut status, mut id, mut graph, mut nodes, mut count) = (0, 0, 0, std::ptr::null(), 0);
        match driver.cuStreamIsCapturing(stream, &mut status) {
            0 => {}
            code => return Err(code),
        }
        match status {
            0 => return Ok(None),
            1 => {}
            _ => return Ok(Some(Capture::Invalidated)),
        }
        let code = driver.cuStreamGetCaptureInfo_v2(stream, &mut status, &mut id, &mut graph, &mut nodes, &mut count);
        if code != 0 {
            return Err(code);
        }
        let number = self.captures.iter().position(|seen| *seen == id).unwrap_or_else(|| {
            self.captures.push(id);
            self.captures.len() - 1
        });
        Ok(Some(Capture::Active { number, graph }))
    }

    /// The streams that can be asked from a thread.
    fn visible(&self, thread: usize) -> Vec<(String, u64)> {
        let named = self.objects.iter().filter(|(name, _)| name.letter == 's');
        let mut streams: Vec<_> = named.map(|(name, handle)| (format!("s{}", name.number), *handle)).collect();
        if self.own.contains(&(thread, self.current[thread])) {
            streams.push(("own".to_owned(), 2));
        }
        streams
    }

    /// Asks every stream what it is doing, and forgets what has gone with a capture.
    fn observe(&mut self, thread: usize) -> String {
        let mut text = String::new();
        let mut graphs = BTreeSet::new();
        let mut filling = BTreeSet::new();
        for (name, stream) in self.visible(thread) {
            match self.capture_of(stream) {
                Ok(None) => {}
                Ok(Some(Capture::Active { number, graph })) => {
                    let _ = write!(text, " {name}:A{number}");
                    graphs.insert(graph);
                    filling.insert((stream, graph));
                }
                Ok(Some(Capture::Invalidated)) => {
                    let _ = write!(text, " {name}:I");
                }
                Err(code) => {
                    let _ = write!(text, " {name}:{code}");
                }
            }
        }
        let lost = self.filling.extract_if(.., |(stream, graph)| {
            let stream = self.objects.get(&(*stream).into());
            let graph = self.objects.get(&(*graph).into());
            !stream.zip(graph).is_some_and(|(stream, graph)| filling.contains(&(*stream, *graph)))
        });
        let lost: Vec<_> = lost.collect();
        lost.into_iter().for_each(|(_, graph)| self.forget_graph(graph));
        graphs.extend(self.objects.iter().filter(|(name, _)| name.letter == 'g').map(|(_, handle)| *handle));
        let gone: Vec<Name> =
            self.owners.iter().filter(|(_, owner)| !graphs.contains(owner)).map(|(name, _)| *name).collect();
        gone.into_iter().for_each(|name| self.forget(name));
        text
    }
}
