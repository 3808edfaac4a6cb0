//! An interpreter for PTX: parses a module and runs its kernels, a warp at a time.
//!
//! It knows nothing of drivers, handles or locks. [`Module::parse`] reads, checks and lowers a text; [`Module::link`] gives its
//! variables addresses; a [`Grid`] is a launch in progress, which runs on a [`Memory`] in pieces of any size.
//!
//! ```text
//! text -> parse (tokens, syntax tree) -> lower (registers, positions, inlined calls) -> Function
//!                                          | alu: which loop over 32 lanes executes which instruction
//!                                          | number: arithmetic of one value, exact and with any rounding
//! Function -> Grid -> exec (block, warp, memory, atomics, exchange)  -> Done | Running | Fault
//! ```
//!
//! 1. No text makes it panic, and no kernel makes it touch memory that [`Memory`] did not hand out.
//! 2. A launch is deterministic: it executes the same instructions in the same order whatever its budgets are. Only memory that
//!    others change meanwhile can make a difference.
//! 3. Integer instructions and the IEEE forms of floating-point ones (`.rn`, `.rz`, `.rm`, `.rp`, with or without `.ftz` and
//!    `.sat`) give the bits that a GPU gives. NaN results of half and single precision are `0x7fff` and `0x7fffffff`, as on
//!    a GPU. The `.approx` and `.full` forms are computed more exactly than on a GPU, so they differ from it in the last bits,
//!    and by more for large angles and denormal operands.
//!
//! # What is supported
//!
//! What NVRTC 12.0 emits for CUDA C++ without tensor cores, textures and asynchronous copies:
//!
//! - integer, logic, shift, bit-field, comparison, selection and conversion instructions of 16, 32 and 64 bits, with
//!   carries; floating point in single and double precision, and to nearest in both 16-bit formats, alone and in pairs;
//! - loads and stores of 1 to 16 bytes in global, constant, shared, local, parameter and generic space; atomics of 32 and
//!   64 bits, and sums and exchanges of 16; fences; prefetches, which do nothing;
//! - branches, indexed branches, predication; calls of functions with a body, which are inlined;
//! - `shfl`, `vote`, `match`, `redux`, `bar.warp.sync`, `activemask` with independent lanes; `bar` and `barrier` in all forms;
//! - `printf` and `assert`;
//! - special registers; clocks and timers count thread-instructions; `nanosleep` does not wait.
//!
//! # What is refused
//!
//! Everything else, by [`Module::parse`], with line and name: tensor-core and video instructions, textures and surfaces,
//! `cp.async` and other asynchronous copies, clusters, packed integers, `tf32` and 8-bit floats, recursion, indirect calls,
//! and calls of other functions without a body such as `malloc`.
//!
//! # What differs from hardware
//!
//! Where PTX leaves results open they are fixed here: quotients and remainders of a division by zero are all ones, registers
//! and shared memory begin as zero, a shuffle from a lane that does not take part gives the lane's own value. Lanes
//! of a warp take part in atomics lowest first. Of several lanes that store to one address the highest wins. Shared memory
//! begins at address zero.
//!
//! The assembler for a GPU may fuse a multiplication and an addition that have no rounding suffix. Here nothing is fused but
//! `fma` and `mad`; code that must give the same bits everywhere writes `.rn`.

mod alu;
mod digest;
mod error;
mod exec;
mod fault;
mod function;
mod grid;
mod lower;
mod memory;
mod module;
mod number;
mod op;
mod parse;
mod printf;
mod registers;
mod types;

pub use self::{
    error::{Limit, ParseError, Reason},
    fault::{Fault, FaultKind},
    function::{Function, Param},
    grid::{Grid, Progress},
    memory::{Memory, Region},
    module::{Global, Module},
};
