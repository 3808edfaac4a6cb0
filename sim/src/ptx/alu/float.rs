//! Arithmetic in single and double precision.

use super::{Alu, Modifiers, alu, fused, no_type};
use crate::ptx::{
    error::Reason,
    number::{
        Control, Rounding,
        single_double::{
            Binary, NanRule, Property, binary32, binary64, canonical, flushed, fused32, fused64, max32, max64, min32,
            min64, root32, root64, settled, with_sign,
        },
    },
    types::Ty,
};

pub(super) fn select(opcode: &str, m: &mut Modifiers<'_>) -> Option<Result<Alu, Reason>> {
    Some(match opcode {
        "add" => binary(Binary::Add, m),
        "sub" => binary(Binary::Sub, m),
        "mul" => binary(Binary::Mul, m),
        "div" => divide(m),
        "fma" | "mad" => multiply_add(m),
        "min" | "max" => extreme(opcode == "min", m),
        "abs" | "neg" => sign(opcode == "abs", m),
        "sqrt" => root(m),
        "rcp" => reciprocal(m),
        "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" => approximate(opcode, m),
        "copysign" => copysign(m),
        "testp" => property(m),
        _ => return None,
    })
}

/// The rounding, flushing and saturation that the suffixes ask for.
fn control(m: &mut Modifiers<'_>) -> Control {
    let rounding = m.rounding().unwrap_or(Rounding::Near);
    Control { rounding, flush: m.flag("ftz"), saturate: m.flag("sat"), relu: false }
}

/// Refuses the suffixes that only single precision has.
fn suits(control: Control, ty: Ty) -> Result<(), Reason> {
    let wrong = match ty {
        Ty::F64 if control.flush => "ftz",
        Ty::F64 if control.saturate => "sat",
        _ => return Ok(()),
    };
    Err(Reason::UnsupportedModifier(wrong.to_owned()))
}

macro_rules! binary_forms {
    ($op:expr, $control:expr, $sign:tt) => {{
        let alu = if $control == Control::PLAIN {
            alu!(|a: f32, b: f32| -> f32 { canonical(a $sign b) })
        } else if $control.rounding == Rounding::Near {
            alu!(|a: f32, b: f32, word: u32| -> f32 {
                binary32($op, a, b, Control { rounding: Rounding::Near, ..Control::unpack(word) })
            })
            .with_control($control.pack())
        } else {
            alu!(each |a: f32, b: f32, word: u32| -> f32 { binary32($op, a, b, Control::unpack(word)) })
                .with_control($control.pack())
        };
        Ok(alu)
    }};
    (double $op:expr, $control:expr, $sign:tt) => {{
        if $control.rounding == Rounding::Near {
            Ok(alu!(|a: f64, b: f64| -> f64 { settled(a $sign b, $op.nan_order(a, b)) }))
        } else {
            let alu = alu!(each |a: f64, b: f64, word: u32| -> f64 {
                binary64($op, a, b, Control::unpack(word).rounding)
            });
            Ok(alu.with_control($control.pack()))
        }
    }};
}

fn binary(op: Binary, m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    let control = control(m);
    let ty = m.ty()?;
    suits(control, ty)?;
    match (op, ty) {
        (Binary::Add, Ty::F32) => binary_forms!(Binary::Add, control, +),
        (Binary::Sub, Ty::F32) => binary_forms!(Binary::Sub, control, -),
        (Binary::Mul, Ty::F32) => binary_forms!(Binary::Mul, control, *),
        (Binary::Add, Ty::F64) => binary_forms!(double Binary::Add, control, +),
        (Binary::Sub, Ty::F64) => binary_forms!(double Binary::Sub, control, -),
        (Binary::Mul, Ty::F64) => binary_forms!(double Binary::Mul, control, *),
        (_, ty) => Err(no_type(ty)),
    }
}

fn divide(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    // The approximate forms are computed exactly: that is within the error they are allowed.
    let kind = m.any(&["approx", "full"]);
    let approximate = kind.is_some();
    let control = control(m);
    match m.ty()? {
        Ty::F32 if kind == Some("approx") => {
            let alu = alu!(|a: f32, b: f32, word: u32| -> f32 {
                let control = Control { rounding: Rounding::Near, ..Control::unpack(word) };
                binary32(Binary::Div, a, by_reciprocal(b), control)
            });
            Ok(alu.with_control(control.pack()))
        }
        Ty::F32 => binary_forms!(Binary::Div, control, /),
        Ty::F64 if !control.flush && !approximate => binary_forms!(double Binary::Div, control, /),
        ty => Err(no_type(ty)),
    }
}

/// The divisor, or an infinity for one whose reciprocal is denormal: `div.approx` takes that reciprocal for zero.
fn by_reciprocal(b: f32) -> f32 {
    const LARGEST: f32 = f32::from_bits(0x7e80_0000);
    if b.abs() > LARGEST { f32::INFINITY.copysign(b) } else { b }
}

fn multiply_add(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    let control = control(m);
    let ty = m.ty()?;
    suits(control, ty)?;
    match ty {
        Ty::F32 if control == Control::PLAIN => Ok(fused::single()),
        Ty::F32 => {
            let alu = alu!(each |a: f32, b: f32, c: f32, word: u32| -> f32 { fused32(a, b, c, Control::unpack(word)) });
            Ok(alu.with_control(control.pack()))
        }
        Ty::F64 if control.rounding == Rounding::Near => Ok(fused::double()),
        Ty::F64 => {
            let alu = alu!(each |a: f64, b: f64, c: f64, word: u32| -> f64 {
                fused64(a, b, c, Control::unpack(word).rounding)
            });
            Ok(alu.with_control(control.pack()))
        }
        ty => Err(no_type(ty)),
    }
}

fn extreme(min: bool, m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    let flush = m.flag("ftz");
    let propagate = m.flag("NaN");
    let magnitudes = m.flag("xorsign") && m.flag("abs");
    let ty = m.ty()?;
    if ty == Ty::F32 && (magnitudes || flush && propagate) {
        let alu = alu!(each |a: f32, b: f32, word: u32| -> f32 { Extreme::unpack(word).of(a, b) });
        return Ok(alu.with_control(Extreme { min, flush, propagate, magnitudes }.pack()));
    }
    match (ty, min, flush, propagate) {
        (Ty::F32, true, false, false) => Ok(alu!(|a: f32, b: f32| -> f32 { min32(a, b, NanRule::Ignore) })),
        (Ty::F32, false, false, false) => Ok(alu!(|a: f32, b: f32| -> f32 { max32(a, b, NanRule::Ignore) })),
        (Ty::F32, true, true, false) => {
            Ok(alu!(|a: f32, b: f32| -> f32 { min32(flushed(a), flushed(b), NanRule::Ignore) }))
        }
        (Ty::F32, false, true, false) => {
            Ok(alu!(|a: f32, b: f32| -> f32 { max32(flushed(a), flushed(b), NanRule::Ignore) }))
        }
        (Ty::F32, true, false, true) => Ok(alu!(|a: f32, b: f32| -> f32 { min32(a, b, NanRule::Propagate) })),
        (Ty::F32, false, false, true) => Ok(alu!(|a: f32, b: f32| -> f32 { max32(a, b, NanRule::Propagate) })),
        (Ty::F64, true, false, false) => Ok(alu!(|a: f64, b: f64| -> f64 { min64(a, b, NanRule::Ignore) })),
        (Ty::F64, false, false, false) => Ok(alu!(|a: f64, b: f64| -> f64 { max64(a, b, NanRule::Ignore) })),
        (ty, ..) => Err(no_type(ty)),
    }
}

/// The rare forms of `min` and `max` in single precision.
#[derive(Debug, Clone, Copy)]
struct Extreme {
    min: bool,
    flush: bool,
    propagate: bool,
    /// `.xorsign.abs`: of the magnitudes, with the sign that the product of the operands would have.
    magnitudes: bool,
}

impl Extreme {
    fn pack(self) -> u32 {
        let bits = [self.min, self.flush, self.propagate, self.magnitudes];
        bits.into_iter().rev().fold(0, |word, bit| word << 1 | u32::from(bit))
    }

    fn unpack(word: u32) -> Extreme {
        let [min, flush, propagate, magnitudes] = [0, 1, 2, 3].map(|bit| word >> bit & 1 != 0);
        Extreme { min, flush, propagate, magnitudes }
    }

    fn of(self, a: f32, b: f32) -> f32 {
        let rule = if self.propagate { NanRule::Propagate } else { NanRule::Ignore };
        let negative = a.is_sign_negative() != b.is_sign_negative();
        let [a, b] = [a, b].map(|x| {
            let x = if self.flush { flushed(x) } else { x };
            if self.magnitudes { x.abs() } else { x }
        });
        let result = if self.min { min32(a, b, rule) } else { max32(a, b, rule) };
        if self.magnitudes && negative && !result.is_nan() { -result } else { result }
    }
}

/// A NaN in single precision becomes the one that all operations give; in double precision it stays.
fn sign(abs: bool, m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    let flush = m.flag("ftz");
    match (m.ty()?, abs, flush) {
        (Ty::F32, true, false) => Ok(alu!(|a: f32| -> f32 { canonical(a.abs()) })),
        (Ty::F32, false, false) => Ok(alu!(|a: f32| -> f32 { canonical(-a) })),
        (Ty::F32, true, true) => Ok(alu!(|a: f32| -> f32 { canonical(flushed(a).abs()) })),
        (Ty::F32, false, true) => Ok(alu!(|a: f32| -> f32 { canonical(-flushed(a)) })),
        (Ty::F64, true, false) => Ok(alu!(|a: f64| -> f64 { with_sign(a, a.abs()) })),
        (Ty::F64, false, false) => Ok(alu!(|a: f64| -> f64 { with_sign(a, -a) })),
        (ty, ..) => Err(no_type(ty)),
    }
}

fn root(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    let approximate = m.flag("approx");
    let control = control(m);
    match m.ty()? {
        Ty::F32 if control == Control::PLAIN => Ok(alu!(|a: f32| -> f32 { canonical(a.sqrt()) })),
        Ty::F32 => {
            let alu = alu!(each |a: f32, word: u32| -> f32 { root32(a, Control::unpack(word)) });
            Ok(alu.with_control(control.pack()))
        }
        Ty::F64 if control == Control::PLAIN && !approximate => Ok(alu!(|a: f64| -> f64 { settled(a.sqrt(), [a, a]) })),
        Ty::F64 if !control.flush && !approximate => {
            let alu = alu!(each |a: f64, word: u32| -> f64 { root64(a, Control::unpack(word).rounding) });
            Ok(alu.with_control(control.pack()))
        }
        ty => Err(no_type(ty)),
    }
}

fn reciprocal(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    let approximate = m.flag("approx");
    let control = control(m);
    match m.ty()? {
        Ty::F32 if control == Control::PLAIN => Ok(alu!(|a: f32| -> f32 { canonical(1.0 / a) })),
        Ty::F32 => {
            let alu = alu!(each |a: f32, word: u32| -> f32 { binary32(Binary::Div, 1.0, a, Control::unpack(word)) });
            Ok(alu.with_control(control.pack()))
        }
        Ty::F64 if control.flush && approximate => Ok(alu!(|a: f64| -> f64 { upper_word(a, |a| 1.0 / a) })),
        Ty::F64 if control == Control::PLAIN && !approximate => Ok(alu!(|a: f64| -> f64 { settled(1.0 / a, [a, a]) })),
        Ty::F64 if !control.flush && !approximate => {
            let alu = alu!(each |a: f64, word: u32| -> f64 {
                binary64(Binary::Div, 1.0, a, Control::unpack(word).rounding)
            });
            Ok(alu.with_control(control.pack()))
        }
        ty => Err(no_type(ty)),
    }
}

macro_rules! through_double {
    ($flush:expr, |$x:ident| $body:expr) => {
        if $flush {
            alu!(each |a: f32| -> f32 {
                let $x = f64::from(flushed(a));
                canonical(flushed($body as f32))
            })
        } else {
            alu!(each |a: f32| -> f32 {
                let $x = f64::from(a);
                canonical($body as f32)
            })
        }
    };
}

/// The functions that hardware only approximates. Here they are computed in double precision by the host's library and
/// rounded: more exact than a GPU, so not equal to it in the last bits.
fn approximate(opcode: &str, m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    if !m.flag("approx") {
        return Err(Reason::UnsupportedInstruction(opcode.to_owned()));
    }
    let flush = opcode != "tanh" && m.flag("ftz");
    match (opcode, m.ty()?) {
        ("rsqrt", Ty::F64) if flush => Ok(alu!(|a: f64| -> f64 { upper_word(a, |a| 1.0 / a.sqrt()) })),
        ("rsqrt", Ty::F64) => Ok(alu!(|a: f64| -> f64 { settled(1.0 / a.sqrt(), [a, a]) })),
        ("rsqrt", Ty::F32) => Ok(through_double!(flush, |x| 1.0 / x.sqrt())),
        ("sin", Ty::F32) => Ok(through_double!(flush, |x| x.sin())),
        ("cos", Ty::F32) => Ok(through_double!(flush, |x| x.cos())),
        ("lg2", Ty::F32) => Ok(through_double!(flush, |x| x.log2())),
        ("ex2", Ty::F32) => Ok(through_double!(flush, |x| x.exp2())),
        ("tanh", Ty::F32) => Ok(through_double!(false, |x| x.tanh())),
        (_, ty) => Err(no_type(ty)),
    }
}

/// A function that only reads and only gives the upper word of a double, and flushes denormals. So a NaN whose bits are all
/// in the lower word counts as an infinity.
#[inline(always)]
fn upper_word(a: f64, function: impl Fn(f64) -> f64) -> f64 {
    const WORD: u64 = 0xffff_ffff_0000_0000;
    let flushed = |x: f64| if x.is_subnormal() { 0f64.copysign(x) } else { x };
    let result = flushed(function(flushed(f64::from_bits(a.to_bits() & WORD))));
    if result.is_nan() {
        return f64::from_bits(0x7fff_ffff_0000_0000);
    }
    // To nearest; a carry goes into the exponent, as it should. Infinities have no bits to round.
    f64::from_bits((result.to_bits() + 0x7fff_ffff + (result.to_bits() >> 32 & 1)) & WORD)
}

/// The value of the second operand with the sign of the first.
fn copysign(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    match m.ty()? {
        Ty::F32 => Ok(alu!(|a: f32, b: f32| -> f32 { b.copysign(a) })),
        Ty::F64 => Ok(alu!(|a: f64, b: f64| -> f64 { b.copysign(a) })),
        ty => Err(no_type(ty)),
    }
}

fn property(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    let property = m.take(|name| {
        Some(match name {
            "finite" => Property::Finite,
            "infinite" => Property::Infinite,
            "number" => Property::Number,
            "notanumber" => Property::NotANumber,
            "normal" => Property::Normal,
            "subnormal" => Property::Subnormal,
            _ => return None,
        })
    });
    let property = property.ok_or_else(|| Reason::UnsupportedInstruction("testp".to_owned()))?;
    let alu = match m.ty()? {
        Ty::F32 => alu!(each |a: f32, word: u32| -> bool { has(word, a.into(), a.is_subnormal()) }),
        Ty::F64 => alu!(each |a: f64, word: u32| -> bool { has(word, a, a.is_subnormal()) }),
        ty => return Err(no_type(ty)),
    };
    Ok(alu.with_control(property as u32))
}

fn has(property: u32, x: f64, subnormal: bool) -> bool {
    Property::ALL.get(property as usize).is_some_and(|property| property.holds(x, subnormal))
}
