//! Logic, shifts, bit fields, permutations, selection.

use super::ty;
use crate::form::{Form, Ty};

pub(super) fn add(forms: &mut Vec<Form>) {
    for name in ["pred", "b16", "b32", "b64"] {
        let t = ty(name);
        for opcode in ["and", "or", "xor"] {
            forms.push(Form::plain(format!("{opcode}.{name}"), &[t; 2], t));
        }
        forms.push(Form::plain(format!("not.{name}"), &[t], t));
    }
    for name in ["b16", "b32", "b64"] {
        forms.push(Form::plain(format!("cnot.{name}"), &[ty(name)], ty(name)));
        forms.push(Form::plain(format!("shl.{name}"), &[ty(name), Ty::Small], ty(name)));
    }
    for name in ["b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"] {
        forms.push(Form::plain(format!("shr.{name}"), &[ty(name), Ty::Small], ty(name)));
    }
    for direction in ["l", "r"] {
        for amount in ["wrap", "clamp"] {
            forms.push(Form::plain(format!("shf.{direction}.{amount}.b32"), &[Ty::I32, Ty::I32, Ty::Small], Ty::I32));
        }
    }
    for name in ["b32", "b64"] {
        let t = ty(name);
        forms.push(Form::plain(format!("popc.{name}"), &[t], Ty::I32));
        forms.push(Form::plain(format!("clz.{name}"), &[t], Ty::I32));
        forms.push(Form::plain(format!("brev.{name}"), &[t], t));
        forms.push(Form::plain(format!("bfi.{name}"), &[t, t, Ty::Small, Ty::Small], t));
    }
    for name in ["u32", "s32", "u64", "s64"] {
        forms.push(Form::plain(format!("bfind.{name}"), &[ty(name)], Ty::I32));
        forms.push(Form::plain(format!("bfind.shiftamt.{name}"), &[ty(name)], Ty::I32));
        forms.push(Form::plain(format!("bfe.{name}"), &[ty(name), Ty::Small, Ty::Small], ty(name)));
    }
    for (mode, selector) in [
        ("", Ty::I32),
        (".f4e", Ty::Small),
        (".b4e", Ty::Small),
        (".rc8", Ty::Small),
        (".ecl", Ty::Small),
        (".ecr", Ty::Small),
        (".rc16", Ty::Small),
    ] {
        forms.push(Form::plain(format!("prmt.b32{mode}"), &[Ty::I32, Ty::I32, selector], Ty::I32));
    }
    for table in [0x00, 0x17, 0x3c, 0x80, 0x96, 0xca, 0xe8, 0xfe, 0xff] {
        forms.push(Form::code(
            format!("lop3.b32 {table:#04x}"),
            &[Ty::I32; 3],
            Ty::I32,
            format!("lop3.b32 d, a, b, c, {table};"),
        ));
    }
    choices(forms);
    moves(forms);
}

fn choices(forms: &mut Vec<Form>) {
    for name in ["b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64"] {
        let t = ty(name);
        forms.push(Form::plain(format!("selp.{name}"), &[t, t, Ty::Pred], t));
        forms.push(Form::plain(format!("slct.{name}.s32"), &[t, t, Ty::I32], t));
        forms.push(Form::plain(format!("slct.{name}.f32"), &[t, t, Ty::F32], t));
        forms.push(Form::plain(format!("slct.ftz.{name}.f32"), &[t, t, Ty::F32], t));
    }
}

fn moves(forms: &mut Vec<Form>) {
    for name in ["b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64", "pred"] {
        forms.push(Form::plain(format!("mov.{name}"), &[ty(name)], ty(name)));
    }
    forms.push(Form::code("mov.b32 {16, 16}", &[Ty::I16; 2], Ty::I32, "mov.b32 d, {a, b};"));
    forms.push(Form::code("mov.b64 {32, 32}", &[Ty::I32; 2], Ty::I64, "mov.b64 d, {a, b};"));
    forms.push(Form::code("mov.b64 {16, 16, 16, 16}", &[Ty::I16; 4], Ty::I64, "mov.b64 d, {a, b, c, e};"));
    forms.push(Form::code("{16, 16} mov.b32", &[Ty::I32], Ty::I32, "mov.b32 {h0, h1}, a;\nmov.b32 d, {h1, h0};"));
    forms.push(Form::code("{32, 32} mov.b64", &[Ty::I64], Ty::I64, "mov.b64 {x0, x1}, a;\nmov.b64 d, {x1, x0};"));
    forms.push(Form::code(
        "{16, 16, 16, 16} mov.b64",
        &[Ty::I64],
        Ty::I64,
        "mov.b64 {h0, h1, h2, h3}, a;\nmov.b64 d, {h3, h1, h2, h0};",
    ));
    // A predicated instruction leaves its result alone where the predicate does not hold.
    forms.push(Form::code("@p mov", &[Ty::I32, Ty::I32, Ty::Pred], Ty::I32, "mov.b32 d, a;\n@c mov.b32 d, b;"));
    forms.push(Form::code("@!p add", &[Ty::I32, Ty::I32, Ty::Pred], Ty::I32, "mov.b32 d, a;\n@!c add.s32 d, a, b;"));
}
