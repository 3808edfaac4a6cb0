//! Registers of the lowered code: which are taken, and what they hold before the first instruction.

use std::collections::HashMap;

use crate::ptx::{
    error::{Limit, Reason},
    registers::{ALL, ALWAYS, Class, LANES, NEVER, Registers, Slot},
};

/// The most registers and constants in one file.
const MOST: usize = 16384;

/// A constant of the long file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Long {
    Value(u64),
    /// The address of a module-scope variable plus an offset, known once the module is linked.
    Address(usize, i64),
    /// An offset from the beginning of dynamic shared memory, known at the end of lowering.
    DynamicShared(i64),
}

/// One register file while it is being handed out.
#[derive(Debug, Default)]
struct File {
    used: usize,
    free: Vec<Slot>,
}

impl File {
    fn take(&mut self) -> Result<Slot, Reason> {
        if let Some(slot) = self.free.pop() {
            return Ok(slot);
        }
        if self.used >= MOST {
            return Err(Reason::TooLarge(Limit::Registers));
        }
        self.used += 1;
        Ok((self.used - 1) as Slot)
    }
}

/// The three files and the constants in them. A constant is a register that nothing writes.
#[derive(Debug)]
pub(super) struct Bank {
    words: File,
    longs: File,
    predicates: File,
    word_constants: HashMap<u32, Slot>,
    long_constants: HashMap<Long, Slot>,
}

impl Bank {
    pub(super) fn new() -> Self {
        let predicates = File { used: usize::from(NEVER) + 1, free: Vec::new() };
        Bank {
            words: File::default(),
            longs: File::default(),
            predicates,
            word_constants: HashMap::new(),
            long_constants: HashMap::new(),
        }
    }

    fn file(&mut self, class: Class) -> &mut File {
        match class {
            Class::Predicate => &mut self.predicates,
            Class::Half | Class::Word => &mut self.words,
            Class::Long => &mut self.longs,
        }
    }

    /// Takes a free register.
    pub(super) fn take(&mut self, class: Class) -> Result<Slot, Reason> {
        self.file(class).take()
    }

    /// Gives a register back. Each thread has its own copy of it, so it may serve another name from here on.
    pub(super) fn give_back(&mut self, class: Class, slot: Slot) {
        self.file(class).free.push(slot);
    }

    pub(super) fn word(&mut self, value: u32) -> Result<Slot, Reason> {
        if let Some(slot) = self.word_constants.get(&value) {
            return Ok(*slot);
        }
        let slot = self.fresh(Class::Word)?;
        self.word_constants.insert(value, slot);
        Ok(slot)
    }

    pub(super) fn long(&mut self, value: Long) -> Result<Slot, Reason> {
        if let Some(slot) = self.long_constants.get(&value) {
            return Ok(*slot);
        }
        let slot = self.fresh(Class::Long)?;
        self.long_constants.insert(value, slot);
        Ok(slot)
    }

    /// A register that was never handed out, so that no code writes it.
    fn fresh(&mut self, class: Class) -> Result<Slot, Reason> {
        let file = self.file(class);
        let free = std::mem::take(&mut file.free);
        let slot = file.take();
        file.free = free;
        slot
    }

    /// How many 32-bit registers a thread needs.
    pub(super) fn words_used(&self) -> u32 {
        (self.words.used + 2 * self.longs.used) as u32
    }

    /// What the registers hold at the start of a thread, and where addresses of variables go.
    pub(super) fn finish(self, dynamic_shared: u64) -> (Registers, Vec<Relocation>) {
        let mut words = vec![[0; LANES]; self.words.used];
        let mut longs = vec![[0; LANES]; self.longs.used];
        let mut predicates = vec![0; self.predicates.used];
        predicates[usize::from(ALWAYS)] = ALL;
        for (value, slot) in self.word_constants {
            words[usize::from(slot)] = [value; LANES];
        }
        let mut relocations = Vec::new();
        for (constant, slot) in self.long_constants {
            match constant {
                Long::Value(value) => longs[usize::from(slot)] = [value; LANES],
                Long::DynamicShared(offset) => {
                    longs[usize::from(slot)] = [dynamic_shared.wrapping_add_signed(offset); LANES];
                }
                Long::Address(variable, offset) => relocations.push(Relocation { slot, variable, offset }),
            }
        }
        let registers = Registers { words: words.into(), longs: longs.into(), predicates: predicates.into() };
        (registers, relocations)
    }
}

/// A long constant that is the address of a module-scope variable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Relocation {
    pub(crate) slot: Slot,
    pub(crate) variable: usize,
    pub(crate) offset: i64,
}
