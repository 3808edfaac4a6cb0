//! An interpreter for PTX: parses a module, runs its kernels a warp at a time.
mod alu;
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
