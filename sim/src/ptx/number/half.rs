//! The 16-bit formats: half precision ([`F16`]) and the one with the exponent of single precision ([`Bf16`]). Values are bit
//! patterns in `u16`; pairs (`f16x2`, `bf16x2`) in `u32`, the first element in the low half.

use super::{
    Control, Rounding,
    soft::{self, BRAIN, Format, HALF},
};

/// A 16-bit format.
pub(crate) trait Small {
    const FORMAT: Format;
}

/// `f16`
#[derive(Debug, Clone, Copy)]
pub(crate) enum F16 {}

/// `bf16`
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bf16 {}

impl Small for F16 {
    const FORMAT: Format = HALF;
}

impl Small for Bf16 {
    const FORMAT: Format = BRAIN;
}

/// Zero of the same sign when `x` is denormal.
pub(crate) fn flushed<F: Small>(x: u16) -> u16 {
    if u64::from(x) & F::FORMAT.infinity() == 0 { x & 0x8000 } else { x }
}

fn operand<F: Small>(x: u16, control: Control) -> u64 {
    u64::from(if control.flush { flushed::<F>(x) } else { x })
}

fn result<F: Small>(x: u64, control: Control) -> u16 {
    let x = if control.flush { flushed::<F>(x as u16) } else { x as u16 };
    if control.saturate {
        soft::clamped(x.into(), F::FORMAT) as u16
    } else if control.relu {
        soft::rectified(x.into(), F::FORMAT) as u16
    } else {
        x
    }
}

/// The result of an operation that `exact` rounds in a direction. Rounding may lift a value from below the smallest normal
/// number to it; rounded towards zero, it shows where it came from.
fn rounded<F: Small>(control: Control, exact: impl Fn(Rounding) -> u64) -> u16 {
    let magnitude = |x: u64| x & 0x7fff;
    let smallest = F::FORMAT.smallest_normal();
    let near = exact(Rounding::Near);
    let lifted = control.flush && magnitude(near) == smallest && magnitude(exact(Rounding::Zero)) < smallest;
    result::<F>(if lifted { near ^ smallest } else { near }, control)
}

/// `a + b`
pub(crate) fn add<F: Small>(a: u16, b: u16, control: Control) -> u16 {
    let (a, b) = (operand::<F>(a, control), operand::<F>(b, control));
    result::<F>(soft::add(a, b, F::FORMAT, Rounding::Near), control)
}

/// `a - b`
pub(crate) fn sub<F: Small>(a: u16, b: u16, control: Control) -> u16 {
    let (a, b) = (operand::<F>(a, control), operand::<F>(b, control));
    result::<F>(soft::add(a, soft::negate(b, F::FORMAT), F::FORMAT, Rounding::Near), control)
}

/// `a * b`
pub(crate) fn mul<F: Small>(a: u16, b: u16, control: Control) -> u16 {
    let (a, b) = (operand::<F>(a, control), operand::<F>(b, control));
    rounded::<F>(control, |rounding| soft::multiply(a, b, F::FORMAT, rounding))
}

/// `a * b + c`, rounded once.
pub(crate) fn fused<F: Small>(a: u16, b: u16, c: u16, control: Control) -> u16 {
    let [a, b, c] = [a, b, c].map(|x| operand::<F>(x, control));
    rounded::<F>(control, |rounding| soft::fused(a, b, c, F::FORMAT, rounding))
}

fn is_nan<F: Small>(x: u16) -> bool {
    u64::from(x & 0x7fff) > F::FORMAT.infinity()
}

fn nan<F: Small>() -> u16 {
    F::FORMAT.nan as u16
}

/// A number that orders as the values do, -0 below +0.
fn order(x: u16) -> i32 {
    let magnitude = i32::from(x & 0x7fff);
    if x & 0x8000 != 0 { -magnitude - 1 } else { magnitude }
}

/// `-x`
pub(crate) fn negated<F: Small>(x: u16, control: Control) -> u16 {
    if is_nan::<F>(x) { nan::<F>() } else { operand::<F>(x, control) as u16 ^ 0x8000 }
}

/// `|x|`
pub(crate) fn absolute<F: Small>(x: u16, control: Control) -> u16 {
    if is_nan::<F>(x) { nan::<F>() } else { operand::<F>(x, control) as u16 & 0x7fff }
}

/// What `min` and `max` give when an operand is NaN: NaN for two of them or when NaNs propagate, else the number.
fn without_order<F: Small>(a: u16, b: u16, propagate: bool) -> Option<u16> {
    match (is_nan::<F>(a), is_nan::<F>(b)) {
        (false, false) => None,
        (true, false) if !propagate => Some(b),
        (false, true) if !propagate => Some(a),
        _ => Some(nan::<F>()),
    }
}

/// The smaller operand, for a `control` that may flush. A NaN loses against a number unless NaNs propagate.
pub(crate) fn min<F: Small>(a: u16, b: u16, control: Control, propagate: bool) -> u16 {
    let (a, b) = (operand::<F>(a, control) as u16, operand::<F>(b, control) as u16);
    without_order::<F>(a, b, propagate).unwrap_or(if order(b) < order(a) { b } else { a })
}

/// The larger operand, under the same conditions.
pub(crate) fn max<F: Small>(a: u16, b: u16, control: Control, propagate: bool) -> u16 {
    let (a, b) = (operand::<F>(a, control) as u16, operand::<F>(b, control) as u16);
    without_order::<F>(a, b, propagate).unwrap_or(if order(b) > order(a) { b } else { a })
}

/// 2 to the power of `x`.
pub(crate) fn exponential<F: Small>(x: u16, control: Control) -> u16 {
    let x = f64::from(widen::<F>(operand::<F>(x, control) as u16));
    result::<F>(narrow::<F>(x.exp2()).into(), control)
}

/// The hyperbolic tangent.
pub(crate) fn tangent<F: Small>(x: u16, control: Control) -> u16 {
    let x = f64::from(widen::<F>(operand::<F>(x, control) as u16));
    result::<F>(narrow::<F>(x.tanh()).into(), control)
}

/// The exact value. A NaN becomes the one of single precision.
pub(crate) fn widen<F: Small>(x: u16) -> f32 {
    f32::from_bits(soft::reformat(x.into(), F::FORMAT, soft::SINGLE, Rounding::Near) as u32)
}

/// The nearest value.
pub(crate) fn narrow<F: Small>(x: f64) -> u16 {
    soft::reformat(x.to_bits(), soft::DOUBLE, F::FORMAT, Rounding::Near) as u16
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

    const PLAIN: Control = Control::PLAIN;

    #[test]
    fn known_values_in_half_precision() {
        assert_eq!(add::<F16>(0x3c00, 0x3c00, PLAIN), 0x4000);
        assert_eq!(sub::<F16>(0x3c00, 0x4000, PLAIN), 0xbc00);
        assert_eq!(mul::<F16>(0x7bff, 0x4000, PLAIN), 0x7c00);
        assert_eq!(fused::<F16>(0x3c01, 0x3c01, 0xbc02, PLAIN), 0x0010);
        assert_eq!(add::<F16>(0x7c00, 0xfc00, PLAIN), 0x7fff);
        assert_eq!(mul::<F16>(0x0001, 0x3800, PLAIN), 0x0000);
        assert_eq!(widen::<F16>(0x0001), 5.960_464_5e-8);
        assert_eq!(pairwise([0x3c00_4000, 0x3c00_3c00], |[a, b]| add::<F16>(a, b, PLAIN)), 0x4000_4200);
        let flush = Control { flush: true, ..PLAIN };
        assert_eq!(add::<F16>(0x8001, 0x8000, flush), 0x8000);
        assert_eq!(mul::<F16>(0x3bff, 0x8400, flush), 0x8000);
        assert_eq!(mul::<F16>(0x3bff, 0x8400, PLAIN), 0x8400);
        assert_eq!(mul::<F16>(0x3c00, 0x8400, flush), 0x8400);
    }

    #[test]
    fn known_values_with_the_exponent_of_single_precision() {
        assert_eq!(add::<Bf16>(0x3f80, 0x3f80, PLAIN), 0x4000);
        assert_eq!(mul::<Bf16>(0x7f7f, 0x4000, PLAIN), 0x7f80);
        assert_eq!(fused::<Bf16>(0x3f81, 0x3f81, 0xbf82, PLAIN), 0x3880);
        assert_eq!(sub::<Bf16>(0x7f80, 0x7f80, PLAIN), 0x7fff);
        assert_eq!(narrow::<Bf16>(1.003_906_25), 0x3f80);
        assert_eq!(widen::<Bf16>(0x3fc0), 1.5);
    }

    #[test]
    fn saturation_and_rectification() {
        let saturate = Control { saturate: true, ..PLAIN };
        assert_eq!(add::<F16>(0x3c00, 0x3c00, saturate), 0x3c00);
        assert_eq!(add::<F16>(0x7e00, 0, saturate), 0);
        assert_eq!(sub::<F16>(0, 0x3c00, saturate), 0);
        let relu = Control { relu: true, ..PLAIN };
        assert_eq!(fused::<F16>(0x3c00, 0xbc00, 0, relu), 0);
        assert_eq!(fused::<F16>(0x3c00, 0x3c00, 0, relu), 0x3c00);
        assert_eq!(fused::<F16>(0xfe00, 0x3c00, 0, relu), 0x7fff);
    }

    #[test]
    fn extremes_order_zeros_and_skip_nan() {
        let extremes = |a, b| (min::<F16>(a, b, PLAIN, false), max::<F16>(a, b, PLAIN, false));
        assert_eq!(extremes(0x8000, 0), (0x8000, 0));
        assert_eq!(extremes(0x7e00, 0x3c00), (0x3c00, 0x3c00));
        assert_eq!(max::<F16>(0xfc00, 0x7e00, PLAIN, false), 0xfc00);
        assert_eq!(max::<F16>(0xfc00, 0x7e00, PLAIN, true), 0x7fff);
        assert_eq!(min::<Bf16>(0x7f81, 0x7f81, PLAIN, false), 0x7fff);
    }
}
