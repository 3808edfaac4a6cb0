//! Lowers instructions that touch memory: loads, stores, atomics, fences, prefetches.

use super::function::{Lowering, class_of};
use crate::ptx::{
    alu::Modifiers,
    error::Reason,
    op::{Access, Atomic, AtomicOperation, Op, Parameter},
    parse::ast::Operand,
    registers::{Class, Slot},
    types::{CALL_PARAMETERS, Kind, Space, Ty},
};

/// What a memory instruction's `.sem` asks of the order of accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Order {
    acquire: bool,
    release: bool,
}

impl<'a> Lowering<'_, '_, 'a> {
    /// Lowers a memory instruction; false when `opcode` is none.
    pub(super) fn data(
        &mut self,
        opcode: &str,
        m: &mut Modifiers<'_>,
        operands: &[Operand<'a>],
    ) -> Result<bool, Reason> {
        match opcode {
            "ld" | "ldu" => self.load(m, operands)?,
            "st" => self.store(m, operands)?,
            "atom" | "red" => self.atomic(opcode == "atom", m, operands)?,
            "membar" | "fence" => {
                take_all(m, &["sc", "acq_rel", "cta", "cluster", "gl", "gpu", "sys"]);
                self.emit(Op::Fence)?;
            }
            "prefetch" | "prefetchu" => {
                take_all(m, &["L1", "L2", "L2::evict_last", "L2::evict_normal"]);
                m.take(Space::parse);
                self.emit(Op::Nothing)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn load(&mut self, m: &mut Modifiers<'_>, operands: &[Operand<'a>]) -> Result<(), Reason> {
        let [destination, source] = operands else { return Err(Reason::OperandCount) };
        let order = qualifiers(m);
        let space = m.take(Space::parse);
        let count = vector(m);
        let ty = m.ty()?;
        m.finish()?;
        let mut registers = [0; 4];
        let class = self.elements(destination, 1, ty, count, &mut registers, Direction::Load)?;
        let address = self.address(source, 2)?;
        let space = address.space_under(space).ok_or(Reason::Operand(2))?;
        let parameter = address.fixed.filter(|a| space == Space::Param && *a < CALL_PARAMETERS && count == 1);
        match parameter {
            Some(offset) => {
                let (bytes, signed) = (ty.bytes() as u8, ty.is_signed());
                let d = registers[0];
                self.emit(Op::Parameter(Parameter { offset: offset as u32, bytes, signed, class, d }))?;
            }
            None => {
                let (base, offset) = (address.base, address.offset);
                let (bytes, signed) = (ty.bytes() as u8, ty.is_signed());
                self.emit(Op::Load(Access { space, bytes, count, signed, class, base, offset, registers }))?;
            }
        }
        if order.acquire {
            self.emit(Op::Fence)?;
        }
        Ok(())
    }

    fn store(&mut self, m: &mut Modifiers<'_>, operands: &[Operand<'a>]) -> Result<(), Reason> {
        let [destination, source] = operands else { return Err(Reason::OperandCount) };
        let order = qualifiers(m);
        let space = m.take(Space::parse);
        let count = vector(m);
        let ty = m.ty()?;
        m.finish()?;
        let mut registers = [0; 4];
        let class = self.elements(source, 2, ty, count, &mut registers, Direction::Store)?;
        let address = self.address(destination, 1)?;
        let space = address.space_under(space).ok_or(Reason::Operand(1))?;
        if order.release {
            self.emit(Op::Fence)?;
        }
        let (bytes, base, offset) = (ty.bytes() as u8, address.base, address.offset);
        self.emit(Op::Store(Access { space, bytes, count, signed: false, class, base, offset, registers }))?;
        Ok(())
    }

    /// The registers of a vector or single operand. They may be wider than the type; all have one class.
    fn elements(
        &mut self,
        operand: &Operand<'a>,
        index: usize,
        ty: Ty,
        count: u8,
        registers: &mut [Slot; 4],
        direction: Direction,
    ) -> Result<Class, Reason> {
        if ty == Ty::Pred || u32::from(count) * ty.bytes() > 16 {
            return Err(Reason::UnsupportedType(format!("{ty:?}").to_lowercase()));
        }
        let single = std::slice::from_ref(operand);
        let elements = match operand {
            Operand::Vector(elements) => &elements[..],
            _ => single,
        };
        if elements.len() != usize::from(count) {
            return Err(Reason::Operand(index));
        }
        let mut common = None;
        for element in elements {
            if let Operand::Name(name, 0) = element
                && *name != "_"
                && let Ok((ty, _)) = self.register(name, index)
            {
                let class = class_of(ty);
                if common.is_some_and(|c| c != class) {
                    return Err(Reason::Operand(index));
                }
                common = Some(class);
            }
        }
        let class = common.unwrap_or(class_of(ty));
        let room = match class {
            Class::Predicate => 0,
            Class::Half => 2,
            Class::Word => 4,
            Class::Long => 8,
        };
        if ty.bytes() > room || ty.kind() == Kind::Float && ty.bytes() != room && !matches!(ty, Ty::F16 | Ty::Bf16) {
            return Err(Reason::Operand(index));
        }
        for (slot, element) in registers.iter_mut().zip(elements) {
            *slot = match direction {
                Direction::Load => self.destination(element, index, class)?,
                Direction::Store => self.source(element, index, class)?,
            };
        }
        Ok(class)
    }

    fn atomic(&mut self, returns: bool, m: &mut Modifiers<'_>, operands: &[Operand<'a>]) -> Result<(), Reason> {
        let order = qualifiers(m);
        let noftz = m.flag("noftz");
        let space = m.take(Space::parse);
        let names = ["add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"];
        let name = m.any(&names).ok_or(Reason::MissingModifier("operation"))?;
        let ty = m.ty()?;
        let operation = operation(name, ty).ok_or_else(|| Reason::UnsupportedType(format!("{ty:?}").to_lowercase()))?;
        // The sums of 16-bit formats never flush, and have to say so; others have no such suffix.
        match (noftz, ty) {
            (true, Ty::F16 | Ty::F16x2 | Ty::Bf16 | Ty::Bf16x2) => {}
            (true, _) => return Err(Reason::UnsupportedModifier("noftz".to_owned())),
            (false, Ty::F16 | Ty::F16x2 | Ty::Bf16 | Ty::Bf16x2) => return Err(Reason::MissingModifier("noftz")),
            (false, _) => {}
        }
        let class = class_of(ty);
        let (d, address, b, c) = match (operands, returns) {
            ([d, address, b], true) => (Some(d), address, b, None),
            ([d, address, b, c], true) => (Some(d), address, b, Some(c)),
            ([address, b], false) => (None, address, b, None),
            _ => return Err(Reason::OperandCount),
        };
        if c.is_some() != (operation == AtomicOperation::CompareAndSwap) {
            return Err(Reason::OperandCount);
        }
        let b = self.source(b, 3, class)?;
        let c = match c {
            Some(c) => self.source(c, 4, class)?,
            None => 0,
        };
        let index = if returns { 2 } else { 1 };
        let address = self.address(address, index)?;
        let space = address.space_under(space).ok_or(Reason::Operand(index))?;
        if !matches!(space, Space::Generic | Space::Global | Space::Shared) {
            return Err(Reason::UnsupportedModifier(format!("{space:?}").to_lowercase()));
        }
        let d = match d {
            Some(d) => self.destination(d, 1, class)?,
            None => self.temporary(class)?,
        };
        if order.release {
            self.emit(Op::Fence)?;
        }
        let (bytes, base, offset) = (ty.bytes() as u8, address.base, address.offset);
        self.emit(Op::Atomic(Atomic { operation, space, bytes, base, offset, d, b, c }))?;
        if order.acquire {
            self.emit(Op::Fence)?;
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy)]
enum Direction {
    Load,
    Store,
}

/// Takes every suffix in `names`.
fn take_all(m: &mut Modifiers<'_>, names: &[&'static str]) {
    while m.any(names).is_some() {}
}

/// Takes what says how caches and other threads are to see an access. All of it is honoured: accesses are made in order,
/// and acquire and release become fences.
fn qualifiers(m: &mut Modifiers<'_>) -> Order {
    take_all(m, &["weak", "volatile", "relaxed", "mmio", "cta", "cluster", "gpu", "sys"]);
    take_all(m, &["ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc"]);
    while m.take(|name| (name.starts_with("L1::") || name.starts_with("L2::")).then_some(())).is_some() {}
    let (acquire, release, both) = (m.flag("acquire"), m.flag("release"), m.flag("acq_rel"));
    Order { acquire: acquire || both, release: release || both }
}

fn vector(m: &mut Modifiers<'_>) -> u8 {
    match m.any(&["v2", "v4"]) {
        Some("v2") => 2,
        Some(_) => 4,
        None => 1,
    }
}

fn operation(name: &str, ty: Ty) -> Option<AtomicOperation> {
    use AtomicOperation as Op;
    Some(match (name, ty) {
        ("add", Ty::U32 | Ty::S32 | Ty::U64) => Op::Add,
        ("add", Ty::F32 | Ty::F64) => Op::AddFloat,
        ("add", Ty::F16) => Op::AddHalf,
        ("add", Ty::F16x2) => Op::AddHalves,
        ("add", Ty::Bf16) => Op::AddBrain,
        ("add", Ty::Bf16x2) => Op::AddBrains,
        ("min", Ty::U32 | Ty::U64) => Op::MinUnsigned,
        ("min", Ty::S32 | Ty::S64) => Op::MinSigned,
        ("max", Ty::U32 | Ty::U64) => Op::MaxUnsigned,
        ("max", Ty::S32 | Ty::S64) => Op::MaxSigned,
        ("and", Ty::B32 | Ty::B64) => Op::And,
        ("or", Ty::B32 | Ty::B64) => Op::Or,
        ("xor", Ty::B32 | Ty::B64) => Op::Xor,
        ("exch", Ty::B32 | Ty::B64) => Op::Exchange,
        ("cas", Ty::B16 | Ty::B32 | Ty::B64 | Ty::U32 | Ty::S32 | Ty::U64) => Op::CompareAndSwap,
        ("inc", Ty::U32) => Op::Increment,
        ("dec", Ty::U32) => Op::Decrement,
        _ => return None,
    })
}
