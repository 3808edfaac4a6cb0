//! Comparisons: `setp`, `set`, `testp`, `copysign`.

use super::{FLUSHINGS, ty};
use crate::form::{Form, Ty};

const ORDERED: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];
const UNSIGNED: [&str; 4] = ["lo", "ls", "hi", "hs"];
const UNORDERED: [&str; 8] = ["equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];

/// The comparisons that are tried with every result type of `set`: what is compared is the same as for `setp`.
const SET: [&str; 5] = ["ne", "lt", "hs", "geu", "nan"];

pub(super) fn add(forms: &mut Vec<Form>) {
    for name in ["b16", "b32", "b64"] {
        for comparison in ["eq", "ne"] {
            comparisons(forms, comparison, "", name);
        }
    }
    for name in ["u16", "s16", "u32", "s32", "u64", "s64"] {
        for comparison in ORDERED {
            comparisons(forms, comparison, "", name);
        }
    }
    for name in ["u16", "u32", "u64"] {
        for comparison in UNSIGNED {
            comparisons(forms, comparison, "", name);
        }
    }
    for comparison in ORDERED.into_iter().chain(UNORDERED) {
        for flushing in FLUSHINGS {
            comparisons(forms, comparison, flushing, "f32");
            comparisons(forms, comparison, flushing, "f16");
        }
        comparisons(forms, comparison, "", "f64");
        comparisons(forms, comparison, "", "bf16");
        for flushing in FLUSHINGS {
            pairs(forms, comparison, flushing, "f16x2");
        }
        pairs(forms, comparison, "", "bf16x2");
    }
    combinations(forms);
    for property in ["finite", "infinite", "number", "notanumber", "normal", "subnormal"] {
        forms.push(Form::plain(format!("testp.{property}.f32"), &[Ty::F32], Ty::Pred));
        forms.push(Form::plain(format!("testp.{property}.f64"), &[Ty::F64], Ty::Pred));
    }
    forms.push(Form::plain("copysign.f32", &[Ty::F32; 2], Ty::F32));
    forms.push(Form::plain("copysign.f64", &[Ty::F64; 2], Ty::F64));
}

fn comparisons(forms: &mut Vec<Form>, comparison: &str, flushing: &str, name: &str) {
    let t = ty(name);
    forms.push(Form::plain(format!("setp.{comparison}{flushing}.{name}"), &[t; 2], Ty::Pred));
    if !SET.contains(&comparison) {
        return;
    }
    // `set` of halves gives halves or integers of their size; the others give words.
    let results: &[&str] = match name {
        "f16" => &["f16", "u16", "s16", "u32", "s32"],
        "bf16" => &["bf16", "u16", "s16", "u32", "s32"],
        _ => &["u32", "s32", "f32"],
    };
    for result in results {
        forms.push(Form::plain(format!("set.{comparison}{flushing}.{result}.{name}"), &[t; 2], ty(result)));
    }
}

/// Comparisons of pairs of halves, which give a predicate for each.
fn pairs(forms: &mut Vec<Form>, comparison: &str, flushing: &str, name: &str) {
    let t = ty(name);
    forms.push(Form::code(
        format!("setp.{comparison}{flushing}.{name}"),
        &[t; 2],
        Ty::I32,
        format!("setp.{comparison}{flushing}.{name} p|q, a, b;\nselp.b32 x0, 1, 0, p;\nselp.b32 x1, 2, 0, q;\nor.b32 d, x0, x1;"),
    ));
    if !SET.contains(&comparison) {
        return;
    }
    let results: &[&str] = if name == "f16x2" { &["f16x2", "u32"] } else { &["bf16x2", "u32"] };
    for result in results {
        forms.push(Form::plain(format!("set.{comparison}{flushing}.{result}.{name}"), &[t; 2], ty(result)));
    }
}

/// Comparisons that are combined with a third operand, and that give their complement as well.
fn combinations(forms: &mut Vec<Form>) {
    let both = "selp.b32 x0, 1, 0, p;\nselp.b32 x1, 2, 0, q;\nor.b32 d, x0, x1;";
    for name in ["s32", "u64", "f32", "f64"] {
        let t = ty(name);
        forms.push(Form::code(
            format!("setp.lt.{name} p|q"),
            &[t; 2],
            Ty::I32,
            format!("setp.lt.{name} p|q, a, b;\n{both}"),
        ));
        for operation in ["and", "or", "xor"] {
            for (sign, not) in [("", ""), ("!", " !c")] {
                forms.push(Form::code(
                    format!("setp.le.{operation}.{name} p|q{not}"),
                    &[t, t, Ty::Pred],
                    Ty::I32,
                    format!("setp.le.{operation}.{name} p|q, a, b, {sign}c;\n{both}"),
                ));
                forms.push(Form::code(
                    format!("set.ge.{operation}.u32.{name}{not}"),
                    &[t, t, Ty::Pred],
                    Ty::I32,
                    format!("set.ge.{operation}.u32.{name} d, a, b, {sign}c;"),
                ));
            }
        }
    }
}
