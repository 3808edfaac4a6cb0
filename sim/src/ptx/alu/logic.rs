//! Bitwise logic, shifts, selection, and questions about addresses.

use super::{Alu, Modifiers, alu, no_type};
use crate::ptx::{
    error::Reason,
    number::single_double::flushed,
    types::{Space, Ty, window},
};

pub(super) fn select(opcode: &str, m: &mut Modifiers<'_>) -> Option<Result<Alu, Reason>> {
    Some(match opcode {
        "and" | "or" | "xor" => bitwise(opcode, m),
        "not" => not(m),
        "cnot" => cnot(m),
        "shl" => shift_left(m),
        "shr" => shift_right(m),
        "selp" => choose(m),
        "slct" => choose_by_sign(m),
        "isspacep" => in_space(m),
        _ => return None,
    })
}

/// `and`, `or` or `xor` of two predicates.
pub(crate) fn predicate_logic(operation: &str) -> Option<Alu> {
    Some(match operation {
        "and" => alu!(|a: bool, b: bool| -> bool { a & b }),
        "or" => alu!(|a: bool, b: bool| -> bool { a | b }),
        "xor" => alu!(|a: bool, b: bool| -> bool { a ^ b }),
        _ => return None,
    })
}

fn bitwise(opcode: &str, m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    Ok(match (opcode, m.ty()?) {
        (_, Ty::Pred) => return predicate_logic(opcode).ok_or_else(|| no_type(Ty::Pred)),
        ("and", Ty::B16) => alu!(|a: u16, b: u16| -> u16 { a & b }),
        ("and", Ty::B32) => alu!(|a: u32, b: u32| -> u32 { a & b }),
        ("and", Ty::B64) => alu!(|a: u64, b: u64| -> u64 { a & b }),
        ("or", Ty::B16) => alu!(|a: u16, b: u16| -> u16 { a | b }),
        ("or", Ty::B32) => alu!(|a: u32, b: u32| -> u32 { a | b }),
        ("or", Ty::B64) => alu!(|a: u64, b: u64| -> u64 { a | b }),
        ("xor", Ty::B16) => alu!(|a: u16, b: u16| -> u16 { a ^ b }),
        ("xor", Ty::B32) => alu!(|a: u32, b: u32| -> u32 { a ^ b }),
        ("xor", Ty::B64) => alu!(|a: u64, b: u64| -> u64 { a ^ b }),
        (_, ty) => return Err(no_type(ty)),
    })
}

fn not(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    Ok(match m.ty()? {
        Ty::Pred => alu!(|a: bool| -> bool { !a }),
        Ty::B16 => alu!(|a: u16| -> u16 { !a }),
        Ty::B32 => alu!(|a: u32| -> u32 { !a }),
        Ty::B64 => alu!(|a: u64| -> u64 { !a }),
        ty => return Err(no_type(ty)),
    })
}

fn cnot(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    Ok(match m.ty()? {
        Ty::B16 => alu!(|a: u16| -> u16 { u16::from(a == 0) }),
        Ty::B32 => alu!(|a: u32| -> u32 { u32::from(a == 0) }),
        Ty::B64 => alu!(|a: u64| -> u64 { u64::from(a == 0) }),
        ty => return Err(no_type(ty)),
    })
}

/// Amounts are unsigned 32-bit numbers; from the width on nothing of the value is left.
fn shift_left(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    Ok(match m.ty()? {
        Ty::B16 => alu!(|a: u16, n: u32| -> u16 { if n < 16 { a << (n & 15) } else { 0 } }),
        Ty::B32 => alu!(|a: u32, n: u32| -> u32 { if n < 32 { a << (n & 31) } else { 0 } }),
        Ty::B64 => alu!(|a: u64, n: u32| -> u64 { if n < 64 { a << (n & 63) } else { 0 } }),
        ty => return Err(no_type(ty)),
    })
}

fn shift_right(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    Ok(match m.ty()? {
        Ty::B16 | Ty::U16 => alu!(|a: u16, n: u32| -> u16 { if n < 16 { a >> (n & 15) } else { 0 } }),
        Ty::B32 | Ty::U32 => alu!(|a: u32, n: u32| -> u32 { if n < 32 { a >> (n & 31) } else { 0 } }),
        Ty::B64 | Ty::U64 => alu!(|a: u64, n: u32| -> u64 { if n < 64 { a >> (n & 63) } else { 0 } }),
        Ty::S16 => alu!(|a: i16, n: u32| -> i16 { a >> n.min(15) }),
        Ty::S32 => alu!(|a: i32, n: u32| -> i32 { a >> n.min(31) }),
        Ty::S64 => alu!(|a: i64, n: u32| -> i64 { a >> n.min(63) }),
        ty => return Err(no_type(ty)),
    })
}

fn choose(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    Ok(match m.ty()?.bytes() {
        2 => alu!(|a: u16, b: u16, p: bool| -> u16 { if p { a } else { b } }),
        4 => alu!(|a: u32, b: u32, p: bool| -> u32 { if p { a } else { b } }),
        8 => alu!(|a: u64, b: u64, p: bool| -> u64 { if p { a } else { b } }),
        _ => return Err(no_type(Ty::Pred)),
    })
}

/// `slct`: the first operand when the third is not negative (for floats: `>= 0`), else the second.
fn choose_by_sign(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    let flush = m.flag("ftz");
    let (ty, by) = (m.ty()?, m.ty()?);
    Ok(match (ty.bytes(), by) {
        (2, Ty::S32) => alu!(|a: u16, b: u16, c: i32| -> u16 { if c >= 0 { a } else { b } }),
        (4, Ty::S32) => alu!(|a: u32, b: u32, c: i32| -> u32 { if c >= 0 { a } else { b } }),
        (8, Ty::S32) => alu!(|a: u64, b: u64, c: i32| -> u64 { if c >= 0 { a } else { b } }),
        (2, Ty::F32) if !flush => alu!(|a: u16, b: u16, c: f32| -> u16 { if c >= 0.0 { a } else { b } }),
        (4, Ty::F32) if !flush => alu!(|a: u32, b: u32, c: f32| -> u32 { if c >= 0.0 { a } else { b } }),
        (8, Ty::F32) if !flush => alu!(|a: u64, b: u64, c: f32| -> u64 { if c >= 0.0 { a } else { b } }),
        (2, Ty::F32) => alu!(|a: u16, b: u16, c: f32| -> u16 { if flushed(c) >= 0.0 { a } else { b } }),
        (4, Ty::F32) => alu!(|a: u32, b: u32, c: f32| -> u32 { if flushed(c) >= 0.0 { a } else { b } }),
        (8, Ty::F32) => alu!(|a: u64, b: u64, c: f32| -> u64 { if flushed(c) >= 0.0 { a } else { b } }),
        (_, by) => return Err(no_type(by)),
    })
}

/// `isspacep`: whether a generic address lies in a space.
fn in_space(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    Ok(match m.take(Space::parse) {
        Some(Space::Global) => alu!(|a: u64| -> bool { window::split(a).0 == Space::Global }),
        Some(Space::Shared) => alu!(|a: u64| -> bool { window::split(a).0 == Space::Shared }),
        Some(Space::Local) => alu!(|a: u64| -> bool { window::split(a).0 == Space::Local }),
        Some(Space::Param) => alu!(|a: u64| -> bool { window::split(a).0 == Space::Param }),
        Some(Space::Const) => alu!(|_a: u64| -> bool { false }),
        _ => return Err(Reason::UnsupportedInstruction("isspacep".to_owned())),
    })
}
