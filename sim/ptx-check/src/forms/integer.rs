//! Integer arithmetic.

use super::ty;
use crate::form::{Form, Ty};

const SIGNED: [&str; 3] = ["s16", "s32", "s64"];
const INTEGERS: [&str; 6] = ["u16", "s16", "u32", "s32", "u64", "s64"];

pub(super) fn add(forms: &mut Vec<Form>) {
    for name in INTEGERS {
        let t = ty(name);
        for opcode in ["add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"] {
            forms.push(Form::plain(format!("{opcode}.{name}"), &[t; 2], t));
        }
        for opcode in ["mad.lo", "mad.hi", "sad"] {
            forms.push(Form::plain(format!("{opcode}.{name}"), &[t; 3], t));
        }
    }
    for name in SIGNED {
        forms.push(Form::plain(format!("abs.{name}"), &[ty(name)], ty(name)));
        forms.push(Form::plain(format!("neg.{name}"), &[ty(name)], ty(name)));
    }
    for (name, wide) in [("u16", Ty::I32), ("s16", Ty::I32), ("u32", Ty::I64), ("s32", Ty::I64)] {
        let t = ty(name);
        forms.push(Form::plain(format!("mul.wide.{name}"), &[t; 2], wide));
        forms.push(Form::plain(format!("mad.wide.{name}"), &[t, t, wide], wide));
    }
    for opcode in ["add.sat", "sub.sat"] {
        forms.push(Form::plain(format!("{opcode}.s32"), &[Ty::I32; 2], Ty::I32));
    }
    for opcode in ["mad.hi.sat", "mad24.hi.sat"] {
        forms.push(Form::plain(format!("{opcode}.s32"), &[Ty::I32; 3], Ty::I32));
    }
    for name in ["u32", "s32"] {
        for part in ["lo", "hi"] {
            forms.push(Form::plain(format!("mul24.{part}.{name}"), &[Ty::I32; 2], Ty::I32));
            forms.push(Form::plain(format!("mad24.{part}.{name}"), &[Ty::I32; 3], Ty::I32));
        }
        for second in ["u32", "s32"] {
            forms.push(Form::plain(format!("dp4a.{name}.{second}"), &[Ty::I32; 3], Ty::I32));
            for part in ["lo", "hi"] {
                forms.push(Form::plain(format!("dp2a.{part}.{name}.{second}"), &[Ty::I32; 3], Ty::I32));
            }
        }
    }
    carries(forms);
}

/// Extended precision: the carry shows in the instruction that takes it.
fn carries(forms: &mut Vec<Form>) {
    for name in ["u32", "s32"] {
        for (first, second) in [("add.cc", "addc"), ("sub.cc", "subc")] {
            forms.push(Form::code(
                format!("{first}.{name} {second}.{name}"),
                &[Ty::I32; 4],
                Ty::I64,
                format!("{first}.{name} x0, a, b;\n{second}.{name} x1, c, e;\nmov.b64 d, {{x0, x1}};"),
            ));
            forms.push(Form::code(
                format!("{first}.{name} {second}.cc.{name} {second}.{name}"),
                &[Ty::I32; 4],
                Ty::I64,
                format!(
                    "{first}.{name} x0, a, b;\n{second}.cc.{name} x1, c, e;\n{second}.{name} x2, a, 0;\nmov.b64 d, {{x1, x2}};"
                ),
            ));
        }
        for part in ["lo", "hi"] {
            forms.push(Form::code(
                format!("mad.{part}.cc.{name} addc.{name}"),
                &[Ty::I32; 3],
                Ty::I64,
                format!("mad.{part}.cc.{name} x0, a, b, c;\naddc.{name} x1, 0, 0;\nmov.b64 d, {{x0, x1}};"),
            ));
            forms.push(Form::code(
                format!("add.cc.{name} madc.{part}.cc.{name} addc.{name}"),
                &[Ty::I32; 4],
                Ty::I64,
                format!(
                    "add.cc.{name} x0, a, e;\nmadc.{part}.cc.{name} x1, a, b, c;\naddc.{name} x2, 0, 0;\nmov.b64 d, {{x1, x2}};"
                ),
            ));
        }
    }
    for name in ["u64", "s64"] {
        for (first, second) in [("add.cc", "addc"), ("sub.cc", "subc")] {
            forms.push(Form::code(
                format!("{first}.{name} {second}.{name}"),
                &[Ty::I64; 4],
                Ty::I64,
                format!("{first}.{name} w0, a, b;\n{second}.{name} d, c, e;"),
            ));
        }
        for part in ["lo", "hi"] {
            forms.push(Form::code(
                format!("add.cc.{name} madc.{part}.{name}"),
                &[Ty::I64; 4],
                Ty::I64,
                format!("add.cc.{name} w0, a, e;\nmadc.{part}.{name} d, a, b, c;"),
            ));
            forms.push(Form::code(
                format!("mad.{part}.cc.{name} addc.{name}"),
                &[Ty::I64; 3],
                Ty::I64,
                format!("mad.{part}.cc.{name} w0, a, b, c;\naddc.{name} d, 0, 0;"),
            ));
        }
    }
}
