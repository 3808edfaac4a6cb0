//! Exchanges within a warp, barriers with results, branches that part a warp.

use super::ty;
use crate::form::{Form, Ty};

const ALL: &str = "0xffffffff";

pub(super) fn add(forms: &mut Vec<Form>) {
    shuffles(forms);
    votes(forms);
    matches(forms);
    for (operation, name) in [
        ("add", "u32"),
        ("add", "s32"),
        ("min", "u32"),
        ("min", "s32"),
        ("max", "u32"),
        ("max", "s32"),
        ("and", "b32"),
        ("or", "b32"),
        ("xor", "b32"),
    ] {
        forms.push(Form::code(
            format!("redux.sync.{operation}.{name}"),
            &[Ty::I32],
            Ty::I32,
            format!("redux.sync.{operation}.{name} d, a, {ALL};"),
        ));
        forms.push(Form::code(
            format!("redux.sync.{operation}.{name} in two halves"),
            &[Ty::I32],
            Ty::I32,
            apart(&format!("redux.sync.{operation}.{name} d, a, x6;")),
        ));
    }
    barriers(forms);
    branches(forms);
}

/// Runs a statement once in the lanes below 11 and once in the others, with their mask in `x6`.
fn apart(statement: &str) -> String {
    format!(
        "setp.lt.u32 r, lane, 11;\n@!r bra OTHERS;\nmov.b32 x6, 0x000007ff;\n{statement}\nbra.uni TOGETHER;\n\
         OTHERS:\nmov.b32 x6, 0xfffff800;\n{statement}\nTOGETHER:\nbar.warp.sync {ALL};"
    )
}

fn shuffles(forms: &mut Vec<Form>) {
    for mode in ["up", "down", "bfly", "idx"] {
        // Whole warps: any lane operand, and what the segments and clamps of all widths make of it.
        for (width, segments) in [(32, 0), (16, 16), (8, 24), (4, 28), (2, 30), (1, 31)] {
            let clamp = segments << 8 | if mode == "up" { 0 } else { 31 };
            forms.push(Form::code(
                format!("shfl.sync.{mode}.b32 width {width}"),
                &[Ty::I32, Ty::Small],
                Ty::I64,
                format!(
                    "shfl.sync.{mode}.b32 x0|p, a, b, {clamp}, {ALL};\nselp.b32 x1, 1, 0, p;\nmov.b64 d, {{x0, x1}};"
                ),
            ));
        }
        forms.push(Form::code(
            format!("shfl.sync.{mode}.b32 any clamp"),
            &[Ty::I32, Ty::Small, Ty::I32],
            Ty::I64,
            format!("shfl.sync.{mode}.b32 x0|p, a, b, c, {ALL};\nselp.b32 x1, 1, 0, p;\nmov.b64 d, {{x0, x1}};"),
        ));
    }
    // A part of the warp, from lanes that take part.
    forms.push(Form::code(
        "shfl.sync.idx.b32 in two halves",
        &[Ty::I32],
        Ty::I32,
        apart("xor.b32 x1, lane, 1;\nsetp.eq.u32 q, lane, 10;\nselp.b32 x1, 3, x1, q;\nsetp.eq.u32 q, lane, 11;\nselp.b32 x1, 20, x1, q;\nshfl.sync.idx.b32 d, a, x1, 31, x6;"),
    ));
}

fn votes(forms: &mut Vec<Form>) {
    // Random predicates seldom agree, so they are also made to by groups of warps.
    let agree = "and.b32 x5, row, 96;\nsetp.eq.u32 q, x5, 32;\n@q setp.eq.u32 a, x5, x5;\nsetp.eq.u32 q, x5, 64;\n@q setp.ne.u32 a, x5, x5;\n";
    for mode in ["all", "any", "uni"] {
        let vote = format!("vote.sync.{mode}.pred d, a, ");
        forms.push(Form::code(format!("vote.sync.{mode}.pred"), &[Ty::Pred], Ty::Pred, format!("{agree}{vote}{ALL};")));
        forms.push(Form::code(
            format!("vote.sync.{mode}.pred in two halves"),
            &[Ty::Pred],
            Ty::Pred,
            format!("{agree}{}", apart(&format!("{vote}x6;"))),
        ));
    }
    forms.push(Form::code("vote.sync.ballot.b32", &[Ty::Pred], Ty::I32, format!("vote.sync.ballot.b32 d, a, {ALL};")));
    forms.push(Form::code(
        "vote.sync.ballot.b32 !p",
        &[Ty::Pred],
        Ty::I32,
        format!("vote.sync.ballot.b32 d, !a, {ALL};"),
    ));
    forms.push(Form::code(
        "vote.sync.ballot.b32 in two halves",
        &[Ty::Pred],
        Ty::I32,
        apart("vote.sync.ballot.b32 d, a, x6;"),
    ));
    forms.push(Form::code("activemask.b32", &[Ty::I32], Ty::I32, "activemask.b32 d;\nxor.b32 d, d, a;"));
}

fn matches(forms: &mut Vec<Form>) {
    for name in ["b32", "b64"] {
        let t = ty(name);
        // Few values, so that lanes agree; in every fourth warp all do.
        let few = format!("and.{name} a, a, 3;\nand.b32 x5, row, 96;\nsetp.eq.u32 q, x5, 64;\n@q mov.{name} a, 2;\n",);
        forms.push(Form::code(
            format!("match.any.sync.{name}"),
            &[t],
            Ty::I32,
            format!("{few}match.any.sync.{name} d, a, {ALL};"),
        ));
        forms.push(Form::code(
            format!("match.any.sync.{name} in two halves"),
            &[t],
            Ty::I32,
            format!("{few}{}", apart(&format!("match.any.sync.{name} d, a, x6;"))),
        ));
        forms.push(Form::code(
            format!("match.all.sync.{name}"),
            &[t],
            Ty::I64,
            format!("{few}match.all.sync.{name} x0|p, a, {ALL};\nselp.b32 x1, 1, 0, p;\nmov.b64 d, {{x0, x1}};"),
        ));
    }
}

fn barriers(forms: &mut Vec<Form>) {
    forms.push(Form::code("bar.red.popc.u32", &[Ty::Pred], Ty::I32, "bar.red.popc.u32 d, 0, a;"));
    forms.push(Form::code("bar.red.popc.u32 !p", &[Ty::Pred], Ty::I32, "bar.red.popc.u32 d, 1, 128, !a;"));
    for operation in ["and", "or"] {
        // In every second block all threads agree.
        let agree = "and.b32 x5, row, 128;\nsetp.eq.u32 q, x5, 0;\n@q setp.eq.u32 a, x5, 1;\n";
        let turn = if operation == "and" { "@q not.pred a, a;\n" } else { "" };
        forms.push(Form::code(
            format!("bar.red.{operation}.pred"),
            &[Ty::Pred],
            Ty::Pred,
            format!("{agree}{turn}bar.red.{operation}.pred d, 0, a;"),
        ));
    }
    let exchange = |wait: &str| {
        format!(
            "st.shared.b32 [shared], a;\n{wait}\nxor.b32 x0, thread, 37;\nmov.u64 w0, area;\nmad.wide.u32 w0, x0, 16, w0;\nld.shared.b32 d, [w0];"
        )
    };
    for wait in ["bar.sync 0;", "barrier.sync 3;", "bar.sync 2, 128;", "barrier.cta.sync 1;"] {
        forms.push(Form::code(wait.trim_end_matches(';'), &[Ty::I32], Ty::I32, exchange(wait)));
    }
    forms.push(Form::code(
        "bar.arrive 5, 128",
        &[Ty::I32],
        Ty::I32,
        // The upper half of the block waits for the lower, which goes on.
        "st.shared.b32 [shared], a;\nmov.b32 d, a;\nsetp.lt.u32 p, thread, 64;\n@p bra FIRST;\nbar.sync 5, 128;\n\
         sub.u32 x0, thread, 64;\nmov.u64 w0, area;\nmad.wide.u32 w0, x0, 16, w0;\nld.shared.b32 d, [w0];\nbra.uni LAST;\n\
         FIRST:\nbar.arrive 5, 128;\nLAST:",
    ));
}

fn branches(forms: &mut Vec<Form>) {
    forms.push(Form::code(
        "bra in loops of different lengths",
        &[Ty::I32, Ty::I32],
        Ty::I32,
        "and.b32 x0, b, 15;\nmov.b32 d, a;\nAGAIN:\nsetp.eq.u32 p, x0, 0;\n@p bra DONE;\nmad.lo.u32 d, d, 5, x0;\n\
         sub.u32 x0, x0, 1;\nbra.uni AGAIN;\nDONE:",
    ));
    forms.push(Form::code(
        "brx.idx",
        &[Ty::I32, Ty::I32],
        Ty::I32,
        "and.b32 x0, b, 3;\nTABLE: .branchtargets L0, L1, L2, L1;\nbrx.idx x0, TABLE;\nL0:\nadd.u32 d, a, 1;\nbra.uni DONE;\n\
         L1:\nmul.lo.u32 d, a, 3;\nbra.uni DONE;\nL2:\nnot.b32 d, a;\nDONE:",
    ));
    forms.push(Form::code(
        "ret under a predicate",
        &[Ty::I32, Ty::Pred],
        Ty::I32,
        "st.global.b32 [out], a;\n@b ret;\nadd.u32 d, a, 1;",
    ));
}
