//! Results that PTX leaves open, as an H200 gives them.

use crate::compute::compute1;

/// One instruction, the types of its result and operands, the operands, and what the GPU gave.
type Record = (&'static str, &'static str, &'static [&'static str], &'static [u64], u64);

fn check(records: &[Record]) {
    for (instruction, result, types, operands, want) in records {
        let got = compute1(instruction, result, types, operands);
        assert_eq!(got, *want, "{instruction} of {operands:x?}: {got:#x} instead of {want:#x}");
    }
}

#[test]
fn division_by_zero() {
    check(&[
        ("div.u16 d, a, b;", "u16", &["u16"; 2], &[7, 0], 0xffff),
        ("rem.u16 d, a, b;", "u16", &["u16"; 2], &[7, 0], 0xffff),
        ("div.u32 d, a, b;", "u32", &["u32"; 2], &[7, 0], 0xffff_ffff),
        ("rem.u32 d, a, b;", "u32", &["u32"; 2], &[7, 0], 0xffff_ffff),
        ("div.s32 d, a, b;", "s32", &["s32"; 2], &[7, 0], 0xffff_ffff),
        ("rem.s32 d, a, b;", "s32", &["s32"; 2], &[7, 0], 0xffff_ffff),
        ("div.u64 d, a, b;", "u64", &["u64"; 2], &[7, 0], u64::MAX),
        ("rem.u64 d, a, b;", "u64", &["u64"; 2], &[7, 0], u64::MAX),
        ("div.s64 d, a, b;", "s64", &["s64"; 2], &[7, 0], u64::MAX),
    ]);
}

#[test]
fn nan_in_single_and_half_precision() {
    check(&[
        ("neg.f32 d, a;", "f32", &["f32"], &[0xffc0_0001], 0x7fff_ffff),
        ("abs.f32 d, a;", "f32", &["f32"], &[0x7f80_0001], 0x7fff_ffff),
        ("sqrt.rn.f32 d, a;", "f32", &["f32"], &[0xbf80_0000], 0x7fff_ffff),
        ("add.f32 d, a, b;", "f32", &["f32"; 2], &[0xff81_2345, 0x3f80_0000], 0x7fff_ffff),
        ("fma.rz.f32 d, a, b, b;", "f32", &["f32"; 2], &[0, 0x7f80_0000], 0x7fff_ffff),
        ("max.f32 d, a, b;", "f32", &["f32"; 2], &[0xffc0_0001, 0x7f80_0001], 0x7fff_ffff),
        ("cvt.rni.f32.f32 d, a;", "f32", &["f32"], &[0xffc0_0001], 0x7fff_ffff),
        ("cvt.rn.f16.f32 d, a;", "b16", &["f32"], &[0xffc0_0001], 0x7fff),
        ("cvt.f32.f16 d, a;", "f32", &["b16"], &[0xfe01], 0x7fff_ffff),
        ("neg.f16 d, a;", "b16", &["b16"], &[0xfe01], 0x7fff),
        ("abs.f16 d, a;", "b16", &["b16"], &[0x7c01], 0x7fff),
        ("add.f16 d, a, b;", "b16", &["b16"; 2], &[0x7c00, 0xfc00], 0x7fff),
    ]);
}

#[test]
fn nan_in_double_precision() {
    const A: u64 = 0x7ff0_0000_0000_0001;
    const B: u64 = 0xfff0_1234_5678_9abc;
    const QUIET: u64 = 1 << 51;
    let two: &[&str] = &["f64"; 2];
    check(&[
        ("add.f64 d, a, b;", "f64", two, &[A, B], B | QUIET),
        ("sub.f64 d, a, b;", "f64", two, &[A, B], B | QUIET),
        ("mul.rm.f64 d, a, b;", "f64", two, &[B, A], A | QUIET),
        ("div.rn.f64 d, a, b;", "f64", two, &[A, B], A | QUIET),
        ("fma.rn.f64 d, a, b, a;", "f64", two, &[A, B], B | QUIET),
        ("fma.rn.f64 d, a, 0d3FF0000000000000, b;", "f64", two, &[A, B], B | QUIET),
        ("min.f64 d, a, b;", "f64", two, &[A, B], B | QUIET),
        ("min.f64 d, a, b;", "f64", two, &[A, 0], 0),
        ("mul.f64 d, a, b;", "f64", two, &[0, 0x7ff0_0000_0000_0000], 0xfff8_0000_0000_0000),
        ("neg.f64 d, a;", "f64", &["f64"], &[A], A | QUIET),
        ("abs.f64 d, a;", "f64", &["f64"], &[B], B | QUIET),
        ("cvt.rmi.f64.f64 d, a;", "f64", &["f64"], &[B], B | QUIET),
    ]);
}

#[test]
fn nan_between_precisions() {
    check(&[
        ("cvt.f64.f32 d, a;", "f64", &["f32"], &[0xff81_2345], 0xfff8_2468_a000_0000),
        ("cvt.ftz.f64.f32 d, a;", "f64", &["f32"], &[0xff81_2345], 0x7fff_ffff_e000_0000),
        ("cvt.rn.f32.f64 d, a;", "f32", &["f64"], &[0xfff0_1234_5678_9abc], 0xffc0_91a2),
        ("cvt.rp.f32.f64 d, a;", "f32", &["f64"], &[0x7ff8_0000_2000_0000], 0x7fc0_0001),
        ("cvt.rn.f16.f64 d, a;", "b16", &["f64"], &[0xfff0_1234_5678_9abc], 0xfe04),
        ("cvt.f64.f16 d, a;", "f64", &["b16"], &[0xfc11], 0xfff8_4400_0000_0000),
    ]);
}

#[test]
fn nan_as_an_integer() {
    check(&[
        ("cvt.rzi.s32.f32 d, a;", "s32", &["f32"], &[0x7fc0_0000], 0),
        ("cvt.rzi.u16.f32 d, a;", "u16", &["f32"], &[0x7fc0_0000], 0),
        ("cvt.rzi.s64.f32 d, a;", "s64", &["f32"], &[0x7fc0_0000], 1 << 63),
        ("cvt.rzi.u64.f32 d, a;", "u64", &["f32"], &[0x7fc0_0000], 1 << 63),
        ("cvt.rzi.s32.f64 d, a;", "s32", &["f64"], &[0x7ff8 << 48], 1 << 31),
        ("cvt.rzi.u32.f64 d, a;", "u32", &["f64"], &[0x7ff8 << 48], 1 << 31),
        ("cvt.rzi.s32.f16 d, a;", "s32", &["b16"], &[0x7e00], 0),
        ("cvt.rzi.s64.f16 d, a;", "s64", &["b16"], &[0x7e00], 1 << 63),
    ]);
}

#[test]
fn sums_of_floats_by_atomics() {
    let global = "st.global.f32 [%rd2], b; atom.global.add.f32 d, [%rd2], a; ld.global.f32 d, [%rd2];";
    let shared = "{ .shared .f32 s; st.shared.f32 [s], b; atom.shared.add.f32 d, [s], a; ld.shared.f32 d, [s]; }";
    let double = "st.global.f64 [%rd2], b; atom.global.add.f64 d, [%rd2], a; ld.global.f64 d, [%rd2];";
    check(&[
        (global, "f32", &["f32"; 2], &[1, 1], 0),
        (global, "f32", &["f32"; 2], &[0x8000_0001, 0x8000_0001], 0x8000_0000),
        (global, "f32", &["f32"; 2], &[0x0080_0001, 0x8080_0000], 0),
        (global, "f32", &["f32"; 2], &[0xff80_0001, 0x3f80_0000], 0x7fff_ffff),
        (shared, "f32", &["f32"; 2], &[1, 1], 2),
        (shared, "f32", &["f32"; 2], &[0x0080_0001, 0x8080_0000], 1),
        (double, "f64", &["f64"; 2], &[1, 1], 2),
        (double, "f64", &["f64"; 2], &[1, 0xfff0_0000_0000_0001], 0xfff0_0000_0000_0001),
        (double, "f64", &["f64"; 2], &[0x7ff8 << 48 | 1, 0xfff0_0000_0000_0001], 0x7ff8 << 48 | 1),
    ]);
}
