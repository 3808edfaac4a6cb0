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
fn nan_that_a_conversion_saturates() {
    check(&[
        ("cvt.rn.sat.f16.f64 d, a;", "b16", &["f64"], &[0xfff8_0000_0000_1234], 0),
        ("cvt.rn.sat.f32.f64 d, a;", "f32", &["f64"], &[0x7ff0_0000_0000_0001], 0),
        ("cvt.rz.ftz.sat.f32.f64 d, a;", "f32", &["f64"], &[0x7ff8_0000_0000_0000], 0),
        ("cvt.sat.f64.f16 d, a;", "f64", &["b16"], &[0xfe01], 0),
        ("cvt.sat.f64.f32 d, a;", "f64", &["f32"], &[0xffc0_0001], 0),
        ("cvt.ftz.sat.f64.f32 d, a;", "f64", &["f32"], &[0x7f80_0001], 0),
        ("cvt.rni.sat.f64.f64 d, a;", "f64", &["f64"], &[0xfff8_0000_0000_1234], 0),
        ("cvt.sat.f64.f64 d, a;", "f64", &["f64"], &[0x7ff0_0000_0000_0001], 0),
    ]);
}

#[test]
fn nan_of_the_upper_half_of_single_precision() {
    check(&[
        ("cvt.f32.bf16 d, a;", "f32", &["b16"], &[0x7fc0], 0x7fc0_0000),
        ("cvt.f32.bf16 d, a;", "f32", &["b16"], &[0xffc1], 0xffc1_0000),
        ("cvt.f32.bf16 d, a;", "f32", &["b16"], &[0x7f81], 0x7f81_0000),
    ]);
}

#[test]
fn fields_of_longs_far_outside() {
    const FIELD: u64 = 0x7fff_ffff_ffff_fbff;
    let extract: &[&str] = &["b64", "b32", "b32"];
    let insert: &[&str] = &["b64", "b64", "b32", "b32"];
    check(&[
        ("bfe.u64 d, a, b, c;", "b64", extract, &[FIELD, 0, 0x101], FIELD),
        ("bfe.u64 d, a, b, c;", "b64", extract, &[0xff, 2, 0x8000_0000], 0x3f),
        ("bfe.s64 d, a, b, c;", "b64", extract, &[0xffff_ffff_0000_0000, 1, 0x101], 0xffff_ffff_8000_0000),
        ("bfi.b64 d, a, b, c, e;", "b64", insert, &[1, 0xff, 0x101, 0xffff_ffff], 0xff),
        ("bfi.b64 d, a, b, c, e;", "b64", insert, &[FIELD, FIELD, 0x21, 0x8000_0000], 0xffff_f7ff_ffff_fbff),
    ]);
}

#[test]
fn results_are_flushed_by_their_exact_value() {
    let (single, half): (&[&str], &[&str]) = (&["f32"; 2], &["b16"; 2]);
    check(&[
        ("mul.ftz.f32 d, a, b;", "f32", single, &[0x8080_0000, 0x3f7f_ffff], 0x8000_0000),
        ("mul.rn.ftz.f32 d, a, b;", "f32", single, &[0x3f7f_ffff, 0x0080_0000], 0),
        ("mul.rp.ftz.f32 d, a, b;", "f32", single, &[0x0080_0000, 0x3f7f_ffff], 0),
        ("mul.rm.ftz.f32 d, a, b;", "f32", single, &[0x8080_0000, 0x3f7f_ffff], 0x8000_0000),
        ("mul.ftz.sat.f32 d, a, b;", "f32", single, &[0x0080_0000, 0x3f7f_ffff], 0),
        ("fma.rn.ftz.f32 d, a, b, 0f00000000;", "f32", single, &[0x8080_0000, 0x3f7f_ffff], 0x8000_0000),
        ("mad.rm.ftz.f32 d, a, b, 0f00000000;", "f32", single, &[0x8080_0000, 0x3f7f_ffff], 0x8000_0000),
        ("div.rn.ftz.f32 d, a, b;", "f32", single, &[0x3f7f_ffff, 0x7e80_0000], 0),
        ("div.rp.ftz.f32 d, a, b;", "f32", single, &[0x3f7f_ffff, 0x7e80_0000], 0),
        ("div.approx.ftz.f32 d, a, b;", "f32", single, &[0x3f7f_ffff, 0x7e80_0000], 0),
        ("div.full.ftz.f32 d, a, b;", "f32", single, &[0x3f7f_ffff, 0x7e80_0000], 0),
        ("mul.ftz.f16 d, a, b;", "b16", half, &[0x8400, 0x3bff], 0x8000),
        ("mul.ftz.sat.f16 d, a, b;", "b16", half, &[0x3bff, 0x0400], 0),
        ("fma.rn.ftz.f16x2 d, a, b, c;", "b32", &["b32"; 3], &[0x88d6_df87, 0x08d6_df88, 0x0400_83ff], 0x0000_7c00),
        // A conversion between formats rounds first.
        ("cvt.rn.ftz.f32.f64 d, a;", "f32", &["f64"], &[0x380f_ffff_f000_0000], 0x0080_0000),
        ("cvt.rp.ftz.f32.f64 d, a;", "f32", &["f64"], &[0x380f_ffff_f000_0000], 0x0080_0000),
    ]);
}

#[test]
fn conversions_to_half_precision_flush_nothing() {
    check(&[
        ("cvt.rp.ftz.f16.f32 d, a;", "b16", &["f32"], &[1], 1),
        ("cvt.rp.ftz.sat.f16.f32 d, a;", "b16", &["f32"], &[0x007f_ffff], 1),
        ("cvt.rm.ftz.f16.f32 d, a;", "b16", &["f32"], &[0x8000_0001], 0x8001),
        ("cvt.rn.ftz.f16.f32 d, a;", "b16", &["f32"], &[0x3417_07bc], 2),
    ]);
}

#[test]
fn approximations_of_doubles_read_the_upper_word() {
    check(&[
        ("rcp.approx.ftz.f64 d, a;", "f64", &["f64"], &[0x7ff0_0000_0000_0001], 0),
        ("rsqrt.approx.ftz.f64 d, a;", "f64", &["f64"], &[0x7ff0_0000_0000_0001], 0),
        ("rcp.approx.ftz.f64 d, a;", "f64", &["f64"], &[0x000f_ffff_ffff_ffff], 0x7ff0_0000_0000_0000),
        ("rcp.approx.ftz.f64 d, a;", "f64", &["f64"], &[0xffef_ffff_ffff_ffff], 1 << 63),
        ("rsqrt.approx.ftz.f64 d, a;", "f64", &["f64"], &[0x8000_0000_0000_0001], 0xfff0_0000_0000_0000),
    ]);
}

#[test]
fn division_by_an_approximate_reciprocal() {
    let two: &[&str] = &["f32"; 2];
    check(&[
        ("div.approx.f32 d, a, b;", "f32", two, &[0x46ff_fe00, 0xff7f_ffff], 0x8000_0000),
        ("div.approx.f32 d, a, b;", "f32", two, &[0x7f80_0000, 0x7f7f_ffff], 0x7fff_ffff),
        ("div.approx.ftz.f32 d, a, b;", "f32", two, &[0xff7f_ffff, 0x7f7f_ffff], 0x8000_0000),
    ]);
}

#[test]
fn sums_of_floats_by_atomics() {
    let global = "st.global.f32 [%rd2], b; atom.global.add.f32 d, [%rd2], a; ld.global.f32 d, [%rd2];";
    let shared = "{ .shared .f32 s; st.shared.f32 [s], b; atom.shared.add.f32 d, [s], a; ld.shared.f32 d, [s]; }";
    let double = "st.global.f64 [%rd2], b; atom.global.add.f64 d, [%rd2], a; ld.global.f64 d, [%rd2];";
    let old = "{ .shared .f64 s; st.shared.f64 [s], b; atom.shared.add.f64 d, [s], a; ld.shared.f64 d, [s]; }";
    let reduced = "{ .shared .f64 s; st.shared.f64 [s], b; red.shared.add.f64 [s], a; ld.shared.f64 d, [s]; }";
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
        (old, "f64", &["f64"; 2], &[0x7ff8 << 48, 0xfff8_0000_0000_1234], 0xfff8_0000_0000_1234),
        (old, "f64", &["f64"; 2], &[0x7ff8 << 48, 0x7ff0_0000_0000_0001], 0x7ff8_0000_0000_0001),
        (reduced, "f64", &["f64"; 2], &[0x7ff0_0000_0000_0001, 0xfff8_0000_0000_1234], 0xfff8_0000_0000_1234),
    ]);
}
