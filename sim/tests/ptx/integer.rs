//! Integer and logic instructions, with edge operands, against Rust.

use crate::compute::{compute, compute1, pairs, rows};

const EDGES: [u64; 12] = [
    0,
    1,
    2,
    7,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
];

/// Runs a two-operand instruction on all pairs of edge values and compares with `want`, cut to `bits`.
fn check2(instruction: &str, ty: &str, result: &str, bits: u32, want: impl Fn(u64, u64) -> u64) {
    let mask = |width: u32| if width == 64 { u64::MAX } else { (1 << width) - 1 };
    let width: u32 = ty[1..].parse().unwrap();
    let operands: Vec<[u64; 2]> = pairs(&EDGES.map(|v| v & mask(width)));
    let got = compute(instruction, result, &[ty, ty], &rows(&operands));
    for ([a, b], got) in operands.iter().zip(got) {
        assert_eq!(got, want(*a, *b) & mask(bits), "{instruction} a={a:#x} b={b:#x}");
    }
}

#[test]
fn sums_differences_and_products_wrap() {
    for (ty, bits) in [("u16", 16), ("s16", 16), ("u32", 32), ("s32", 32), ("u64", 64), ("s64", 64)] {
        check2(&format!("add.{ty} d, a, b;"), ty, ty, bits, |a, b| a.wrapping_add(b));
        check2(&format!("sub.{ty} d, a, b;"), ty, ty, bits, |a, b| a.wrapping_sub(b));
        check2(&format!("mul.lo.{ty} d, a, b;"), ty, ty, bits, |a, b| a.wrapping_mul(b));
        check2(&format!("mad.lo.{ty} d, a, b, a;"), ty, ty, bits, |a, b| a.wrapping_mul(b).wrapping_add(a));
    }
    check2("add.sat.s32 d, a, b;", "s32", "s32", 32, |a, b| (a as i32).saturating_add(b as i32) as u32 as u64);
    check2("sub.sat.s32 d, a, b;", "s32", "s32", 32, |a, b| (a as i32).saturating_sub(b as i32) as u32 as u64);
}

#[test]
fn products_have_high_and_wide_parts() {
    check2("mul.hi.u16 d, a, b;", "u16", "u16", 16, |a, b| (a * b) >> 16);
    check2("mul.hi.s16 d, a, b;", "s16", "s16", 16, |a, b| ((i64::from(a as i16) * i64::from(b as i16)) >> 16) as u64);
    check2("mul.hi.u32 d, a, b;", "u32", "u32", 32, |a, b| (a * b) >> 32);
    check2("mul.hi.s32 d, a, b;", "s32", "s32", 32, |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u64);
    check2("mul.hi.u64 d, a, b;", "u64", "u64", 64, |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64);
    check2("mul.hi.s64 d, a, b;", "s64", "s64", 64, |a, b| {
        ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64
    });
    check2("mul.wide.u16 d, a, b;", "u16", "u32", 32, |a, b| a * b);
    check2("mul.wide.s16 d, a, b;", "s16", "s32", 32, |a, b| (i64::from(a as i16) * i64::from(b as i16)) as u64);
    check2("mul.wide.u32 d, a, b;", "u32", "u64", 64, |a, b| a * b);
    check2("mul.wide.s32 d, a, b;", "s32", "s64", 64, |a, b| (i64::from(a as i32) * i64::from(b as i32)) as u64);
    check2("mad.hi.u32 d, a, b, b;", "u32", "u32", 32, |a, b| ((a * b) >> 32).wrapping_add(b));
    check2("mad.hi.s32 d, a, b, b;", "s32", "s32", 32, |a, b| {
        (((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u64).wrapping_add(b)
    });
    let got = compute1("mad.wide.u32 d, a, b, c;", "u64", &["u32", "u32", "u64"], &[0xffff_ffff, 3, 1 << 40]);
    assert_eq!(got, 0xffff_ffff * 3 + (1 << 40));
    let got = compute1("mad.wide.s32 d, a, b, c;", "s64", &["s32", "s32", "s64"], &[0xffff_ffff, 3, 1]);
    assert_eq!(got as i64, -2);
    check2("mul24.lo.u32 d, a, b;", "u32", "u32", 32, |a, b| (a & 0xff_ffff) * (b & 0xff_ffff));
    check2("mul24.hi.u32 d, a, b;", "u32", "u32", 32, |a, b| ((a & 0xff_ffff) * (b & 0xff_ffff)) >> 16);
    let low = |x: u64| i64::from((x as i32) << 8 >> 8);
    check2("mul24.lo.s32 d, a, b;", "s32", "s32", 32, |a, b| (low(a) * low(b)) as u64);
    check2("mad24.lo.s32 d, a, b, a;", "s32", "s32", 32, |a, b| ((low(a) * low(b)) as u64).wrapping_add(a));
}

#[test]
fn division_is_defined_everywhere() {
    let quotient = |a: u64, b: u64| a.checked_div(b).unwrap_or(u64::MAX);
    let remainder = |a: u64, b: u64| a.checked_rem(b).unwrap_or(u64::MAX);
    for (ty, bits) in [("u16", 16), ("u32", 32), ("u64", 64)] {
        check2(&format!("div.{ty} d, a, b;"), ty, ty, bits, quotient);
        check2(&format!("rem.{ty} d, a, b;"), ty, ty, bits, remainder);
    }
    let signed = |a: u64, b: u64| if b as i32 == 0 { u64::MAX } else { (a as i32).wrapping_div(b as i32) as u64 };
    check2("div.s32 d, a, b;", "s32", "s32", 32, signed);
    check2("rem.s32 d, a, b;", "s32", "s32", 32, |a, b| {
        if b as i32 == 0 { u64::MAX } else { (a as i32).wrapping_rem(b as i32) as u64 }
    });
    check2("div.s64 d, a, b;", "s64", "s64", 64, |a, b| {
        if b == 0 { u64::MAX } else { (a as i64).wrapping_div(b as i64) as u64 }
    });
    check2("div.s16 d, a, b;", "s16", "s16", 16, |a, b| {
        if b == 0 { u64::MAX } else { (a as i16).wrapping_div(b as i16) as u64 }
    });
}

#[test]
fn extremes_and_distances_know_signs() {
    check2("min.u32 d, a, b;", "u32", "u32", 32, |a, b| a.min(b));
    check2("max.u64 d, a, b;", "u64", "u64", 64, |a, b| a.max(b));
    check2("min.s32 d, a, b;", "s32", "s32", 32, |a, b| (a as i32).min(b as i32) as u64);
    check2("max.s16 d, a, b;", "s16", "s16", 16, |a, b| (a as i16).max(b as i16) as u64);
    check2("max.s64 d, a, b;", "s64", "s64", 64, |a, b| (a as i64).max(b as i64) as u64);
    check2("sad.u32 d, a, b, a;", "u32", "u32", 32, |a, b| a.abs_diff(b).wrapping_add(a));
    check2("sad.s32 d, a, b, b;", "s32", "s32", 32, |a, b| u64::from((a as i32).abs_diff(b as i32)).wrapping_add(b));
    check2("abs.s32 d, a;", "s32", "s32", 32, |a, _| (a as i32).wrapping_abs() as u64);
    check2("neg.s64 d, a;", "s64", "s64", 64, |a, _| a.wrapping_neg());
    check2("abs.s16 d, a;", "s16", "s16", 16, |a, _| (a as i16).wrapping_abs() as u64);
}

#[test]
fn logic_works_bit_by_bit() {
    for (ty, bits) in [("b16", 16), ("b32", 32), ("b64", 64)] {
        check2(&format!("and.{ty} d, a, b;"), ty, ty, bits, |a, b| a & b);
        check2(&format!("or.{ty} d, a, b;"), ty, ty, bits, |a, b| a | b);
        check2(&format!("xor.{ty} d, a, b;"), ty, ty, bits, |a, b| a ^ b);
        check2(&format!("not.{ty} d, a;"), ty, ty, bits, |a, _| !a);
        check2(&format!("cnot.{ty} d, a;"), ty, ty, bits, |a, _| u64::from(a == 0));
    }
    for table in [0x00u64, 0x80, 0x96, 0xe8, 0xca, 0x1b, 0xff] {
        let (a, b, c) = (0xf0f0_1234u64, 0xcccc_5678, 0xaaaa_9abc);
        let mut want = 0;
        for bit in 0..32 {
            let index = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1);
            want |= (table >> index & 1) << bit;
        }
        let got = compute1(&format!("lop3.b32 d, a, b, c, {table:#x};"), "b32", &["b32"; 3], &[a, b, c]);
        assert_eq!(got, want, "table {table:#x}");
    }
    let predicates = pairs(&[0, 1]);
    let got = |instruction| compute(instruction, "pred", &["pred", "pred"], &rows(&predicates));
    assert_eq!(got("and.pred d, a, b;"), [0, 0, 0, 1]);
    assert_eq!(got("or.pred d, a, b;"), [0, 1, 1, 1]);
    assert_eq!(got("xor.pred d, a, b;"), [0, 1, 1, 0]);
    assert_eq!(got("not.pred d, a;"), [1, 1, 0, 0]);
    assert_eq!(got("mov.pred d, b;"), [0, 1, 0, 1]);
    assert_eq!(got("mov.pred d, -1;"), [1, 1, 1, 1]);
}

#[test]
fn shifts_clamp_their_amount() {
    let amounts = [0u64, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 0xffff_ffff];
    for (ty, bits) in [("16", 16u32), ("32", 32), ("64", 64)] {
        let value = 0x8765_4321_8765_8321u64 & (u64::MAX >> (64 - bits));
        let all: Vec<[u64; 2]> = amounts.iter().map(|n| [value, *n]).collect();
        let mask = u64::MAX >> (64 - bits);
        let left = compute(&format!("shl.b{ty} d, a, b;"), &format!("b{ty}"), &[&format!("b{ty}"), "u32"], &rows(&all));
        let right =
            compute(&format!("shr.u{ty} d, a, b;"), &format!("u{ty}"), &[&format!("u{ty}"), "u32"], &rows(&all));
        let arithmetic =
            compute(&format!("shr.s{ty} d, a, b;"), &format!("s{ty}"), &[&format!("s{ty}"), "u32"], &rows(&all));
        let signed = (value << (64 - bits)) as i64 >> (64 - bits);
        for (i, n) in amounts.iter().enumerate() {
            let n = (*n).min(u64::from(bits)) as u32;
            assert_eq!(left[i], value.checked_shl(n).unwrap_or(0) & mask, "shl {ty} {n}");
            assert_eq!(right[i], value.checked_shr(n).unwrap_or(0), "shr.u {ty} {n}");
            assert_eq!(arithmetic[i], (signed >> n.min(63)) as u64 & mask, "shr.s {ty} {n}");
        }
    }
    let funnel = |text: &str, n: u64| compute1(text, "b32", &["b32", "b32", "u32"], &[0x1234_5678, 0x9abc_def0, n]);
    assert_eq!(funnel("shf.l.wrap.b32 d, a, b, c;", 8), 0xbcde_f012);
    assert_eq!(funnel("shf.l.wrap.b32 d, a, b, c;", 40), 0xbcde_f012);
    assert_eq!(funnel("shf.l.clamp.b32 d, a, b, c;", 40), 0x1234_5678);
    assert_eq!(funnel("shf.r.wrap.b32 d, a, b, c;", 8), 0xf012_3456);
    assert_eq!(funnel("shf.r.clamp.b32 d, a, b, c;", 99), 0x9abc_def0);
    assert_eq!(funnel("shf.r.wrap.b32 d, a, b, c;", 32), 0x1234_5678);
}

#[test]
fn bits_are_counted_found_and_moved() {
    check2("popc.b32 d, a;", "b32", "u32", 32, |a, _| u64::from(a.count_ones()));
    check2("popc.b64 d, a;", "b64", "u32", 32, |a, _| u64::from(a.count_ones()));
    check2("clz.b32 d, a;", "b32", "u32", 32, |a, _| u64::from((a as u32).leading_zeros()));
    check2("clz.b64 d, a;", "b64", "u32", 32, |a, _| u64::from(a.leading_zeros()));
    check2("brev.b32 d, a;", "b32", "b32", 32, |a, _| u64::from((a as u32).reverse_bits()));
    check2("brev.b64 d, a;", "b64", "b64", 64, |a, _| a.reverse_bits());
    check2("bfind.u32 d, a;", "u32", "u32", 32, |a, _| a.checked_ilog2().map_or(u64::MAX, u64::from));
    check2(
        "bfind.shiftamt.u64 d, a;",
        "u64",
        "u32",
        32,
        |a, _| {
            if a == 0 { u64::MAX } else { u64::from(a.leading_zeros()) }
        },
    );
    check2("bfind.s32 d, a;", "s32", "u32", 32, |a, _| {
        let a = a as i32;
        let searched = (if a < 0 { !a } else { a }) as u32;
        searched.checked_ilog2().map_or(u64::MAX, u64::from)
    });
    let three = |text: &str, row: [u64; 3]| compute1(text, "b32", &["b32", "u32", "u32"], &row);
    assert_eq!(three("bfe.u32 d, a, b, c;", [0xdead_beef, 8, 12]), 0xdbe);
    assert_eq!(three("bfe.s32 d, a, b, c;", [0xdead_beef, 4, 8]), 0xffff_ffee);
    assert_eq!(three("bfe.u32 d, a, b, c;", [0xdead_beef, 0, 0]), 0);
    assert_eq!(three("bfe.u32 d, a, b, c;", [0xdead_beef, 0, 32]), 0xdead_beef);
    let long = |text: &str, row: [u64; 3]| compute1(text, "b64", &["b64", "u32", "u32"], &row);
    assert_eq!(long("bfe.s64 d, a, b, c;", [1 << 63, 60, 10]), 0xffff_ffff_ffff_fff8);
    let four = |text: &str, row: [u64; 4]| compute1(text, "b32", &["b32", "b32", "u32", "u32"], &row);
    assert_eq!(four("bfi.b32 d, a, b, c, e;", [0xab, 0xffff_ffff, 8, 8]), 0xffff_abff);
    assert_eq!(four("bfi.b32 d, a, b, c, e;", [0xab, 0x1111_1111, 32, 8]), 0x1111_1111);
    assert_eq!(four("prmt.b32 d, a, b, 0x5410;", [0x3322_1100, 0x7766_5544, 0, 0]), 0x5544_1100);
    assert_eq!(four("prmt.b32.rc16 d, a, b, c;", [0x3322_1100, 0, 1, 0]), 0x3322_3322);
    assert_eq!(four("dp4a.u32.u32 d, a, b, c;", [0x0102_0304, 0x0101_0101, 5, 0]), 15);
    assert_eq!(four("dp4a.s32.u32 d, a, b, c;", [0xff00_0000, 0x0200_0000, 0, 0]), 0xffff_fffe);
}

#[test]
fn carries_run_through_several_words() {
    // 128-bit sums and differences in 32-bit pieces: the low 64 bits of each come out.
    let add = "{ .reg .u32 a0, a1, b0, b1, d0, d1; mov.b64 {a0, a1}, a; mov.b64 {b0, b1}, b;\n\
               add.cc.u32 d0, a0, b0; addc.u32 d1, a1, b1; mov.b64 d, {d0, d1}; }";
    check2(add, "u64", "u64", 64, |a, b| a.wrapping_add(b));
    let sub = "{ .reg .u32 a0, a1, b0, b1, d0, d1; mov.b64 {a0, a1}, a; mov.b64 {b0, b1}, b;\n\
               sub.cc.u32 d0, a0, b0; subc.u32 d1, a1, b1; mov.b64 d, {d0, d1}; }";
    check2(sub, "u64", "u64", 64, |a, b| a.wrapping_sub(b));
    // The high half of a 64 x 64 product from 32-bit pieces.
    let mul = "{ .reg .u32 a0, a1, b0, b1, r0, r1, r2, r3; mov.b64 {a0, a1}, a; mov.b64 {b0, b1}, b;\n\
               mul.lo.u32 r0, a0, b0; mul.hi.u32 r1, a0, b0;\n\
               mad.lo.cc.u32 r1, a0, b1, r1; madc.hi.u32 r2, a0, b1, 0;\n\
               mad.lo.cc.u32 r1, a1, b0, r1; madc.hi.cc.u32 r2, a1, b0, r2; addc.u32 r3, 0, 0;\n\
               mad.lo.cc.u32 r2, a1, b1, r2; madc.hi.u32 r3, a1, b1, r3; mov.b64 d, {r2, r3}; }";
    check2(mul, "u64", "u64", 64, |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64);
    let carry = "{ .reg .u64 t; add.cc.u64 t, a, b; addc.u64 d, 0, 0; }";
    check2(carry, "u64", "u64", 64, |a, b| u64::from(a.checked_add(b).is_none()));
}

#[test]
fn comparisons_know_types() {
    for (name, holds) in [
        ("eq", (|o| o == std::cmp::Ordering::Equal) as fn(std::cmp::Ordering) -> bool),
        ("ne", |o| o != std::cmp::Ordering::Equal),
        ("lt", |o| o == std::cmp::Ordering::Less),
        ("le", |o| o != std::cmp::Ordering::Greater),
        ("gt", |o| o == std::cmp::Ordering::Greater),
        ("ge", |o| o != std::cmp::Ordering::Less),
    ] {
        check2(&format!("setp.{name}.u32 d, a, b;"), "u32", "pred", 1, |a, b| holds(a.cmp(&b)).into());
        check2(&format!("setp.{name}.s32 d, a, b;"), "s32", "pred", 1, |a, b| {
            holds((a as i32).cmp(&(b as i32))).into()
        });
        check2(&format!("setp.{name}.u64 d, a, b;"), "u64", "pred", 1, |a, b| holds(a.cmp(&b)).into());
        check2(&format!("setp.{name}.s64 d, a, b;"), "s64", "pred", 1, |a, b| {
            holds((a as i64).cmp(&(b as i64))).into()
        });
        check2(&format!("setp.{name}.s16 d, a, b;"), "s16", "pred", 1, |a, b| {
            holds((a as i16).cmp(&(b as i16))).into()
        });
    }
    check2("setp.lo.u32 d, a, b;", "u32", "pred", 1, |a, b| (a < b).into());
    check2("set.lt.u32.u32 d, a, b;", "u32", "u32", 32, |a, b| if a < b { u64::MAX } else { 0 });
    check2("set.ge.f32.s32 d, a, b;", "s32", "f32", 32, |a, b| {
        if a as i32 >= b as i32 { u64::from(1f32.to_bits()) } else { 0 }
    });
}

#[test]
fn comparisons_combine_with_predicates() {
    let all: Vec<[u64; 3]> = pairs(&[1, 2]).iter().flat_map(|[a, b]| [0, 1].map(|c| [*a, *b, c])).collect();
    let types = ["u32", "u32", "pred"];
    let check = |text: &str, want: fn(bool, bool) -> bool| {
        let got = compute(text, "pred", &types, &rows(&all));
        for ([a, b, c], got) in all.iter().zip(got) {
            assert_eq!(got != 0, want(a < b, *c != 0), "{text} {a} {b} {c}");
        }
    };
    check("setp.lt.and.u32 d, a, b, c;", |x, c| x & c);
    check("setp.lt.or.u32 d, a, b, !c;", |x, c| x | !c);
    check("setp.lt.xor.u32 d, a, b, c;", |x, c| x ^ c);
    check("{ .reg .pred q; setp.lt.u32 q|d, a, b; }", |x, _| !x);
    check("{ .reg .pred q; setp.lt.and.u32 q|d, a, b, c; }", |x, c| !x & c);
    check("setp.lt.and.u32 c|d, a, b, c;", |x, c| !x & c);
    // The guard is one of the results: it is read before either is written.
    check("mov.pred d, 0; @c setp.lt.u32 c|d, a, b;", |x, c| c & !x);
    check("{ .reg .pred q; mov.pred d, c; @!c setp.lt.u32 d|q, a, b; }", |x, c| c | x);
}

#[test]
fn selection_follows_predicates_and_signs() {
    let got = |text, ty| compute(text, ty, &[ty, ty, "pred"], &[&[5, 6, 0], &[5, 6, 1]]);
    assert_eq!(got("selp.b16 d, a, b, c;", "b16"), [6, 5]);
    assert_eq!(got("selp.f32 d, a, b, c;", "f32"), [6, 5]);
    assert_eq!(got("selp.u64 d, a, b, !c;", "u64"), [5, 6]);
    let minus = u64::from((-0.5f32).to_bits());
    let got = compute("slct.u32.s32 d, a, b, c;", "u32", &["u32", "u32", "s32"], &[&[5, 6, 0], &[5, 6, 0x8000_0000]]);
    assert_eq!(got, [5, 6]);
    let got = compute("slct.u64.f32 d, a, b, c;", "u64", &["u64", "u64", "f32"], &[&[5, 6, 0], &[5, 6, minus]]);
    assert_eq!(got, [5, 6]);
}

#[test]
fn vectors_of_words_are_packed_and_unpacked() {
    let text = "{ .reg .b16 w, x, y, z; mov.b64 {w, x, y, z}, a; mov.b64 d, {z, y, x, w}; }";
    assert_eq!(compute1(text, "b64", &["b64"], &[0x1111_2222_3333_4444]), 0x4444_3333_2222_1111);
    let text = "{ .reg .b16 x, y; mov.b32 {x, y}, a; mov.b32 d, {y, x}; }";
    assert_eq!(compute1(text, "b32", &["b32"], &[0x1234_5678]), 0x5678_1234);
    let text = "{ .reg .b32 x; mov.b64 {x, _}, a; mov.b64 d, {x, x}; }";
    assert_eq!(compute1(text, "b64", &["b64"], &[0x1234_5678_9abc_def0]), 0x9abc_def0_9abc_def0);
}

#[test]
fn constants_are_read_in_every_notation() {
    for (text, want) in [
        ("10", 10),
        ("-1", 0xffff_ffff),
        ("0x1F", 31),
        ("017", 15),
        ("0b101", 5),
        ("4294967295U", 0xffff_ffff),
        ("0f3F800000", 0x3f80_0000),
        ("WARP_SZ", 32),
    ] {
        assert_eq!(compute1(&format!("mov.b32 d, {text};"), "b32", &[], &[]), want, "{text}");
    }
    assert_eq!(compute1("mov.f64 d, 0d3FF8000000000000;", "f64", &[], &[]), 1.5f64.to_bits());
    assert_eq!(compute1("mov.f64 d, 2.5e-1;", "f64", &[], &[]), 0.25f64.to_bits());
    assert_eq!(compute1("add.f32 d, 0.5, 1.0;", "f32", &[], &[]), u64::from(1.5f32.to_bits()));
    assert_eq!(compute1("mov.u64 d, 0xFFFFFFFFFFFFFFFF;", "u64", &[], &[]), u64::MAX);
}

#[test]
fn products_of_pieces() {
    let three = |text: &str, a: u64, b: u64, c: u64| compute1(text, "u32", &["u32"; 3], &[a, b, c]);
    assert_eq!(three("dp2a.lo.u32.u32 d, a, b, c;", 0x0003_0002, 0x0504_0706, 1), 2 * 6 + 3 * 7 + 1);
    assert_eq!(three("dp2a.hi.u32.u32 d, a, b, c;", 0x0003_0002, 0x0504_0706, 1), 2 * 4 + 3 * 5 + 1);
    assert_eq!(three("dp2a.lo.s32.s32 d, a, b, c;", 0xffff_0002, 0xff01, 0), 3);
    assert_eq!(three("mad24.hi.u32 d, a, b, c;", 0xff80_0000, 0x0080_0000, 1), 0x4000_0001);
    assert_eq!(three("mad24.hi.sat.s32 d, a, b, c;", 0x80_0000, 0x80_0000, 0x7fff_0000), 0x7fff_ffff);
}
