//! Single and double precision.
//!
//! The bounds of the approximate forms are those of the PTX manual. To a relative error half a unit in the last place is added,
//! because the simulator rounds the exact value. The manual gives none for the three forms in double precision: two of them
//! give 20 bits and are allowed to differ in the last of them, the third is allowed two units.

use super::{FLUSHINGS, ROUNDINGS, SATURATIONS};
use crate::form::{Bound, Form, Ty};

const F32: Ty = Ty::F32;
const F64: Ty = Ty::F64;

pub(super) fn add(forms: &mut Vec<Form>) {
    for rounding in [""].into_iter().chain(ROUNDINGS) {
        for opcode in ["add", "sub", "mul"] {
            for flushing in FLUSHINGS {
                for saturation in SATURATIONS {
                    forms.push(Form::plain(format!("{opcode}{rounding}{flushing}{saturation}.f32"), &[F32; 2], F32));
                }
            }
            forms.push(Form::plain(format!("{opcode}{rounding}.f64"), &[F64; 2], F64));
        }
    }
    for rounding in ROUNDINGS {
        for opcode in ["fma", "mad"] {
            for flushing in FLUSHINGS {
                for saturation in SATURATIONS {
                    forms.push(Form::plain(format!("{opcode}{rounding}{flushing}{saturation}.f32"), &[F32; 3], F32));
                }
            }
            forms.push(Form::plain(format!("{opcode}{rounding}.f64"), &[F64; 3], F64));
        }
        for flushing in FLUSHINGS {
            forms.push(Form::plain(format!("div{rounding}{flushing}.f32"), &[F32; 2], F32));
            forms.push(Form::plain(format!("rcp{rounding}{flushing}.f32"), &[F32], F32));
            forms.push(Form::plain(format!("sqrt{rounding}{flushing}.f32"), &[F32], F32));
        }
        forms.push(Form::plain(format!("div{rounding}.f64"), &[F64; 2], F64));
        forms.push(Form::plain(format!("rcp{rounding}.f64"), &[F64], F64));
        forms.push(Form::plain(format!("sqrt{rounding}.f64"), &[F64], F64));
    }
    for opcode in ["min", "max"] {
        for flushing in FLUSHINGS {
            for nan in ["", ".NaN"] {
                for sign in ["", ".xorsign.abs"] {
                    forms.push(Form::plain(format!("{opcode}{flushing}{nan}{sign}.f32"), &[F32; 2], F32));
                }
            }
        }
        forms.push(Form::plain(format!("{opcode}.f64"), &[F64; 2], F64));
    }
    for opcode in ["abs", "neg"] {
        for flushing in FLUSHINGS {
            forms.push(Form::plain(format!("{opcode}{flushing}.f32"), &[F32], F32));
        }
        forms.push(Form::plain(format!("{opcode}.f64"), &[F64], F64));
    }
    approximations(forms);
}

fn approximations(forms: &mut Vec<Form>) {
    // Absolute from 0.5 to 2, relative elsewhere; where they meet, both are the same.
    let logarithm = Bound::Within { absolute: (-22.0f64).exp2(), relative: (-22.0f64).exp2() };
    for flushing in FLUSHINGS {
        let mut one = |opcode: &str, bound| {
            forms.push(Form::plain(format!("{opcode}.approx{flushing}.f32"), &[F32], F32).within(bound));
        };
        one("rcp", Bound::Ulps(1));
        one("sqrt", Bound::relative(-23.0));
        one("rsqrt", Bound::relative(-22.9));
        one("sin", Bound::Periodic);
        one("cos", Bound::Periodic);
        one("lg2", logarithm);
        one("ex2", Bound::Ulps(2));
        for exactness in ["approx", "full"] {
            forms.push(Form::plain(format!("div.{exactness}{flushing}.f32"), &[F32; 2], F32).within(Bound::Ulps(2)));
        }
    }
    forms.push(Form::plain("tanh.approx.f32", &[F32], F32).within(Bound::relative(-11.0)));
    forms.push(Form::plain("rcp.approx.ftz.f64", &[F64], F64).within(Bound::relative(-19.5)));
    forms.push(Form::plain("rsqrt.approx.ftz.f64", &[F64], F64).within(Bound::relative(-19.5)));
    forms.push(Form::plain("rsqrt.approx.f64", &[F64], F64).within(Bound::Ulps(2)));
}
