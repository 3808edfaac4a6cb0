//! What a launch does wrong while it runs.

use std::{error::Error, fmt};

use thiserror::Error as ThisError;

/// A launch that cannot go on: what happened, where in the text, and in which thread.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// The line of the instruction, counted from 1.
    pub line: usize,
    /// The instruction's text.
    pub instruction: String,
    /// The block's coordinates.
    pub block: [u32; 3],
    /// The thread's coordinates within the block. Of several threads at fault, the first.
    pub thread: [u32; 3],
    /// Of an assertion: the condition, the function, and the place in the kernel's source.
    pub detail: Option<String>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { kind, line, instruction, block, thread, detail } = self;
        write!(f, "ptx line {line}: {kind}")?;
        if let Some(detail) = detail {
            write!(f, ": {detail}")?;
        }
        write!(f, " in `{instruction}`, block {block:?}, thread {thread:?}")
    }
}

impl Error for Fault {}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access to bytes that are not all mapped, or not writable.
    #[error("out-of-bounds access of {size} bytes at {address:#x}")]
    OutOfBounds {
        /// The address as the instruction has it: relative to its state space.
        address: u64,
        /// The size of the access.
        size: u64,
    },
    /// An access at an address that is no multiple of its size.
    #[error("misaligned access of {size} bytes at {address:#x}")]
    Misaligned {
        /// The address as the instruction has it: relative to its state space.
        address: u64,
        /// The size of the access.
        size: u64,
    },
    /// A `trap` instruction.
    #[error("trap")]
    Trap,
    /// An `assert` that does not hold.
    #[error("assertion failed")]
    Assertion,
    /// Every thread of the block that is left waits for another one.
    #[error("deadlock: all threads of the block wait")]
    Deadlock,
    /// A barrier with a number above 15, or thread counts that are no multiple of 32 or contradict each other.
    #[error("invalid barrier")]
    InvalidBarrier,
    /// A thread that executes a warp-wide instruction without being in its member mask.
    #[error("thread is not in the member mask {members:#010x}")]
    NotAMember {
        /// The member mask.
        members: u32,
    },
    /// An indexed branch beyond its table.
    #[error("branch index {index} out of range")]
    BranchIndex {
        /// The index.
        index: u32,
    },
    /// The launch needs more than the interpreter gives: no threads, more than 1024 a block, more than 16 MiB of shared
    /// memory a block or 1 GiB of local memory a block.
    #[error("launch exceeds the interpreter's resources")]
    Resources,
}
