//! Half precision, and the 16-bit format with the range of single precision, alone and in pairs. The bounds are
//! those of the PTX manual; where it gives an absolute error, rounding is added.

use super::{FLUSHINGS, SATURATIONS, ty};
use crate::form::{Bound, Form};

/// An absolute error, to which that of rounding a value below one is added.
fn tangent(error: f64, rounding: f64) -> Bound {
    Bound::Within { absolute: error.exp2() + rounding.exp2(), relative: 0.0 }
}

pub(super) fn add(forms: &mut Vec<Form>) {
    for name in ["f16", "f16x2"] {
        let t = ty(name);
        for rounding in ["", ".rn"] {
            for flushing in FLUSHINGS {
                for saturation in SATURATIONS {
                    for opcode in ["add", "sub", "mul"] {
                        let name = format!("{opcode}{rounding}{flushing}{saturation}.{name}");
                        forms.push(Form::plain(name, &[t; 2], t));
                    }
                }
            }
        }
        for flushing in FLUSHINGS {
            for end in ["", ".sat", ".relu"] {
                forms.push(Form::plain(format!("fma.rn{flushing}{end}.{name}"), &[t; 3], t));
            }
            for opcode in ["min", "max"] {
                for nan in ["", ".NaN"] {
                    forms.push(Form::plain(format!("{opcode}{flushing}{nan}.{name}"), &[t; 2], t));
                }
            }
            for opcode in ["abs", "neg"] {
                forms.push(Form::plain(format!("{opcode}{flushing}.{name}"), &[t], t));
            }
        }
        forms.push(Form::plain(format!("ex2.approx.{name}"), &[t], t).within(Bound::relative(-9.9)));
        forms.push(Form::plain(format!("tanh.approx.{name}"), &[t], t).within(tangent(-10.987, -12.0)));
    }
    for name in ["bf16", "bf16x2"] {
        let t = ty(name);
        for opcode in ["add", "sub", "mul"] {
            for rounding in ["", ".rn"] {
                forms.push(Form::plain(format!("{opcode}{rounding}.{name}"), &[t; 2], t));
            }
        }
        for end in ["", ".relu"] {
            forms.push(Form::plain(format!("fma.rn{end}.{name}"), &[t; 3], t));
        }
        for opcode in ["min", "max"] {
            for nan in ["", ".NaN"] {
                forms.push(Form::plain(format!("{opcode}{nan}.{name}"), &[t; 2], t));
            }
        }
        for opcode in ["abs", "neg"] {
            forms.push(Form::plain(format!("{opcode}.{name}"), &[t], t));
        }
        forms.push(Form::plain(format!("ex2.approx.ftz.{name}"), &[t], t).within(Bound::relative(-7.0)));
        forms.push(Form::plain(format!("tanh.approx.{name}"), &[t], t).within(tangent(-8.0, -9.0)));
    }
}
