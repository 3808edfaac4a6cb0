//! A launch in progress.
//!
//! Blocks run in order, the first coordinate fastest. A block runs until it is done; when it has spent its slice without
//! getting there, up to 16 blocks (fewer of those that need much memory) take turns. So blocks that wait for each other
//! make progress as long as they are within so many of each other; a grid that needs more of them at once never ends, as
//! on a GPU that cannot hold them. Everything is deterministic: the same launch on the same memory executes the
//! same instructions in the same order, whatever budgets it is run with.

use std::{
    collections::VecDeque,
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use super::{
    digest::Digest,
    exec::{
        Shape,
        block::{Block, Launch, Outcome},
        system::Console,
    },
    fault::{Fault, FaultKind},
    function::Function,
    memory::{Memory, Regions},
};

/// The most blocks that are in progress at a time.
const RESIDENT: usize = 16;

/// Thread-instructions that a block may execute before another one gets its turn.
const SLICE: u64 = 1 << 20;

/// The most threads in a block.
const MOST_THREADS: u64 = 1024;

/// The most memory that a block has: shared, and local of all its threads.
const MOST_SHARED: u64 = 16 << 20;
const MOST_LOCAL: u64 = 1 << 30;

/// Memory beyond which no further block becomes resident.
const RESIDENT_BYTES: u64 = 1 << 30;

/// What a call of [`Grid::run`] achieved.
#[derive(Debug)]
pub enum Progress {
    /// Every thread has exited.
    Done,
    /// The budget is spent; run it again.
    Running,
    /// A thread made a mistake. The launch is over, and what it wrote stays written.
    Fault(Fault),
}

/// A launch in progress: can be left and taken up again at any instruction.
pub struct Grid {
    function: Arc<Function>,
    shape: Shape,
    parameters: Box<[u8]>,
    /// The number of the next block to start.
    next: u64,
    /// Blocks in progress, the one whose turn it is first.
    resident: VecDeque<Block>,
    /// What is left of its slice.
    slice: u64,
    /// A block that is done, kept for its buffers.
    spare: Option<Block>,
    executed: u64,
    console: Console,
}

impl Grid {
    /// Begins a launch. Parameters that are shorter than the function's parameter block are continued with zeros.
    ///
    /// Nothing is checked here: a launch that is too large gets a fault from the first [`run`](Grid::run).
    pub fn new(
        function: Arc<Function>,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        params: Box<[u8]>,
    ) -> Grid {
        let mut parameters = params.into_vec();
        parameters.resize(function.param_bytes(), 0);
        Grid {
            function,
            shape: Shape { grid, block, dynamic_shared },
            parameters: parameters.into(),
            next: 0,
            resident: VecDeque::new(),
            slice: SLICE,
            spare: None,
            executed: 0,
            console: Console::default(),
        }
    }

    /// Runs until about `budget` thread-instructions are executed, or there is nothing left to do. A run may pass its
    /// budget by one instruction of a warp. After a fault or the end the grid must not be run again: it would say
    /// [`Progress::Done`].
    pub fn run(&mut self, memory: &mut dyn Memory, budget: u64) -> Progress {
        if let Some(fault) = self.resources() {
            return self.fail(fault);
        }
        let mut memory = Regions::new(memory);
        let end = self.executed.saturating_add(budget);
        loop {
            let left = end.saturating_sub(self.executed);
            let Some(mut block) = self.resident.pop_front() else {
                if !self.start() {
                    return Progress::Done;
                }
                continue;
            };
            if left == 0 {
                self.resident.push_front(block);
                return Progress::Running;
            }
            let before = self.executed;
            let mut launch = Launch {
                function: &self.function,
                shape: &self.shape,
                parameters: &self.parameters,
                memory: &mut memory,
                console: &mut self.console,
                executed: &mut self.executed,
            };
            let outcome = block.run(&mut launch, left.min(self.slice));
            self.slice = self.slice.saturating_sub(self.executed - before);
            match outcome {
                Outcome::Done => {
                    self.spare = Some(block);
                    self.slice = SLICE;
                }
                Outcome::Running if self.slice > 0 => self.resident.push_front(block),
                Outcome::Running => {
                    self.resident.push_back(block);
                    self.slice = SLICE;
                    if self.resident.len() < self.most_resident() {
                        self.start();
                    }
                }
                Outcome::Fault(fault) => return self.fail(*fault),
            }
        }
    }

    /// How many thread-instructions have been executed: one for each operation and each thread that it reached, whether
    /// its guard held or not. A few PTX instructions count as several operations.
    pub fn instructions(&self) -> u64 {
        self.executed
    }

    /// About how many bytes of state a [`fingerprint`](Self::fingerprint) looks at.
    pub fn state_bytes(&self) -> usize {
        self.resident.iter().map(Block::state_bytes).sum()
    }

    /// A digest of everything that decides how the launch goes on, memory apart: when it is what it was before, the launch
    /// goes in a circle until memory changes.
    pub fn fingerprint(&self) -> u64 {
        let mut digest = Digest::default();
        (self.next, self.slice).hash(&mut digest);
        self.resident.hash(&mut digest);
        digest.finish()
    }

    /// Takes what the kernel has printed since the last call.
    pub fn take_printed(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.console.printed)
    }

    /// Starts the next block and gives it the turn; false when there is none.
    fn start(&mut self) -> bool {
        if self.next >= self.shape.blocks() {
            return false;
        }
        let [x, y, _] = self.shape.grid.map(u64::from);
        let coordinates = [self.next % x, self.next / x % y, self.next / x / y].map(|n| n as u32);
        let mut block = self.spare.take().unwrap_or_default();
        block.reset(&self.function, &self.shape, coordinates);
        self.resident.push_front(block);
        self.next += 1;
        true
    }

    /// How many blocks may be in progress: fewer when they need much memory.
    fn most_resident(&self) -> usize {
        let threads = self.shape.threads_per_block();
        let registers = threads.saturating_mul(self.function.register_count().into()).saturating_mul(4);
        let local = threads.saturating_mul(self.function.local_bytes().into());
        let block = registers.saturating_add(local).saturating_add(self.shape.dynamic_shared.into()).max(1);
        (RESIDENT_BYTES / block).clamp(1, RESIDENT as u64) as usize
    }

    /// The fault of a launch that is larger than the interpreter allows.
    fn resources(&self) -> Option<Fault> {
        let threads = self.shape.threads_per_block();
        let shared = u64::from(self.function.dynamic_shared_start) + u64::from(self.shape.dynamic_shared);
        let local = threads.saturating_mul(self.function.local_bytes().into());
        let fits = (1..=MOST_THREADS).contains(&threads) && shared <= MOST_SHARED && local <= MOST_LOCAL;
        let (line, instruction) = self.function.source(0);
        let fault =
            Fault { kind: FaultKind::Resources, line, instruction, block: [0; 3], thread: [0; 3], detail: None };
        (!fits).then_some(fault)
    }

    fn fail(&mut self, fault: Fault) -> Progress {
        self.resident.clear();
        self.next = u64::MAX;
        Progress::Fault(fault)
    }
}

impl fmt::Debug for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grid")
            .field("function", &self.function.name())
            .field("shape", &self.shape)
            .field("next_block", &self.next)
            .field("executed", &self.executed)
            .finish_non_exhaustive()
    }
}
