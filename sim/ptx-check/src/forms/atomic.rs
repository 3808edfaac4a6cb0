//! Atomics and reductions: each operation and type, in global and shared memory, alone and contended.

use super::ty;
use crate::form::{Form, Ty};

/// The operations on 32 bits, then those on 64.
const OPERATIONS: [(&str, &str); 27] = [
    ("add", "u32"),
    ("add", "s32"),
    ("add", "f32"),
    ("min", "u32"),
    ("min", "s32"),
    ("max", "u32"),
    ("max", "s32"),
    ("and", "b32"),
    ("or", "b32"),
    ("xor", "b32"),
    ("exch", "b32"),
    ("inc", "u32"),
    ("dec", "u32"),
    ("add.noftz", "f16x2"),
    ("add.noftz", "bf16x2"),
    ("add", "u64"),
    ("add", "f64"),
    ("min", "u64"),
    ("min", "s64"),
    ("max", "u64"),
    ("max", "s64"),
    ("and", "b64"),
    ("or", "b64"),
    ("xor", "b64"),
    ("exch", "b64"),
    ("add.noftz", "f16"),
    ("add.noftz", "bf16"),
];

/// Whether there is a `red` of it: one that returns nothing.
fn reduces(operation: &str) -> bool {
    operation != "exch"
}

pub(super) fn add(forms: &mut Vec<Form>) {
    for (space, address) in [(".global", "memory"), (".shared", "shared"), ("", "memory")] {
        for (operation, name) in OPERATIONS {
            let t = ty(name);
            let bits = 8 * t.bytes();
            let plain = |which: &str, body: String| {
                Form::code(format!("atom{space}.{operation}.{name} {which}"), &[t; 2], t, body)
            };
            forms.push(plain(
                "old",
                format!("st{space}.b{bits} [{address}], b;\natom{space}.{operation}.{name} d, [{address}], a;"),
            ));
            forms.push(plain(
                "new",
                format!(
                    "{{ .reg .b{bits} old;\nst{space}.b{bits} [{address}], b;\natom{space}.{operation}.{name} old, [{address}], a;\n\
                     ld{space}.b{bits} d, [{address}]; }}"
                ),
            ));
            if reduces(operation) {
                forms.push(Form::code(
                    format!("red{space}.{operation}.{name}"),
                    &[t; 2],
                    t,
                    format!(
                        "st{space}.b{bits} [{address}], b;\nred{space}.{operation}.{name} [{address}], a;\nld{space}.b{bits} d, [{address}];"
                    ),
                ));
            }
        }
        for name in ["b32", "b64", "b16"] {
            let t = ty(name);
            let bits = 8 * t.bytes();
            // The third operand is what is there; half of the rows expect it.
            let setup = format!(
                "st{space}.{name} [{address}], c;\nand.b32 x0, row, 1;\nsetp.eq.u32 p, x0, 0;\nselp.b{bits} b, c, b, p;"
            );
            forms.push(Form::code(
                format!("atom{space}.cas.{name} old"),
                &[t; 3],
                t,
                format!("{setup}\natom{space}.cas.{name} d, [{address}], b, a;"),
            ));
            forms.push(Form::code(
                format!("atom{space}.cas.{name} new"),
                &[t; 3],
                t,
                format!(
                    "{setup}\n{{ .reg .{name} old;\natom{space}.cas.{name} old, [{address}], b, a;\nld{space}.{name} d, [{address}]; }}"
                ),
            ));
        }
    }
    orders(forms);
    contended(forms);
}

/// Orders and scopes change no value.
fn orders(forms: &mut Vec<Form>) {
    for order in [".relaxed", ".acquire", ".release", ".acq_rel"] {
        for scope in [".cta", ".gpu", ".sys"] {
            forms.push(Form::code(
                format!("atom{order}{scope}.global.add.u32"),
                &[Ty::I32; 2],
                Ty::I32,
                format!("st.global.b32 [memory], b;\natom{order}{scope}.global.add.u32 d, [memory], a;"),
            ));
        }
    }
    for scope in [".cta", ".gpu", ".sys"] {
        forms.push(Form::code(
            format!("red.relaxed{scope}.global.max.s32"),
            &[Ty::I32; 2],
            Ty::I32,
            format!(
                "st.global.b32 [memory], b;\nred.relaxed{scope}.global.max.s32 [memory], a;\nld.global.b32 d, [memory];"
            ),
        ));
    }
}

/// All threads of a block at one place: what is left does not depend on their order.
fn contended(forms: &mut Vec<Form>) {
    for (operation, name) in OPERATIONS {
        let t = ty(name);
        let commutes = !matches!(operation, "exch" | "inc" | "dec") && matches!(t, Ty::I32 | Ty::I64);
        if !commutes {
            continue;
        }
        let bits = 8 * t.bytes();
        let start = format!(
            "setp.eq.u32 p, thread, 0;\n@p st.shared.b{bits} [area], a;\nbar.sync 0;\n\
             red.shared.{operation}.{name} [area], b;\nbar.sync 0;\nld.shared.b{bits} d, [area];"
        );
        forms.push(Form::code(format!("red.shared.{operation}.{name} contended"), &[t; 2], t, start));
        let global = format!(
            "mul.wide.u32 w0, thread, {stride};\nsub.s64 w0, memory, w0;\nsetp.eq.u32 p, thread, 0;\n\
             @p st.global.b{bits} [w0], a;\nbar.sync 0;\nred.global.{operation}.{name} [w0], b;\nmembar.gl;\nbar.sync 0;\n\
             ld.volatile.global.b{bits} d, [w0];",
            stride = crate::text::MEMORY
        );
        forms.push(Form::code(format!("red.global.{operation}.{name} contended"), &[t; 2], t, global));
    }
    // Increments that wrap at one bound commute too.
    for operation in ["inc", "dec"] {
        forms.push(Form::code(
            format!("red.shared.{operation}.u32 contended"),
            &[Ty::Small],
            Ty::I32,
            format!(
                "setp.eq.u32 p, thread, 0;\n@p st.shared.b32 [area], a;\nbar.sync 0;\n\
                 red.shared.{operation}.u32 [area], 77;\nbar.sync 0;\nld.shared.b32 d, [area];"
            ),
        ));
    }
}
