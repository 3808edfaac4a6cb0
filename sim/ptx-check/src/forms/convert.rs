//! `cvt`, between all scalar types, and `cvt.pack`-free pairs of halves.

use super::{FLUSHINGS, ROUNDINGS, SATURATIONS};
use crate::form::{Form, Ty};

const INTEGERS: [&str; 8] = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"];
const FLOATS: [&str; 3] = ["f16", "f32", "f64"];
const TO_INTEGER: [&str; 4] = [".rni", ".rzi", ".rmi", ".rpi"];

/// The register of a converted type: bytes live in 16 bits.
fn ty(name: &str) -> Ty {
    Ty::of(name).unwrap_or(Ty::I16)
}

fn conversion(forms: &mut Vec<Form>, suffixes: &str, to: &str, from: &str) {
    forms.push(Form::plain(format!("cvt{suffixes}.{to}.{from}"), &[ty(from)], ty(to)));
}

/// The smallest and the largest value of an integer type.
fn range(name: &str) -> (i128, i128) {
    let bits: u32 = name[1..].parse().expect("the table names integers by their bits");
    if name.starts_with('s') { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

pub(super) fn add(forms: &mut Vec<Form>) {
    for to in INTEGERS {
        for from in INTEGERS {
            conversion(forms, "", to, from);
            // The suffix is refused where every value fits.
            let (low, high) = range(to);
            let (least, most) = range(from);
            if least < low || most > high {
                conversion(forms, ".sat", to, from);
            }
        }
        for from in FLOATS {
            for rounding in TO_INTEGER {
                conversion(forms, rounding, to, from);
                if from == "f32" {
                    conversion(forms, &format!("{rounding}.ftz"), to, from);
                }
            }
            conversion(forms, ".rzi.sat", to, from);
        }
    }
    for to in FLOATS {
        for from in INTEGERS {
            for rounding in ROUNDINGS {
                conversion(forms, rounding, to, from);
            }
            conversion(forms, ".rn.sat", to, from);
        }
    }
    wider_registers(forms);
    between_floats(forms);
    truncated_floats(forms);
}

/// A register may be wider than the type: the low bits are converted, an integer result is extended.
fn wider_registers(forms: &mut Vec<Form>) {
    for (to, from) in [("s8", "s32"), ("u8", "u32"), ("s16", "s32"), ("u16", "u64"), ("s32", "s64"), ("u8", "s64")] {
        forms.push(Form::code(
            format!("cvt.{to}.{from} in 64 bits"),
            &[Ty::I64],
            Ty::I64,
            format!("cvt.{to}.{from} d, a;"),
        ));
        forms.push(Form::code(
            format!("cvt.sat.{to}.{from} in 64 bits"),
            &[Ty::I64],
            Ty::I64,
            format!("cvt.sat.{to}.{from} d, a;"),
        ));
    }
    for (to, from) in [("u32", "u8"), ("s32", "s8"), ("s64", "s16"), ("u64", "u8")] {
        forms.push(Form::code(
            format!("cvt.{to}.{from} from 32 bits"),
            &[Ty::I32],
            ty(to),
            format!("cvt.{to}.{from} d, a;"),
        ));
    }
    forms.push(Form::code("cvt.rn.f32.u8 from 32 bits", &[Ty::I32], Ty::F32, "cvt.rn.f32.u8 d, a;"));
    forms.push(Form::code("cvt.rzi.s8.f32 in 32 bits", &[Ty::F32], Ty::I32, "cvt.rzi.s8.f32 d, a;"));
}

fn between_floats(forms: &mut Vec<Form>) {
    for (to, from) in [("f16", "f32"), ("f16", "f64"), ("f32", "f64")] {
        for rounding in ROUNDINGS {
            for saturation in SATURATIONS {
                for flushing in FLUSHINGS {
                    if flushing.is_empty() || to == "f32" || from == "f32" {
                        conversion(forms, &format!("{rounding}{flushing}{saturation}"), to, from);
                    }
                }
            }
        }
    }
    for (to, from) in [("f32", "f16"), ("f64", "f16"), ("f64", "f32")] {
        for saturation in SATURATIONS {
            for flushing in FLUSHINGS {
                if flushing.is_empty() || to == "f32" || from == "f32" {
                    conversion(forms, &format!("{flushing}{saturation}"), to, from);
                }
            }
        }
    }
    for float in FLOATS {
        for rounding in TO_INTEGER {
            for saturation in SATURATIONS {
                for flushing in FLUSHINGS {
                    if flushing.is_empty() || float == "f32" {
                        conversion(forms, &format!("{rounding}{flushing}{saturation}"), float, float);
                    }
                }
            }
        }
    }
    for (suffixes, float) in [(".sat", "f16"), (".sat", "f32"), (".ftz", "f32"), (".ftz.sat", "f32"), (".sat", "f64")] {
        conversion(forms, suffixes, float, float);
    }
}

/// The 16-bit format with the range of single precision, and pairs from two operands.
fn truncated_floats(forms: &mut Vec<Form>) {
    for rounding in [".rn", ".rz"] {
        for relu in ["", ".relu"] {
            conversion(forms, &format!("{rounding}{relu}"), "bf16", "f32");
            for pair in ["f16x2", "bf16x2"] {
                forms.push(Form::plain(format!("cvt{rounding}{relu}.{pair}.f32"), &[Ty::F32; 2], ty(pair)));
            }
        }
        conversion(forms, &format!("{rounding}.relu"), "f16", "f32");
    }
    conversion(forms, "", "f32", "bf16");
}
