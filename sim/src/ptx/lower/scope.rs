//! Names within functions: blocks, what they declare, and branches that wait for their label.

use std::collections::HashMap;

use crate::ptx::{
    parse::ast::Place,
    registers::{Class, Slot},
    types::{Space, Ty},
};

/// What a name stands for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Symbol {
    Register {
        ty: Ty,
        slot: Slot,
    },
    /// A variable at a known address of its space.
    Variable {
        space: Space,
        address: u64,
    },
    /// Dynamic shared memory.
    DynamicShared,
    /// A module-scope variable in global or constant memory.
    Global(usize),
}

/// Registers declared as `%r<n>`.
#[derive(Debug, Clone, Copy)]
struct Range {
    ty: Ty,
    count: u64,
}

/// A place in the code that needs the position of a label.
#[derive(Debug, Clone, Copy)]
pub(super) enum Patch {
    /// The branch at this position.
    Branch(usize),
    /// An entry of a branch table.
    Table(usize, usize),
}

/// A branch whose label has not been seen yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pending<'a> {
    pub(super) label: &'a str,
    pub(super) patch: Patch,
    pub(super) place: Place,
}

/// One block. A function's outermost block hides everything around it but the module.
#[derive(Debug, Default)]
pub(super) struct Scope<'a> {
    pub(super) function: bool,
    symbols: HashMap<&'a str, Symbol>,
    ranges: HashMap<&'a str, Range>,
    labels: HashMap<&'a str, u32>,
    tables: HashMap<&'a str, Vec<&'a str>>,
    pub(super) pending: Vec<Pending<'a>>,
    /// Registers to give back when the block ends.
    pub(super) owned: Vec<(Class, Slot)>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(function: bool) -> Self {
        Scope { function, ..Scope::default() }
    }

    /// Declares a name; false when the block has it already.
    pub(super) fn declare(&mut self, name: &'a str, symbol: Symbol) -> bool {
        self.symbols.insert(name, symbol).is_none()
    }

    pub(super) fn declare_range(&mut self, prefix: &'a str, ty: Ty, count: u64) -> bool {
        self.ranges.insert(prefix, Range { ty, count }).is_none()
    }

    pub(super) fn declare_table(&mut self, name: &'a str, labels: Vec<&'a str>) -> bool {
        self.tables.insert(name, labels).is_none()
    }

    pub(super) fn declare_label(&mut self, name: &'a str, position: u32) -> bool {
        self.labels.insert(name, position).is_none()
    }

    pub(super) fn symbol(&self, name: &str) -> Option<Symbol> {
        self.symbols.get(name).copied()
    }

    pub(super) fn label(&self, name: &str) -> Option<u32> {
        self.labels.get(name).copied()
    }

    pub(super) fn table(&self, name: &str) -> Option<&Vec<&'a str>> {
        self.tables.get(name)
    }

    /// The type of a register that a range of this block declares. The prefix may itself end in digits.
    pub(super) fn in_range(&self, name: &str) -> Option<Ty> {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        (1..=digits).find_map(|length| {
            let (prefix, number) = name.split_at(name.len() - length);
            let range = self.ranges.get(prefix)?;
            let canonical = length == 1 || !number.starts_with('0');
            (canonical && number.parse::<u64>().ok()? < range.count).then_some(range.ty)
        })
    }
}
