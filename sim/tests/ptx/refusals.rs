//! Texts that are refused: the line, the statement, the reason.

use dacapo_sim::ptx::{Limit, Module, ParseError, Reason};

use crate::machine::kernel;

/// The refusal of a body, which begins in line 7.
fn refuse(body: &str) -> ParseError {
    let text = kernel(".param .u64 p", body);
    match Module::parse(&text) {
        Ok(_) => panic!("accepted: {body}"),
        Err(error) => error,
    }
}

fn text(name: &str) -> String {
    name.to_owned()
}

#[test]
fn unsupported_instructions_are_named_with_their_line() {
    let error = refuse("mov.u32 %r1, 1;\n\tcp.async.ca.shared.global \t[%rd1], [%rd2], 16;\nret;");
    assert_eq!(error.line, 8);
    assert_eq!(error.instruction, "cp.async.ca.shared.global [%rd1], [%rd2], 16;");
    assert_eq!(error.reason, Reason::UnsupportedInstruction(text("cp")));
    assert_eq!(
        error.to_string(),
        "ptx line 8: unsupported instruction `cp` in `cp.async.ca.shared.global [%rd1], [%rd2], 16;`"
    );
    for (body, name) in [
        ("wmma.load.a.sync.row.m16n16k16.f16 {%r1}, [%rd1], %r2;", "wmma"),
        ("tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [t, {%r1, %r2}];", "tex"),
        ("brkpt;", "brkpt"),
        ("frobnicate.u32 %r1;", "frobnicate"),
        ("elect.sync %r1|%p1, -1;", "elect"),
    ] {
        let error = refuse(body);
        let named = error.reason == Reason::UnsupportedInstruction(text(name));
        assert!(named || matches!(error.reason, Reason::Unexpected { .. }), "{body}: {error}");
        assert_eq!(error.line, 7);
    }
}

#[test]
fn reasons_say_what_is_wrong() {
    let check = |body: &str, reason: Reason| assert_eq!(refuse(body).reason, reason, "{body}");
    check("div.bf16 %rs1, %rs2, %rs3;", Reason::UnsupportedType(text("bf16")));
    check("add.ftz.bf16 %rs1, %rs2, %rs3;", Reason::UnsupportedModifier(text("ftz")));
    check("add.rz.f16 %rs1, %rs2, %rs3;", Reason::UnsupportedModifier(text("rz")));
    check("add.relu.f16 %rs1, %rs2, %rs3;", Reason::UnsupportedModifier(text("relu")));
    check("cvt.rn.relu.f32.f64 %f1, %fd1;", Reason::UnsupportedModifier(text("relu")));
    check("setp.lt.f16x2 %p1, %r1, %r2;", Reason::Operand(1));
    check("set.lt.f32.f16 %f1, %rs1, %rs2;", Reason::UnsupportedType(text("f32")));
    check("add.u8 %rs1, %rs2, %rs3;", Reason::UnsupportedType(text("u8")));
    check("add.rn.relu.f32 %f1, %f2, %f3;", Reason::UnsupportedModifier(text("relu")));
    check("add.ftz.f64 %fd1, %fd2, %fd3;", Reason::UnsupportedModifier(text("ftz")));
    check("cvt.s32.f32 %r1, %f1;", Reason::MissingModifier("rounding"));
    check("add.u32 %r1, %r2;", Reason::OperandCount);
    check("add.u32 %r1, %r2, %r3, %r4;", Reason::OperandCount);
    check("add.u32 %r1, %r2, %rd3;", Reason::Operand(3));
    check("add.u32 5, %r2, %r3;", Reason::Operand(1));
    check("add.u32 %p1, %r2, %r3;", Reason::Operand(1));
    check("add.f32 %f1, %f2, 0d3FF8000000000000; add.u32 %r1, %r99, 1;", Reason::Undeclared(text("%r99")));
    check("mov.u32 %r040, 1;", Reason::Undeclared(text("%r040")));
    check("mov.u32 %r1, nowhere;", Reason::Undeclared(text("nowhere")));
    check("mov.u32 %r1, %tid.w;", Reason::Undeclared(text("%tid.w")));
    check("bra NOWHERE;", Reason::Undeclared(text("NOWHERE")));
    check("{ L: } bra L;", Reason::Undeclared(text("L")));
    check("L: L:", Reason::DeclaredTwice(text("L")));
    check(".reg .b32 x; .reg .b64 x;", Reason::DeclaredTwice(text("x")));
    check(".reg .b32 %r<5>;", Reason::DeclaredTwice(text("%r")));
    check("call vprintf, (p);", Reason::UnsupportedCall(text("vprintf")));
    check("call (%r1), %rd1, (%r2), proto;", Reason::UnsupportedCall(text("%rd1")));
    check("shfl.bfly.b32 %r1, %r2, 1, 31;", Reason::MissingModifier("sync"));
    check("ld.global.v3.u32 {%r1, %r2, %r3}, [%rd1];", Reason::UnsupportedModifier(text("v3")));
    check("ld.global.v4.u64 {%rd1, %rd2, %rd3, %rd4}, [%rd1];", Reason::UnsupportedType(text("u64")));
    check("ld.global.u64 %r1, [%rd1];", Reason::Operand(1));
    check("ld.global.f32 %rd1, [%rd1];", Reason::Operand(1));
    check("ld.global.u32 %r1, %rd1;", Reason::Operand(2));
    check(".shared .u32 s; ld.global.u32 %r1, [s];", Reason::Operand(2));
    check("atom.local.add.u32 %r1, [%rd1], 1;", Reason::UnsupportedModifier(text("local")));
    check("atom.global.add.f16x2 %r1, [%rd1], %r2;", Reason::MissingModifier("noftz"));
    check("atom.global.add.noftz.f32 %f1, [%rd1], %f2;", Reason::UnsupportedModifier(text("noftz")));
    check("setp.num.u32 %p1, %r1, %r2;", Reason::UnsupportedModifier(text("num")));
    check(".tex .u64 t;", Reason::UnsupportedDirective(text("tex")));
    check("P: .callprototype _ ();", Reason::UnsupportedDirective(text("callprototype")));
    check("@%r1 mov.u32 %r1, 1;", Reason::Operand(0));
    check("mov.u32 %r1, 0x1FFFFFFFFFFFFFFFF;", Reason::NumberOutOfRange);
    check("mov.f32 %f1, 0f3F8;", Reason::NumberOutOfRange);
    check("mov.u32 %r1, 09;", Reason::NumberOutOfRange);
    check("mov.u32 %r1, #;", Reason::InvalidCharacter);
    check("mov.u32 %r1 1;", Reason::Unexpected { expected: "`,` or `;`", found: text("1") });
}

#[test]
fn texts_that_end_too_early_are_refused() {
    for body in ["mov.u32", "/* never closed", "{ {", ".pragma \"open"] {
        let text = format!(".version 8.0 .target sm_70 .address_size 64 .entry k() {{ {body}");
        assert_eq!(Module::parse(&text).unwrap_err().reason, Reason::UnexpectedEnd, "{body}");
    }
}

#[test]
fn modules_are_checked_as_a_whole() {
    let head = ".version 8.0\n.target sm_70\n";
    let check =
        |text: &str, reason: Reason| assert_eq!(Module::parse(&format!("{head}{text}")).unwrap_err().reason, reason);
    for text in ["", "// nothing\n", ".target sm_70", "\u{7f}ELF"] {
        assert!(Module::parse(text).is_err(), "{text:?}");
    }
    check(".address_size 32", Reason::UnsupportedDirective(text("address_size")));
    check(".alias a, b;", Reason::UnsupportedDirective(text("alias")));
    check(".global .texref t;", Reason::UnsupportedType(text("texref")));
    check(".entry k() { ret; } .entry k() { ret; }", Reason::DeclaredTwice(text("k")));
    check(".global .u32 x; .const .u32 x;", Reason::DeclaredTwice(text("x")));
    check(".global .u64 x = y;", Reason::Undeclared(text("y")));
    check(".global .u32 x[2] = {1, 2, 3};", Reason::NumberOutOfRange);
    check(".global .attribute(.managed) .u32 x;", Reason::UnsupportedDirective(text("attribute")));
    check(".func f() { call f; } .entry k() { call f; }", Reason::RecursiveCall(text("f")));
    check(".func f() { call g; } .func g() { call f; } .entry k() { call g; }", Reason::RecursiveCall(text("g")));
    check(
        ".extern .func malloc(.param .b64 a); .entry k() { .param .b64 x; call malloc, (x); }",
        Reason::UnsupportedCall(text("malloc")),
    );
    check(
        ".extern .func vprintf(.param .b64 a); .entry k() { .param .b64 x; call vprintf, (x); }",
        Reason::UnsupportedCall(text("vprintf")),
    );
    let vprintf = ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);";
    check(&format!("{vprintf} .entry k() {{ .param .b64 x; call vprintf, (x, x); }}"), Reason::OperandCount);
    check(
        &format!("{vprintf} .entry k() {{ .param .b64 x; .reg .b32 y; call (y), vprintf, (x, x); }}"),
        Reason::Operand(3),
    );
    // A device function is checked although nothing calls it.
    check(".func f() { tex; }", Reason::UnsupportedInstruction(text("tex")));
}

#[test]
fn sizes_are_limited() {
    let check = |body: &str, limit: Limit| assert_eq!(refuse(body).reason, Reason::TooLarge(limit), "{body:.60}");
    check(&"{".repeat(100), Limit::Nesting);
    check(".shared .b8 s[100000000];", Limit::Shared);
    check(".local .b8 l[1000000];", Limit::Local);
    check(".local .b64 l[99999999999];", Limit::Variable);
    check(".local .b64 l[65536][65536][65536][65536];", Limit::Variable);
    let many: String = (0..20_000).map(|i| format!("mov.u32 %x{i}, 0;\n")).collect();
    check(&format!(".reg .b32 %x<18446744073709551615>; {many}"), Limit::Registers);
    let constants: String = (0..20_000).map(|i| format!("mov.u32 %r1, {i};\n")).collect();
    check(&constants, Limit::Registers);
    let text = ".version 8.0 .target sm_70 .address_size 64 .entry k(.param .b8 p[5000]) { ret; }";
    assert_eq!(Module::parse(text).unwrap_err().reason, Reason::TooLarge(Limit::Parameters));
    let text = format!("{}{}", " ".repeat(17 << 20), "x");
    assert_eq!(Module::parse(&text).unwrap_err().reason, Reason::TooLarge(Limit::Text));
    // Calls that double at each level.
    let mut functions = String::from(".func f0() { ret; }\n");
    for i in 1..30 {
        functions += &format!(".func f{i}() {{ call f{}; call f{}; }}\n", i - 1, i - 1);
    }
    let text = format!(".version 8.0 .target sm_70 .address_size 64\n{functions}.entry k() {{ call f29; }}");
    assert_eq!(Module::parse(&text).unwrap_err().reason, Reason::TooLarge(Limit::Instructions));
    let mut functions = String::from(".func f0() { ret; }\n");
    for i in 1..40 {
        functions += &format!(".func f{i}() {{ call f{}; }}\n", i - 1);
    }
    let text = format!(".version 8.0 .target sm_70 .address_size 64\n{functions}.entry k() {{ call f39; }}");
    assert_eq!(Module::parse(&text).unwrap_err().reason, Reason::TooLarge(Limit::CallDepth));
}

#[test]
fn huge_register_declarations_cost_nothing() {
    let text = kernel("", ".reg .b32 %x<4000000000>; .reg .b64 %y<4000000000>; mov.u32 %x3999999999, 1; ret;");
    let module = Module::parse(&text).unwrap();
    assert!(module.function("k").unwrap().register_count() < 100);
}
