//! Runs lowered code.
//!
//! [`Block`](block::Block) schedules the warps of one thread block and its barriers; [`Warp`](warp::Warp) runs 32 lanes
//! in lock step and keeps diverged lanes apart; `access` is memory, `atomic` its read-modify-write part, `collective` the
//! exchange between lanes, `special` the registers that hardware sets, `system` what kernels print and assert.
//!
//! 1. Everything is deterministic: what runs next follows from what ran before, never from the budget or from time.
//! 2. A kernel's mistake ends in a fault, never in undefined behaviour or a panic.
//! 3. A warp always makes progress while a lane can run: diverged groups and warps take turns of bounded length.

mod access;
mod atomic;
pub(super) mod block;
mod collective;
mod special;
pub(super) mod system;
mod warp;

use self::system::Console;
use super::{
    fault::FaultKind,
    function::Function,
    memory::Regions,
    registers::{LANES, Mask},
};

/// The shape of a launch.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) dynamic_shared: u32,
}

impl Shape {
    pub(super) fn threads_per_block(&self) -> u64 {
        self.block.iter().map(|n| u64::from(*n)).fold(1, u64::saturating_mul)
    }

    pub(super) fn blocks(&self) -> u64 {
        self.grid.iter().map(|n| u64::from(*n)).fold(1, u64::saturating_mul)
    }

    /// The coordinates of the thread with this number within its block.
    pub(super) fn thread(&self, number: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [number % x.max(1), number / x.max(1) % y.max(1), number / x.max(1) / y.max(1)]
    }
}

/// What a warp needs from outside itself to run.
pub(super) struct Surroundings<'c, 'm> {
    pub(super) function: &'c Function,
    pub(super) shape: &'c Shape,
    pub(super) parameters: &'c [u8],
    pub(super) memory: &'c mut Regions<'m>,
    /// The block's coordinates.
    pub(super) block: [u32; 3],
    /// The block's shared memory.
    pub(super) shared: &'c mut [u8],
    /// The warp's local memory, lane by lane.
    pub(super) local: &'c mut [u8],
    /// Where kernels print to.
    pub(super) console: &'c mut Console,
    /// Instructions that the launch executed before this run.
    pub(super) executed: u64,
}

/// A mistake of one lane.
#[derive(Debug, Clone, Copy)]
struct LaneFault {
    lane: usize,
    kind: FaultKind,
}

/// The lanes of a warp that exist when `threads` threads are left for it.
fn existing(threads: u32) -> Mask {
    if threads >= LANES as u32 { Mask::MAX } else { (1 << threads) - 1 }
}
