//! Floating-point instructions, with edge operands, against Rust.

use crate::compute::{EDGES32, EDGES64, compute, compute1, f32s, f64s, pairs, rows};

/// What a single-precision instruction gives where Rust gives NaN.
const NAN32: u64 = 0x7fff_ffff;

fn single(x: u64) -> f32 {
    f32::from_bits(x as u32)
}

fn bits32(x: f32) -> u64 {
    if x.is_nan() { NAN32 } else { x.to_bits().into() }
}

fn check32(instruction: &str, want: impl Fn(f32, f32) -> f32) {
    let operands = pairs(&f32s(&EDGES32));
    let got = compute(instruction, "f32", &["f32", "f32"], &rows(&operands));
    for ([a, b], got) in operands.iter().zip(got) {
        let (a, b) = (single(*a), single(*b));
        assert_eq!(got, bits32(want(a, b)), "{instruction} {a:e} {b:e}: {:e}", single(got));
    }
}

fn check64(instruction: &str, want: impl Fn(f64, f64) -> f64) {
    let operands = pairs(&f64s(&EDGES64));
    let got = compute(instruction, "f64", &["f64", "f64"], &rows(&operands));
    for ([a, b], got) in operands.iter().zip(got) {
        let (a, b) = (f64::from_bits(*a), f64::from_bits(*b));
        let want = want(a, b);
        assert!(got == want.to_bits() || want.is_nan() && f64::from_bits(got).is_nan(), "{instruction} {a:e} {b:e}");
    }
}

fn flush(x: f32) -> f32 {
    if x.is_subnormal() { 0f32.copysign(x) } else { x }
}

#[test]
fn single_precision_is_ieee() {
    for rn in ["", ".rn"] {
        check32(&format!("add{rn}.f32 d, a, b;"), |a, b| a + b);
        check32(&format!("sub{rn}.f32 d, a, b;"), |a, b| a - b);
        check32(&format!("mul{rn}.f32 d, a, b;"), |a, b| a * b);
    }
    check32("div.rn.f32 d, a, b;", |a, b| a / b);
    check32("div.full.f32 d, a, b;", |a, b| a / b);
    check32("div.full.f32 d, a, b;", |a, b| a / b);
    check32("sqrt.rn.f32 d, a;", |a, _| a.sqrt());
    check32("rcp.rn.f32 d, a;", |a, _| 1.0 / a);
    check32("fma.rn.f32 d, a, b, a;", |a, b| a.mul_add(b, a));
    check32("fma.rn.f32 d, a, b, 0f3F800000;", |a, b| a.mul_add(b, 1.0));
    check32("mad.rn.f32 d, a, b, b;", |a, b| a.mul_add(b, b));
}

#[test]
fn flushing_treats_denormals_as_zeros() {
    check32("add.ftz.f32 d, a, b;", |a, b| flush(flush(a) + flush(b)));
    check32("mul.rn.ftz.f32 d, a, b;", |a, b| flush(flush(a) * flush(b)));
    check32("fma.rn.ftz.f32 d, a, b, b;", |a, b| flush(flush(a).mul_add(flush(b), flush(b))));
    check32("div.rn.ftz.f32 d, a, b;", |a, b| flush(flush(a) / flush(b)));
    check32("sqrt.rn.ftz.f32 d, a;", |a, _| flush(a).sqrt());
    check32("min.ftz.f32 d, a, b;", |a, b| {
        let (a, b) = (flush(a), flush(b));
        if a.is_nan() || b < a || b == a && b.is_sign_negative() { b } else { a }
    });
}

#[test]
fn saturation_clamps_to_one() {
    let clamp = |x: f32| if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) + 0.0 };
    check32("add.sat.f32 d, a, b;", |a, b| clamp(a + b));
    check32("fma.rn.sat.f32 d, a, b, b;", |a, b| clamp(a.mul_add(b, b)));
    check32("mul.ftz.sat.f32 d, a, b;", |a, b| clamp(flush(flush(a) * flush(b))));
}

#[test]
fn directed_rounding_goes_the_right_way() {
    let third = |mode: &str| compute1(&format!("div.{mode}.f32 d, a, b;"), "f32", &["f32"; 2], &f32s(&[1.0, 3.0]));
    assert_eq!((third("rz"), third("rm"), third("rp")), (0x3eaa_aaaa, 0x3eaa_aaaa, 0x3eaa_aaab));
    let sum = |mode: &str| compute1(&format!("add.{mode}.f32 d, a, b;"), "f32", &["f32"; 2], &f32s(&[-1.0, -1e-20]));
    assert_eq!((sum("rz"), sum("rm"), sum("rp")), (0xbf80_0000, 0xbf80_0001, 0xbf80_0000));
    let root = |mode: &str| compute1(&format!("sqrt.{mode}.f32 d, a;"), "f32", &["f32"], &f32s(&[2.0]));
    assert_eq!((root("rz"), root("rp")), (0x3fb5_04f3, 0x3fb5_04f4));
    let cube = |mode: &str| compute1(&format!("fma.{mode}.f32 d, a, a, a;"), "f32", &["f32"], &f32s(&[0.1]));
    assert_eq!(cube("rp"), cube("rm") + 1);
    let double = |mode: &str| compute1(&format!("mul.{mode}.f64 d, a, a;"), "f64", &["f64"], &f64s(&[0.1]));
    assert_eq!(double("rp"), double("rz") + 1);
    let double = |mode: &str| compute1(&format!("rcp.{mode}.f64 d, a;"), "f64", &["f64"], &f64s(&[3.0]));
    assert_eq!(double("rp"), double("rm") + 1);
}

#[test]
fn double_precision_is_ieee() {
    check64("add.f64 d, a, b;", |a, b| a + b);
    check64("sub.rn.f64 d, a, b;", |a, b| a - b);
    check64("mul.f64 d, a, b;", |a, b| a * b);
    check64("div.rn.f64 d, a, b;", |a, b| a / b);
    check64("sqrt.rn.f64 d, a;", |a, _| a.sqrt());
    check64("rcp.rn.f64 d, a;", |a, _| 1.0 / a);
    check64("fma.rn.f64 d, a, b, a;", |a, b| a.mul_add(b, a));
    check64("abs.f64 d, a;", |a, _| a.abs());
    check64("neg.f64 d, a;", |a, _| -a);
    let nan = 0x7ff0_0000_0000_0001u64;
    assert_eq!(compute1("add.f64 d, a, b;", "f64", &["f64"; 2], &[nan, 0]), nan | 1 << 51, "payloads are kept");
}

#[test]
fn extremes_skip_nan_and_order_zeros() {
    let nan = f32::NAN;
    let got = |text: &str, a: f32, b: f32| compute1(text, "f32", &["f32"; 2], &f32s(&[a, b]));
    for (a, b, low, high) in
        [(0.0, -0.0, -0.0, 0.0), (nan, 2.0, 2.0, 2.0), (2.0, nan, 2.0, 2.0), (-1.0, 3.0, -1.0, 3.0)]
    {
        assert_eq!(got("min.f32 d, a, b;", a, b), bits32(low), "min {a} {b}");
        assert_eq!(got("max.f32 d, a, b;", a, b), bits32(high), "max {a} {b}");
    }
    assert_eq!(got("max.f32 d, a, b;", nan, -nan), NAN32);
    assert_eq!(got("min.NaN.f32 d, a, b;", nan, 1.0), NAN32);
    assert_eq!(got("max.ftz.NaN.f32 d, a, b;", 1e-40, -1.0), 0);
    assert_eq!(got("min.xorsign.abs.f32 d, a, b;", -3.0, 2.0), bits32(-2.0));
    assert_eq!(got("max.NaN.xorsign.abs.f32 d, a, b;", -3.0, -2.0), bits32(3.0));
    assert_eq!(compute1("max.f64 d, a, b;", "f64", &["f64"; 2], &f64s(&[f64::NAN, -4.0])), (-4f64).to_bits());
}

#[test]
fn signs_are_moved_without_arithmetic() {
    let got = |text: &str, a: u64, b: u64| compute1(text, "f32", &["f32"; 2], &[a, b]);
    assert_eq!((got("neg.ftz.f32 d, a;", 1, 0), got("abs.ftz.f32 d, a;", 0x8000_0001, 0)), (0x8000_0000, 0));
    assert_eq!((got("neg.f32 d, a;", 0x3f80_0000, 0), got("abs.f32 d, a;", 0x8000_0000, 0)), (0xbf80_0000, 0));
    assert_eq!(got("copysign.f32 d, a, b;", 0x8000_0000, 0x3f80_0000), 0xbf80_0000);
    let got = compute1("copysign.f64 d, a, b;", "f64", &["f64"; 2], &f64s(&[1.0, -2.0]));
    assert_eq!(got, 2f64.to_bits());
}

#[test]
fn properties_are_tested() {
    let values = f32s(&[1.0, 0.0, 1e-45, f32::INFINITY, f32::NAN]);
    let rows: Vec<&[u64]> = values.chunks(1).collect();
    for (name, want) in [
        ("finite", [1, 1, 1, 0, 0]),
        ("infinite", [0, 0, 0, 1, 0]),
        ("number", [1, 1, 1, 1, 0]),
        ("notanumber", [0, 0, 0, 0, 1]),
        ("normal", [1, 1, 0, 0, 0]),
        ("subnormal", [0, 0, 1, 0, 0]),
    ] {
        assert_eq!(compute(&format!("testp.{name}.f32 d, a;"), "pred", &["f32"], &rows), want, "{name}");
    }
}

#[test]
fn comparisons_know_nan() {
    type Relation = (&'static str, fn(f32, f32) -> bool);
    let relations: [Relation; 14] = [
        ("eq", |a, b| a == b),
        ("ne", |a, b| a.partial_cmp(&b).is_some_and(std::cmp::Ordering::is_ne)),
        ("lt", |a, b| a < b),
        ("le", |a, b| a <= b),
        ("gt", |a, b| a > b),
        ("ge", |a, b| a >= b),
        ("equ", |a, b| a == b || a.is_nan() || b.is_nan()),
        ("neu", |a, b| a != b),
        ("ltu", |a, b| a.partial_cmp(&b).is_none_or(std::cmp::Ordering::is_lt)),
        ("leu", |a, b| a.partial_cmp(&b).is_none_or(std::cmp::Ordering::is_le)),
        ("gtu", |a, b| a.partial_cmp(&b).is_none_or(std::cmp::Ordering::is_gt)),
        ("geu", |a, b| a.partial_cmp(&b).is_none_or(std::cmp::Ordering::is_ge)),
        ("num", |a, b| !a.is_nan() && !b.is_nan()),
        ("nan", |a, b| a.is_nan() || b.is_nan()),
    ];
    let operands = pairs(&f32s(&EDGES32));
    for (name, holds) in relations {
        let plain = compute(&format!("setp.{name}.f32 d, a, b;"), "pred", &["f32"; 2], &rows(&operands));
        let flushed = compute(&format!("setp.{name}.ftz.f32 d, a, b;"), "pred", &["f32"; 2], &rows(&operands));
        let wide: Vec<[u64; 2]> = operands.iter().map(|row| row.map(|x| f64::from(single(x)).to_bits())).collect();
        let double = compute(&format!("setp.{name}.f64 d, a, b;"), "pred", &["f64"; 2], &rows(&wide));
        for (i, [a, b]) in operands.iter().enumerate() {
            let (a, b) = (single(*a), single(*b));
            assert_eq!(plain[i] != 0, holds(a, b), "{name} {a:e} {b:e}");
            assert_eq!(flushed[i] != 0, holds(flush(a), flush(b)), "{name}.ftz {a:e} {b:e}");
            assert_eq!(double[i], plain[i], "{name}.f64 {a:e} {b:e}");
        }
    }
}

#[test]
fn approximations_are_close() {
    for (name, exact) in [
        ("rsqrt.approx.f32", (|x: f64| 1.0 / x.sqrt()) as fn(f64) -> f64),
        ("sqrt.approx.f32", |x| x.sqrt()),
        ("rcp.approx.ftz.f32", |x| 1.0 / x),
        ("sin.approx.f32", f64::sin),
        ("cos.approx.f32", f64::cos),
        ("lg2.approx.f32", f64::log2),
        ("ex2.approx.f32", f64::exp2),
        ("tanh.approx.f32", f64::tanh),
    ] {
        for x in [0.01f32, 0.5, 1.0, 2.75, 10.0] {
            let got = single(compute1(&format!("{name} d, a;"), "f32", &["f32"], &f32s(&[x])));
            let want = exact(x.into());
            assert!((f64::from(got) - want).abs() <= 1e-6 * want.abs().max(1e-3), "{name} {x}: {got} {want}");
        }
    }
    assert_eq!(compute1("ex2.approx.ftz.f32 d, a;", "f32", &["f32"], &f32s(&[-140.0])), 0);
    assert_eq!(compute1("lg2.approx.f32 d, a;", "f32", &["f32"], &f32s(&[-1.0])), NAN32);
}

#[test]
fn quick_division_multiplies_by_the_reciprocal() {
    let quotient = |a: f32, b: f32| compute1("div.approx.f32 d, a, b;", "f32", &["f32"; 2], &f32s(&[a, b]));
    assert_eq!(quotient(1.0, 3.0), bits32(1.0 / 3.0));
    assert_eq!(quotient(f32::MAX, f32::MAX), 0);
    assert_eq!(quotient(-1.0, f32::MAX), bits32(-0.0));
    assert_eq!(quotient(f32::INFINITY, f32::MAX), NAN32);
    assert_eq!(quotient(2f32.powi(126), 2f32.powi(126)), bits32(1.0));
}

#[test]
fn gross_approximations_work_on_the_upper_word() {
    let of = |text: &str, a: u64| compute1(text, "f64", &["f64"], &[a]);
    assert_eq!(of("rcp.approx.ftz.f64 d, a;", 0x3ff8_0000_ffff_ffff), 0x3fe5_5555_0000_0000);
    assert_eq!(of("rcp.approx.ftz.f64 d, a;", 0x8000_0000_0000_0001), f64::NEG_INFINITY.to_bits());
    assert_eq!(of("rcp.approx.ftz.f64 d, a;", f64::MAX.to_bits()), 0);
    assert_eq!(of("rcp.approx.ftz.f64 d, a;", f64::NEG_INFINITY.to_bits()), (-0.0f64).to_bits());
    assert_eq!(of("rsqrt.approx.ftz.f64 d, a;", 4f64.to_bits()), 0.5f64.to_bits());
    assert_eq!(of("rsqrt.approx.ftz.f64 d, a;", 0), f64::INFINITY.to_bits());
    assert_eq!(of("rsqrt.approx.ftz.f64 d, a;", (-1f64).to_bits()), 0x7fff_ffff_0000_0000);
}
