//! Lowers instructions that only compute: registers in, registers out. Comparisons are in `compare`.

use super::function::{Lowering, class_of};
use crate::ptx::{
    alu::{self, Alu, Modifiers, Slots, alu},
    error::Reason,
    op::Op,
    parse::ast::{Instruction, Operand},
    registers::{Class, Slot},
    types::{Space, Ty, window},
};

impl<'a> Lowering<'_, '_, 'a> {
    /// Lowers one instruction other than a call.
    pub(super) fn operation(&mut self, instruction: &Instruction<'a>) -> Result<(), Reason> {
        let mut m = Modifiers::new(&instruction.modifiers);
        let operands = &instruction.operands[..];
        match instruction.opcode {
            "mov" => self.mov(&mut m, operands)?,
            "cvt" => self.cvt(&mut m, operands)?,
            "cvta" => self.cvta(&mut m, operands)?,
            "setp" => self.setp(&mut m, operands)?,
            "set" => self.set(&mut m, operands)?,
            opcode => {
                let carrying = alu::carrying(opcode, &mut m);
                if let Some(carrying) = carrying {
                    self.carrying(carrying?, operands)?;
                } else if let Some(alu) = alu::select(opcode, &mut m) {
                    let alu = alu?;
                    // Suffixes first: they say more than a wrong operand.
                    m.finish()?;
                    self.arithmetic(alu, operands)?;
                } else if !self.data(opcode, &mut m, operands)? && !self.flow(opcode, &mut m, operands)? {
                    return Err(Reason::UnsupportedInstruction(opcode.to_owned()));
                }
            }
        }
        m.finish()
    }

    /// Emits an operation on known registers.
    pub(super) fn emit_alu<const N: usize>(&mut self, alu: Alu, d: Slot, sources: [Slot; N]) -> Result<(), Reason> {
        let mut s = [0; 4];
        for (to, from) in s.iter_mut().zip(sources) {
            *to = from;
        }
        self.emit(Op::Alu(alu.run, Slots { d, s })).map(|_| ())
    }

    fn arithmetic(&mut self, alu: Alu, operands: &[Operand<'a>]) -> Result<(), Reason> {
        let own = alu.operands.len() - usize::from(alu.control.is_some());
        let [destination, sources @ ..] = operands else { return Err(Reason::OperandCount) };
        if sources.len() != own {
            return Err(Reason::OperandCount);
        }
        let mut s = [0; 4];
        for (i, (operand, class)) in sources.iter().zip(alu.operands).enumerate() {
            s[i] = self.source(operand, i + 2, *class)?;
        }
        if let Some(control) = alu.control {
            s[own] = self.bank.word(control)?;
        }
        let d = self.destination(destination, 1, alu.result)?;
        self.emit(Op::Alu(alu.run, Slots { d, s })).map(|_| ())
    }

    fn carrying(&mut self, carrying: alu::Carrying, operands: &[Operand<'a>]) -> Result<(), Reason> {
        let [destination, sources @ ..] = operands else { return Err(Reason::OperandCount) };
        if sources.len() + 1 != carrying.value.operands.len() {
            return Err(Reason::OperandCount);
        }
        let flag = self.carry()?;
        let mut s = [0; 4];
        for (i, (operand, class)) in sources.iter().zip(carrying.value.operands).enumerate() {
            s[i] = self.source(operand, i + 2, *class)?;
        }
        s[sources.len()] = if carrying.reads { flag } else { self.constant(0, Class::Predicate)? };
        // The value may overwrite an operand and the flag feeds both: the new flag waits in a temporary.
        let out = self.temporary(Class::Predicate)?;
        let d = self.destination(destination, 1, carrying.value.result)?;
        self.emit(Op::Alu(carrying.carry.run, Slots { d: out, s }))?;
        self.emit(Op::Alu(carrying.value.run, Slots { d, s }))?;
        if carrying.writes {
            self.emit_alu(alu::copy(Class::Predicate), flag, [out])?;
        }
        Ok(())
    }

    fn mov(&mut self, m: &mut Modifiers<'_>, operands: &[Operand<'a>]) -> Result<(), Reason> {
        let ty = m.ty()?;
        let class = class_of(ty);
        match operands {
            [Operand::Vector(parts), whole] => self.unpack(class, parts, whole),
            [whole, Operand::Vector(parts)] => self.pack(class, whole, parts),
            [d, a] => {
                let a = self.source(a, 2, class)?;
                let d = self.destination(d, 1, class)?;
                self.emit_alu(alu::copy(class), d, [a])
            }
            _ => Err(Reason::OperandCount),
        }
    }

    /// `mov.b64 d, {a, b}`
    fn pack(&mut self, class: Class, whole: &Operand<'a>, parts: &[Operand<'a>]) -> Result<(), Reason> {
        let (alu, part) = match (class, parts.len()) {
            (Class::Word, 2) => (alu!(|a: u16, b: u16| -> u32 { u32::from(a) | u32::from(b) << 16 }), Class::Half),
            (Class::Long, 2) => (alu!(|a: u32, b: u32| -> u64 { u64::from(a) | u64::from(b) << 32 }), Class::Word),
            (Class::Long, 4) => {
                let alu = alu!(|a: u16, b: u16, c: u16, d: u16| -> u64 {
                    u64::from(a) | u64::from(b) << 16 | u64::from(c) << 32 | u64::from(d) << 48
                });
                (alu, Class::Half)
            }
            _ => return Err(Reason::Operand(2)),
        };
        let mut s = [0; 4];
        for (slot, operand) in s.iter_mut().zip(parts) {
            *slot = self.source(operand, 2, part)?;
        }
        let d = self.destination(whole, 1, class)?;
        self.emit_alu(alu, d, s)
    }

    /// `mov.b64 {a, b}, d`
    fn unpack(&mut self, class: Class, parts: &[Operand<'a>], whole: &Operand<'a>) -> Result<(), Reason> {
        let (alu, part, bits) = match (class, parts.len()) {
            (Class::Word, 2) => (alu!(|a: u32, at: u32| -> u16 { (a >> (at & 31)) as u16 }), Class::Half, 16),
            (Class::Long, 2) => (alu!(|a: u64, at: u32| -> u32 { (a >> (at & 63)) as u32 }), Class::Word, 32),
            (Class::Long, 4) => (alu!(|a: u64, at: u32| -> u16 { (a >> (at & 63)) as u16 }), Class::Half, 16),
            _ => return Err(Reason::Operand(1)),
        };
        let a = self.source(whole, 2, class)?;
        for (i, operand) in parts.iter().enumerate() {
            let d = self.destination(operand, 1, part)?;
            let at = self.bank.word(bits * i as u32)?;
            self.emit_alu(alu, d, [a, at])?;
        }
        Ok(())
    }

    fn cvt(&mut self, m: &mut Modifiers<'_>, operands: &[Operand<'a>]) -> Result<(), Reason> {
        if m.leading_type().is_some_and(|ty| ty.element().is_some()) {
            let alu = alu::convert_pair(m)?;
            return self.arithmetic(alu, operands);
        }
        let [destination, source] = operands else { return Err(Reason::OperandCount) };
        let (to, d) = match destination {
            Operand::Name("_", 0) => return Err(Reason::Operand(1)),
            other => self.any_register(other, 1)?,
        };
        let (from, a) = match source {
            Operand::Name(name, 0) if crate::ptx::op::Special::parse(name, None).is_none() => {
                let (ty, slot) = self.register(name, 2)?;
                (class_of(ty), slot)
            }
            Operand::Member(..) | Operand::Name(..) => (Class::Word, self.source(source, 2, Class::Word)?),
            _ => return Err(Reason::Operand(2)),
        };
        let alu = alu::convert(m, class_of(to), from)?;
        match alu.control {
            Some(control) => {
                let control = self.bank.word(control)?;
                self.emit_alu(alu, d, [a, control])
            }
            None => self.emit_alu(alu, d, [a]),
        }
    }

    /// `cvta.space` adds the base of the space's window, `cvta.to.space` takes it off.
    fn cvta(&mut self, m: &mut Modifiers<'_>, operands: &[Operand<'a>]) -> Result<(), Reason> {
        let [d, a] = operands else { return Err(Reason::OperandCount) };
        let to = m.flag("to");
        let space = m.take(Space::parse).ok_or(Reason::MissingModifier("state space"))?;
        match m.ty()? {
            Ty::U64 => {}
            ty => return Err(Reason::UnsupportedType(format!("{ty:?}").to_lowercase())),
        }
        let base = window::base(space);
        let a = self.source(a, 2, Class::Long)?;
        let d = self.destination(d, 1, Class::Long)?;
        if base == 0 {
            return self.emit_alu(alu::copy(Class::Long), d, [a]);
        }
        let base = self.constant(if to { base.wrapping_neg() } else { base }, Class::Long)?;
        self.emit_alu(alu!(|a: u64, b: u64| -> u64 { a.wrapping_add(b) }), d, [a, base])
    }
}
