//! Lowers comparisons: `setp` and `set`, of single values and of pairs.
//!
//! A comparison may be combined with a third operand, a predicate. Of single values `setp` gives the outcome and, when it is
//! asked for, that of the opposite comparison; of pairs it gives one outcome for each element.

use super::function::Lowering;
use crate::ptx::{
    alu::{self, Alu, Modifiers, alu},
    error::Reason,
    parse::ast::Operand,
    registers::{ALWAYS, Class, Slot},
    types::Ty,
};

/// A comparison with its operands found.
struct Comparison {
    compare: Alu,
    /// Whether the operands are pairs.
    pairs: bool,
    a: Slot,
    b: Slot,
    /// The operation and the predicate that follow.
    then: Option<(Alu, Slot)>,
}

impl<'a> Lowering<'_, '_, 'a> {
    pub(super) fn setp(&mut self, m: &mut Modifiers<'_>, operands: &[Operand<'a>]) -> Result<(), Reason> {
        let [destination, sources @ ..] = operands else { return Err(Reason::OperandCount) };
        let (p, q) = self.predicate_pair(destination, 1)?;
        let comparison = self.comparison(m, sources)?;
        self.keep_guard(p)?;
        match (q, comparison.pairs) {
            (None, false) => self.outcome(&comparison, comparison.a, comparison.b, false, p),
            (Some(q), false) => {
                // `p` may be the third operand, so nothing is overwritten before both outcomes are there.
                let (first, second) = (self.temporary(Class::Predicate)?, self.temporary(Class::Predicate)?);
                self.outcome(&comparison, comparison.a, comparison.b, false, first)?;
                self.outcome(&comparison, comparison.a, comparison.b, true, second)?;
                self.emit_alu(alu::copy(Class::Predicate), p, [first])?;
                self.emit_alu(alu::copy(Class::Predicate), q, [second])
            }
            (Some(q), true) => {
                let [first, second] = self.outcomes_of_pairs(&comparison)?;
                self.emit_alu(alu::copy(Class::Predicate), p, [first])?;
                self.emit_alu(alu::copy(Class::Predicate), q, [second])
            }
            (None, true) => Err(Reason::Operand(1)),
        }
    }

    /// `set`: all ones or zero, or 1.0 or 0.0.
    pub(super) fn set(&mut self, m: &mut Modifiers<'_>, operands: &[Operand<'a>]) -> Result<(), Reason> {
        let [destination, sources @ ..] = operands else { return Err(Reason::OperandCount) };
        let ty = m.ty()?;
        let (class, one) = match (ty, m.leading_type()) {
            (Ty::U32 | Ty::S32, Some(Ty::F16x2 | Ty::Bf16x2)) => (Class::Word, 0xffff),
            (Ty::F16x2, Some(Ty::F16x2)) => (Class::Word, 0x3c00),
            (Ty::Bf16x2, Some(Ty::Bf16x2)) => (Class::Word, 0x3f80),
            (_, Some(Ty::F16x2 | Ty::Bf16x2)) => return Err(refused(ty)),
            (Ty::U32 | Ty::S32, _) => (Class::Word, u64::from(u32::MAX)),
            (Ty::U16 | Ty::S16, Some(Ty::F16 | Ty::Bf16)) => (Class::Half, 0xffff),
            (Ty::F16, Some(Ty::F16)) => (Class::Half, 0x3c00),
            (Ty::Bf16, Some(Ty::Bf16)) => (Class::Half, 0x3f80),
            (_, Some(Ty::F16 | Ty::Bf16)) => return Err(refused(ty)),
            (Ty::F32, _) => (Class::Word, u64::from(1f32.to_bits())),
            (ty, _) => return Err(refused(ty)),
        };
        let comparison = self.comparison(m, sources)?;
        let d = self.destination(destination, 1, class)?;
        let one = self.constant(one, class)?;
        if comparison.pairs {
            let [first, second] = self.outcomes_of_pairs(&comparison)?;
            let pair = alu!(|one: u32, low: bool, high: bool| -> u32 {
                let (low, high) = (u32::from(low), u32::from(high));
                (one * low) | ((one << 16) * high)
            });
            return self.emit_alu(pair, d, [one, first, second]);
        }
        let p = self.temporary(Class::Predicate)?;
        self.outcome(&comparison, comparison.a, comparison.b, false, p)?;
        let choose = match class {
            Class::Half => alu!(|one: u16, p: bool| -> u16 { if p { one } else { 0 } }),
            _ => alu!(|one: u32, p: bool| -> u32 { if p { one } else { 0 } }),
        };
        self.emit_alu(choose, d, [one, p])
    }

    /// What the suffixes ask for, on these operands.
    fn comparison(&mut self, m: &mut Modifiers<'_>, operands: &[Operand<'a>]) -> Result<Comparison, Reason> {
        let combine = m.any(&["and", "or", "xor"]);
        let pairs = m.leading_type().is_some_and(|ty| ty.element().is_some());
        let compare = alu::set_predicate(m)?;
        m.finish()?;
        let (a, b, third) = match (operands, combine) {
            ([a, b], None) => (a, b, None),
            ([a, b, c], Some(operation)) => (a, b, Some((operation, c))),
            _ => return Err(Reason::OperandCount),
        };
        let [class, _] = compare.operands else { return Err(Reason::OperandCount) };
        let class = if pairs { Class::Word } else { *class };
        let (a, b) = (self.source(a, 2, class)?, self.source(b, 3, class)?);
        let then = match third {
            Some((operation, c)) => {
                let logic = alu::predicate_logic(operation).ok_or(Reason::OperandCount)?;
                Some((logic, self.source(c, 4, Class::Predicate)?))
            }
            None => None,
        };
        Ok(Comparison { compare, pairs, a, b, then })
    }

    /// Compares two registers, or says the opposite, and goes on to the third operand.
    fn outcome(&mut self, comparison: &Comparison, a: Slot, b: Slot, not: bool, p: Slot) -> Result<(), Reason> {
        let negate = alu!(|a: bool| -> bool { !a });
        match (comparison.then, not) {
            (None, false) => self.emit_alu(comparison.compare, p, [a, b]),
            (then, not) => {
                let mut holds = self.temporary(Class::Predicate)?;
                self.emit_alu(comparison.compare, holds, [a, b])?;
                if not {
                    let opposite = self.temporary(Class::Predicate)?;
                    self.emit_alu(negate, opposite, [holds])?;
                    holds = opposite;
                }
                match then {
                    Some((logic, c)) => self.emit_alu(logic, p, [holds, c]),
                    None => self.emit_alu(alu::copy(Class::Predicate), p, [holds]),
                }
            }
        }
    }

    /// The outcomes of both elements, in temporaries.
    fn outcomes_of_pairs(&mut self, comparison: &Comparison) -> Result<[Slot; 2], Reason> {
        let parts = [alu!(|a: u32| -> u16 { a as u16 }), alu!(|a: u32| -> u16 { (a >> 16) as u16 })];
        let mut outcomes = [0; 2];
        for (outcome, part) in outcomes.iter_mut().zip(parts) {
            let (a, b) = (self.temporary(Class::Half)?, self.temporary(Class::Half)?);
            self.emit_alu(part, a, [comparison.a])?;
            self.emit_alu(part, b, [comparison.b])?;
            *outcome = self.temporary(Class::Predicate)?;
            self.outcome(comparison, a, b, false, *outcome)?;
        }
        Ok(outcomes)
    }

    /// Moves the guard of the instruction out of `p`, which is about to be written by the first of several operations.
    fn keep_guard(&mut self, p: Slot) -> Result<(), Reason> {
        let (guard, flip) = self.guard;
        if guard == p && guard != ALWAYS {
            let copy = self.temporary(Class::Predicate)?;
            self.guard = (ALWAYS, 0);
            self.emit_alu(alu::copy(Class::Predicate), copy, [guard])?;
            self.guard = (copy, flip);
        }
        Ok(())
    }
}

fn refused(ty: Ty) -> Reason {
    Reason::UnsupportedType(format!("{ty:?}").to_lowercase())
}
