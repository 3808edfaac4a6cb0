//! Violations: what a program did that the driver does not promise to catch.
//!
//! The simulator goes on as the driver would (or raises the device fault that the driver raises at best) and keeps a
//! record that names both ends: who made the thing wrong, and who used it.

use std::fmt;

use super::{ObjectKind, Pending, Site};

/// A range of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The first byte.
    pub address: u64,
    /// How many bytes.
    pub bytes: u64,
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}+{}", self.address, self.bytes)
    }
}

/// Something that a correct program never does.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Violation {
    /// Device work touched memory that had been freed.
    UseAfterFree {
        /// What was touched.
        touched: Range,
        /// The block that used to be there.
        block: Range,
        /// The call that freed the block.
        freed: Site,
        /// The call that submitted the work.
        used: Site,
    },
    /// Memory was freed while submitted work that names it had not finished.
    FreedWhileInUse {
        /// The block.
        block: Range,
        /// The call that freed it.
        freed: Site,
        /// The call that submitted the work.
        used: Site,
    },
    /// Device work touched an address beside, but not inside, a block.
    OutOfBounds {
        /// What was touched.
        touched: Range,
        /// The nearest block below.
        block: Range,
        /// The call that made the block.
        made: Site,
        /// The call that submitted the work.
        used: Site,
    },
    /// Device work touched an address that nothing was ever at, or that its device cannot reach.
    UnmappedAddress {
        /// What was touched.
        touched: Range,
        /// The call that submitted the work.
        used: Site,
    },
    /// Device work made an access that is not aligned to its size.
    Misaligned {
        /// What was touched.
        touched: Range,
        /// The call that submitted the work.
        used: Site,
    },
    /// A kernel failed in a way that has nothing to do with an address, such as a trap.
    KernelFailed {
        /// The kernel's name and what the interpreter has to say.
        reason: String,
        /// The call that submitted the work.
        used: Site,
    },
    /// A function was used, or work of it was still pending, after its module was unloaded.
    ModuleUnloaded {
        /// The function.
        function: String,
        /// The call that unloaded the module.
        unloaded: Site,
        /// The call that submitted the work or used the handle.
        used: Site,
    },
    /// The page-locked source of a pending copy was changed between the call that submitted it and its execution.
    SourceOverwritten {
        /// The host range.
        source: Range,
        /// The call that submitted the copy.
        used: Site,
    },
    /// An object was destroyed, freed or unloaded a second time.
    DestroyedTwice {
        /// What it was.
        kind: ObjectKind,
        /// Its handle or address.
        handle: u64,
        /// The call that destroyed it first, where it is still remembered.
        first: Option<Site>,
        /// The call that tried again.
        again: Site,
    },
    /// A wait has lasted longer than the device's [patience](crate::SimDevice::set_patience): what it waited for was
    /// taken for a kernel that never ends.
    TimedOut {
        /// The work that did not end, or could not begin.
        work: Pending,
        /// The call that waited.
        waited: Site,
    },
    /// The simulator itself failed.
    Internal {
        /// What went wrong.
        message: String,
        /// The call in which it did.
        during: Site,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::UseAfterFree { touched, block, freed, used } => {
                write!(f, "use after free: {used} touches {touched} of block {block}, freed by {freed}")
            }
            Violation::FreedWhileInUse { block, freed, used } => {
                write!(f, "freed while in use: {freed} frees block {block}, which pending work of {used} names")
            }
            Violation::OutOfBounds { touched, block, made, used } => {
                write!(f, "out of bounds: {used} touches {touched}, outside block {block} made by {made}")
            }
            Violation::UnmappedAddress { touched, used } => {
                write!(f, "unmapped address: {used} touches {touched}, where its device has no memory")
            }
            Violation::Misaligned { touched, used } => write!(f, "misaligned access: {used} touches {touched}"),
            Violation::KernelFailed { reason, used } => write!(f, "kernel failed: {used}: {reason}"),
            Violation::ModuleUnloaded { function, unloaded, used } => {
                write!(f, "module unloaded: {used} uses function {function}, unloaded by {unloaded}")
            }
            Violation::SourceOverwritten { source, used } => {
                write!(f, "source overwritten: host range {source} changed while the copy of {used} was pending")
            }
            Violation::DestroyedTwice { kind, handle, first, again } => {
                write!(f, "destroyed twice: {again} destroys {kind:?} {handle:#x}")?;
                match first {
                    Some(first) => write!(f, ", already destroyed by {first}"),
                    None => Ok(()),
                }
            }
            Violation::TimedOut { work, waited } => write!(f, "timed out: {waited} waited in vain for {work}"),
            Violation::Internal { message, during } => write!(f, "simulator failed in {during}: {message}"),
        }
    }
}

/// The violations of a device, or of the process.
#[derive(Debug, Default)]
pub(crate) struct Violations {
    list: Vec<Violation>,
}

/// How many violations are kept: a replay in a loop repeats the same one, and the first ones tell the most.
const KEPT: usize = 1024;

impl Violations {
    /// Keeps a violation, unless there are too many already.
    pub(crate) fn push(&mut self, violation: Violation) {
        if self.list.len() < KEPT {
            self.list.push(violation);
        }
    }

    /// What was recorded.
    pub(crate) fn all(&self) -> Vec<Violation> {
        self.list.clone()
    }

    /// What was recorded; afterwards nothing is.
    pub(crate) fn take(&mut self) -> Vec<Violation> {
        std::mem::take(&mut self.list)
    }
}
