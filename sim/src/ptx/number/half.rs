//! Half precision: values are bit patterns in `u16`; pairs (`f16x2`) in `u32`, the first element in the low half.

use super::{
    Control, Rounding,
    soft::{self, HALF},
};

fn flushed(x: u16) -> u16 {
    if x & 0x7c00 == 0 { x & 0x8000 } else { x }
}

fn saturated(x: u16) -> u16 {
    match x {
        0x3c00..=0x7c00 => 0x3c00,
        0..0x3c00 => x,
        _ => 0,
    }
}

fn operand(x: u16, control: Control) -> u64 {
    u64::from(if control.flush { flushed(x) } else { x })
}

fn result(x: u64, control: Control) -> u16 {
    let x = if control.flush { flushed(x as u16) } else { x as u16 };
    if control.saturate { saturated(x) } else { x }
}

/// `a + b`
pub(crate) fn add(a: u16, b: u16, control: Control) -> u16 {
    result(soft::add(operand(a, control), operand(b, control), HALF, Rounding::Near), control)
}

/// `a - b`
pub(crate) fn sub(a: u16, b: u16, control: Control) -> u16 {
    let b = soft::negate(operand(b, control), HALF);
    result(soft::add(operand(a, control), b, HALF, Rounding::Near), control)
}

/// `a * b`
pub(crate) fn mul(a: u16, b: u16, control: Control) -> u16 {
    result(soft::multiply(operand(a, control), operand(b, control), HALF, Rounding::Near), control)
}

/// `a * b + c`, rounded once.
pub(crate) fn fused(a: u16, b: u16, c: u16, control: Control) -> u16 {
    let (a, b, c) = (operand(a, control), operand(b, control), operand(c, control));
    result(soft::fused(a, b, c, HALF, Rounding::Near), control)
}

fn is_nan(x: u16) -> bool {
    x & 0x7fff > 0x7c00
}

/// A number that orders as the half-precision values do, -0 below +0.
fn order(x: u16) -> i32 {
    let magnitude = i32::from(x & 0x7fff);
    if x & 0x8000 != 0 { -magnitude - 1 } else { magnitude }
}

/// `-x`
pub(crate) fn negated(x: u16) -> u16 {
    if is_nan(x) { HALF.nan as u16 } else { x ^ 0x8000 }
}

/// `|x|`
pub(crate) fn absolute(x: u16) -> u16 {
    if is_nan(x) { HALF.nan as u16 } else { x & 0x7fff }
}

/// The smaller operand; a NaN loses against a number.
pub(crate) fn min(a: u16, b: u16) -> u16 {
    match (is_nan(a), is_nan(b)) {
        (true, true) => HALF.nan as u16,
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            if order(b) < order(a) {
                b
            } else {
                a
            }
        }
    }
}

/// The larger operand; a NaN loses against a number.
pub(crate) fn max(a: u16, b: u16) -> u16 {
    match (is_nan(a), is_nan(b)) {
        (true, true) => HALF.nan as u16,
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            if order(b) > order(a) {
                b
            } else {
                a
            }
        }
    }
}

/// The exact value, for comparisons.
pub(crate) fn widen(x: u16) -> f32 {
    f32::from_bits(soft::reformat(x.into(), HALF, soft::SINGLE, Rounding::Near) as u32)
}

/// Applies `f` to both elements of pairs.
#[inline(always)]
pub(crate) fn pairwise<const N: usize>(operands: [u32; N], f: impl Fn([u16; N]) -> u16) -> u32 {
    let low = f(operands.map(|x| x as u16));
    let high = f(operands.map(|x| (x >> 16) as u16));
    u32::from(low) | u32::from(high) << 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        let plain = Control::PLAIN;
        assert_eq!(add(0x3c00, 0x3c00, plain), 0x4000);
        assert_eq!(sub(0x3c00, 0x4000, plain), 0xbc00);
        assert_eq!(mul(0x7bff, 0x4000, plain), 0x7c00);
        assert_eq!(fused(0x3c01, 0x3c01, 0xbc02, plain), 0x0010);
        assert_eq!(add(0x7c00, 0xfc00, plain), 0x7fff);
        assert_eq!(mul(0x0001, 0x3800, plain), 0x0000);
        assert_eq!(widen(0x0001), 5.960_464_5e-8);
        assert_eq!((min(0x8000, 0), max(0x8000, 0)), (0x8000, 0));
        assert_eq!((min(0x7e00, 0x3c00), max(0xfc00, 0x7e00)), (0x3c00, 0xfc00));
        assert_eq!(pairwise([0x3c00_4000, 0x3c00_3c00], |[a, b]| add(a, b, plain)), 0x4000_4200);
        let saturate = Control { saturate: true, ..plain };
        assert_eq!((add(0x3c00, 0x3c00, saturate), add(0x7e00, 0, saturate), sub(0, 0x3c00, saturate)), (0x3c00, 0, 0));
        let flush = Control { flush: true, ..plain };
        assert_eq!(add(0x8001, 0x8000, flush), 0x8000);
    }
}
