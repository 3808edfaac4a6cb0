//! Arithmetic: which function executes which instruction.
//!
//! An [`Alu`] is a function over a whole warp plus the classes of its operands. It is pure: it reads registers, writes one
//! register in the given lanes, never fails and never touches memory. The tables in the submodules choose one by opcode,
//! modifiers and types; lowering then only has to find the registers.
//!
//! Hot instructions have their own loop, which the compiler vectorises. Rare forms (directed rounding, flushing,
//! saturation, most conversions) share a function that takes a control word as one more constant operand.

mod carry;
mod compare;
mod convert;
mod float;
mod fused;
mod half;
mod integer;
mod logic;
mod modifiers;

pub(crate) use self::{
    carry::{Carrying, carrying},
    compare::set_predicate,
    convert::{convert, convert_pair},
    logic::predicate_logic,
    modifiers::Modifiers,
};
use super::{
    error::Reason,
    registers::{Class, Mask, Registers, Slot},
    types::Ty,
};

/// The registers of one operation: destination, then sources.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Slots {
    pub(crate) d: Slot,
    pub(crate) s: [Slot; 4],
}

/// A function that executes one operation in the lanes of a mask.
pub(crate) type Run = fn(&mut Registers, &Slots, Mask);

/// One operation, not yet bound to registers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Alu {
    pub(crate) run: Run,
    pub(crate) result: Class,
    pub(crate) operands: &'static [Class],
    /// Constants that follow the instruction's own operands.
    pub(crate) control: Option<u32>,
}

impl Alu {
    pub(super) fn with_control(self, control: u32) -> Alu {
        Alu { control: Some(control), ..self }
    }
}

/// Makes an [`Alu`] from a closure-like body: `alu!(|a: u32, b: u32| -> u32 { a.wrapping_add(b) })`. With `each` in
/// front the body runs for the active lanes only, which suits bodies that are long.
macro_rules! alu {
    (each $($rest:tt)*) => { $crate::ptx::alu::alu!(@ store_each, $($rest)*) };
    (| $($rest:tt)*) => { $crate::ptx::alu::alu!(@ store, | $($rest)*) };
    (@ $store:ident, |$a:ident: $at:ty| -> $rt:ty $body:block) => {
        $crate::ptx::alu::alu!(@ $store, [$a: $at = 0] -> $rt $body)
    };
    (@ $store:ident, |$a:ident: $at:ty, $b:ident: $bt:ty| -> $rt:ty $body:block) => {
        $crate::ptx::alu::alu!(@ $store, [$a: $at = 0, $b: $bt = 1] -> $rt $body)
    };
    (@ $store:ident, |$a:ident: $at:ty, $b:ident: $bt:ty, $c:ident: $ct:ty| -> $rt:ty $body:block) => {
        $crate::ptx::alu::alu!(@ $store, [$a: $at = 0, $b: $bt = 1, $c: $ct = 2] -> $rt $body)
    };
    (@ $store:ident, |$a:ident: $at:ty, $b:ident: $bt:ty, $c:ident: $ct:ty, $d:ident: $dt:ty| -> $rt:ty $body:block) => {
        $crate::ptx::alu::alu!(@ $store, [$a: $at = 0, $b: $bt = 1, $c: $ct = 2, $d: $dt = 3] -> $rt $body)
    };
    (@ $store:ident, [$($name:ident: $type:ty = $index:literal),+] -> $rt:ty $body:block) => {{
        fn run(
            registers: &mut $crate::ptx::registers::Registers,
            slots: &$crate::ptx::alu::Slots,
            mask: $crate::ptx::registers::Mask,
        ) {
            $(let $name = <$type as $crate::ptx::registers::Value>::load(registers, slots.s[$index]);)+
            <$rt as $crate::ptx::registers::Value>::$store(registers, slots.d, mask, |lane| {
                $(let $name = <$type as $crate::ptx::registers::Value>::lane(&$name, lane);)+
                $body
            });
        }
        $crate::ptx::alu::Alu {
            run,
            result: <$rt as $crate::ptx::registers::Value>::CLASS,
            operands: &[$(<$type as $crate::ptx::registers::Value>::CLASS),+],
            control: None,
        }
    }};
}
pub(crate) use alu;

/// The operation that an arithmetic instruction stands for; `None` when `opcode` is no arithmetic instruction.
pub(crate) fn select(opcode: &str, modifiers: &mut Modifiers<'_>) -> Option<Result<Alu, Reason>> {
    integer::select(opcode, modifiers)
        .or_else(|| half::select(opcode, modifiers))
        .or_else(|| float::select(opcode, modifiers))
        .or_else(|| logic::select(opcode, modifiers))
}

/// Copies a register of the given class.
pub(crate) fn copy(class: Class) -> Alu {
    match class {
        Class::Predicate => alu!(|a: bool| -> bool { a }),
        Class::Half => alu!(|a: u16| -> u16 { a }),
        Class::Word => alu!(|a: u32| -> u32 { a }),
        Class::Long => alu!(|a: u64| -> u64 { a }),
    }
}

/// The refusal of a type.
fn no_type(ty: Ty) -> Reason {
    Reason::UnsupportedType(format!("{ty:?}").to_lowercase())
}
