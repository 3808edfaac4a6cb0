//! What probably exists: a rough idea of what the calls so far have done, so that the next one is likely to mean something.
//!
//! It follows the calls alone, never their results, and it may be wrong: what is not there is skipped when the sequence runs.

use crate::call::{Call, Step, THREADS};
use crate::names::*;

/// A stream that has probably been made.
#[derive(Clone, Copy)]
pub(super) struct StreamGuess {
    pub(super) name: Stream,
    pub(super) place: Place,
    /// The capture that it takes part in.
    pub(super) capture: Option<usize>,
}

/// A capture that has probably begun.
pub(super) struct CaptureGuess {
    pub(super) origin: StreamArg,
    pub(super) thread: usize,
    pub(super) mode: Mode,
    pub(super) into: Option<Graph>,
    pub(super) open: bool,
    /// Whether it is probably invalid.
    pub(super) lost: bool,
    /// How many steps it has been open.
    pub(super) age: u32,
}

/// An event.
#[derive(Clone, Copy)]
pub(super) struct EventGuess {
    pub(super) name: Event,
    pub(super) place: Place,
    /// Whether it was recorded, and in which capture.
    pub(super) last: Option<Option<usize>>,
}

/// A graph and the nodes that have names.
pub(super) struct GraphGuess {
    pub(super) name: Graph,
    pub(super) nodes: Vec<Node>,
}

/// What probably exists.
#[derive(Default)]
pub(super) struct Model {
    pub(super) current: [usize; THREADS],
    pub(super) modes: [Option<Mode>; THREADS],
    pub(super) streams: Vec<StreamGuess>,
    pub(super) captures: Vec<CaptureGuess>,
    pub(super) events: Vec<EventGuess>,
    pub(super) graphs: Vec<GraphGuess>,
    /// Executables, the graphs they were made from, and the nodes of those.
    pub(super) execs: Vec<(Exec, Graph, Vec<Node>)>,
    pub(super) pointers: Vec<Pointer>,
    pub(super) blocks: Vec<Block>,
    pub(super) modules: Vec<Module>,
    pub(super) objects: Vec<Object>,
    /// Nodes of captures, which are for changing dependencies.
    pub(super) captured: Vec<(usize, Node)>,
    pub(super) retained: Vec<(Graph, Object)>,
    /// The nodes that launch a kernel.
    pub(super) kernels: Vec<Node>,
}

impl Model {
    /// The place of a stream as a thread sees it.
    pub(super) fn place(&self, thread: usize, stream: StreamArg) -> Place {
        let named = self.streams.iter().find(|guess| StreamArg::Named(guess.name) == stream);
        named.map_or(Place(self.current[thread]), |guess| guess.place)
    }

    pub(super) fn capture(&self, stream: StreamArg) -> Option<usize> {
        match stream {
            StreamArg::Named(name) => self.streams.iter().find(|guess| guess.name == name)?.capture,
            stream => self.captures.iter().position(|capture| capture.open && capture.origin == stream),
        }
    }

    /// The numbers of the captures that are open.
    pub(super) fn open(&self) -> Vec<usize> {
        (0..self.captures.len()).filter(|number| self.captures[*number].open).collect()
    }

    fn lose(&mut self, number: Option<usize>) {
        if let Some(number) = number {
            self.captures[number].lost = true;
        }
    }

    /// A call that captures forbid was made by a thread.
    fn offend(&mut self, thread: usize) {
        let mode = self.modes[thread].unwrap_or(Mode::Global);
        for capture in self.captures.iter_mut().filter(|capture| capture.open) {
            let own = capture.thread == thread && capture.mode != Mode::Relaxed;
            let other = capture.mode == Mode::Global && mode == Mode::Global;
            capture.lost |= mode != Mode::Relaxed && (own || other);
        }
    }

    fn close(&mut self, number: usize) {
        self.captures[number].open = false;
        self.streams
            .iter_mut()
            .filter(|stream| stream.capture == Some(number))
            .for_each(|stream| stream.capture = None);
        self.captured.retain(|(capture, _)| *capture != number);
    }

    fn graph(&mut self, name: Graph) -> Option<&mut GraphGuess> {
        self.graphs.iter_mut().find(|graph| graph.name == name)
    }

    /// Takes in what a step probably does.
    pub(super) fn learn(&mut self, step: &Step) {
        let thread = step.thread;
        self.captures.iter_mut().for_each(|capture| capture.age += 1);
        match step.call {
            Call::CtxSetCurrent { place } => self.current[thread] = place.0,
            Call::ThreadExchangeStreamCaptureMode { mode } => self.modes[thread] = Some(mode),
            Call::CtxSynchronize {} | Call::CtxRecordEvent { .. } | Call::CtxWaitEvent { .. } => {
                self.captures.iter_mut().for_each(|capture| capture.lost |= capture.open);
            }
            Call::StreamCreate { new: New(name), .. } => {
                self.streams.push(StreamGuess { name, place: Place(self.current[thread]), capture: None });
            }
            Call::StreamDestroy { stream } => {
                match self.capture(StreamArg::Named(stream)) {
                    Some(number) if self.captures[number].origin == StreamArg::Named(stream) => self.close(number),
                    number => self.lose(number),
                }
                self.streams.retain(|guess| guess.name != stream);
            }
            Call::StreamSynchronize { stream } | Call::StreamQuery { stream } => {
                let number = self.capture(stream);
                self.lose(number);
                self.offend(thread);
            }
            Call::StreamWaitEvent { stream, event, side: Side::Plain } => self.wait(stream, event),
            Call::StreamBeginCapture { stream, mode } => self.begin(thread, stream, mode, None),
            Call::StreamBeginCaptureToGraph { stream, graph, mode, .. } => {
                self.begin(thread, StreamArg::Named(stream), mode, Some(graph));
            }
            Call::StreamEndCapture { stream, new: New(name) } => {
                let Some(number) = self.capture(stream) else { return };
                let capture = &self.captures[number];
                if capture.origin != stream {
                    return;
                }
                let kept = !capture.lost && (capture.mode == Mode::Relaxed || capture.thread == thread);
                let nodes = self.captured.iter().filter(|(capture, _)| *capture == number).map(|(_, node)| *node);
                let nodes = nodes.collect();
                match capture.into {
                    None if kept => self.graphs.push(GraphGuess { name, nodes }),
                    Some(graph) if !kept => self.graphs.retain(|guess| guess.name != graph),
                    _ => {}
                }
                self.close(number);
            }
            Call::StreamGetCaptureInfo { stream, new: New(node) } => {
                if let Some(number) = self.capture(stream) {
                    self.captured.push((number, node));
                }
            }
            Call::EventCreate { new: New(name), .. } => {
                self.events.push(EventGuess { name, place: Place(self.current[thread]), last: None });
            }
            Call::EventDestroy { event } => self.events.retain(|guess| guess.name != event),
            Call::EventRecord { event, stream, side: Side::Plain } => {
                let number = self.capture(stream);
                self.events.iter_mut().filter(|guess| guess.name == event).for_each(|guess| guess.last = Some(number));
            }
            Call::MemAlloc { new: New(name) } => {
                self.offend(thread);
                self.pointers.push(name);
            }
            Call::MemAllocAsync { new: New(name), .. } => self.pointers.push(name),
            Call::MemHostAlloc { new: New(name) } => {
                self.offend(thread);
                self.blocks.push(name);
            }
            Call::MemFree { pointer } => {
                self.offend(thread);
                self.pointers.retain(|name| *name != pointer);
            }
            Call::MemFreeHost { block } => {
                self.offend(thread);
                self.blocks.retain(|name| *name != block);
            }
            Call::ModuleLoadData { new: New(name) } => self.modules.push(name),
            Call::ModuleUnload { module } => {
                self.offend(thread);
                self.modules.retain(|name| *name != module);
            }
            Call::EventQuery { .. }
            | Call::EventSynchronize { .. }
            | Call::MemPoolTrimTo { .. }
            | Call::Memset { .. }
            | Call::MemcpyHtoD { .. }
            | Call::MemcpyDtoH { .. }
            | Call::MemcpyDtoD { .. } => self.offend(thread),
            _ => self.learn_graphs(step),
        }
    }

    fn learn_graphs(&mut self, step: &Step) {
        if let Call::GraphAddKernelNode { new: New(node), .. } = step.call {
            self.kernels.push(node);
        }
        match step.call {
            Call::GraphCreate { new: New(name) } => self.graphs.push(GraphGuess { name, nodes: Vec::new() }),
            Call::GraphClone { new: New(name), .. } => self.graphs.push(GraphGuess { name, nodes: Vec::new() }),
            Call::GraphDestroy { graph } => self.graphs.retain(|guess| guess.name != graph),
            Call::GraphDestroyNode { node } => {
                self.graphs.iter_mut().for_each(|guess| guess.nodes.retain(|name| *name != node));
            }
            Call::GraphInstantiate { new: New(name), graph, .. } => {
                self.offend(step.thread);
                let nodes = self.graph(graph).map(|guess| guess.nodes.clone()).unwrap_or_default();
                self.execs.push((name, graph, nodes));
            }
            Call::GraphExecDestroy { exec } => {
                self.offend(step.thread);
                self.execs.retain(|(name, ..)| *name != exec);
            }
            Call::GraphLaunch { stream, .. } | Call::GraphUpload { stream, .. } => {
                let number = self.capture(stream);
                self.lose(number);
            }
            Call::UserObjectCreate { new: New(name) } => self.objects.push(name),
            Call::GraphRetainUserObject { graph, object } => self.retained.push((graph, object)),
            Call::GraphAddEmptyNode { new: New(name), graph, .. }
            | Call::GraphAddKernelNode { new: New(name), graph, .. }
            | Call::GraphAddMemsetNode { new: New(name), graph, .. }
            | Call::GraphAddMemcpyNode { new: New(name), graph, .. }
            | Call::GraphAddHostNode { new: New(name), graph, .. }
            | Call::GraphAddEventRecordNode { new: New(name), graph, .. }
            | Call::GraphAddEventWaitNode { new: New(name), graph, .. }
            | Call::GraphAddChildGraphNode { new: New(name), graph, .. }
            | Call::GraphAddMemFreeNode { new: New(name), graph, .. } => {
                self.graph(graph).into_iter().for_each(|guess| guess.nodes.push(name));
            }
            Call::GraphAddMemAllocNode { new: New(name), graph, pointer: New(pointer), .. } => {
                self.pointers.push(pointer);
                self.graph(graph).into_iter().for_each(|guess| guess.nodes.push(name));
            }
            _ => {}
        }
    }

    fn begin(&mut self, thread: usize, origin: StreamArg, mode: Mode, into: Option<Graph>) {
        if self.capture(origin).is_some() || matches!(origin, StreamArg::Null | StreamArg::Legacy) {
            return;
        }
        let number = self.captures.len();
        self.captures.push(CaptureGuess { origin, thread, mode, into, open: true, lost: false, age: 0 });
        let stream = self.streams.iter_mut().find(|guess| StreamArg::Named(guess.name) == origin);
        stream.into_iter().for_each(|guess| guess.capture = Some(number));
    }

    fn wait(&mut self, stream: StreamArg, event: Event) {
        let last = self.events.iter().find(|guess| guess.name == event).and_then(|guess| guess.last);
        let inside = self.capture(stream);
        match (inside, last) {
            (None, Some(Some(number))) if self.captures[number].open => {
                let waiting = self.streams.iter_mut().find(|guess| StreamArg::Named(guess.name) == stream);
                waiting.into_iter().for_each(|guess| guess.capture = Some(number));
            }
            (Some(number), Some(last)) if last != Some(number) => {
                self.lose(Some(number));
                self.lose(last.filter(|last| self.captures[*last].open));
            }
            _ => {}
        }
    }
}
