//! The floating-point operations of PTX in single and double precision.
//!
//! The plain forms (to nearest, no flushing, no saturation) are the machine's own operation plus a fixed NaN; they are
//! written so that a loop over lanes becomes vector code. The forms with a [`Control`] cover everything else.

use super::{
    Control, Rounding,
    soft::{self, DOUBLE, Format, SINGLE},
};

/// The NaN that single-precision operations give.
const NAN32: f32 = f32::from_bits(SINGLE.nan as u32);
const QUIET64: u64 = 1 << 51;

// Whether a value is NaN is asked of its bits here: the compiler may take `if x.is_nan() { NAN } else { x }` for `x`,
// because to it all NaNs are alike.

#[inline(always)]
fn is_nan32(x: f32) -> bool {
    x.to_bits() & 0x7fff_ffff > 0x7f80_0000
}

#[inline(always)]
fn is_nan64(x: f64) -> bool {
    x.to_bits() & 0x7fff_ffff_ffff_ffff > 0x7ff0_0000_0000_0000
}

/// The result of a single-precision operation: every NaN becomes the one that GPUs give.
#[inline(always)]
pub(crate) fn canonical(x: f32) -> f32 {
    if is_nan32(x) { NAN32 } else { x }
}

/// A double-precision `result`, or the NaN that it stands for: the first operand that is one, made quiet, or the NaN
/// that an operation makes up.
#[inline(always)]
pub(crate) fn settled(result: f64, operands: [f64; 2]) -> f64 {
    let [first, second] = operands;
    settled3(result, [first, second, second])
}

/// The same with three operands.
#[inline(always)]
pub(crate) fn settled3(result: f64, operands: [f64; 3]) -> f64 {
    if !is_nan64(result) {
        return result;
    }
    let [first, second, third] = operands;
    let bits = if is_nan64(first) {
        first.to_bits() | QUIET64
    } else if is_nan64(second) {
        second.to_bits() | QUIET64
    } else if is_nan64(third) {
        third.to_bits() | QUIET64
    } else {
        DOUBLE.nan
    };
    f64::from_bits(bits)
}

/// The same number in double precision. A NaN keeps its sign and its bits.
#[inline(always)]
pub(crate) fn widen(x: f32) -> f64 {
    let bits = u64::from(x.to_bits());
    if is_nan32(x) { f64::from_bits(bits >> 31 << 63 | 0x7ff8 << 48 | bits << 29 & (u64::MAX >> 12)) } else { x.into() }
}

/// The nearest number in single precision. A NaN keeps its sign and its upper bits.
#[inline(always)]
pub(crate) fn narrow(x: f64) -> f32 {
    let bits = x.to_bits();
    if is_nan64(x) {
        f32::from_bits((bits >> 63 << 31) as u32 | 0x7fc0_0000 | (bits >> 29) as u32 & 0x003f_ffff)
    } else {
        x as f32
    }
}

/// Zero of the same sign when `x` is denormal.
#[inline(always)]
pub(crate) fn flushed(x: f32) -> f32 {
    if x.is_subnormal() { 0f32.copysign(x) } else { x }
}

impl Control {
    #[inline(always)]
    pub(crate) fn operand(self, x: f32) -> f32 {
        if self.flush { flushed(x) } else { x }
    }

    #[inline(always)]
    pub(crate) fn result(self, x: f32) -> f32 {
        let x = if self.flush { flushed(x) } else { x };
        match self.saturate {
            true if x > 0.0 => x.min(1.0),
            true => 0.0,
            false => canonical(x),
        }
    }
}

/// The operations with two operands and a rounding.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
}

fn soft_binary(op: Binary, a: u64, b: u64, format: Format, rounding: Rounding) -> u64 {
    match op {
        Binary::Add => soft::add(a, b, format, rounding),
        Binary::Sub => soft::add(a, soft::negate(b, format), format, rounding),
        Binary::Mul => soft::multiply(a, b, format, rounding),
        Binary::Div => soft::divide(a, b, format, rounding),
    }
}

/// A single-precision operation in any of its forms.
#[inline(always)]
pub(crate) fn binary32(op: Binary, a: f32, b: f32, control: Control) -> f32 {
    let (a, b) = (control.operand(a), control.operand(b));
    let exact = match (control.rounding, op) {
        (Rounding::Near, Binary::Add) => a + b,
        (Rounding::Near, Binary::Sub) => a - b,
        (Rounding::Near, Binary::Mul) => a * b,
        (Rounding::Near, Binary::Div) => a / b,
        (rounding, op) => {
            f32::from_bits(soft_binary(op, a.to_bits().into(), b.to_bits().into(), SINGLE, rounding) as u32)
        }
    };
    control.result(if control.flush && op.is_tiny(a, b) { 0f32.copysign(exact) } else { exact })
}

impl Binary {
    /// Whether the exact product or quotient is below the smallest normal number. Double precision holds what is compared.
    /// A sum is no case for it: below that number sums are exact.
    #[inline(always)]
    fn is_tiny(self, a: f32, b: f32) -> bool {
        const SMALLEST: f64 = f32::MIN_POSITIVE as f64;
        let (a, b) = (f64::from(a).abs(), f64::from(b).abs());
        match self {
            Binary::Add | Binary::Sub => false,
            Binary::Mul => a * b < SMALLEST,
            Binary::Div => a < b * SMALLEST,
        }
    }

    /// The operands in the order in which their NaNs win: for sums and products the second one first.
    #[inline(always)]
    pub(crate) fn nan_order(self, a: f64, b: f64) -> [f64; 2] {
        match self {
            Binary::Add | Binary::Sub | Binary::Mul => [b, a],
            Binary::Div => [a, b],
        }
    }
}

/// A double-precision operation in any of its forms.
pub(crate) fn binary64(op: Binary, a: f64, b: f64, rounding: Rounding) -> f64 {
    let result = soft_binary(op, a.to_bits(), b.to_bits(), DOUBLE, rounding);
    settled(f64::from_bits(result), op.nan_order(a, b))
}

/// `a * b + c`, rounded once, in any of its forms.
#[inline(always)]
pub(crate) fn fused32(a: f32, b: f32, c: f32, control: Control) -> f32 {
    let [a, b, c] = [a, b, c].map(|x| control.operand(x));
    let exact = match control.rounding {
        Rounding::Near => a.mul_add(b, c),
        rounding => soft_fused32(a, b, c, rounding),
    };
    // Rounding may have lifted the value to the smallest normal number; rounded towards zero, it shows where it came from.
    let lifted =
        control.flush && exact.abs() == f32::MIN_POSITIVE && soft_fused32(a, b, c, Rounding::Zero).is_subnormal();
    control.result(if lifted { 0f32.copysign(exact) } else { exact })
}

fn soft_fused32(a: f32, b: f32, c: f32, rounding: Rounding) -> f32 {
    let [a, b, c] = [a, b, c].map(|x| u64::from(x.to_bits()));
    f32::from_bits(soft::fused(a, b, c, SINGLE, rounding) as u32)
}

/// `a * b + c`, rounded once, in any direction.
pub(crate) fn fused64(a: f64, b: f64, c: f64, rounding: Rounding) -> f64 {
    let bits = soft::fused(a.to_bits(), b.to_bits(), c.to_bits(), DOUBLE, rounding);
    settled3(f64::from_bits(bits), [b, c, a])
}

/// The square root in any of its forms.
#[inline(always)]
pub(crate) fn root32(a: f32, control: Control) -> f32 {
    let a = control.operand(a);
    let exact = match control.rounding {
        Rounding::Near => a.sqrt(),
        rounding => f32::from_bits(soft::square_root(a.to_bits().into(), SINGLE, rounding) as u32),
    };
    control.result(exact)
}

/// The square root in any direction.
pub(crate) fn root64(a: f64, rounding: Rounding) -> f64 {
    settled(f64::from_bits(soft::square_root(a.to_bits(), DOUBLE, rounding)), [a, a])
}

/// What `min` and `max` do with a NaN among their operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NanRule {
    /// The other operand wins.
    Ignore,
    /// `.NaN`: the result is NaN.
    Propagate,
}

/// What `min` and `max` give for two NaNs, the second of which is `b`.
#[inline(always)]
fn no_number32(_: f32) -> f32 {
    NAN32
}

#[inline(always)]
fn no_number64(b: f64) -> f64 {
    f64::from_bits(b.to_bits() | QUIET64)
}

macro_rules! extremes {
    ($min:ident, $max:ident, $type:ty, $is_nan:ident, $no_number:ident) => {
        /// The smaller operand; -0 is smaller than +0; two NaNs give NaN.
        #[inline(always)]
        pub(crate) fn $min(a: $type, b: $type, rule: NanRule) -> $type {
            match ($is_nan(a), $is_nan(b)) {
                (false, false) if a < b => a,
                (false, false) if b < a => b,
                (false, false) => <$type>::from_bits(a.to_bits() | b.to_bits()),
                (true, false) if rule == NanRule::Ignore => b,
                (false, true) if rule == NanRule::Ignore => a,
                _ => $no_number(b),
            }
        }

        /// The larger operand; +0 is larger than -0; two NaNs give NaN.
        #[inline(always)]
        pub(crate) fn $max(a: $type, b: $type, rule: NanRule) -> $type {
            match ($is_nan(a), $is_nan(b)) {
                (false, false) if a > b => a,
                (false, false) if b > a => b,
                (false, false) => <$type>::from_bits(a.to_bits() & b.to_bits()),
                (true, false) if rule == NanRule::Ignore => b,
                (false, true) if rule == NanRule::Ignore => a,
                _ => $no_number(b),
            }
        }
    };
}

extremes!(min32, max32, f32, is_nan32, no_number32);
extremes!(min64, max64, f64, is_nan64, no_number64);

/// `-x` or `|x|` of a double; a NaN keeps its sign and becomes quiet.
#[inline(always)]
pub(crate) fn with_sign(x: f64, signed: f64) -> f64 {
    if is_nan64(x) { no_number64(x) } else { signed }
}

/// The properties that `testp` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Property {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

impl Property {
    pub(crate) const ALL: [Property; 6] = [
        Property::Finite,
        Property::Infinite,
        Property::Number,
        Property::NotANumber,
        Property::Normal,
        Property::Subnormal,
    ];

    /// Whether `x` has it. Zeros count as normal.
    pub(crate) fn holds(self, x: f64, subnormal: bool) -> bool {
        match self {
            Property::Finite => x.is_finite(),
            Property::Infinite => x.is_infinite(),
            Property::Number => !x.is_nan(),
            Property::NotANumber => x.is_nan(),
            Property::Normal => x.is_finite() && !subnormal,
            Property::Subnormal => subnormal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flushing_keeps_the_sign_of_operands_and_results() {
        let flush = Control { flush: true, ..Control::PLAIN };
        let tiny = f32::from_bits(1);
        assert_eq!(binary32(Binary::Add, -tiny, -tiny, flush).to_bits(), (-0.0f32).to_bits());
        assert_eq!(binary32(Binary::Mul, f32::MIN_POSITIVE, -0.5, flush).to_bits(), (-0.0f32).to_bits());
        assert_eq!(binary32(Binary::Mul, f32::MIN_POSITIVE, 0.5, Control::PLAIN).to_bits(), 0x0040_0000);
    }

    #[test]
    fn flushing_comes_before_rounding() {
        let flush = Control { flush: true, ..Control::PLAIN };
        let (smallest, below_one) = (f32::MIN_POSITIVE, f32::from_bits(0x3f7f_ffff));
        for rounding in [Rounding::Near, Rounding::Zero, Rounding::Down, Rounding::Up] {
            let flush = Control { rounding, ..flush };
            for negative in [false, true] {
                let x = if negative { -smallest } else { smallest };
                let zero = 0f32.copysign(x);
                assert_eq!(binary32(Binary::Mul, x, below_one, flush).to_bits(), zero.to_bits(), "{rounding:?}");
                assert_eq!(binary32(Binary::Mul, x, 1.0, flush), x);
                assert_eq!(binary32(Binary::Div, x * 0.5 * 4.0, 2.0, flush), x);
                assert_eq!(fused32(x, below_one, zero, flush).to_bits(), zero.to_bits(), "{rounding:?}");
                assert_eq!(fused32(x, 1.0, zero, flush), x);
            }
            let quotient = binary32(Binary::Div, below_one, 1.0 / smallest, flush);
            assert_eq!(quotient.to_bits(), 0, "{rounding:?}");
        }
    }

    #[test]
    fn saturation_clamps_and_clears_nan() {
        let saturate = Control { saturate: true, ..Control::PLAIN };
        assert_eq!(binary32(Binary::Add, 0.75, 0.75, saturate), 1.0);
        assert_eq!(binary32(Binary::Sub, 0.25, 0.75, saturate).to_bits(), 0);
        assert_eq!(binary32(Binary::Add, f32::NAN, 1.0, saturate).to_bits(), 0);
        assert_eq!(fused32(0.5, 0.5, 0.125, saturate), 0.375);
    }

    #[test]
    fn nan_results_are_fixed() {
        assert_eq!(binary32(Binary::Add, f32::from_bits(0xffc0_1234), 1.0, Control::PLAIN).to_bits(), 0x7fff_ffff);
        let signalling = f64::from_bits(0x7ff0_0000_0000_1234);
        assert_eq!(settled(signalling + 1.0, [1.0, signalling]).to_bits(), 0x7ff8_0000_0000_1234);
        assert_eq!(settled(f64::INFINITY - f64::INFINITY, [f64::INFINITY; 2]).to_bits(), DOUBLE.nan);
        let [a, b, c] = [1, 2, 3].map(|payload| f64::from_bits(0x7ff8 << 48 | payload));
        assert_eq!(binary64(Binary::Add, a, b, Rounding::Up).to_bits() & 3, 2);
        assert_eq!(binary64(Binary::Div, a, b, Rounding::Up).to_bits() & 3, 1);
        assert_eq!(fused64(a, 1.0, c, Rounding::Up).to_bits() & 3, 3);
        assert_eq!(fused64(a, b, c, Rounding::Up).to_bits() & 3, 2);
        assert_eq!(max64(a, b, NanRule::Ignore).to_bits() & 3, 2);
        assert_eq!(widen(f32::from_bits(0xff81_2345)).to_bits(), 0xfff8_2468_a000_0000);
        assert_eq!(narrow(f64::from_bits(0xfff0_1234_5678_9abc)).to_bits(), 0xffc0_91a2);
        assert_eq!(binary64(Binary::Div, 0.0, 0.0, Rounding::Up).to_bits(), DOUBLE.nan);
        assert_eq!(
            fused64(1.0, 1.0, f64::from_bits(0xfff8_0000_0000_0007), Rounding::Zero).to_bits(),
            0xfff8_0000_0000_0007
        );
    }

    #[test]
    fn extremes_order_zeros_and_skip_nan() {
        let rule = NanRule::Ignore;
        assert_eq!(min32(0.0, -0.0, rule).to_bits(), (-0.0f32).to_bits());
        assert_eq!(max32(-0.0, 0.0, rule).to_bits(), 0);
        assert_eq!(min32(f32::NAN, 3.0, rule), 3.0);
        assert_eq!(max32(3.0, f32::NAN, rule), 3.0);
        assert_eq!(max32(f32::NAN, f32::NAN, rule).to_bits(), 0x7fff_ffff);
        assert_eq!(min32(3.0, f32::NAN, NanRule::Propagate).to_bits(), 0x7fff_ffff);
        assert_eq!(min64(-1.0, f64::NEG_INFINITY, rule), f64::NEG_INFINITY);
        assert_eq!(max64(-1.0, -1.0, rule), -1.0);
    }
}
