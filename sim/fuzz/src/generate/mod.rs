//! Random sequences: mostly sensible, sometimes not, the same for the same seed and number wherever they are made.

mod graphs;
mod model;

use std::collections::VecDeque;

use crate::call::{Call, Sequence, Step, THREADS};
use crate::names::*;
use crate::rng::Rng;
use model::Model;

/// How sequences are to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// How many calls.
    pub steps: usize,
    /// How many devices are used.
    pub devices: usize,
}

/// The sequence of a seed that has this number.
#[must_use]
pub fn sequence(seed: u64, number: u64, shape: Shape) -> Sequence {
    let mut generator = Generator {
        rng: Rng::new(seed, number),
        devices: shape.devices.clamp(1, PLACES),
        model: Model::default(),
        plan: VecDeque::new(),
        steps: Vec::new(),
        names: 0,
        cells: 0,
    };
    generator.prepare();
    while generator.steps.len() < shape.steps {
        // What comes next was decided before, most of the time.
        match if generator.rng.percent(85) { generator.plan.pop_front() } else { None } {
            Some(step) => generator.push(step),
            None => generator.invent(),
        }
    }
    generator.steps.truncate(shape.steps);
    Sequence(generator.steps)
}

struct Generator {
    rng: Rng,
    devices: usize,
    model: Model,
    /// Steps that belong together with earlier ones.
    plan: VecDeque<Step>,
    steps: Vec<Step>,
    names: u16,
    cells: u16,
}

/// Which streams are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Capturing,
    Idle,
    Any,
}

/// Something to do next. `None` when it is not possible now.
type Move = fn(&mut Generator) -> Option<Step>;

impl Generator {
    fn push(&mut self, step: Step) {
        self.model.learn(&step);
        self.steps.push(step);
    }

    /// The first steps: some streams and events.
    fn prepare(&mut self) {
        for place in 0..self.devices {
            let count = 2 + self.rng.below(2) - u32::from(place == 1);
            if place == 1 {
                self.push(Step { thread: 0, call: Call::CtxSetCurrent { place: Place(1) } });
            }
            for _ in 0..count {
                let (stream, event) = (self.new_stream(), self.new_event());
                self.push(Step { thread: 0, call: stream });
                self.push(Step { thread: 0, call: event });
            }
        }
        if self.devices > 1 {
            self.push(Step { thread: 0, call: Call::CtxSetCurrent { place: Place(0) } });
        }
    }

    /// Decides what to do next.
    fn invent(&mut self) {
        let open = self.model.open();
        let lost = open.iter().filter(|number| self.model.captures[**number].lost).count() as u32;
        let sound = open.len() as u32 - lost;
        let oldest = open.iter().map(|number| self.model.captures[*number].age).max().unwrap_or(0);
        let graphs = u32::from(!self.model.graphs.is_empty());
        let execs = u32::from(!self.model.execs.is_empty());
        let rarely = if sound > 0 { 1 } else { 4 };
        let moves: &[(u32, Move)] = &[
            (if self.model.streams.len() < 5 { 2 } else { 0 }, |g| Some(g.by_anyone(|g| g.new_stream()))),
            (if self.model.events.len() < 6 { 3 } else { 0 }, |g| Some(g.by_anyone(|g| g.new_event()))),
            (if sound == 0 { 16 } else { 2 }, Generator::begin),
            (graphs * if sound == 0 { 3 } else { 1 }, Generator::begin_to_graph),
            (lost * 40 + sound * (2 + oldest), Generator::end),
            (1, Generator::end_anything),
            (sound * 24, |g| g.work(Wanted::Capturing)),
            (8, |g| g.work(Wanted::Any)),
            (sound * 9, Generator::fork),
            (sound * 9, Generator::join),
            (3, |g| g.record(Wanted::Any)),
            (3, Generator::wait),
            (2, Generator::look_at_event),
            (rarely, Generator::look_at_stream),
            (2 * rarely, Generator::unsafe_call),
            (2, Generator::exchange_mode),
            (sound * 3 + 1, Generator::capture_info),
            (sound * 2, Generator::change_dependencies),
            (4 - 3 * graphs, Generator::build),
            (graphs * 5, Generator::add_node),
            (graphs * 3, Generator::look_at_graph),
            (graphs * 4, Generator::change_graph),
            (graphs * if execs == 0 { 8 * rarely } else { rarely }, Generator::instantiate),
            (execs * 3 * rarely, Generator::launch),
            (execs * 7, Generator::change_exec),
            (1, Generator::destroy),
            (2, Generator::user_object),
            (if self.devices > 1 { 2 } else { 0 }, Generator::peers),
        ];
        let weights: Vec<u32> = moves.iter().map(|(weight, _)| *weight).collect();
        let chosen = moves[self.rng.weighted(&weights)].1;
        if let Some(step) = chosen(self) {
            self.push(step);
        }
    }

    /// A name that nothing has had.
    fn name(&mut self) -> u16 {
        self.names += 1;
        self.names - 1
    }

    /// A cell that nothing has written to, as long as there are any.
    fn cell(&mut self) -> Cell {
        self.cells = (self.cells + 1) % CELLS;
        Cell(self.cells)
    }

    /// A thread: most likely one that is capturing.
    fn thread(&mut self) -> usize {
        let open = self.model.open();
        match self.rng.pick(&open) {
            Some(number) if self.rng.percent(80) => self.model.captures[number].thread,
            _ if self.rng.percent(60) => 0,
            _ => self.rng.below(THREADS as u32) as usize,
        }
    }

    fn by_anyone(&mut self, call: impl FnOnce(&mut Generator) -> Call) -> Step {
        let thread = self.thread();
        Step { thread, call: call(self) }
    }

    fn place(&mut self) -> Place {
        Place(self.rng.below(self.devices as u32) as usize)
    }

    fn stream(&mut self, wanted: Wanted) -> Option<StreamArg> {
        if wanted == Wanted::Any && self.rng.percent(12) {
            return self.rng.pick(&[StreamArg::Null, StreamArg::Legacy, StreamArg::Own]);
        }
        let streams: Vec<Stream> = self
            .model
            .streams
            .iter()
            .filter(|guess| match wanted {
                Wanted::Capturing => guess.capture.is_some(),
                Wanted::Idle => guess.capture.is_none(),
                Wanted::Any => true,
            })
            .map(|guess| guess.name)
            .collect();
        self.rng.pick(&streams).map(StreamArg::Named)
    }

    fn named(&mut self, wanted: Wanted) -> Option<Stream> {
        match self.stream(wanted)? {
            StreamArg::Named(stream) => Some(stream),
            _ => None,
        }
    }

    /// An event, most likely one of a place.
    fn event(&mut self, place: Option<Place>) -> Option<Event> {
        let near = |guess: &&model::EventGuess| place.is_none_or(|place| guess.place == place);
        let events: Vec<Event> = self.model.events.iter().filter(near).map(|guess| guess.name).collect();
        self.rng.pick(&events)
    }

    fn new_stream(&mut self) -> Call {
        let kind = if self.rng.percent(25) { StreamKind::Blocking } else { StreamKind::Free };
        Call::StreamCreate { new: New(Stream(self.name())), kind }
    }

    fn new_event(&mut self) -> Call {
        let timing = if self.rng.percent(60) { Timing::Timed } else { Timing::Untimed };
        Call::EventCreate { new: New(Event(self.name())), timing }
    }

    fn mode(&mut self) -> Mode {
        match self.rng.below(3) {
            0 => Mode::Global,
            1 => Mode::ThreadLocal,
            _ => Mode::Relaxed,
        }
    }

    fn host(&mut self) -> Host {
        if self.rng.percent(75) { Host::Pinned } else { Host::Pageable }
    }

    fn side(&mut self) -> Side {
        if self.rng.percent(15) { Side::External } else { Side::Plain }
    }

    fn begin(&mut self) -> Option<Step> {
        let wanted = if self.rng.percent(85) { Wanted::Idle } else { Wanted::Any };
        let (thread, stream, mode) = (self.thread(), self.stream(wanted)?, self.mode());
        Some(Step { thread, call: Call::StreamBeginCapture { stream, mode } })
    }

    fn begin_to_graph(&mut self) -> Option<Step> {
        let (thread, stream, mode) = (self.thread(), self.named(Wanted::Idle)?, self.mode());
        let graph = self.graph()?;
        let after = self.nodes_of(graph);
        Some(Step { thread, call: Call::StreamBeginCaptureToGraph { stream, graph, after, mode } })
    }

    /// Ends a capture as it should be ended, mostly, and goes on with what has become of it.
    fn end(&mut self) -> Option<Step> {
        let open = self.model.open();
        let number = self.rng.pick(&open)?;
        let capture = &self.model.captures[number];
        let (stream, into, right, lost) = (capture.origin, capture.into, capture.thread, capture.lost);
        let thread = if self.rng.percent(93) { right } else { self.rng.below(THREADS as u32) as usize };
        // Whoever has gone elsewhere is brought back first, mostly: no fork is left behind.
        if !lost && self.rng.percent(80) {
            self.join_all(number, right);
        }
        let graph = Graph(self.name());
        self.plan.push_back(Step { thread, call: Call::StreamEndCapture { stream, new: New(graph) } });
        let graph = into.unwrap_or(graph);
        if !lost && self.rng.percent(55) {
            let (exec, flags) = (Exec(self.name()), self.flags());
            self.plan.push_back(Step { thread, call: Call::GraphInstantiate { new: New(exec), graph, flags } });
            if self.rng.percent(80) {
                let stream = self.stream(Wanted::Any).unwrap_or(stream);
                self.plan.push_back(Step { thread, call: Call::GraphLaunch { exec, stream } });
            }
        }
        self.plan.pop_front()
    }

    /// Plans the joins of everything that takes part in a capture.
    fn join_all(&mut self, number: usize, thread: usize) {
        let origin = self.model.captures[number].origin;
        let forks: Vec<_> =
            self.model.streams.iter().filter(|stream| stream.capture == Some(number)).copied().collect();
        for fork in forks.into_iter().filter(|fork| StreamArg::Named(fork.name) != origin) {
            let Some(event) = self.event(Some(fork.place)) else { continue };
            let stream = StreamArg::Named(fork.name);
            self.plan.push_back(Step { thread, call: Call::EventRecord { event, stream, side: Side::Plain } });
            self.plan
                .push_back(Step { thread, call: Call::StreamWaitEvent { stream: origin, event, side: Side::Plain } });
        }
    }

    fn end_anything(&mut self) -> Option<Step> {
        let stream = self.stream(Wanted::Any)?;
        Some(self.by_anyone(|g| Call::StreamEndCapture { stream, new: New(Graph(g.name())) }))
    }

    /// Work for a stream.
    fn work(&mut self, wanted: Wanted) -> Option<Step> {
        let (thread, stream) = (self.thread(), self.stream(wanted)?);
        let place = self.model.place(thread, stream);
        let (cell, value, host) = (self.cell(), Number(self.rng.below(1000) + 1), self.host());
        let other = self.place();
        let call = match self.rng.weighted(&[40, 14, 8, 4, 8, 3, 8, 4, 9, 8, 1]) {
            0 => Call::LaunchKernel { stream, place, cell },
            1 => Call::MemsetAsync { place, cell, value, stream },
            2 => Call::MemcpyHtoDAsync { place, cell, host, stream },
            3 => Call::MemcpyDtoHAsync { place, host, stream },
            4 => Call::MemcpyDtoDAsync { from: place, to: place, cell, stream },
            5 => Call::MemcpyPeerAsync { from: other, to: place, cell, stream },
            6 => Call::LaunchHostFunc { stream },
            7 => Call::StreamWriteValue { stream, place, cell, value },
            8 => Call::MemAllocAsync { new: New(Pointer(self.name())), stream },
            9 => Call::MemFreeAsync { pointer: self.rng.pick(&self.model.pointers)?, stream },
            _ => Call::StreamAddCallback { stream },
        };
        Some(Step { thread, call })
    }

    /// Draws a stream into a capture.
    fn fork(&mut self) -> Option<Step> {
        let (thread, stream) = (self.thread(), self.named(Wanted::Capturing)?);
        let place = self.model.place(thread, StreamArg::Named(stream));
        let (event, other) = (self.event(Some(place))?, self.stream(Wanted::Idle)?);
        self.plan.push_back(Step { thread, call: Call::StreamWaitEvent { stream: other, event, side: Side::Plain } });
        Some(Step { thread, call: Call::EventRecord { event, stream: StreamArg::Named(stream), side: Side::Plain } })
    }

    /// Brings what was drawn in back, or a part of it.
    fn join(&mut self) -> Option<Step> {
        let open = self.model.open();
        let number = self.rng.pick(&open)?;
        let thread = self.thread();
        self.join_all(number, thread);
        self.plan.pop_front()
    }

    fn record(&mut self, wanted: Wanted) -> Option<Step> {
        let (thread, stream, side) = (self.thread(), self.stream(wanted)?, self.side());
        let place = Some(self.model.place(thread, stream)).filter(|_| self.rng.percent(95));
        Some(Step { thread, call: Call::EventRecord { event: self.event(place)?, stream, side } })
    }

    fn wait(&mut self) -> Option<Step> {
        let (stream, event, side) = (self.stream(Wanted::Any)?, self.event(None)?, self.side());
        Some(self.by_anyone(|_| Call::StreamWaitEvent { stream, event, side }))
    }

    fn look_at_event(&mut self) -> Option<Step> {
        let (event, to, place) = (self.event(None)?, self.event(None)?, self.place());
        let call = match self.rng.weighted(&[4, 4, 3, 1, 1]) {
            0 => Call::EventQuery { event },
            1 => Call::EventSynchronize { event },
            2 => {
                // Both have to be recorded for it to mean something.
                let stream = self.stream(Wanted::Idle)?;
                let thread = self.thread();
                for event in [event, to] {
                    self.plan.push_back(Step { thread, call: Call::EventRecord { event, stream, side: Side::Plain } });
                }
                self.plan.push_back(Step { thread, call: Call::EventElapsedTime { from: event, to } });
                return self.plan.pop_front();
            }
            3 => Call::CtxRecordEvent { place, event },
            _ => Call::CtxWaitEvent { place, event },
        };
        Some(self.by_anyone(|_| call))
    }

    fn look_at_stream(&mut self) -> Option<Step> {
        let stream = self.stream(Wanted::Any)?;
        let call = match self.rng.weighted(&[4, 4, 2, 1, 1, 3]) {
            0 => Call::StreamSynchronize { stream },
            1 => Call::StreamQuery { stream },
            2 => Call::StreamGetFlags { stream },
            3 => Call::StreamGetPriority { stream },
            4 => Call::StreamGetCtx { stream },
            _ => Call::CtxSynchronize {},
        };
        Some(self.by_anyone(|_| call))
    }

    /// A call that some captures forbid.
    fn unsafe_call(&mut self) -> Option<Step> {
        let (place, host, value) = (self.place(), self.host(), Number(self.rng.below(1000) + 1));
        let (cell, other) = (self.cell(), self.place());
        let call = match self.rng.weighted(&[3, 8, 2, 5, 2, 2, 3, 2, 2, 2, 2, 2, 1]) {
            0 => Call::MemAlloc { new: New(Pointer(self.name())) },
            1 => Call::MemFree { pointer: self.rng.pick(&self.model.pointers)? },
            2 => Call::MemHostAlloc { new: New(Block(self.name())) },
            3 => Call::MemFreeHost { block: self.rng.pick(&self.model.blocks)? },
            4 => Call::MemPoolTrimTo { place },
            5 => Call::MemGetInfo {},
            6 => Call::Memset { place, cell, value },
            7 => Call::MemcpyHtoD { place, cell, host },
            8 => Call::MemcpyDtoH { place, host },
            9 => Call::MemcpyDtoD { from: other, to: place, cell },
            10 => {
                let module = Module(self.name());
                let next = match self.rng.below(3) {
                    0 => Call::ModuleGetFunction { module },
                    1 => Call::ModuleGetGlobal { module },
                    _ => Call::ModuleUnload { module },
                };
                let next = self.by_anyone(|_| next);
                self.plan.push_back(next);
                Call::ModuleLoadData { new: New(module) }
            }
            11 => Call::ModuleUnload { module: self.rng.pick(&self.model.modules)? },
            _ => Call::FuncGetAttribute { place },
        };
        Some(self.by_anyone(|_| call))
    }

    fn exchange_mode(&mut self) -> Option<Step> {
        let mode = self.mode();
        Some(self.by_anyone(|_| Call::ThreadExchangeStreamCaptureMode { mode }))
    }

    fn capture_info(&mut self) -> Option<Step> {
        let wanted = if self.rng.percent(70) { Wanted::Capturing } else { Wanted::Any };
        let stream = self.stream(wanted)?;
        Some(self.by_anyone(|g| match g.rng.below(4) {
            0 => Call::StreamIsCapturing { stream },
            _ => Call::StreamGetCaptureInfo { stream, new: New(Node(g.name())) },
        }))
    }

    fn change_dependencies(&mut self) -> Option<Step> {
        let wanted = if self.rng.percent(90) { Wanted::Capturing } else { Wanted::Any };
        let stream = self.stream(wanted)?;
        let number = self.model.capture(stream);
        let nodes = self.model.captured.iter().filter(|(capture, _)| Some(*capture) == number).map(|(_, node)| *node);
        let nodes: Vec<Node> = nodes.collect();
        let nodes = Nodes(self.rng.pick(&nodes).into_iter().collect());
        let change = if self.rng.percent(50) { Change::Add } else { Change::Set };
        Some(self.by_anyone(|_| Call::StreamUpdateCaptureDependencies { stream, nodes, change }))
    }

    /// Destroys a stream or an event.
    fn destroy(&mut self) -> Option<Step> {
        let call = match self.rng.below(3) {
            0 => Call::StreamDestroy { stream: self.named(Wanted::Any)? },
            _ => Call::EventDestroy { event: self.event(None)? },
        };
        Some(self.by_anyone(|_| call))
    }

    fn peers(&mut self) -> Option<Step> {
        let place = self.place();
        let call = match self.rng.below(4) {
            0 => Call::CtxEnablePeerAccess { peer: place },
            1 => Call::CtxDisablePeerAccess { peer: place },
            _ => Call::CtxSetCurrent { place },
        };
        Some(self.by_anyone(|_| call))
    }
}
