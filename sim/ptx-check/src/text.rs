//! The PTX text of test kernels: one for each form, several to a module.
//!
//! A kernel has three parameters: the operands (8 bytes each, row by row), the results (each as wide as its type), and
//! [`MEMORY`] bytes of memory for each row. A thread computes one row; blocks have [`BLOCK`] threads and rows fill them, so
//! warps are whole.
//!
//! A body finds its operands in `a`, `b`, `c`, `e` and leaves its result in `d`. It may use `p`, `q`, `r` (predicates), `h0..h3`
//! (16 bits), `x0..x7` (32 bits), `w0..w7` (64 bits), `lane`, `memory` (the row's memory, a global address), and `shared` (16
//! bytes of shared memory of the thread's own, a shared address).

use std::fmt::Write;

use crate::form::{Form, REGISTERS, Ty};

/// Threads in a block.
pub const BLOCK: u32 = 128;
/// Bytes of memory that each row has for itself.
pub const MEMORY: usize = 64;

const HEADER: &str = ".version 8.0\n.target sm_90\n.address_size 64\n\n";

/// The module of some forms; the kernels are named by [`kernel_name`].
#[must_use]
pub fn module(forms: &[Form]) -> String {
    let mut text = HEADER.to_owned();
    for (number, form) in forms.iter().enumerate() {
        kernel(&mut text, &kernel_name(number), form);
    }
    text
}

/// The name of the kernel of the form with that number in its module.
#[must_use]
pub fn kernel_name(number: usize) -> String {
    format!("form{number}")
}

fn kernel(text: &mut String, name: &str, form: &Form) {
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "// {}\n\
         .visible .entry {name}(.param .u64 operands, .param .u64 results, .param .u64 scratch)\n{{\n\
         .reg .pred p, q, r;\n.reg .b16 h<4>;\n.reg .b32 x<8>, lane, thread, row;\n.reg .b64 w<8>, in, out, memory;\n\
         ld.param.u64 in, [operands];\nld.param.u64 out, [results];\nld.param.u64 memory, [scratch];\n\
         cvta.to.global.u64 in, in;\ncvta.to.global.u64 out, out;\ncvta.to.global.u64 memory, memory;\n\
         mov.u32 thread, %tid.x;\nmov.u32 lane, %laneid;\nmov.u32 x0, %ctaid.x;\nmov.u32 x1, %ntid.x;\n\
         mad.lo.s32 row, x0, x1, thread;\n\
         mad.wide.u32 in, row, {}, in;\nmad.wide.u32 out, row, {}, out;\nmad.wide.u32 memory, row, {MEMORY}, memory;\n",
        form.name,
        8 * form.operands.len(),
        form.result.bytes(),
    );
    if form.body.contains("shared") {
        let _ = write!(
            text,
            ".reg .b64 shared;\n.shared .align 16 .b8 area[{}];\n\
             mov.u64 shared, area;\nmad.wide.u32 shared, thread, 16, shared;\n",
            16 * BLOCK
        );
    }
    for (i, (ty, register)) in form.operands.iter().zip(REGISTERS).enumerate() {
        let _ = writeln!(text, ".reg .{} {register};", ty.register());
        let _ = match ty {
            Ty::Pred => writeln!(text, "ld.global.b32 x0, [in+{}];\nsetp.ne.b32 {register}, x0, 0;", 8 * i),
            ty => writeln!(text, "ld.global.{} {register}, [in+{}];", ty.register(), 8 * i),
        };
    }
    let _ = writeln!(text, ".reg .{} d;\n{}", form.result.register(), form.body);
    let _ = match form.result {
        Ty::Pred => writeln!(text, "selp.b32 x0, 1, 0, d;\nst.global.b32 [out], x0;"),
        ty => writeln!(text, "st.global.{} [out], d;", ty.register()),
    };
    text.push_str("ret;\n}\n\n");
}
