//! Lowers instructions that steer threads: branches, calls, barriers, exchanges within a warp.

use super::{
    function::{Lowering, Refusal, class_of},
    scope::{Patch, Scope, Symbol},
};
use crate::ptx::{
    alu::{self, Modifiers},
    error::Reason,
    op::{Barrier, BarrierKind, Collective, CollectiveKind, Op, Reduction, Special},
    parse::ast::{Instruction, Operand},
    registers::{ALL, ALWAYS, Class, Slot},
    types::{Space, Ty},
};

impl<'t, 'a> Lowering<'_, 't, 'a> {
    /// Lowers a control instruction; false when `opcode` is none.
    pub(super) fn flow(
        &mut self,
        opcode: &str,
        m: &mut Modifiers<'_>,
        operands: &[Operand<'a>],
    ) -> Result<bool, Reason> {
        match opcode {
            "bra" => {
                m.flag("uni");
                let [Operand::Name(label, 0)] = operands else { return Err(Reason::OperandCount) };
                let position = self.emit(Op::Branch(0))?;
                self.wait_for_label(label, Patch::Branch(position));
            }
            "brx" => self.branch_table(m, operands)?,
            "ret" => {
                m.flag("uni");
                none(operands)?;
                self.leave()?;
            }
            "exit" => {
                none(operands)?;
                self.emit(Op::Exit)?;
            }
            "trap" => {
                none(operands)?;
                self.emit(Op::Trap)?;
            }
            "nanosleep" => {
                m.ty()?;
                self.emit(Op::Nothing)?;
            }
            "bar" if m.flag("warp") => {
                m.flag("sync");
                let [members] = operands else { return Err(Reason::OperandCount) };
                self.collective(CollectiveKind::Wait, None, None, [None, None, None], members)?;
            }
            "bar" | "barrier" => self.barrier(m, operands)?,
            "shfl" => self.shuffle(m, operands)?,
            "vote" => self.vote(m, operands)?,
            "match" => self.matching(m, operands)?,
            "redux" => self.reduce(m, operands)?,
            "activemask" => {
                m.ty()?;
                let [d] = operands else { return Err(Reason::OperandCount) };
                let d = self.destination(d, 1, Class::Word)?;
                self.emit(Op::Special(Special::ActiveMask, d))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn branch_table(&mut self, m: &mut Modifiers<'_>, operands: &[Operand<'a>]) -> Result<(), Reason> {
        if !m.flag("idx") {
            return Err(Reason::MissingModifier("idx"));
        }
        m.flag("uni");
        let [index, Operand::Name(name, 0)] = operands else { return Err(Reason::OperandCount) };
        let index = self.source(index, 1, Class::Word)?;
        let labels = self.scopes.iter().rev().find_map(|scope| scope.table(name)).cloned();
        let labels = labels.ok_or_else(|| Reason::Undeclared((*name).to_owned()))?;
        let table = self.tables.len();
        self.tables.push(vec![0; labels.len()].into());
        for (entry, label) in labels.into_iter().enumerate() {
            self.wait_for_label(label, Patch::Table(table, entry));
        }
        self.emit(Op::BranchTable { index, table: table as u32 })?;
        Ok(())
    }

    /// `call (results), function, (arguments);` The callee is lowered in place.
    pub(super) fn call(&mut self, instruction: &'t Instruction<'a>) -> Result<(), Refusal> {
        let place = self.place;
        let refuse = |reason| (place, reason);
        let mut m = Modifiers::new(&instruction.modifiers);
        m.flag("uni");
        m.finish().map_err(refuse)?;
        let (results, rest) = match &instruction.operands[..] {
            [Operand::List(results), rest @ ..] => (&results[..], rest),
            rest => (&[][..], rest),
        };
        let (name, arguments) = match rest {
            [Operand::Name(name, 0)] => (*name, &[][..]),
            [Operand::Name(name, 0), Operand::List(arguments)] => (*name, &arguments[..]),
            [Operand::Name(name, 0), ..] => return Err(refuse(Reason::UnsupportedCall((*name).to_owned()))),
            _ => return Err(refuse(Reason::OperandCount)),
        };
        let callee = match self.names.functions.get(name) {
            Some(function) if function.body.is_some() && !function.entry => *function,
            Some(declared) if !declared.entry => {
                return self.system_call(declared, results, arguments).map_err(refuse);
            }
            _ => return Err(refuse(Reason::UnsupportedCall(name.to_owned()))),
        };
        if callee.returns.len() != results.len() || callee.parameters.len() != arguments.len() {
            return Err(refuse(Reason::OperandCount));
        }

        // Lanes that the guard leaves out jump over the callee.
        let (guard, flip) = self.guard;
        let around = match guard {
            ALWAYS => None,
            _ => {
                self.guard = (guard, flip ^ ALL);
                Some(self.emit(Op::Branch(0)).map_err(refuse)?)
            }
        };
        self.guard = (ALWAYS, 0);
        self.enter(callee).map_err(refuse)?;
        // Actual parameters are looked up in the caller's blocks, so before the callee's opens.
        let formals = callee.parameters.iter().chain(&callee.returns);
        let mut bound = Vec::new();
        for (i, (formal, actual)) in formals.clone().zip(arguments.iter().chain(results)).enumerate() {
            bound.push(match formal.space {
                Some(_) => Bound::Memory(self.parameter_memory(actual, i + 1).map_err(refuse)?),
                None if i < arguments.len() => {
                    Bound::Register(self.source(actual, i + 1, class_of(formal.ty)).map_err(refuse)?)
                }
                None => Bound::Register(self.destination(actual, i + 1, class_of(formal.ty)).map_err(refuse)?),
            });
        }
        self.scopes.push(Scope::new(true));
        let mut outputs = Vec::new();
        for (i, (formal, bound)) in formals.zip(bound).enumerate() {
            match bound {
                Bound::Memory(symbol) => self.declare(formal.name, symbol).map_err(refuse)?,
                Bound::Register(actual) => {
                    let slot = self.declare_register(formal.name, formal.ty).map_err(refuse)?;
                    let copy = alu::copy(class_of(formal.ty));
                    if i < arguments.len() {
                        self.emit_alu(copy, slot, [actual]).map_err(refuse)?;
                    } else {
                        outputs.push((copy, actual, slot));
                    }
                }
            }
        }
        self.inline(callee)?;
        for (copy, actual, slot) in outputs {
            self.emit_alu(copy, actual, [slot]).map_err(refuse)?;
        }
        self.close_scope()?;
        if let Some(position) = around {
            self.land(position);
        }
        Ok(())
    }

    /// An actual parameter that is a variable in parameter memory.
    pub(super) fn parameter_memory(&mut self, operand: &Operand<'a>, index: usize) -> Result<Symbol, Reason> {
        let Operand::Name(name, 0) = operand else { return Err(Reason::Operand(index)) };
        match self.symbol(name)? {
            symbol @ Symbol::Variable { space: Space::Param, .. } => Ok(symbol),
            _ => Err(Reason::Operand(index)),
        }
    }

    fn barrier(&mut self, m: &mut Modifiers<'_>, operands: &[Operand<'a>]) -> Result<(), Reason> {
        m.flag("cta");
        let name = m.any(&["sync", "arrive", "red"]).ok_or(Reason::MissingModifier("sync, arrive or red"))?;
        m.flag("aligned");
        let mut barrier = Barrier { kind: BarrierKind::Sync, id: 0, count: None, a: ALWAYS, d: 0 };
        let (id, count) = match (name, operands) {
            ("sync", [id]) => (id, None),
            ("sync", [id, count]) => (id, Some(count)),
            ("arrive", [id, count]) => {
                barrier.kind = BarrierKind::Arrive;
                (id, Some(count))
            }
            ("red", [d, id, rest @ .., a]) if rest.len() <= 1 => {
                let reduction = m.any(&["popc", "and", "or"]);
                let (kind, class) = match (reduction, m.ty()?) {
                    (Some("popc"), Ty::U32) => (BarrierKind::Count, Class::Word),
                    (Some("and"), Ty::Pred) => (BarrierKind::And, Class::Predicate),
                    (Some("or"), Ty::Pred) => (BarrierKind::Or, Class::Predicate),
                    (_, ty) => return Err(Reason::UnsupportedType(format!("{ty:?}").to_lowercase())),
                };
                barrier.kind = kind;
                barrier.a = self.source(a, 3 + rest.len(), Class::Predicate)?;
                barrier.d = self.destination(d, 1, class)?;
                (id, rest.first())
            }
            _ => return Err(Reason::OperandCount),
        };
        barrier.id = self.source(id, 1, Class::Word)?;
        barrier.count = match count {
            Some(count) => Some(self.source(count, 2, Class::Word)?),
            None => None,
        };
        self.emit(Op::Barrier(barrier))?;
        Ok(())
    }

    fn collective(
        &mut self,
        kind: CollectiveKind,
        d: Option<Slot>,
        p: Option<Slot>,
        [a, b, c]: [Option<Slot>; 3],
        members: &Operand<'a>,
    ) -> Result<(), Reason> {
        let members = self.source(members, 4, Class::Word)?;
        let p = match p {
            Some(p) => p,
            None => self.temporary(Class::Predicate)?,
        };
        let d = match d {
            Some(d) => d,
            None => self.temporary(Class::Word)?,
        };
        let zero = self.constant(0, Class::Word)?;
        let a = a.unwrap_or(zero);
        let (b, c) = (b.unwrap_or(zero), c.unwrap_or(zero));
        self.emit(Op::Collective(Collective { kind, d, p, a, b, c, members }))?;
        Ok(())
    }

    /// `d|p` as a word and a predicate, or a word alone.
    fn word_and_predicate(&mut self, operand: &Operand<'a>) -> Result<(Slot, Option<Slot>), Reason> {
        match operand {
            Operand::Pair(d, p) => {
                let d = self.destination(&Operand::Name(d, 0), 1, Class::Word)?;
                Ok((d, Some(self.destination(&Operand::Name(p, 0), 1, Class::Predicate)?)))
            }
            other => Ok((self.destination(other, 1, Class::Word)?, None)),
        }
    }

    fn shuffle(&mut self, m: &mut Modifiers<'_>, operands: &[Operand<'a>]) -> Result<(), Reason> {
        synchronising(m)?;
        let kind = match m.any(&["up", "down", "bfly", "idx"]) {
            Some("up") => CollectiveKind::ShuffleUp,
            Some("down") => CollectiveKind::ShuffleDown,
            Some("bfly") => CollectiveKind::ShuffleButterfly,
            Some(_) => CollectiveKind::ShuffleIndex,
            None => return Err(Reason::MissingModifier("up, down, bfly or idx")),
        };
        want(m, Ty::B32)?;
        let [d, a, b, c, members] = operands else { return Err(Reason::OperandCount) };
        let (d, p) = self.word_and_predicate(d)?;
        let a = self.source(a, 2, Class::Word)?;
        let b = self.source(b, 3, Class::Word)?;
        let c = self.source(c, 4, Class::Word)?;
        self.collective(kind, Some(d), p, [Some(a), Some(b), Some(c)], members)
    }

    fn vote(&mut self, m: &mut Modifiers<'_>, operands: &[Operand<'a>]) -> Result<(), Reason> {
        synchronising(m)?;
        let [d, a, members] = operands else { return Err(Reason::OperandCount) };
        let a = self.source(a, 2, Class::Predicate)?;
        let (kind, ty) = match m.any(&["all", "any", "uni", "ballot"]) {
            Some("all") => (CollectiveKind::VoteAll, Ty::Pred),
            Some("any") => (CollectiveKind::VoteAny, Ty::Pred),
            Some("uni") => (CollectiveKind::VoteUniform, Ty::Pred),
            Some(_) => (CollectiveKind::Ballot, Ty::B32),
            None => return Err(Reason::MissingModifier("all, any, uni or ballot")),
        };
        want(m, ty)?;
        let d = self.destination(d, 1, class_of(ty))?;
        match kind {
            CollectiveKind::Ballot => self.collective(kind, Some(d), None, [Some(a), None, None], members),
            _ => self.collective(kind, None, Some(d), [Some(a), None, None], members),
        }
    }

    fn matching(&mut self, m: &mut Modifiers<'_>, operands: &[Operand<'a>]) -> Result<(), Reason> {
        let all = match m.any(&["any", "all"]) {
            Some(name) => name == "all",
            None => return Err(Reason::MissingModifier("any or all")),
        };
        synchronising(m)?;
        let [d, a, members] = operands else { return Err(Reason::OperandCount) };
        let (kind, class) = match (all, m.ty()?) {
            (false, Ty::B32) => (CollectiveKind::MatchAny, Class::Word),
            (true, Ty::B32) => (CollectiveKind::MatchAll, Class::Word),
            (false, Ty::B64) => (CollectiveKind::MatchAnyLong, Class::Long),
            (true, Ty::B64) => (CollectiveKind::MatchAllLong, Class::Long),
            (_, ty) => return Err(Reason::UnsupportedType(format!("{ty:?}").to_lowercase())),
        };
        let (d, p) = self.word_and_predicate(d)?;
        if p.is_some() && !all {
            return Err(Reason::Operand(1));
        }
        let a = self.source(a, 2, class)?;
        self.collective(kind, Some(d), p, [Some(a), None, None], members)
    }

    fn reduce(&mut self, m: &mut Modifiers<'_>, operands: &[Operand<'a>]) -> Result<(), Reason> {
        synchronising(m)?;
        let [d, a, members] = operands else { return Err(Reason::OperandCount) };
        let reduction = match (m.any(&["add", "min", "max", "and", "or", "xor"]), m.ty()?) {
            (Some("add"), Ty::U32 | Ty::S32) => Reduction::Add,
            (Some("min"), Ty::U32) => Reduction::MinUnsigned,
            (Some("min"), Ty::S32) => Reduction::MinSigned,
            (Some("max"), Ty::U32) => Reduction::MaxUnsigned,
            (Some("max"), Ty::S32) => Reduction::MaxSigned,
            (Some("and"), Ty::B32) => Reduction::And,
            (Some("or"), Ty::B32) => Reduction::Or,
            (Some("xor"), Ty::B32) => Reduction::Xor,
            (_, ty) => return Err(Reason::UnsupportedType(format!("{ty:?}").to_lowercase())),
        };
        let d = self.destination(d, 1, Class::Word)?;
        let a = self.source(a, 2, Class::Word)?;
        self.collective(CollectiveKind::Reduce(reduction), Some(d), None, [Some(a), None, None], members)
    }
}

/// What a formal parameter of a callee is bound to.
enum Bound {
    Memory(Symbol),
    Register(Slot),
}

fn none(operands: &[Operand<'_>]) -> Result<(), Reason> {
    if operands.is_empty() { Ok(()) } else { Err(Reason::OperandCount) }
}

/// The forms without `.sync` do not exist on the architectures that the interpreter follows.
fn synchronising(m: &mut Modifiers<'_>) -> Result<(), Reason> {
    if m.flag("sync") { Ok(()) } else { Err(Reason::MissingModifier("sync")) }
}

fn want(m: &mut Modifiers<'_>, want: Ty) -> Result<(), Reason> {
    match m.ty()? {
        ty if ty == want => Ok(()),
        ty => Err(Reason::UnsupportedType(format!("{ty:?}").to_lowercase())),
    }
}
