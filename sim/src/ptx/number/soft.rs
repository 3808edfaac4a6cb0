//! Exact binary floating-point arithmetic on bit patterns, in any format up to 64 bits and with any rounding.
//!
//! A finite number is `mantissa * 2^exponent` with a mantissa of 128 bits. Operations are exact, except that bits far below
//! any rounding position are folded into the lowest bit ("sticky"), which keeps every comparison with a rounding boundary
//! right. `round` then produces the one correctly rounded pattern.

use super::Rounding;

/// A binary interchange format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Format {
    /// Bits of the significand, the hidden one included.
    precision: u32,
    /// Bits of the exponent field.
    exponent_bits: u32,
    /// The pattern of a NaN that an operation makes up.
    pub(crate) nan: u64,
}

pub(crate) const HALF: Format = Format { precision: 11, exponent_bits: 5, nan: 0x7fff };
pub(crate) const BRAIN: Format = Format { precision: 8, exponent_bits: 8, nan: 0x7fff };
pub(crate) const SINGLE: Format = Format { precision: 24, exponent_bits: 8, nan: 0x7fff_ffff };
pub(crate) const DOUBLE: Format = Format { precision: 53, exponent_bits: 11, nan: 0xfff8_0000_0000_0000 };

impl Format {
    /// The position of the sign bit.
    const fn sign(self) -> u32 {
        self.precision + self.exponent_bits - 1
    }

    /// The exponent of the smallest denormal.
    const fn lowest(self) -> i32 {
        3 - (1 << (self.exponent_bits - 1)) - self.precision as i32
    }

    /// Infinity without its sign.
    pub(crate) const fn infinity(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << (self.precision - 1)
    }

    /// The smallest normal number.
    pub(crate) const fn smallest_normal(self) -> u64 {
        1 << (self.precision - 1)
    }

    const fn signed(self, negative: bool, magnitude: u64) -> u64 {
        magnitude | (negative as u64) << self.sign()
    }
}

/// `(-1)^negative * mantissa * 2^exponent`, the mantissa not zero.
#[derive(Debug, Clone, Copy)]
struct Finite {
    negative: bool,
    mantissa: u128,
    exponent: i32,
}

#[derive(Debug, Clone, Copy)]
enum Number {
    Nan,
    Infinity(bool),
    Zero(bool),
    Finite(Finite),
}

fn unpack(bits: u64, format: Format) -> Number {
    let negative = bits >> format.sign() & 1 != 0;
    let magnitude = bits & ((1 << format.sign()) - 1);
    let fraction_bits = format.precision - 1;
    let field = (magnitude >> fraction_bits) as i32;
    let fraction = magnitude & ((1 << fraction_bits) - 1);
    if magnitude > format.infinity() {
        Number::Nan
    } else if magnitude == format.infinity() {
        Number::Infinity(negative)
    } else if magnitude == 0 {
        Number::Zero(negative)
    } else if field == 0 {
        Number::Finite(Finite { negative, mantissa: fraction.into(), exponent: format.lowest() })
    } else {
        let mantissa = u128::from(fraction | 1 << fraction_bits);
        Number::Finite(Finite { negative, mantissa, exponent: format.lowest() + field - 1 })
    }
}

fn round(value: Finite, format: Format, rounding: Rounding) -> u64 {
    let Finite { negative, mantissa, exponent } = value;
    let top = exponent + 127 - mantissa.leading_zeros() as i32;
    // The exponent of the result's last bit, were there no overflow.
    let unit = format.lowest().max(top - (format.precision as i32 - 1));
    let kept = if unit <= exponent {
        // The top bit lands inside the precision, so nothing is shifted out.
        (mantissa << (exponent - unit)) as u64
    } else {
        let shift = (unit - exponent) as u32;
        let kept = mantissa.checked_shr(shift).unwrap_or(0);
        let lost = mantissa - kept.checked_shl(shift).unwrap_or(0);
        let half = 1u128.checked_shl(shift - 1);
        let up = match rounding {
            Rounding::Near => half.is_some_and(|half| lost > half || lost == half && kept & 1 == 1),
            Rounding::Zero => false,
            Rounding::Down => negative && lost != 0,
            Rounding::Up => !negative && lost != 0,
        };
        kept as u64 + u64::from(up)
    };
    // The hidden bit of a normal number, and a carry out of the significand, add one to the exponent field by themselves.
    let field = (unit - format.lowest()) as u64;
    if field < (1 << format.exponent_bits) - 1 {
        let magnitude = (field << (format.precision - 1)) + kept;
        if magnitude < format.infinity() {
            return format.signed(negative, magnitude);
        }
    }
    let to_infinity = match rounding {
        Rounding::Near => true,
        Rounding::Zero => false,
        Rounding::Down => negative,
        Rounding::Up => !negative,
    };
    format.signed(negative, format.infinity() - u64::from(!to_infinity))
}

/// Shifts the mantissa up until its highest bit is bit 125, so that a sum cannot overflow. Mantissas of operands and of
/// products have 106 bits at most.
fn lifted(value: Finite) -> Finite {
    let room = value.mantissa.leading_zeros() - 2;
    Finite { mantissa: value.mantissa << room, exponent: value.exponent - room as i32, ..value }
}

/// The sum; `None` when it is exactly zero.
fn sum(a: Finite, b: Finite) -> Option<Finite> {
    let (a, b) = (lifted(a), lifted(b));
    let (high, low) = if a.exponent >= b.exponent { (a, b) } else { (b, a) };
    let shift = (high.exponent - low.exponent) as u32;
    let shifted = low.mantissa.checked_shr(shift).unwrap_or(0);
    let lost = shifted.checked_shl(shift).unwrap_or(0) != low.mantissa;
    let low_mantissa = shifted | u128::from(lost);
    let (negative, mantissa) = if high.negative == low.negative {
        (high.negative, high.mantissa + low_mantissa)
    } else if high.mantissa >= low_mantissa {
        (high.negative, high.mantissa - low_mantissa)
    } else {
        (low.negative, low_mantissa - high.mantissa)
    };
    (mantissa != 0).then_some(Finite { negative, mantissa, exponent: high.exponent })
}

fn product(a: Finite, b: Finite) -> Finite {
    Finite { negative: a.negative != b.negative, mantissa: a.mantissa * b.mantissa, exponent: a.exponent + b.exponent }
}

/// The sign of a sum that is exactly zero although its terms were not, or were zeros of unlike signs.
fn zero_sum(rounding: Rounding) -> bool {
    rounding == Rounding::Down
}

/// `a + b`
pub(crate) fn add(a: u64, b: u64, format: Format, rounding: Rounding) -> u64 {
    match (unpack(a, format), unpack(b, format)) {
        (Number::Nan, _) | (_, Number::Nan) => format.nan,
        (Number::Infinity(x), Number::Infinity(y)) if x != y => format.nan,
        (Number::Infinity(x), _) | (_, Number::Infinity(x)) => format.signed(x, format.infinity()),
        (Number::Zero(x), Number::Zero(y)) => format.signed(if x == y { x } else { zero_sum(rounding) }, 0),
        (Number::Zero(_), Number::Finite(x)) | (Number::Finite(x), Number::Zero(_)) => round(x, format, rounding),
        (Number::Finite(x), Number::Finite(y)) => match sum(x, y) {
            Some(value) => round(value, format, rounding),
            None => format.signed(zero_sum(rounding), 0),
        },
    }
}

/// `-a`
pub(crate) fn negate(a: u64, format: Format) -> u64 {
    a ^ 1 << format.sign()
}

/// `a * b`
pub(crate) fn multiply(a: u64, b: u64, format: Format, rounding: Rounding) -> u64 {
    multiply_add(a, b, None, format, rounding)
}

/// `a * b + c` with one rounding.
pub(crate) fn fused(a: u64, b: u64, c: u64, format: Format, rounding: Rounding) -> u64 {
    multiply_add(a, b, Some(c), format, rounding)
}

fn multiply_add(a: u64, b: u64, c: Option<u64>, format: Format, rounding: Rounding) -> u64 {
    use Number::{Finite as Fin, Infinity, Nan, Zero};
    let (a, b) = (unpack(a, format), unpack(b, format));
    let c = c.map(|c| unpack(c, format));
    let ab = match (a, b) {
        (Nan, _) | (_, Nan) | (Infinity(_), Zero(_)) | (Zero(_), Infinity(_)) => Nan,
        (Infinity(x), Infinity(y)) => Infinity(x != y),
        (Infinity(x), Fin(y)) | (Fin(y), Infinity(x)) => Infinity(x != y.negative),
        (Zero(x), Zero(y)) => Zero(x != y),
        (Zero(x), Fin(y)) | (Fin(y), Zero(x)) => Zero(x != y.negative),
        (Fin(x), Fin(y)) => Fin(product(x, y)),
    };
    match (ab, c) {
        (Nan, _) | (_, Some(Nan)) => format.nan,
        (Infinity(x), Some(Infinity(y))) if x != y => format.nan,
        (Infinity(x), _) | (_, Some(Infinity(x))) => format.signed(x, format.infinity()),
        (Zero(x), Some(Zero(y))) => format.signed(if x == y { x } else { zero_sum(rounding) }, 0),
        (Zero(x), None) => format.signed(x, 0),
        (Fin(x), None | Some(Zero(_))) | (Zero(_), Some(Fin(x))) => round(x, format, rounding),
        (Fin(x), Some(Fin(y))) => match sum(x, y) {
            Some(value) => round(value, format, rounding),
            None => format.signed(zero_sum(rounding), 0),
        },
    }
}

/// `a / b`
pub(crate) fn divide(a: u64, b: u64, format: Format, rounding: Rounding) -> u64 {
    use Number::{Finite as Fin, Infinity, Nan, Zero};
    let negative = (a ^ b) >> format.sign() & 1 != 0;
    match (unpack(a, format), unpack(b, format)) {
        (Nan, _) | (_, Nan) | (Infinity(_), Infinity(_)) | (Zero(_), Zero(_)) => format.nan,
        (Infinity(_), _) | (_, Zero(_)) => format.signed(negative, format.infinity()),
        (Zero(_), _) | (_, Infinity(_)) => format.signed(negative, 0),
        (Fin(x), Fin(y)) => {
            // At least 125 bits over at most 53: a quotient of 72 bits or more, then the sticky bit.
            let x = lifted(x);
            let quotient = x.mantissa / y.mantissa;
            let inexact = !x.mantissa.is_multiple_of(y.mantissa);
            let mantissa = quotient << 1 | u128::from(inexact);
            round(Finite { negative, mantissa, exponent: x.exponent - y.exponent - 1 }, format, rounding)
        }
    }
}

/// The square root.
pub(crate) fn square_root(a: u64, format: Format, rounding: Rounding) -> u64 {
    match unpack(a, format) {
        Number::Zero(negative) => format.signed(negative, 0),
        Number::Infinity(false) => format.infinity(),
        Number::Finite(x) if !x.negative => {
            let mut x = lifted(x);
            if x.exponent & 1 != 0 {
                // Bit 125 moves to 126: the mantissa has 127 bits at most.
                x = Finite { mantissa: x.mantissa << 1, exponent: x.exponent - 1, ..x };
            }
            let root = x.mantissa.isqrt();
            let inexact = root * root != x.mantissa;
            let mantissa = root << 1 | u128::from(inexact);
            round(Finite { negative: false, mantissa, exponent: x.exponent / 2 - 1 }, format, rounding)
        }
        _ => format.nan,
    }
}

/// The same number in another format. NaN becomes the target's NaN.
pub(crate) fn reformat(a: u64, from: Format, to: Format, rounding: Rounding) -> u64 {
    match unpack(a, from) {
        Number::Nan => to.nan,
        Number::Infinity(negative) => to.signed(negative, to.infinity()),
        Number::Zero(negative) => to.signed(negative, 0),
        Number::Finite(x) => round(x, to, rounding),
    }
}

/// Whether `a` is NaN.
pub(crate) fn is_nan(a: u64, format: Format) -> bool {
    matches!(unpack(a, format), Number::Nan)
}

/// A NaN in another format: its sign, its upper bits, quiet. `None` when `a` is a number.
pub(crate) fn translated_nan(a: u64, from: Format, to: Format) -> Option<u64> {
    let Number::Nan = unpack(a, from) else { return None };
    let negative = a >> from.sign() & 1 != 0;
    let fraction = (a & ((1 << (from.precision - 1)) - 1)) << (DOUBLE.precision - from.precision);
    let fraction = fraction >> (DOUBLE.precision - to.precision);
    let quiet = 1 << (to.precision - 2);
    Some(to.signed(negative, to.infinity() | fraction | quiet))
}

/// The number limited to [0, 1]; NaN becomes 0.
pub(crate) fn clamped(a: u64, format: Format) -> u64 {
    let one = from_integer(false, 1, format, Rounding::Near);
    match a {
        a if a <= one => a,
        a if a <= format.infinity() => one,
        _ => 0,
    }
}

/// The number, or zero when it is negative. NaN becomes the NaN that an operation makes up.
pub(crate) fn rectified(a: u64, format: Format) -> u64 {
    match unpack(a, format) {
        Number::Nan => format.nan,
        _ if a >> format.sign() & 1 != 0 => 0,
        _ => a,
    }
}

/// An integer in a floating-point format.
pub(crate) fn from_integer(negative: bool, magnitude: u64, format: Format, rounding: Rounding) -> u64 {
    match magnitude {
        0 => format.signed(false, 0),
        _ => round(Finite { negative, mantissa: magnitude.into(), exponent: 0 }, format, rounding),
    }
}

/// What a floating-point number is as an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Integer {
    Nan,
    /// The value, limited to what `i128` holds; infinities are at the limits.
    Value(i128),
}

/// The nearest integer in the direction of `rounding`.
pub(crate) fn to_integer(a: u64, format: Format, rounding: Rounding) -> Integer {
    let x = match unpack(a, format) {
        Number::Nan => return Integer::Nan,
        Number::Infinity(negative) => return Integer::Value(if negative { i128::MIN } else { i128::MAX }),
        Number::Zero(_) => return Integer::Value(0),
        Number::Finite(x) => x,
    };
    if x.exponent > 64 {
        return Integer::Value(if x.negative { i128::MIN } else { i128::MAX });
    }
    let magnitude = if x.exponent >= 0 {
        x.mantissa << x.exponent
    } else {
        let shift = x.exponent.unsigned_abs();
        let kept = x.mantissa.checked_shr(shift).unwrap_or(0);
        let lost = x.mantissa - kept.checked_shl(shift).unwrap_or(0);
        let half = 1u128.checked_shl(shift - 1);
        let up = match rounding {
            Rounding::Near => half.is_some_and(|half| lost > half || lost == half && kept & 1 == 1),
            Rounding::Zero => false,
            Rounding::Down => x.negative && lost != 0,
            Rounding::Up => !x.negative && lost != 0,
        };
        kept + u128::from(up)
    };
    // 53 bits shifted by at most 64: within i128.
    let magnitude = magnitude as i128;
    Integer::Value(if x.negative { -magnitude } else { magnitude })
}

/// The number rounded to an integer, in the same format. A zero result keeps the sign.
pub(crate) fn to_integral(a: u64, format: Format, rounding: Rounding) -> u64 {
    let Number::Finite(x) = unpack(a, format) else {
        return if let Number::Nan = unpack(a, format) { format.nan } else { a };
    };
    if x.exponent >= 0 {
        return a;
    }
    let Integer::Value(value) = to_integer(a, format, rounding) else { return format.nan };
    match value.unsigned_abs() {
        0 => format.signed(x.negative, 0),
        mantissa => round(Finite { negative: x.negative, mantissa, exponent: 0 }, format, Rounding::Near),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Patterns with many carries, cancellations, denormals and specials, and a reproducible stream of others.
    fn patterns(count: usize, width: u32) -> Vec<u64> {
        let mut out = Vec::new();
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        for i in 0..count {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let mut bits = state;
            if i % 3 == 0 {
                // Few distinct exponents and long runs of equal bits provoke ties and cancellation.
                bits = (bits & 0x8380_0000_0000_00ff) | if i % 2 == 0 { 0x007f_ffff_ffff_ff00 } else { 0 };
            }
            out.push(if width == 32 { bits >> 32 } else { bits });
        }
        let specials32 = [0u64, 0x8000_0000, 1, 0x8000_0001, 0x007f_ffff, 0x0080_0000, 0x3f80_0000, 0xbf80_0000];
        let specials32b = [0x7f7f_ffff, 0xff7f_ffff, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x3f7f_ffff, 0x3f80_0001];
        for s in specials32.into_iter().chain(specials32b) {
            out.push(if width == 32 { s } else { f64::from(f32::from_bits(s as u32)).to_bits() });
        }
        if width == 64 {
            out.extend([1, 0x8000_0000_0000_0001, 0x000f_ffff_ffff_ffff, 0x0010_0000_0000_0000, 0x7fef_ffff_ffff_ffff]);
        }
        out
    }

    fn same32(soft: u64, native: f32) -> bool {
        soft as u32 == native.to_bits() || native.is_nan() && soft == SINGLE.nan
    }

    fn same64(soft: u64, native: f64) -> bool {
        soft == native.to_bits() || native.is_nan() && soft == DOUBLE.nan
    }

    #[test]
    fn rounding_to_nearest_is_what_the_machine_does_in_single_precision() {
        let values = patterns(600, 32);
        for &a in &values {
            let x = f32::from_bits(a as u32);
            assert!(same32(square_root(a, SINGLE, Rounding::Near), x.sqrt()), "sqrt {a:#x}");
            for &b in &values {
                let y = f32::from_bits(b as u32);
                assert!(same32(add(a, b, SINGLE, Rounding::Near), x + y), "{a:#x} + {b:#x}");
                assert!(same32(multiply(a, b, SINGLE, Rounding::Near), x * y), "{a:#x} * {b:#x}");
                assert!(same32(divide(a, b, SINGLE, Rounding::Near), x / y), "{a:#x} / {b:#x}");
                let c = values[(a ^ b) as usize % values.len()];
                let z = f32::from_bits(c as u32);
                assert!(same32(fused(a, b, c, SINGLE, Rounding::Near), x.mul_add(y, z)), "fma {a:#x} {b:#x} {c:#x}");
            }
        }
    }

    #[test]
    fn rounding_to_nearest_is_what_the_machine_does_in_double_precision() {
        let values = patterns(500, 64);
        for &a in &values {
            let x = f64::from_bits(a);
            assert!(same64(square_root(a, DOUBLE, Rounding::Near), x.sqrt()), "sqrt {a:#x}");
            assert!(same32(reformat(a, DOUBLE, SINGLE, Rounding::Near), x as f32), "to single {a:#x}");
            for &b in &values {
                let y = f64::from_bits(b);
                assert!(same64(add(a, b, DOUBLE, Rounding::Near), x + y), "{a:#x} + {b:#x}");
                assert!(same64(multiply(a, b, DOUBLE, Rounding::Near), x * y), "{a:#x} * {b:#x}");
                assert!(same64(divide(a, b, DOUBLE, Rounding::Near), x / y), "{a:#x} / {b:#x}");
                let c = values[(a ^ b) as usize % values.len()];
                let z = f64::from_bits(c);
                assert!(same64(fused(a, b, c, DOUBLE, Rounding::Near), x.mul_add(y, z)), "fma {a:#x} {b:#x} {c:#x}");
            }
        }
    }

    /// Directed results bracket the exact value: they are neighbours (or equal when exact), nearest is one of them, and
    /// toward zero is the smaller in magnitude.
    #[test]
    fn directed_rounding_brackets_the_nearest_result() {
        let values = patterns(400, 32);
        let mut inexact = 0;
        for &a in &values {
            for &b in &values {
                for op in [add, multiply, divide] {
                    let [near, zero, down, up] =
                        [Rounding::Near, Rounding::Zero, Rounding::Down, Rounding::Up].map(|r| op(a, b, SINGLE, r));
                    let [n, z, d, u] = [near, zero, down, up].map(|bits| f32::from_bits(bits as u32));
                    if n.is_nan() {
                        assert!(z.is_nan() && d.is_nan() && u.is_nan());
                        continue;
                    }
                    assert!(d <= u && (n == d || n == u), "{a:#x} {b:#x}: {d:e} {n:e} {u:e}");
                    assert!(d == u || d.next_up() == u, "{a:#x} {b:#x}: {d:e} {u:e} are not neighbours");
                    assert_eq!(z, if n.is_sign_negative() && n != 0.0 || u == 0.0 { u } else { d }, "{a:#x} {b:#x}");
                    inexact += u32::from(d != u);
                }
            }
        }
        assert!(inexact > 10_000);
    }

    #[test]
    fn directed_rounding_of_known_values() {
        let one = u64::from(1f32.to_bits());
        let three = u64::from(3f32.to_bits());
        assert_eq!(divide(one, three, SINGLE, Rounding::Down), 0x3eaa_aaaa);
        assert_eq!(divide(one, three, SINGLE, Rounding::Up), 0x3eaa_aaab);
        let tiny = 1u64;
        assert_eq!(add(one, tiny, SINGLE, Rounding::Up), one + 1);
        assert_eq!(add(one, negate(tiny, SINGLE), SINGLE, Rounding::Zero), one - 1);
        let max = u64::from(f32::MAX.to_bits());
        assert_eq!(add(max, max, SINGLE, Rounding::Zero), max);
        assert_eq!(add(max, max, SINGLE, Rounding::Up), SINGLE.infinity());
        assert_eq!(multiply(tiny, tiny, SINGLE, Rounding::Up), 1);
        assert_eq!(multiply(tiny, tiny, SINGLE, Rounding::Near), 0);
        assert_eq!(add(one, negate(one, SINGLE), SINGLE, Rounding::Down), 0x8000_0000);
        assert_eq!(square_root(u64::from(2f32.to_bits()), SINGLE, Rounding::Up), 0x3fb5_04f4);
        assert_eq!(square_root(u64::from(2f32.to_bits()), SINGLE, Rounding::Down), 0x3fb5_04f3);
    }

    #[test]
    fn integers_round_in_every_direction() {
        let half = |x: f64, r| to_integer(x.to_bits(), DOUBLE, r);
        assert_eq!(half(2.5, Rounding::Near), Integer::Value(2));
        assert_eq!(half(3.5, Rounding::Near), Integer::Value(4));
        assert_eq!(half(-2.5, Rounding::Down), Integer::Value(-3));
        assert_eq!(half(-2.5, Rounding::Up), Integer::Value(-2));
        assert_eq!(half(1e-300, Rounding::Up), Integer::Value(1));
        assert_eq!(half(f64::NAN, Rounding::Up), Integer::Nan);
        assert_eq!(half(-1e300, Rounding::Zero), Integer::Value(i128::MIN));
        assert_eq!(
            f64::from_bits(to_integral((-0.4f64).to_bits(), DOUBLE, Rounding::Near)).to_bits(),
            (-0.0f64).to_bits()
        );
        for x in [0.5f32, 1.5, 2.5, 8388607.5, 8388609.0, -7.5, 1e20, 0.3] {
            let bits = u64::from(x.to_bits());
            assert_eq!(to_integral(bits, SINGLE, Rounding::Near) as u32, x.round_ties_even().to_bits(), "{x}");
            assert_eq!(to_integral(bits, SINGLE, Rounding::Down) as u32, x.floor().to_bits(), "{x}");
            assert_eq!(to_integral(bits, SINGLE, Rounding::Up) as u32, x.ceil().to_bits(), "{x}");
            assert_eq!(to_integral(bits, SINGLE, Rounding::Zero) as u32, x.trunc().to_bits(), "{x}");
        }
        assert_eq!(from_integer(true, 1 << 63, SINGLE, Rounding::Near) as u32, (i64::MIN as f32).to_bits());
        assert_eq!(from_integer(false, 16_777_217, SINGLE, Rounding::Up) as u32, 16_777_218f32.to_bits());
        assert_eq!(
            from_integer(false, u64::MAX, DOUBLE, Rounding::Zero),
            f64::from_bits(0x43ef_ffff_ffff_ffff).to_bits()
        );
    }
}
