//! A kernel, ready to run.

use std::sync::Arc;

use super::{
    error::snippet,
    lower::Relocation,
    op::{Instr, SystemCall},
    parse::ast::Place,
    registers::{LANES, Registers},
};

/// One parameter of a kernel: where it lies in the parameter block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param {
    /// The first byte.
    pub offset: usize,
    /// The number of bytes.
    pub size: usize,
    /// The alignment in bytes.
    pub align: usize,
}

/// An `.entry` function, parsed, checked and lowered. Immutable; any number of launches may share it.
#[derive(Debug, Clone)]
pub struct Function {
    pub(super) name: String,
    pub(super) params: Box<[Param]>,
    pub(super) param_bytes: usize,
    pub(super) shared_bytes: u32,
    pub(super) dynamic_shared_start: u32,
    pub(super) local_bytes: u32,
    pub(super) max_threads: Option<u32>,
    pub(super) registers: u32,
    pub(super) code: Box<[Instr]>,
    /// Where each operation stands in the text.
    pub(super) places: Box<[Place]>,
    pub(super) tables: Box<[Box<[u32]>]>,
    /// The calls of functions that the system provides.
    pub(super) system: Box<[SystemCall]>,
    /// What a warp's registers hold at the start.
    pub(super) initial: Registers,
    pub(super) relocations: Box<[Relocation]>,
    pub(super) text: Arc<str>,
}

impl Function {
    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The parameters in order.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// The size of the parameter block.
    pub fn param_bytes(&self) -> usize {
        self.param_bytes
    }

    /// Shared memory that the kernel declares itself.
    pub fn static_shared_bytes(&self) -> u32 {
        self.shared_bytes
    }

    /// Memory of its own that each thread needs.
    pub fn local_bytes(&self) -> u32 {
        self.local_bytes
    }

    /// The most threads in a block, when `.maxntid` or `.reqntid` say so.
    pub fn max_threads_per_block(&self) -> Option<u32> {
        self.max_threads
    }

    /// The 32-bit registers that a thread's registers and constants would fill. A compiler for real hardware, which reuses
    /// registers, needs fewer.
    pub fn register_count(&self) -> u32 {
        self.registers
    }

    /// The line and the text of an operation.
    pub(super) fn source(&self, position: u32) -> (usize, String) {
        let place = self.places.get(position as usize).copied().unwrap_or_default();
        (place.line as usize, snippet(&self.text, place.start as usize))
    }

    /// Fills in the addresses of module-scope variables.
    pub(super) fn relocate(&mut self, addresses: &[u64]) {
        for relocation in &self.relocations {
            let address = addresses.get(relocation.variable).copied().unwrap_or(0);
            if let Some(constant) = self.initial.longs.get_mut(usize::from(relocation.slot)) {
                *constant = [address.wrapping_add_signed(relocation.offset); LANES];
            }
        }
    }
}
