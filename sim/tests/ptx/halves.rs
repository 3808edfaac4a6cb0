//! The 16-bit formats, alone and in pairs.

use crate::{
    compute::{compute1, f32s},
    machine::{Machine, args, kernel, parse},
};

fn two(text: &str, a: u64, b: u64) -> u64 {
    compute1(text, "b16", &["b16"; 2], &[a, b])
}

fn pair(text: &str, a: u64, b: u64) -> u64 {
    compute1(text, "b32", &["b32"; 2], &[a, b])
}

#[test]
fn half_precision_rounds_once() {
    assert_eq!(two("add.f16 d, a, b;", 0x3c00, 0x3c00), 0x4000);
    assert_eq!(two("sub.rn.f16 d, a, b;", 0x3c00, 0x4000), 0xbc00);
    assert_eq!(two("mul.f16 d, a, b;", 0x7bff, 0x4000), 0x7c00);
    assert_eq!(two("fma.rn.f16 d, a, b, a;", 0x3c00, 0x3c00), 0x4000);
    assert_eq!(two("min.f16 d, a, b;", 0xc000, 0x7e00), 0xc000);
    assert_eq!(two("neg.f16 d, a;", 0x3c00, 0), 0xbc00);
    assert_eq!(compute1("setp.lt.f16 d, a, b;", "pred", &["b16"; 2], &[0xbc00, 0x0000]), 1);
    assert_eq!(pair("add.f16x2 d, a, b;", 0x3c00_4000, 0x3c00_3c00), 0x4000_4200);
    assert_eq!(pair("fma.rn.f16x2 d, a, b, b;", 0x3c00_4000, 0x3c00_3c00), 0x4000_4200);
    assert_eq!(pair("abs.f16x2 d, a;", 0xbc00_c000, 0), 0x3c00_4000);
}

#[test]
fn the_other_format_has_eight_bits_of_precision() {
    assert_eq!(two("add.bf16 d, a, b;", 0x3f80, 0x3f80), 0x4000);
    assert_eq!(two("add.rn.bf16 d, a, b;", 0x3f80, 0x3b80), 0x3f80);
    assert_eq!(two("mul.bf16 d, a, b;", 0x7f7f, 0x4000), 0x7f80);
    assert_eq!(two("fma.rn.bf16 d, a, b, a;", 0x3f80, 0x3f80), 0x4000);
    assert_eq!(two("fma.rn.relu.bf16 d, a, b, a;", 0xbf80, 0x3f80), 0);
    assert_eq!(two("max.bf16 d, a, b;", 0x7fc0, 0xbf80), 0xbf80);
    assert_eq!(two("max.NaN.bf16 d, a, b;", 0x7fc0, 0xbf80), 0x7fff);
    assert_eq!(two("neg.bf16 d, a;", 0x3f80, 0), 0xbf80);
    assert_eq!(pair("sub.bf16x2 d, a, b;", 0x3f80_4000, 0x3f80_3f80), 0x0000_3f80);
    assert_eq!(pair("abs.bf16x2 d, a;", 0xbf80_4000, 0), 0x3f80_4000);
}

#[test]
fn conversions_to_and_from_them() {
    let to = |text: &str, x: f32| compute1(text, "b16", &["f32"], &f32s(&[x]));
    assert_eq!(to("cvt.rn.bf16.f32 d, a;", 1.006), 0x3f81);
    assert_eq!(to("cvt.rz.bf16.f32 d, a;", 1.99), 0x3ffe);
    assert_eq!(to("cvt.rn.relu.bf16.f32 d, a;", -1.0), 0);
    assert_eq!(to("cvt.rn.relu.f16.f32 d, a;", 1.0), 0x3c00);
    assert_eq!(compute1("cvt.f32.bf16 d, a;", "f32", &["b16"], &[0xc020]), f32s(&[-2.5])[0]);
    let both = |text: &str| compute1(text, "b32", &["f32"; 2], &f32s(&[1.0, -2.0]));
    assert_eq!(both("cvt.rn.bf16x2.f32 d, a, b;"), 0x3f80_c000);
    assert_eq!(both("cvt.rn.f16x2.f32 d, a, b;"), 0x3c00_c000);
    assert_eq!(both("cvt.rz.relu.f16x2.f32 d, a, b;"), 0x3c00_0000);
}

#[test]
fn comparisons_of_pairs_give_two_answers() {
    let holds = "selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 2, 0, %p2; or.b32 d, %r1, %r2;";
    let ask = |text: &str, a: u64, b: u64| pair(&format!("{text} {holds}"), a, b);
    assert_eq!(ask("setp.lt.f16x2 %p1|%p2, a, b;", 0x3c00_bc00, 0x3c00_0000), 1);
    assert_eq!(ask("setp.lt.bf16x2 %p1|%p2, a, b;", 0xbf80_3f80, 0x0000_3f80), 2);
    assert_eq!(ask("setp.eq.ftz.f16x2 %p1|%p2, a, b;", 0x0001_0001, 0x8000_3c00), 2);
    let after = "setp.eq.u32 %p1, a, a; @%p1 setp.ne.f16x2 %p1|%p2, a, b;";
    assert_eq!(ask(after, 0x3c00_3c00, 0x0000_3c00), 2);
    let with = "setp.eq.u32 %p3, a, a; setp.gt.and.f16x2 %p1|%p2, a, b, !%p3;";
    assert_eq!(ask(with, 0x3c00_3c00, 0), 0);
    assert_eq!(pair("set.geu.f16x2.f16x2 d, a, b;", 0x7e00_bc00, 0), 0x3c00_0000);
    assert_eq!(pair("set.ge.bf16x2.bf16x2 d, a, b;", 0x7fc0_3f80, 0), 0x3f80);
    assert_eq!(pair("set.ge.u32.f16x2 d, a, b;", 0x3c00_3c00, 0x4000_0000), 0xffff);
    assert_eq!(two("set.nan.u16.f16 d, a, b;", 0x7e00, 0), 0xffff);
    assert_eq!(two("set.lt.f16.f16 d, a, b;", 0x0000, 0x3c00), 0x3c00);
}

#[test]
fn atomics_on_them() {
    for (op, old, operand, new) in [
        ("add.noftz.f16", 0x3c00u32, "0x3c00", 0x4000u32),
        ("add.noftz.bf16", 0x3f80, "0x3f80", 0x4000),
        ("add.noftz.f16x2", 0x3c00_0001, "0x3c000001", 0x4000_0002),
        ("add.noftz.bf16x2", 0x3f80_0001, "0x3f800001", 0x4000_0002),
        ("cas.b16", 0x1234, "0x1234, 0x4321", 0x4321),
        ("cas.b16", 0x1235, "0x1234, 0x4321", 0x1235),
    ] {
        let (bits, d) = if op.ends_with("x2") { (32, "%r2") } else { (16, "%rs2") };
        let text = kernel(
            ".param .u64 p",
            &format!(
                "ld.param.u64 %rd1, [p]; atom.global.{op} {d}, [%rd1], {operand}; st.global.b{bits} [%rd1+4], {d}; ret;"
            ),
        );
        for host in [false, true] {
            let mut machine = Machine::new();
            let p = if host { machine.host(16) } else { machine.bytes(16) };
            machine.write(p, &[old]);
            machine.launch(&parse(&text), 1, 1, 0, args![p]).unwrap();
            assert_eq!(machine.read(p, 2), [new, old], "{op}");
        }
    }
}
