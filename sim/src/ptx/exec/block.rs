//! A thread block: its warps, which take turns, its barriers and its shared memory.

use super::{
    Shape, Surroundings,
    system::Console,
    warp::{Arrived, Stop, Warp, WarpFault},
};
use crate::ptx::{
    fault::{Fault, FaultKind},
    function::Function,
    memory::Regions,
    registers::LANES,
};

/// The barriers of a block.
const BARRIERS: usize = 16;

/// Threads that have arrived at one barrier since it last opened.
#[derive(Debug, Clone, Copy, Default, Hash)]
struct Arrivals {
    threads: u32,
    holding: u32,
    /// How many threads the arrived ones expect, when they said so.
    expected: Option<u32>,
}

/// What a block did with its budget.
#[derive(Debug)]
pub(in crate::ptx) enum Outcome {
    /// All threads have exited.
    Done,
    /// There is more to run.
    Running,
    Fault(Box<Fault>),
}

/// The launch that a block belongs to.
pub(in crate::ptx) struct Launch<'c, 'm> {
    pub(in crate::ptx) function: &'c Function,
    pub(in crate::ptx) shape: &'c Shape,
    pub(in crate::ptx) parameters: &'c [u8],
    pub(in crate::ptx) memory: &'c mut Regions<'m>,
    pub(in crate::ptx) console: &'c mut Console,
    /// Thread-instructions that the launch has executed.
    pub(in crate::ptx) executed: &'c mut u64,
}

/// A block that runs or is kept to be run again.
#[derive(Debug, Default, Hash)]
pub(in crate::ptx) struct Block {
    coordinates: [u32; 3],
    warps: Vec<Warp>,
    shared: Vec<u8>,
    local: Vec<u8>,
    barriers: [Arrivals; BARRIERS],
    /// The warp whose turn it is.
    turn: usize,
}

impl Block {
    /// Prepares the block to run from the beginning.
    pub(in crate::ptx) fn reset(&mut self, function: &Function, shape: &Shape, coordinates: [u32; 3]) {
        let threads = shape.threads_per_block() as u32;
        self.coordinates = coordinates;
        self.turn = 0;
        self.barriers = Default::default();
        let warps = threads.div_ceil(LANES as u32);
        self.warps.resize_with(warps as usize, Warp::default);
        for (warp, index) in self.warps.iter_mut().zip(0..) {
            warp.reset(&function.initial, index, threads - index * LANES as u32);
        }
        let shared = function.dynamic_shared_start as usize + shape.dynamic_shared as usize;
        self.shared.clear();
        self.shared.resize(shared, 0);
        self.local.clear();
        self.local.resize(function.local_bytes() as usize * LANES * warps as usize, 0);
    }

    /// About how many bytes of state it has.
    pub(in crate::ptx) fn state_bytes(&self) -> usize {
        let warps: usize = self.warps.iter().map(Warp::state_bytes).sum();
        warps + self.shared.len() + self.local.len()
    }

    /// Runs until `budget` thread-instructions are spent, or the block cannot or need not go on.
    pub(in crate::ptx) fn run(&mut self, launch: &mut Launch<'_, '_>, budget: u64) -> Outcome {
        let mut spent = 0;
        let outcome = loop {
            if spent >= budget {
                break Outcome::Running;
            }
            let count = self.warps.len();
            let Some(next) = (0..count).map(|i| (self.turn + i) % count).find(|i| self.warps[*i].can_run()) else {
                break self.stalled(launch);
            };
            self.turn = next;
            let before = spent;
            let per_warp = launch.function.local_bytes() as usize * LANES;
            let mut surroundings = Surroundings {
                function: launch.function,
                shape: launch.shape,
                parameters: launch.parameters,
                memory: launch.memory,
                console: launch.console,
                block: self.coordinates,
                shared: &mut self.shared,
                local: self.local.get_mut(next * per_warp..(next + 1) * per_warp).unwrap_or_default(),
                executed: *launch.executed + before,
            };
            let mut used = 0;
            let stop = self.warps[next].run(&mut surroundings, budget - spent, &mut used);
            spent += used;
            match stop {
                Stop::Budget => {}
                Stop::Turn => {
                    self.warps[next].end_turn();
                    self.turn = (next + 1) % count;
                }
                Stop::Blocked => self.turn = (next + 1) % count,
                Stop::Arrived(arrived) => {
                    if let Err(fault) = self.arrive(launch, &arrived, next) {
                        break Outcome::Fault(Box::new(fault));
                    }
                }
                Stop::Exited => {
                    for id in 0..BARRIERS {
                        self.open_if_complete(launch, id);
                    }
                }
                Stop::Fault(fault) => break Outcome::Fault(Box::new(self.fault(launch, next, fault))),
            }
        };
        *launch.executed += spent;
        outcome
    }

    /// No warp can run: the block is done, or its threads wait for each other.
    fn stalled(&self, launch: &Launch<'_, '_>) -> Outcome {
        if self.warps.iter().all(|warp| warp.live() == 0) {
            return Outcome::Done;
        }
        let waiting = self.warps.iter().enumerate().find_map(|(i, warp)| Some((i, warp.first_waiting()?)));
        let (warp, (lane, position)) = waiting.unwrap_or_default();
        let fault = WarpFault { kind: FaultKind::Deadlock, lane, position };
        Outcome::Fault(Box::new(self.fault(launch, warp, fault)))
    }

    fn fault(&self, launch: &Launch<'_, '_>, warp: usize, fault: WarpFault) -> Fault {
        let (line, instruction) = launch.function.source(fault.position);
        let thread = launch.shape.thread((warp * LANES + fault.lane) as u32);
        let detail = launch.console.assertion.clone();
        Fault { kind: fault.kind, line, instruction, block: self.coordinates, thread, detail }
    }

    fn arrive(&mut self, launch: &Launch<'_, '_>, arrived: &Arrived, warp: usize) -> Result<(), Fault> {
        let id = arrived.id as usize;
        let barrier = &mut self.barriers[id];
        let contradicts = barrier.threads > 0 && barrier.expected != arrived.expected;
        barrier.threads += arrived.lanes;
        barrier.holding += arrived.holding;
        barrier.expected = arrived.expected;
        if contradicts || barrier.expected.is_some_and(|expected| barrier.threads > expected) {
            let Arrived { lane, position, .. } = *arrived;
            let fault = WarpFault { kind: FaultKind::InvalidBarrier, lane, position };
            return Err(self.fault(launch, warp, fault));
        }
        self.open_if_complete(launch, id);
        Ok(())
    }

    /// Opens a barrier for which all expected threads have arrived.
    fn open_if_complete(&mut self, launch: &Launch<'_, '_>, id: usize) {
        let Arrivals { threads, holding, expected } = self.barriers[id];
        let live: u32 = self.warps.iter().map(Warp::live).sum();
        if threads == 0 || threads < expected.unwrap_or(live) {
            return;
        }
        self.barriers[id] = Arrivals::default();
        for warp in &mut self.warps {
            warp.release(&launch.function.code, id as u32, threads, holding);
        }
    }
}
