//! Integer arithmetic.

use super::{Alu, Modifiers, alu, no_type};
use crate::ptx::{
    error::Reason,
    number::{bits, bits::Permute},
    types::{Kind, Ty},
};

/// The same operation on every width, without regard to sign.
macro_rules! widths {
    ($ty:expr, |$($x:ident),+| $body:block) => {
        match $ty {
            Ty::U16 | Ty::S16 | Ty::B16 => Ok(alu!(|$($x: u16),+| -> u16 $body)),
            Ty::U32 | Ty::S32 | Ty::B32 => Ok(alu!(|$($x: u32),+| -> u32 $body)),
            Ty::U64 | Ty::S64 | Ty::B64 => Ok(alu!(|$($x: u64),+| -> u64 $body)),
            other => Err(no_type(other)),
        }
    };
}

/// The same operation on every integer type.
macro_rules! integers {
    ($ty:expr, |$($x:ident),+| $body:block) => {
        match $ty {
            Ty::U16 => Ok(alu!(|$($x: u16),+| -> u16 $body)),
            Ty::S16 => Ok(alu!(|$($x: i16),+| -> i16 $body)),
            Ty::U32 => Ok(alu!(|$($x: u32),+| -> u32 $body)),
            Ty::S32 => Ok(alu!(|$($x: i32),+| -> i32 $body)),
            Ty::U64 => Ok(alu!(|$($x: u64),+| -> u64 $body)),
            Ty::S64 => Ok(alu!(|$($x: i64),+| -> i64 $body)),
            other => Err(no_type(other)),
        }
    };
}
/// The high half of a product; `$wide` holds all of it.
macro_rules! high {
    ($a:expr, $b:expr, $type:ty, $wide:ty) => {
        (<$wide>::from($a) * <$wide>::from($b) >> <$type>::BITS) as $type
    };
}

pub(super) fn select(opcode: &str, modifiers: &mut Modifiers<'_>) -> Option<Result<Alu, Reason>> {
    let float = modifiers.leading_type().is_some_and(|ty| ty.kind() == Kind::Float || ty.element().is_some());
    let choose = match opcode {
        "add" | "sub" | "mul" | "mad" | "div" | "min" | "max" | "abs" | "neg" if float => return None,
        "add" => add,
        "sub" => sub,
        "mul" => mul,
        "mad" => mad,
        "mul24" | "mad24" => {
            if opcode == "mul24" {
                mul24
            } else {
                mad24
            }
        }
        "div" => div,
        "rem" => rem,
        "min" => min,
        "max" => max,
        "abs" => abs,
        "neg" => neg,
        "sad" => sad,
        "popc" | "clz" | "bfind" | "brev" => return Some(count(opcode, modifiers)),
        "bfe" => extract,
        "bfi" => insert,
        "prmt" => permute,
        "shf" => funnel,
        "lop3" => lookup,
        "dp4a" => dot4,
        "dp2a" => dot2,
        _ => return None,
    };
    Some(choose(modifiers))
}

fn add(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    match (m.flag("sat"), m.ty()?) {
        (false, ty) => widths!(ty, |a, b| { a.wrapping_add(b) }),
        (true, Ty::S32) => Ok(alu!(|a: i32, b: i32| -> i32 { a.saturating_add(b) })),
        (true, ty) => Err(no_type(ty)),
    }
}

fn sub(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    match (m.flag("sat"), m.ty()?) {
        (false, ty) => widths!(ty, |a, b| { a.wrapping_sub(b) }),
        (true, Ty::S32) => Ok(alu!(|a: i32, b: i32| -> i32 { a.saturating_sub(b) })),
        (true, ty) => Err(no_type(ty)),
    }
}

fn mul(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    let part = m.any(&["lo", "hi", "wide"]);
    let ty = m.ty()?;
    match (part, ty) {
        (Some("lo"), ty) => widths!(ty, |a, b| { a.wrapping_mul(b) }),
        (Some("hi"), Ty::U16) => Ok(alu!(|a: u16, b: u16| -> u16 { high!(a, b, u16, u32) })),
        (Some("hi"), Ty::S16) => Ok(alu!(|a: i16, b: i16| -> i16 { high!(a, b, i16, i32) })),
        (Some("hi"), Ty::U32) => Ok(alu!(|a: u32, b: u32| -> u32 { high!(a, b, u32, u64) })),
        (Some("hi"), Ty::S32) => Ok(alu!(|a: i32, b: i32| -> i32 { high!(a, b, i32, i64) })),
        (Some("hi"), Ty::U64) => Ok(alu!(|a: u64, b: u64| -> u64 { high!(a, b, u64, u128) })),
        (Some("hi"), Ty::S64) => Ok(alu!(|a: i64, b: i64| -> i64 { high!(a, b, i64, i128) })),
        (Some("wide"), Ty::U16) => Ok(alu!(|a: u16, b: u16| -> u32 { u32::from(a) * u32::from(b) })),
        (Some("wide"), Ty::S16) => Ok(alu!(|a: i16, b: i16| -> i32 { i32::from(a) * i32::from(b) })),
        (Some("wide"), Ty::U32) => Ok(alu!(|a: u32, b: u32| -> u64 { u64::from(a) * u64::from(b) })),
        (Some("wide"), Ty::S32) => Ok(alu!(|a: i32, b: i32| -> i64 { i64::from(a) * i64::from(b) })),
        (_, ty) => Err(no_type(ty)),
    }
}

fn mad(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    let part = m.any(&["lo", "hi", "wide"]);
    let saturate = m.flag("sat");
    let ty = m.ty()?;
    match (part, ty) {
        (Some("hi"), Ty::S32) if saturate => {
            Ok(alu!(|a: i32, b: i32, c: i32| -> i32 { high!(a, b, i32, i64).saturating_add(c) }))
        }
        (_, ty) if saturate => Err(no_type(ty)),
        (Some("lo"), ty) => widths!(ty, |a, b, c| { a.wrapping_mul(b).wrapping_add(c) }),
        (Some("hi"), Ty::U16) => Ok(alu!(|a: u16, b: u16, c: u16| -> u16 { high!(a, b, u16, u32).wrapping_add(c) })),
        (Some("hi"), Ty::S16) => Ok(alu!(|a: i16, b: i16, c: i16| -> i16 { high!(a, b, i16, i32).wrapping_add(c) })),
        (Some("hi"), Ty::U32) => Ok(alu!(|a: u32, b: u32, c: u32| -> u32 { high!(a, b, u32, u64).wrapping_add(c) })),
        (Some("hi"), Ty::S32) => Ok(alu!(|a: i32, b: i32, c: i32| -> i32 { high!(a, b, i32, i64).wrapping_add(c) })),
        (Some("hi"), Ty::U64) => Ok(alu!(|a: u64, b: u64, c: u64| -> u64 { high!(a, b, u64, u128).wrapping_add(c) })),
        (Some("hi"), Ty::S64) => Ok(alu!(|a: i64, b: i64, c: i64| -> i64 { high!(a, b, i64, i128).wrapping_add(c) })),
        (Some("wide"), Ty::U16) => {
            Ok(alu!(|a: u16, b: u16, c: u32| -> u32 { (u32::from(a) * u32::from(b)).wrapping_add(c) }))
        }
        (Some("wide"), Ty::S16) => {
            Ok(alu!(|a: i16, b: i16, c: i32| -> i32 { (i32::from(a) * i32::from(b)).wrapping_add(c) }))
        }
        (Some("wide"), Ty::U32) => {
            Ok(alu!(|a: u32, b: u32, c: u64| -> u64 { (u64::from(a) * u64::from(b)).wrapping_add(c) }))
        }
        (Some("wide"), Ty::S32) => {
            Ok(alu!(|a: i32, b: i32, c: i64| -> i64 { (i64::from(a) * i64::from(b)).wrapping_add(c) }))
        }
        (_, ty) => Err(no_type(ty)),
    }
}

/// The product of the low 24 bits, sign-extended when `signed`.
fn product24(a: u32, b: u32, signed: bool) -> u64 {
    if signed {
        let extend = |x: u32| i64::from((x << 8) as i32 >> 8);
        (extend(a) * extend(b)) as u64
    } else {
        u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)
    }
}

fn mul24(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    match (m.any(&["lo", "hi"]), m.ty()?) {
        (Some("lo"), Ty::U32) => Ok(alu!(|a: u32, b: u32| -> u32 { product24(a, b, false) as u32 })),
        (Some("lo"), Ty::S32) => Ok(alu!(|a: u32, b: u32| -> u32 { product24(a, b, true) as u32 })),
        (Some("hi"), Ty::U32) => Ok(alu!(|a: u32, b: u32| -> u32 { (product24(a, b, false) >> 16) as u32 })),
        (Some("hi"), Ty::S32) => Ok(alu!(|a: u32, b: u32| -> u32 { (product24(a, b, true) >> 16) as u32 })),
        (_, ty) => Err(no_type(ty)),
    }
}

fn mad24(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    match (m.any(&["lo", "hi"]), m.flag("sat"), m.ty()?) {
        (Some("lo"), false, Ty::U32) => {
            Ok(alu!(|a: u32, b: u32, c: u32| -> u32 { (product24(a, b, false) as u32).wrapping_add(c) }))
        }
        (Some("lo"), false, Ty::S32) => {
            Ok(alu!(|a: u32, b: u32, c: u32| -> u32 { (product24(a, b, true) as u32).wrapping_add(c) }))
        }
        (Some("hi"), false, Ty::U32) => {
            Ok(alu!(|a: u32, b: u32, c: u32| -> u32 { ((product24(a, b, false) >> 16) as u32).wrapping_add(c) }))
        }
        (Some("hi"), false, Ty::S32) => {
            Ok(alu!(|a: u32, b: u32, c: u32| -> u32 { ((product24(a, b, true) >> 16) as u32).wrapping_add(c) }))
        }
        (Some("hi"), true, Ty::S32) => {
            Ok(alu!(|a: u32, b: u32, c: i32| -> i32 { ((product24(a, b, true) >> 16) as i32).saturating_add(c) }))
        }
        (_, _, ty) => Err(no_type(ty)),
    }
}

fn div(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    match m.ty()? {
        Ty::U16 => Ok(alu!(each |a: u16, b: u16| -> u16 { bits::div_u16(a, b) })),
        Ty::S16 => Ok(alu!(each |a: i16, b: i16| -> i16 { bits::div_s16(a, b) })),
        Ty::U32 => Ok(alu!(each |a: u32, b: u32| -> u32 { bits::div_u32(a, b) })),
        Ty::S32 => Ok(alu!(each |a: i32, b: i32| -> i32 { bits::div_s32(a, b) })),
        Ty::U64 => Ok(alu!(each |a: u64, b: u64| -> u64 { bits::div_u64(a, b) })),
        Ty::S64 => Ok(alu!(each |a: i64, b: i64| -> i64 { bits::div_s64(a, b) })),
        ty => Err(no_type(ty)),
    }
}

fn rem(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    match m.ty()? {
        Ty::U16 => Ok(alu!(each |a: u16, b: u16| -> u16 { bits::rem_u16(a, b) })),
        Ty::S16 => Ok(alu!(each |a: i16, b: i16| -> i16 { bits::rem_s16(a, b) })),
        Ty::U32 => Ok(alu!(each |a: u32, b: u32| -> u32 { bits::rem_u32(a, b) })),
        Ty::S32 => Ok(alu!(each |a: i32, b: i32| -> i32 { bits::rem_s32(a, b) })),
        Ty::U64 => Ok(alu!(each |a: u64, b: u64| -> u64 { bits::rem_u64(a, b) })),
        Ty::S64 => Ok(alu!(each |a: i64, b: i64| -> i64 { bits::rem_s64(a, b) })),
        ty => Err(no_type(ty)),
    }
}

fn min(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    integers!(m.ty()?, |a, b| { a.min(b) })
}

fn max(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    integers!(m.ty()?, |a, b| { a.max(b) })
}

fn abs(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    match m.ty()? {
        Ty::S16 => Ok(alu!(|a: i16| -> i16 { a.wrapping_abs() })),
        Ty::S32 => Ok(alu!(|a: i32| -> i32 { a.wrapping_abs() })),
        Ty::S64 => Ok(alu!(|a: i64| -> i64 { a.wrapping_abs() })),
        ty => Err(no_type(ty)),
    }
}

fn neg(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    match m.ty()? {
        ty @ (Ty::S16 | Ty::S32 | Ty::S64) => widths!(ty, |a| { a.wrapping_neg() }),
        ty => Err(no_type(ty)),
    }
}

fn sad(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    match m.ty()? {
        Ty::U16 => Ok(alu!(|a: u16, b: u16, c: u16| -> u16 { a.abs_diff(b).wrapping_add(c) })),
        Ty::S16 => Ok(alu!(|a: i16, b: i16, c: u16| -> u16 { a.abs_diff(b).wrapping_add(c) })),
        Ty::U32 => Ok(alu!(|a: u32, b: u32, c: u32| -> u32 { a.abs_diff(b).wrapping_add(c) })),
        Ty::S32 => Ok(alu!(|a: i32, b: i32, c: u32| -> u32 { a.abs_diff(b).wrapping_add(c) })),
        Ty::U64 => Ok(alu!(|a: u64, b: u64, c: u64| -> u64 { a.abs_diff(b).wrapping_add(c) })),
        Ty::S64 => Ok(alu!(|a: i64, b: i64, c: u64| -> u64 { a.abs_diff(b).wrapping_add(c) })),
        ty => Err(no_type(ty)),
    }
}

fn count(opcode: &str, m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    let distance = opcode == "bfind" && m.flag("shiftamt");
    match (opcode, m.ty()?, distance) {
        ("popc", Ty::B32, _) => Ok(alu!(|a: u32| -> u32 { a.count_ones() })),
        ("popc", Ty::B64, _) => Ok(alu!(|a: u64| -> u32 { a.count_ones() })),
        ("clz", Ty::B32, _) => Ok(alu!(|a: u32| -> u32 { a.leading_zeros() })),
        ("clz", Ty::B64, _) => Ok(alu!(|a: u64| -> u32 { a.leading_zeros() })),
        ("brev", Ty::B32, _) => Ok(alu!(|a: u32| -> u32 { a.reverse_bits() })),
        ("brev", Ty::B64, _) => Ok(alu!(|a: u64| -> u64 { a.reverse_bits() })),
        ("bfind", Ty::U32 | Ty::B32, false) => {
            Ok(alu!(each |a: u32| -> u32 { bits::find_bit(a.into(), 32, false, false) }))
        }
        ("bfind", Ty::S32, false) => Ok(alu!(each |a: u32| -> u32 { bits::find_bit(a.into(), 32, true, false) })),
        ("bfind", Ty::U64 | Ty::B64, false) => Ok(alu!(each |a: u64| -> u32 { bits::find_bit(a, 64, false, false) })),
        ("bfind", Ty::S64, false) => Ok(alu!(each |a: u64| -> u32 { bits::find_bit(a, 64, true, false) })),
        ("bfind", Ty::U32 | Ty::B32, true) => {
            Ok(alu!(each |a: u32| -> u32 { bits::find_bit(a.into(), 32, false, true) }))
        }
        ("bfind", Ty::S32, true) => Ok(alu!(each |a: u32| -> u32 { bits::find_bit(a.into(), 32, true, true) })),
        ("bfind", Ty::U64 | Ty::B64, true) => Ok(alu!(each |a: u64| -> u32 { bits::find_bit(a, 64, false, true) })),
        ("bfind", Ty::S64, true) => Ok(alu!(each |a: u64| -> u32 { bits::find_bit(a, 64, true, true) })),
        (_, ty, _) => Err(no_type(ty)),
    }
}

fn extract(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    match m.ty()? {
        Ty::U32 => Ok(alu!(each |a: u32, b: u32, c: u32| -> u32 { bits::extract(a.into(), 32, false, b, c) as u32 })),
        Ty::S32 => Ok(alu!(each |a: u32, b: u32, c: u32| -> u32 { bits::extract(a.into(), 32, true, b, c) as u32 })),
        Ty::U64 => Ok(alu!(each |a: u64, b: u32, c: u32| -> u64 { bits::extract(a, 64, false, b, c) })),
        Ty::S64 => Ok(alu!(each |a: u64, b: u32, c: u32| -> u64 { bits::extract(a, 64, true, b, c) })),
        ty => Err(no_type(ty)),
    }
}

fn insert(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    match m.ty()? {
        Ty::B32 => Ok(alu!(each |a: u32, b: u32, c: u32, d: u32| -> u32 {
            bits::insert(a.into(), b.into(), 32, c, d) as u32
        })),
        Ty::B64 => Ok(alu!(each |a: u64, b: u64, c: u32, d: u32| -> u64 { bits::insert(a, b, 64, c, d) })),
        ty => Err(no_type(ty)),
    }
}

fn permute(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    match m.ty()? {
        Ty::B32 => {}
        ty => return Err(no_type(ty)),
    }
    let mode = m.take(Permute::parse).unwrap_or(Permute::Index);
    let alu = alu!(each |a: u32, b: u32, c: u32, mode: u32| -> u32 {
        Permute::ALL.get(mode as usize).map_or(0, |mode| mode.apply(a, b, c))
    });
    Ok(alu.with_control(mode as u32))
}

fn funnel(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    let direction = m.any(&["l", "r"]);
    let amount = m.any(&["wrap", "clamp"]);
    match (direction, amount, m.ty()?) {
        (Some("l"), Some("wrap"), Ty::B32) => {
            Ok(alu!(|a: u32, b: u32, c: u32| -> u32 { bits::funnel_left(a, b, c & 31) }))
        }
        (Some("l"), Some("clamp"), Ty::B32) => {
            Ok(alu!(|a: u32, b: u32, c: u32| -> u32 { bits::funnel_left(a, b, c.min(32)) }))
        }
        (Some("r"), Some("wrap"), Ty::B32) => {
            Ok(alu!(|a: u32, b: u32, c: u32| -> u32 { bits::funnel_right(a, b, c & 31) }))
        }
        (Some("r"), Some("clamp"), Ty::B32) => {
            Ok(alu!(|a: u32, b: u32, c: u32| -> u32 { bits::funnel_right(a, b, c.min(32)) }))
        }
        (_, _, ty) => Err(no_type(ty)),
    }
}

fn lookup(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    match m.ty()? {
        Ty::B32 => Ok(alu!(|a: u32, b: u32, c: u32, table: u32| -> u32 { bits::lookup3(a, b, c, table) })),
        ty => Err(no_type(ty)),
    }
}

fn dot4(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    match (m.ty()?, m.ty()?) {
        (Ty::U32, Ty::U32) => Ok(alu!(each |a: u32, b: u32, c: u32| -> u32 { bits::dot4(a, false, b, false, c) })),
        (Ty::U32, Ty::S32) => Ok(alu!(each |a: u32, b: u32, c: u32| -> u32 { bits::dot4(a, false, b, true, c) })),
        (Ty::S32, Ty::U32) => Ok(alu!(each |a: u32, b: u32, c: u32| -> u32 { bits::dot4(a, true, b, false, c) })),
        (Ty::S32, Ty::S32) => Ok(alu!(each |a: u32, b: u32, c: u32| -> u32 { bits::dot4(a, true, b, true, c) })),
        (ty, _) => Err(no_type(ty)),
    }
}

fn dot2(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    // The control is how far the two bytes of `b` lie above its lowest.
    let shift = match m.any(&["lo", "hi"]) {
        Some("lo") => 0,
        Some(_) => 16,
        None => return Err(Reason::MissingModifier("lo or hi")),
    };
    let alu = match (m.ty()?, m.ty()?) {
        (Ty::U32, Ty::U32) => {
            alu!(each |a: u32, b: u32, c: u32, at: u32| -> u32 { bits::dot2(a, false, b >> (at & 31), false, c) })
        }
        (Ty::U32, Ty::S32) => {
            alu!(each |a: u32, b: u32, c: u32, at: u32| -> u32 { bits::dot2(a, false, b >> (at & 31), true, c) })
        }
        (Ty::S32, Ty::U32) => {
            alu!(each |a: u32, b: u32, c: u32, at: u32| -> u32 { bits::dot2(a, true, b >> (at & 31), false, c) })
        }
        (Ty::S32, Ty::S32) => {
            alu!(each |a: u32, b: u32, c: u32, at: u32| -> u32 { bits::dot2(a, true, b >> (at & 31), true, c) })
        }
        (ty, _) => return Err(no_type(ty)),
    };
    Ok(alu.with_control(shift))
}
