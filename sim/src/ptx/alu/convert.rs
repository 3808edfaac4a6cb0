//! `cvt`: chooses a vectorised loop for the frequent conversions and the general function for the others.
//!
//! The registers of a conversion may be wider than its types, so the classes of the operands come from the registers.

use super::{Alu, Modifiers, alu, no_type};
use crate::ptx::{
    error::Reason,
    number::{
        Control, Rounding,
        convert::{self, Conversion},
        single_double::{canonical, narrow, widen},
    },
    registers::Class,
    types::{Kind, Ty},
};

/// The conversion that the suffixes ask for, between registers of these classes.
pub(crate) fn convert(m: &mut Modifiers<'_>, result: Class, operand: Class) -> Result<Alu, Reason> {
    let integral = m.integer_rounding();
    let rounding = m.rounding();
    let flush = m.flag("ftz");
    let saturate = m.flag("sat");
    let relu = m.flag("relu");
    let (to, from) = (m.ty()?, m.ty()?);
    if relu && !(matches!(to, Ty::F16 | Ty::Bf16) && from == Ty::F32) {
        return Err(Reason::UnsupportedModifier("relu".to_owned()));
    }
    let needs_rounding = match (from.kind(), to.kind()) {
        (Kind::Float, Kind::Float) => to.bytes() < from.bytes(),
        (Kind::Float, _) | (_, Kind::Float) => true,
        _ => false,
    };
    let integral_between_floats = integral.is_some() && from.kind() == Kind::Float && to.kind() == Kind::Float;
    if needs_rounding && rounding.is_none() && integral.is_none() {
        return Err(Reason::MissingModifier("rounding"));
    }
    let rounding = integral.or(rounding).unwrap_or(Rounding::Near);
    let conversion = Conversion {
        from,
        to,
        control: Control { rounding, flush, saturate, relu },
        integral: integral_between_floats,
    };
    if !(holds(operand, from) && holds(result, to)) {
        return Err(no_type(if holds(operand, from) { to } else { from }));
    }
    if let Some(alu) = frequent(conversion, result, operand) {
        return Ok(alu);
    }
    let word = conversion.pack().ok_or_else(|| no_type(from))?;
    Ok(general(result, operand).with_control(word))
}

/// The conversion of two numbers in single precision to a pair, the first of them to its upper half.
pub(crate) fn convert_pair(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    let rounding = m.rounding().ok_or(Reason::MissingModifier("rounding"))?;
    if !matches!(rounding, Rounding::Near | Rounding::Zero) {
        return Err(Reason::UnsupportedModifier("rm or rp".to_owned()));
    }
    let control = Control { rounding, relu: m.flag("relu"), ..Control::PLAIN };
    let (to, from) = (m.ty()?, m.ty()?);
    match (to.element(), from) {
        (Some(to), Ty::F32) => {
            let word = Conversion { from, to, control, integral: false }.pack().ok_or_else(|| no_type(to))?;
            let alu = alu!(each |a: u32, b: u32, word: u32| -> u32 {
                (convert::convert(a.into(), word) << 16 | convert::convert(b.into(), word)) as u32
            });
            Ok(alu.with_control(word))
        }
        (None, _) => Err(no_type(to)),
        (_, from) => Err(no_type(from)),
    }
}

/// Whether a register of the class has room for the type.
fn holds(class: Class, ty: Ty) -> bool {
    let room = match class {
        Class::Predicate => 0,
        Class::Half => 2,
        Class::Word => 4,
        Class::Long => 8,
    };
    (1..=room).contains(&ty.bytes()) && (ty.kind() != Kind::Float || ty.bytes() == room)
}

fn frequent(conversion: Conversion, result: Class, operand: Class) -> Option<Alu> {
    let Conversion { from, to, control, integral } = conversion;
    if control.flush || control.saturate || control.relu {
        return None;
    }
    let exact = result_class(to) == result && result_class(from) == operand;
    Some(match (to, from, control.rounding) {
        (Ty::U64 | Ty::S64 | Ty::B64, Ty::U32 | Ty::B32, _) if exact => alu!(|a: u32| -> u64 { a.into() }),
        (Ty::U64 | Ty::S64 | Ty::B64, Ty::S32, _) if exact => alu!(|a: i32| -> i64 { a.into() }),
        (Ty::U32 | Ty::S32 | Ty::B32, Ty::U64 | Ty::S64 | Ty::B64, _) if exact => {
            alu!(|a: u64| -> u32 { a as u32 })
        }
        (Ty::U32 | Ty::S32 | Ty::B32, Ty::U16 | Ty::B16, _) if exact => alu!(|a: u16| -> u32 { a.into() }),
        (Ty::U32 | Ty::S32 | Ty::B32, Ty::S16, _) if exact => alu!(|a: i16| -> i32 { a.into() }),
        (Ty::U16 | Ty::S16 | Ty::B16, Ty::U32 | Ty::S32 | Ty::B32, _) if exact => {
            alu!(|a: u32| -> u16 { a as u16 })
        }
        (Ty::F32, Ty::U32, Rounding::Near) if exact => alu!(|a: u32| -> f32 { a as f32 }),
        (Ty::F32, Ty::S32, Rounding::Near) if exact => alu!(|a: i32| -> f32 { a as f32 }),
        (Ty::F64, Ty::U32, Rounding::Near) if exact => alu!(|a: u32| -> f64 { a.into() }),
        (Ty::F64, Ty::S32, Rounding::Near) if exact => alu!(|a: i32| -> f64 { a.into() }),
        (Ty::S32, Ty::F32, Rounding::Zero) if exact => alu!(|a: f32| -> i32 { a as i32 }),
        (Ty::U32, Ty::F32, Rounding::Zero) if exact => alu!(|a: f32| -> u32 { a as u32 }),
        (Ty::S32, Ty::F32, Rounding::Near) if exact => alu!(|a: f32| -> i32 { a.round_ties_even() as i32 }),
        (Ty::F32, Ty::F32, Rounding::Near) if integral => alu!(|a: f32| -> f32 { canonical(a.round_ties_even()) }),
        (Ty::F32, Ty::F32, Rounding::Down) if integral => alu!(|a: f32| -> f32 { canonical(a.floor()) }),
        (Ty::F64, Ty::F32, _) => alu!(|a: f32| -> f64 { widen(a) }),
        (Ty::F32, Ty::F64, Rounding::Near) if !integral => alu!(|a: f64| -> f32 { narrow(a) }),
        _ => return None,
    })
}

/// The class of a register that is just wide enough.
fn result_class(ty: Ty) -> Class {
    match ty.bytes() {
        0 => Class::Predicate,
        1 | 2 => Class::Half,
        4 => Class::Word,
        _ => Class::Long,
    }
}

fn general(result: Class, operand: Class) -> Alu {
    match (result, operand) {
        (Class::Half, Class::Half) => {
            alu!(each |a: u16, word: u32| -> u16 { convert::convert(a.into(), word) as u16 })
        }
        (Class::Half, Class::Long) => alu!(each |a: u64, word: u32| -> u16 { convert::convert(a, word) as u16 }),
        (Class::Half, _) => alu!(each |a: u32, word: u32| -> u16 { convert::convert(a.into(), word) as u16 }),
        (Class::Long, Class::Half) => alu!(each |a: u16, word: u32| -> u64 { convert::convert(a.into(), word) }),
        (Class::Long, Class::Long) => alu!(each |a: u64, word: u32| -> u64 { convert::convert(a, word) }),
        (Class::Long, _) => alu!(each |a: u32, word: u32| -> u64 { convert::convert(a.into(), word) }),
        (_, Class::Half) => alu!(each |a: u16, word: u32| -> u32 { convert::convert(a.into(), word) as u32 }),
        (_, Class::Long) => alu!(each |a: u64, word: u32| -> u32 { convert::convert(a, word) as u32 }),
        (_, _) => alu!(each |a: u32, word: u32| -> u32 { convert::convert(a.into(), word) as u32 }),
    }
}
