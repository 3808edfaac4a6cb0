//! Finds the register that an operand stands for.
//!
//! A source is a register of its class, or becomes one: constants are registers of their own, special registers are read
//! into a temporary, negated predicates are computed. A destination is a register, or a temporary for `_`.

use super::{
    bank::Long,
    function::{Lowering, class_of},
    globals::Named,
    scope::Symbol,
};
use crate::ptx::{
    alu::{Slots, alu},
    error::Reason,
    op::{Op, Special},
    parse::ast::{Base, Operand},
    registers::{ALWAYS, Class, NEVER, Slot},
    types::{Space, Ty},
};

/// Where an address operand points.
#[derive(Debug, Clone, Copy)]
pub(super) struct Address {
    /// The space of the variable that the address names, if it names one.
    pub(super) space: Option<Space>,
    /// The long register that holds the address, without `offset`.
    pub(super) base: Slot,
    pub(super) offset: i32,
    /// The address itself, when it is known.
    pub(super) fixed: Option<u64>,
}

impl Address {
    /// The space of an access: the one that the instruction names, or that of the variable, or generic. `None` when the
    /// two contradict each other.
    pub(super) fn space_under(&self, named: Option<Space>) -> Option<Space> {
        match (named, self.space) {
            (Some(Space::Const), Some(Space::Global)) => Some(Space::Const),
            (Some(named), Some(own)) if named != own => None,
            (Some(space), _) | (None, Some(space)) => Some(space),
            (None, None) => Some(Space::Generic),
        }
    }
}

impl<'a> Lowering<'_, '_, 'a> {
    /// What a name stands for: blocks from the inside out as far as the function, then the module.
    pub(super) fn symbol(&mut self, name: &'a str) -> Result<Symbol, Reason> {
        for index in (0..self.scopes.len()).rev() {
            if let Some(symbol) = self.scopes[index].symbol(name) {
                return Ok(symbol);
            }
            if let Some(ty) = self.scopes[index].in_range(name) {
                let slot = self.bank.take(class_of(ty))?;
                let symbol = Symbol::Register { ty, slot };
                self.scopes[index].owned.push((class_of(ty), slot));
                self.scopes[index].declare(name, symbol);
                return Ok(symbol);
            }
            if self.scopes[index].function {
                break;
            }
        }
        match self.names.globals.find(name) {
            Some(Named::Global(index)) => Ok(Symbol::Global(index)),
            Some(Named::Shared(variable)) => self.module_shared(variable),
            None => Err(Reason::Undeclared(name.to_owned())),
        }
    }

    /// A register by name, whatever its type.
    pub(super) fn register(&mut self, name: &'a str, index: usize) -> Result<(Ty, Slot), Reason> {
        match self.symbol(name)? {
            Symbol::Register { ty, slot } => Ok((ty, slot)),
            _ => Err(Reason::Operand(index)),
        }
    }

    pub(super) fn predicate(&mut self, name: &'a str, index: usize) -> Result<Slot, Reason> {
        match self.register(name, index)? {
            (Ty::Pred, slot) => Ok(slot),
            _ => Err(Reason::Operand(index)),
        }
    }

    /// The register of a source operand. `index` counts operands from 1 and goes into the refusal.
    pub(super) fn source(&mut self, operand: &Operand<'a>, index: usize, class: Class) -> Result<Slot, Reason> {
        let wrong = Err(Reason::Operand(index));
        match (operand, class) {
            (Operand::Name("WARP_SZ", 0), _) => self.constant(32, class),
            (Operand::Name(name, offset), _) => {
                if let Some(special) = Special::parse(name, None) {
                    return self.special(special, index, class);
                }
                match self.symbol(name)? {
                    Symbol::Register { ty, slot } if class_of(ty) == class && *offset == 0 => Ok(slot),
                    Symbol::Register { .. } => wrong,
                    symbol => self.variable_address(symbol, *offset, index, class),
                }
            }
            (Operand::Member(name, member), _) => match Special::parse(name, Some(member)) {
                Some(special) => self.special(special, index, class),
                None => Err(Reason::Undeclared(format!("{name}.{member}"))),
            },
            (Operand::Not(name), Class::Predicate) => {
                let a = self.predicate(name, index)?;
                let d = self.temporary(Class::Predicate)?;
                self.emit_unguarded(Op::Alu(alu!(|a: bool| -> bool { !a }).run, Slots { d, s: [a, 0, 0, 0] }))?;
                Ok(d)
            }
            (Operand::Int(value), _) => self.constant(*value, class),
            (Operand::F32(bits), Class::Word) => self.bank.word(*bits),
            (Operand::F64(bits), Class::Word) => self.bank.word((f64::from_bits(*bits) as f32).to_bits()),
            (Operand::F64(bits), Class::Long) => self.bank.long(Long::Value(*bits)),
            (Operand::F32(bits), Class::Long) => {
                self.bank.long(Long::Value(f64::from(f32::from_bits(*bits)).to_bits()))
            }
            _ => wrong,
        }
    }

    /// A constant register. Integers are cut to the width.
    pub(super) fn constant(&mut self, value: u64, class: Class) -> Result<Slot, Reason> {
        match class {
            Class::Predicate => Ok(if value != 0 { ALWAYS } else { NEVER }),
            Class::Half => self.bank.word(u32::from(value as u16)),
            Class::Word => self.bank.word(value as u32),
            Class::Long => self.bank.long(Long::Value(value)),
        }
    }

    fn special(&mut self, special: Special, index: usize, class: Class) -> Result<Slot, Reason> {
        // Words may be read into half registers (`mov.u16 %rs1, %tid.x` in old texts); longs only into longs.
        let fits = match special.class() {
            Class::Long => class == Class::Long,
            _ => matches!(class, Class::Half | Class::Word),
        };
        if !fits {
            return Err(Reason::Operand(index));
        }
        let d = self.temporary(class)?;
        self.emit_unguarded(Op::Special(special, d))?;
        Ok(d)
    }

    /// The address of a variable as a constant of 32 or 64 bits.
    fn variable_address(&mut self, symbol: Symbol, offset: i64, index: usize, class: Class) -> Result<Slot, Reason> {
        match (symbol, class) {
            (Symbol::Variable { address, .. }, Class::Word | Class::Long) => {
                self.constant(address.wrapping_add_signed(offset), class)
            }
            (Symbol::DynamicShared, Class::Long) => self.bank.long(Long::DynamicShared(offset)),
            (Symbol::Global(variable), Class::Long) => self.bank.long(Long::Address(variable, offset)),
            (Symbol::DynamicShared, Class::Word) => {
                let wide = self.bank.long(Long::DynamicShared(offset))?;
                let d = self.temporary(Class::Word)?;
                self.emit_unguarded(Op::Alu(alu!(|a: u64| -> u32 { a as u32 }).run, Slots { d, s: [wide, 0, 0, 0] }))?;
                Ok(d)
            }
            _ => Err(Reason::Operand(index)),
        }
    }

    /// The register of a destination; a temporary for `_`.
    pub(super) fn destination(&mut self, operand: &Operand<'a>, index: usize, class: Class) -> Result<Slot, Reason> {
        match operand {
            Operand::Name("_", 0) => self.temporary(class),
            Operand::Name(name, 0) => match self.register(name, index)? {
                (ty, slot) if class_of(ty) == class => Ok(slot),
                _ => Err(Reason::Operand(index)),
            },
            _ => Err(Reason::Operand(index)),
        }
    }

    /// A register operand of any type: its type and slot.
    pub(super) fn any_register(&mut self, operand: &Operand<'a>, index: usize) -> Result<(Ty, Slot), Reason> {
        match operand {
            Operand::Name(name, 0) => self.register(name, index),
            _ => Err(Reason::Operand(index)),
        }
    }

    /// The two predicates of `p|q`, or one and a temporary.
    pub(super) fn predicate_pair(
        &mut self,
        operand: &Operand<'a>,
        index: usize,
    ) -> Result<(Slot, Option<Slot>), Reason> {
        match operand {
            Operand::Pair(p, q) => {
                let p = self.destination(&Operand::Name(p, 0), index, Class::Predicate)?;
                let q = self.destination(&Operand::Name(q, 0), index, Class::Predicate)?;
                Ok((p, Some(q)))
            }
            other => Ok((self.destination(other, index, Class::Predicate)?, None)),
        }
    }

    /// An address operand.
    pub(super) fn address(&mut self, operand: &Operand<'a>, index: usize) -> Result<Address, Reason> {
        let Operand::Address(base, offset) = operand else { return Err(Reason::Operand(index)) };
        let symbol = match base {
            Base::Absolute => None,
            Base::Name(name) => Some(self.symbol(name)?),
        };
        match symbol {
            None => self.fixed_address(None, *offset as u64),
            Some(Symbol::Variable { space, address }) => {
                self.fixed_address(Some(space), address.wrapping_add_signed(*offset))
            }
            Some(Symbol::DynamicShared) => {
                let base = self.bank.long(Long::DynamicShared(*offset))?;
                Ok(Address { space: Some(Space::Shared), base, offset: 0, fixed: None })
            }
            Some(Symbol::Global(variable)) => {
                let base = self.bank.long(Long::Address(variable, *offset))?;
                Ok(Address { space: Some(Space::Global), base, offset: 0, fixed: None })
            }
            Some(Symbol::Register { ty, slot }) => {
                let base = match class_of(ty) {
                    Class::Long => slot,
                    Class::Word => {
                        let d = self.temporary(Class::Long)?;
                        let widen = alu!(|a: u32| -> u64 { a.into() });
                        self.emit_unguarded(Op::Alu(widen.run, Slots { d, s: [slot, 0, 0, 0] }))?;
                        d
                    }
                    _ => return Err(Reason::Operand(index)),
                };
                match i32::try_from(*offset) {
                    Ok(offset) => Ok(Address { space: None, base, offset, fixed: None }),
                    Err(_) => Err(Reason::NumberOutOfRange),
                }
            }
        }
    }

    fn fixed_address(&mut self, space: Option<Space>, address: u64) -> Result<Address, Reason> {
        let base = self.bank.long(Long::Value(address))?;
        Ok(Address { space, base, offset: 0, fixed: Some(address) })
    }

    /// Appends an operation that prepares an operand. It only writes a temporary, so it needs no guard.
    fn emit_unguarded(&mut self, op: Op) -> Result<(), Reason> {
        let guard = std::mem::replace(&mut self.guard, (ALWAYS, 0));
        let result = self.emit(op);
        self.guard = guard;
        result.map(|_| ())
    }
}
