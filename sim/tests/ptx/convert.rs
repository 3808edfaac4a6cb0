//! `cvt`, `cvta`, and registers that are wider than the types of a conversion.

use crate::compute::{EDGES32, compute, compute1, f32s, f64s};

#[test]
fn floats_become_integers_in_every_direction() {
    let values = [0.0f32, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.99, -0.99, 1e9, -1e9, 3e9, -3e9, 1e19, -1e19, 1e20];
    let specials = [f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 1e-45];
    let all: Vec<f32> = values.into_iter().chain(specials).collect();
    let bits = f32s(&all);
    let rows: Vec<&[u64]> = bits.chunks(1).collect();
    for (mode, round) in
        [("rni", f32::round_ties_even as fn(f32) -> f32), ("rzi", f32::trunc), ("rmi", f32::floor), ("rpi", f32::ceil)]
    {
        let run = |ty: &str| compute(&format!("cvt.{mode}.{ty}.f32 d, a;"), ty, &["f32"], &rows);
        let (s32, u32s, s64, u64s) = (run("s32"), run("u32"), run("s64"), run("u64"));
        let (s16, f32r) = (run("s16"), run("f32"));
        for (i, x) in all.iter().enumerate() {
            let x = round(*x);
            assert_eq!(s32[i] as u32 as i32, x as i32, "{mode} s32 {x}");
            assert_eq!(u32s[i] as u32, x as u32, "{mode} u32 {x}");
            assert_eq!(s64[i] as i64, x as i64, "{mode} s64 {x}");
            assert_eq!(u64s[i], x as u64, "{mode} u64 {x}");
            assert_eq!(s16[i] as i16, x as i16, "{mode} s16 {x}");
            assert_eq!(f32r[i] as u32, x.to_bits(), "{mode} f32 {x}");
        }
    }
    let nan = u64::from(f32::NAN.to_bits());
    assert_eq!(compute1("cvt.rzi.s32.f32 d, a;", "s32", &["f32"], &[nan]), 0);
    assert_eq!(compute1("cvt.rzi.u64.f32 d, a;", "u64", &["f32"], &[nan]), 1 << 63);
    assert_eq!(compute1("cvt.rzi.s32.f64 d, a;", "s32", &["f64"], &f64s(&[f64::NAN])), 1 << 31);
    assert_eq!(compute1("cvt.rzi.s32.f64 d, a;", "s32", &["f64"], &f64s(&[-7.9])) as u32 as i32, -7);
}

#[test]
fn integers_become_floats() {
    let values = [0u64, 1, 0xffff_ffff, 0x8000_0000, 16_777_217, 0x7fff_ffff];
    let rows: Vec<&[u64]> = values.chunks(1).collect();
    let unsigned = compute("cvt.rn.f32.u32 d, a;", "f32", &["u32"], &rows);
    let signed = compute("cvt.rn.f32.s32 d, a;", "f32", &["s32"], &rows);
    let double = compute("cvt.rn.f64.s32 d, a;", "f64", &["s32"], &rows);
    let down = compute("cvt.rz.f32.u32 d, a;", "f32", &["u32"], &rows);
    for (i, value) in values.iter().enumerate() {
        let value = *value as u32;
        assert_eq!(unsigned[i] as u32, (value as f32).to_bits(), "{value}");
        assert_eq!(signed[i] as u32, (value as i32 as f32).to_bits(), "{value}");
        assert_eq!(double[i], f64::from(value as i32).to_bits(), "{value}");
        assert!(f64::from(f32::from_bits(down[i] as u32)) <= f64::from(value), "{value}");
    }
    assert_eq!(compute1("cvt.rn.f64.u64 d, a;", "f64", &["u64"], &[u64::MAX]), (u64::MAX as f64).to_bits());
}

#[test]
fn precisions_convert_into_each_other() {
    let values = f32s(&EDGES32);
    let rows: Vec<&[u64]> = values.chunks(1).collect();
    let widened = compute("cvt.f64.f32 d, a;", "f64", &["f32"], &rows);
    for (x, wide) in EDGES32.iter().zip(&widened) {
        assert!(*wide == f64::from(*x).to_bits() || x.is_nan() && f64::from_bits(*wide).is_nan(), "{x:e}");
    }
    let wide: Vec<&[u64]> = widened.chunks(1).collect();
    let back = compute("cvt.rn.f32.f64 d, a;", "f32", &["f64"], &wide);
    for (x, back) in EDGES32.iter().zip(&back) {
        assert!(*back as u32 == x.to_bits() || x.is_nan() && *back == 0x7fff_ffff, "{x:e}");
    }
    let narrow = |mode: &str, x: f64| compute1(&format!("cvt.{mode}.f32.f64 d, a;"), "f32", &["f64"], &f64s(&[x]));
    assert_eq!(narrow("rp", 0.1), narrow("rm", 0.1) + 1);
    assert_eq!(narrow("rz", 1e300), u64::from(f32::MAX.to_bits()));
    assert_eq!(compute1("cvt.sat.f32.f32 d, a;", "f32", &["f32"], &f32s(&[7.0])), u64::from(1f32.to_bits()));
    assert_eq!(compute1("cvt.rn.f16.f32 d, a;", "b16", &["f32"], &f32s(&[65519.0])), 0x7bff);
    assert_eq!(compute1("cvt.rz.f16.f32 d, a;", "b16", &["f32"], &f32s(&[65536.0])), 0x7bff);
    assert_eq!(compute1("cvt.f32.f16 d, a;", "f32", &["b16"], &[0x3555]), u64::from(0.333_251_95f32.to_bits()));
    assert_eq!(compute1("cvt.rn.f16.s32 d, a;", "b16", &["s32"], &[0xffff_ffff]), 0xbc00);
    assert_eq!(compute1("cvt.rzi.s32.f16 d, a;", "s32", &["b16"], &[0xc500]) as u32 as i32, -5);
}

#[test]
fn integers_change_width_in_wider_registers() {
    // The registers of a conversion may be wider than its types.
    assert_eq!(compute1("cvt.s32.s8 d, a;", "s32", &["b32"], &[0x1234_5680]), 0xffff_ff80);
    assert_eq!(compute1("cvt.u32.u8 d, a;", "u32", &["b16"], &[0x5680]), 0x80);
    assert_eq!(compute1("cvt.s64.s16 d, a;", "s64", &["b16"], &[0x8000]), 0xffff_ffff_ffff_8000);
    assert_eq!(compute1("cvt.u16.u32 d, a;", "u16", &["u32"], &[0x1234_5678]), 0x5678);
    assert_eq!(compute1("cvt.s8.s32 d, a;", "s32", &["s32"], &[0x180]), 0xffff_ff80);
    assert_eq!(compute1("cvt.u8.u32 d, a;", "u16", &["u32"], &[0x1ff]), 0xff);
    assert_eq!(compute1("cvt.s64.s32 d, a;", "s64", &["s32"], &[0x8000_0000]), 0xffff_ffff_8000_0000);
    assert_eq!(compute1("cvt.u64.u32 d, a;", "u64", &["u32"], &[0x8000_0000]), 0x8000_0000);
    assert_eq!(compute1("cvt.u32.u64 d, a;", "u32", &["u64"], &[0x1_2345_6789]), 0x2345_6789);
    assert_eq!(compute1("cvt.sat.u8.s32 d, a;", "u32", &["s32"], &[300]), 255);
    assert_eq!(compute1("cvt.sat.s16.s32 d, a;", "s32", &["s32"], &[0x8000_0000]), 0xffff_8000);
}

#[test]
fn generic_addresses_know_their_space() {
    let text = "{ .shared .b32 v; .local .b32 l; .reg .u64 x, y; .reg .pred q, r;\n\
        mov.u64 x, v; cvta.shared.u64 x, x; cvta.to.shared.u64 y, x; isspacep.shared q, x; isspacep.global r, x;\n\
        selp.u32 d, 1, 0, q; @r add.u32 d, d, 100;\n\
        mov.u64 x, v; setp.eq.u64 q, y, x; @q add.u32 d, d, 10;\n\
        cvta.local.u64 x, l; isspacep.local q, x; @q add.u32 d, d, 1000;\n\
        isspacep.global q, a; @q add.u32 d, d, 10000; }";
    assert_eq!(compute1(text, "u32", &["u64"], &[0x7000_0000_0000]), 11011);
}
