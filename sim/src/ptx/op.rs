//! Lowered code: what a warp executes. Names are resolved to registers, calls are inlined, labels are positions.

use super::{
    alu::{Run, Slots},
    registers::{Class, Mask, Slot},
    types::Space,
};

/// One operation and the lanes that take part: those of `guard`, each bit flipped where `flip` has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instr {
    pub(crate) op: Op,
    pub(crate) guard: Slot,
    pub(crate) flip: Mask,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    /// Arithmetic: one result, no effects.
    Alu(Run, Slots),
    /// Reads a special register into a register of the word file, or of the long file for the wide ones.
    Special(Special, Slot),
    Parameter(Parameter),
    Load(Access),
    Store(Access),
    Atomic(Atomic),
    Collective(Collective),
    Barrier(Barrier),
    /// Taken by the lanes of the guard.
    Branch(u32),
    /// Taken to `tables[table][index]`.
    BranchTable {
        index: Slot,
        table: u32,
    },
    /// `system[index]` of the function.
    System(u32),
    Exit,
    Trap,
    /// Orders accesses to memory that the host shares.
    Fence,
    /// An instruction that has no effect here, such as a prefetch.
    Nothing,
}

/// A call of a function that the system provides. Arguments and results are variables in parameter memory, given by
/// their addresses there.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SystemCall {
    /// `__assertfail`: the first three name texts, the line is a word.
    AssertionFailed { condition: u64, file: u64, line: u64, function: u64 },
    /// `vprintf`: the format's address, the arguments' address, and where the number of arguments goes.
    Print { format: u64, arguments: u64, count: u64 },
}

/// A read of the launch's parameter block at a fixed place; every lane gets the same value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameter {
    pub(crate) offset: u32,
    pub(crate) bytes: u8,
    pub(crate) signed: bool,
    pub(crate) class: Class,
    pub(crate) d: Slot,
}

/// A load or store of one to four neighbouring elements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    pub(crate) space: Space,
    /// Bytes of an element: 1, 2, 4 or 8.
    pub(crate) bytes: u8,
    pub(crate) count: u8,
    /// Whether a loaded element is sign-extended.
    pub(crate) signed: bool,
    /// The class of the registers.
    pub(crate) class: Class,
    /// The address is this long register plus `offset`.
    pub(crate) base: Slot,
    pub(crate) offset: i32,
    pub(crate) registers: [Slot; 4],
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Atomic {
    pub(crate) operation: AtomicOperation,
    pub(crate) space: Space,
    /// 2, 4 or 8; the operands are halves, words or longs accordingly.
    pub(crate) bytes: u8,
    pub(crate) base: Slot,
    pub(crate) offset: i32,
    /// Where the old value goes.
    pub(crate) d: Slot,
    pub(crate) b: Slot,
    /// The new value of a compare-and-swap.
    pub(crate) c: Slot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtomicOperation {
    Add,
    AddFloat,
    /// Of one or two elements of a 16-bit format.
    AddHalf,
    AddHalves,
    AddBrain,
    AddBrains,
    MinUnsigned,
    MinSigned,
    MaxUnsigned,
    MaxSigned,
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
    /// `old >= b ? 0 : old + 1`
    Increment,
    /// `old == 0 || old > b ? b : old - 1`
    Decrement,
}

/// An operation of several lanes together: they wait for each other, then exchange values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Collective {
    pub(crate) kind: CollectiveKind,
    /// The result, in the file that the kind implies; and the result predicate.
    pub(crate) d: Slot,
    pub(crate) p: Slot,
    /// The value that a lane contributes: word, long or predicate, as the kind implies.
    pub(crate) a: Slot,
    /// Of shuffles: the lane operand and the clamp operand.
    pub(crate) b: Slot,
    pub(crate) c: Slot,
    /// The member mask.
    pub(crate) members: Slot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CollectiveKind {
    /// `bar.warp.sync`: nothing is exchanged.
    Wait,
    ShuffleUp,
    ShuffleDown,
    ShuffleButterfly,
    ShuffleIndex,
    VoteAll,
    VoteAny,
    VoteUniform,
    Ballot,
    MatchAny,
    MatchAll,
    MatchAnyLong,
    MatchAllLong,
    Reduce(Reduction),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reduction {
    Add,
    MinUnsigned,
    MinSigned,
    MaxUnsigned,
    MaxSigned,
    And,
    Or,
    Xor,
}

/// A barrier of the block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Barrier {
    pub(crate) kind: BarrierKind,
    /// The word that numbers the barrier.
    pub(crate) id: Slot,
    /// The word that says how many threads take part; without one, all threads of the block that have not exited.
    pub(crate) count: Option<Slot>,
    /// The predicate that a reduction collects, and where its result goes (a word or, for and/or, a predicate).
    pub(crate) a: Slot,
    pub(crate) d: Slot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Sync,
    /// Counts as arrived, does not wait.
    Arrive,
    Count,
    And,
    Or,
}

/// Registers that the hardware sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Special {
    /// Dimension 0, 1 or 2.
    Thread(u8),
    BlockSize(u8),
    Block(u8),
    GridSize(u8),
    Lane,
    Warp,
    Warps,
    Processor,
    Processors,
    LanesEqual,
    LanesBelow,
    LanesUpTo,
    LanesAbove,
    LanesFrom,
    ActiveMask,
    DynamicShared,
    TotalShared,
    /// The number of instructions that the launch has executed: its low word, high word, both.
    ClockLow,
    ClockHigh,
    Clock,
    GridId,
}

impl Special {
    /// The register that a name and a component stand for.
    pub(crate) fn parse(name: &str, component: Option<&str>) -> Option<Special> {
        if let Some(component) = component {
            let dimension = match component {
                "x" => 0,
                "y" => 1,
                "z" => 2,
                _ => return None,
            };
            return Some(match name {
                "%tid" => Special::Thread(dimension),
                "%ntid" => Special::BlockSize(dimension),
                "%ctaid" => Special::Block(dimension),
                "%nctaid" => Special::GridSize(dimension),
                _ => return None,
            });
        }
        Some(match name {
            "%laneid" => Special::Lane,
            "%warpid" => Special::Warp,
            "%nwarpid" => Special::Warps,
            "%smid" => Special::Processor,
            "%nsmid" => Special::Processors,
            "%lanemask_eq" => Special::LanesEqual,
            "%lanemask_lt" => Special::LanesBelow,
            "%lanemask_le" => Special::LanesUpTo,
            "%lanemask_gt" => Special::LanesAbove,
            "%lanemask_ge" => Special::LanesFrom,
            "%dynamic_smem_size" => Special::DynamicShared,
            "%total_smem_size" => Special::TotalShared,
            "%clock" | "%globaltimer_lo" => Special::ClockLow,
            "%clock_hi" | "%globaltimer_hi" => Special::ClockHigh,
            "%clock64" | "%globaltimer" => Special::Clock,
            "%gridid" => Special::GridId,
            _ => return None,
        })
    }

    pub(crate) const fn class(self) -> Class {
        match self {
            Special::Clock | Special::GridId => Class::Long,
            _ => Class::Word,
        }
    }
}
