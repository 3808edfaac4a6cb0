//! Loads and stores: every width, space, vector and cache operator; address arithmetic; special registers.

use super::ty;
use crate::form::{Form, Ty};

/// How much of a 64-bit operand each type reads, and where from.
const NARROW: [(&str, u32); 9] =
    [("u8", 5), ("s8", 5), ("b8", 3), ("u16", 6), ("s16", 2), ("b16", 4), ("u32", 4), ("s32", 4), ("b32", 0)];

pub(super) fn add(forms: &mut Vec<Form>) {
    for (space, address) in [("global", "memory"), ("shared", "shared"), ("local", "w0"), ("generic", "memory")] {
        let prefix = if space == "local" { ".local .align 16 .b8 own[64];\nmov.u64 w0, own;\n" } else { "" };
        let suffix = if space == "generic" { String::new() } else { format!(".{space}") };
        for (name, offset) in NARROW {
            forms.push(Form::code(
                format!("ld{suffix}.{name}"),
                &[Ty::I64],
                Ty::I64,
                format!("{prefix}st{suffix}.b64 [{address}], a;\nld{suffix}.{name} d, [{address}+{offset}];"),
            ));
            forms.push(Form::code(
                format!("st{suffix}.{name}"),
                &[Ty::I64; 2],
                Ty::I64,
                format!(
                    "{prefix}st{suffix}.b64 [{address}], a;\nst{suffix}.{name} [{address}+{offset}], b;\nld{suffix}.b64 d, [{address}];"
                ),
            ));
        }
        for name in ["u64", "s64", "f64", "f32"] {
            let t = ty(name);
            forms.push(Form::code(
                format!("st{suffix}.{name} ld{suffix}.{name}"),
                &[t],
                t,
                format!("{prefix}st{suffix}.{name} [{address}+8], a;\nld{suffix}.{name} d, [{address}+8];"),
            ));
        }
        vectors(forms, &suffix, prefix, address);
    }
    operators(forms);
    addresses(forms);
    special_registers(forms);
}

/// Vectors go in whole and come out in pieces, then the other way round.
fn vectors(forms: &mut Vec<Form>, suffix: &str, prefix: &str, address: &str) {
    let mut vector = |name: String, operands: &[Ty], body: String| {
        forms.push(Form::code(name, operands, Ty::I64, format!("{prefix}{body}")));
    };
    vector(
        format!("st{suffix}.v2.b32"),
        &[Ty::I32; 2],
        format!("st{suffix}.v2.b32 [{address}], {{a, b}};\nld{suffix}.b64 d, [{address}];"),
    );
    vector(
        format!("ld{suffix}.v2.b32"),
        &[Ty::I64],
        format!("st{suffix}.b64 [{address}], a;\nld{suffix}.v2.u32 {{x0, x1}}, [{address}];\nmov.b64 d, {{x1, x0}};"),
    );
    vector(
        format!("st{suffix}.v4.b16"),
        &[Ty::I16; 4],
        format!("st{suffix}.v4.b16 [{address}], {{a, b, c, e}};\nld{suffix}.b64 d, [{address}];"),
    );
    vector(
        format!("ld{suffix}.v4.u8"),
        &[Ty::I32],
        format!(
            "st{suffix}.b32 [{address}], a;\nld{suffix}.v4.u8 {{x0, x1, x2, x3}}, [{address}];\n\
             mad.lo.u32 x0, x0, 1000, x1;\nmad.lo.u32 x2, x2, 1000, x3;\nmov.b64 d, {{x0, x2}};"
        ),
    );
    vector(
        format!("ld{suffix}.v2.s16"),
        &[Ty::I32],
        format!("st{suffix}.b32 [{address}], a;\nld{suffix}.v2.s16 {{x0, x1}}, [{address}];\nmov.b64 d, {{x1, x0}};"),
    );
    for (first, second) in [("x0", "x3"), ("x1", "x2")] {
        vector(
            format!("ld{suffix}.v4.f32 {first} {second}"),
            &[Ty::I64; 2],
            format!(
                "st{suffix}.v2.b64 [{address}], {{a, b}};\nld{suffix}.v4.f32 {{x0, x1, x2, x3}}, [{address}];\n\
                 mov.b64 d, {{{first}, {second}}};"
            ),
        );
    }
    vector(
        format!("ld{suffix}.v2.u64"),
        &[Ty::I32; 4],
        format!(
            "st{suffix}.v4.b32 [{address}], {{a, b, c, e}};\nld{suffix}.v2.u64 {{w1, w2}}, [{address}];\nsub.s64 d, w1, w2;"
        ),
    );
}

/// What asks caches and the memory model for something changes no value here.
fn operators(forms: &mut Vec<Form>) {
    let mut pair = |store: &str, load: &str| {
        forms.push(Form::code(
            format!("st.global{store}.b32 ld.global{load}.b32"),
            &[Ty::I32],
            Ty::I32,
            format!("st.global{store}.b32 [memory+4], a;\nld.global{load}.b32 d, [memory+4];"),
        ));
    };
    for load in [".ca", ".cg", ".cs", ".lu", ".cv", ".volatile", ".relaxed.gpu", ".acquire.gpu", ".acquire.sys"] {
        pair("", &load.replace(".volatile", ""));
    }
    for store in [".wb", ".cg", ".cs", ".wt", ".relaxed.cta", ".release.gpu", ".release.sys"] {
        pair(store, "");
    }
    pair(".L1::no_allocate", ".L1::evict_last");
    for fence in ["membar.cta", "membar.gl", "membar.sys", "fence.sc.cta", "fence.acq_rel.gpu", "fence.sc.sys"] {
        forms.push(Form::code(
            fence,
            &[Ty::I32],
            Ty::I32,
            format!("st.global.b32 [memory], a;\n{fence};\nld.volatile.global.b32 d, [memory];"),
        ));
    }
    // Read-only loads of what the kernel does not write: the row's own operands.
    forms.push(Form::code("ld.global.nc.b32", &[Ty::I64], Ty::I32, "ld.global.nc.b32 d, [in+4];"));
    forms.push(Form::code(
        "ld.global.nc.v2.u32",
        &[Ty::I64],
        Ty::I32,
        "ld.global.nc.v2.u32 {x0, x1}, [in];\nxor.b32 d, x0, x1;",
    ));
    forms.push(Form::code("ldu.global.b64", &[Ty::I64], Ty::I64, "ldu.global.b64 d, [in];"));
    forms.push(Form::code(
        "prefetch.global.L2",
        &[Ty::I32],
        Ty::I32,
        "prefetch.global.L1 [in];\nprefetch.global.L2 [in];\nmov.b32 d, a;",
    ));
}

fn addresses(forms: &mut Vec<Form>) {
    forms.push(Form::code(
        "cvta.shared",
        &[Ty::I32],
        Ty::I32,
        "cvta.shared.u64 w0, shared;\nst.b32 [w0+4], a;\ncvta.to.shared.u64 w1, w0;\nld.shared.b32 d, [w1+4];",
    ));
    forms.push(Form::code(
        "cvta.local",
        &[Ty::I32],
        Ty::I32,
        ".local .align 8 .b8 own[16];\nmov.u64 w0, own;\ncvta.local.u64 w1, w0;\nst.b32 [w1+8], a;\nld.local.b32 d, [w0+8];",
    ));
    forms.push(Form::code(
        "cvta.global",
        &[Ty::I32],
        Ty::I32,
        "cvta.global.u64 w0, memory;\nst.b32 [w0+8], a;\nld.global.b32 d, [memory+8];",
    ));
    let answers = "selp.b32 x0, 1, 0, p;\nselp.b32 x1, 2, 0, q;\nor.b32 d, x0, x1;";
    forms.push(Form::code(
        "isspacep.shared",
        &[Ty::I32],
        Ty::I32,
        format!("cvta.shared.u64 w0, shared;\nisspacep.shared p, w0;\nisspacep.global q, w0;\n{answers}"),
    ));
    forms.push(Form::code(
        "isspacep.global",
        &[Ty::I32],
        Ty::I32,
        format!("cvta.global.u64 w0, memory;\nisspacep.local p, w0;\nisspacep.global q, w0;\n{answers}"),
    ));
    forms.push(Form::code(
        "isspacep.local",
        &[Ty::I32],
        Ty::I32,
        format!(
            ".local .align 8 .b8 own[16];\nmov.u64 w0, own;\nst.local.b32 [w0], a;\ncvta.local.u64 w1, w0;\n\
             isspacep.local p, w1;\nisspacep.shared q, w1;\n{answers}"
        ),
    ));
}

fn special_registers(forms: &mut Vec<Form>) {
    for register in [
        "%tid.x",
        "%tid.y",
        "%tid.z",
        "%ntid.x",
        "%ntid.y",
        "%ntid.z",
        "%ctaid.x",
        "%ctaid.y",
        "%ctaid.z",
        "%nctaid.x",
        "%nctaid.y",
        "%nctaid.z",
        "%laneid",
        "%lanemask_eq",
        "%lanemask_lt",
        "%lanemask_le",
        "%lanemask_gt",
        "%lanemask_ge",
    ] {
        forms.push(Form::code(register, &[Ty::I32], Ty::I32, format!("mov.u32 d, {register};\nadd.u32 d, d, a;")));
    }
}
