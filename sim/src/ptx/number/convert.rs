//! `cvt`: from any scalar type to any other.

use super::{
    Control, Rounding,
    soft::{self, BRAIN, DOUBLE, Format, HALF, Integer, SINGLE},
};
use crate::ptx::types::{Kind, Ty};

/// Everything that one `cvt` says besides its registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Conversion {
    pub(crate) from: Ty,
    pub(crate) to: Ty,
    pub(crate) control: Control,
    /// A rounding to an integral value was asked for (`.rni` and its like), between floating-point types.
    pub(crate) integral: bool,
}

/// The types in the order that packed conversions number them.
const TYPES: [Ty; 16] = [
    Ty::B8,
    Ty::B16,
    Ty::B32,
    Ty::B64,
    Ty::U8,
    Ty::U16,
    Ty::U32,
    Ty::U64,
    Ty::S8,
    Ty::S16,
    Ty::S32,
    Ty::S64,
    Ty::F16,
    Ty::Bf16,
    Ty::F32,
    Ty::F64,
];

impl Conversion {
    /// The conversion as one control word; `None` for types that are not converted.
    pub(crate) fn pack(self) -> Option<u32> {
        let index = |ty| TYPES.iter().position(|t| *t == ty).map(|i| i as u32);
        Some(self.control.pack() | index(self.from)? << 4 | index(self.to)? << 8 | u32::from(self.integral) << 12)
    }

    fn unpack(word: u32) -> Conversion {
        let ty = |index: u32| TYPES.get(index as usize & 15).copied().unwrap_or(Ty::B32);
        Conversion {
            from: ty(word >> 4),
            to: ty(word >> 8),
            control: Control::unpack(word),
            integral: word >> 12 & 1 != 0,
        }
    }
}

fn format(ty: Ty) -> Format {
    match ty {
        Ty::F16 => HALF,
        Ty::Bf16 => BRAIN,
        Ty::F32 => SINGLE,
        _ => DOUBLE,
    }
}

/// The low bits of `value` that the type has, extended by its sign or by zeros.
pub(crate) fn extend(value: u64, ty: Ty) -> u64 {
    let unused = 64 - 8 * ty.bytes().clamp(1, 8);
    if ty.is_signed() { ((value << unused) as i64 >> unused) as u64 } else { value << unused >> unused }
}

/// The smallest and the largest value of an integer type.
fn range(ty: Ty) -> (i128, i128) {
    let bits = 8 * ty.bytes();
    if ty.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

/// Zeros for denormals when the type is single precision and flushing is asked for.
///
/// A conversion to half precision is no case for it: the hardware ignores the suffix there, which shows when a denormal is
/// rounded up or down.
fn flushed(value: u64, ty: Ty, control: Control) -> u64 {
    if control.flush && ty == Ty::F32 {
        u64::from(super::single_double::flushed(f32::from_bits(value as u32)).to_bits())
    } else {
        value
    }
}

/// The NaN that a conversion keeps: from or to double precision with its sign and as many of its upper bits as fit, made
/// quiet; from the 16-bit format that is the upper half of single precision as it is. Saturation keeps none.
fn kept_nan(value: u64, from: Ty, to: Ty, control: Control) -> Option<u64> {
    if control.saturate {
        return None;
    }
    if (from, to) == (Ty::Bf16, Ty::F32) {
        return soft::is_nan(value, BRAIN).then_some(value << 16);
    }
    if from != Ty::F64 && to != Ty::F64 {
        return None;
    }
    // With flushing the operand goes through a single-precision operation first, which gives one NaN for all.
    let nan = soft::translated_nan(value, format(from), format(to))?;
    let flushes = control.flush && from == Ty::F32;
    if flushes { soft::translated_nan(SINGLE.nan, SINGLE, format(to)) } else { Some(nan) }
}

/// Converts the low bits of `value` as the packed `Conversion` says. An integer result is extended to 64 bits.
pub(crate) fn convert(value: u64, word: u32) -> u64 {
    let Conversion { from, to, control, integral } = Conversion::unpack(word);
    match (from.kind(), to.kind()) {
        (Kind::Float, Kind::Float) => {
            let value = extend(value, from);
            let value = if to == Ty::F16 { value } else { flushed(value, from, control) };
            if let Some(nan) = kept_nan(value, from, to, control) {
                return nan;
            }
            let value = if integral { soft::to_integral(value, format(from), control.rounding) } else { value };
            let rounding = if integral { Rounding::Near } else { control.rounding };
            let value = flushed(soft::reformat(value, format(from), format(to), rounding), to, control);
            if control.saturate {
                soft::clamped(value, format(to))
            } else if control.relu {
                soft::rectified(value, format(to))
            } else {
                value
            }
        }
        (Kind::Float, _) => {
            let value = flushed(extend(value, from), from, control);
            let (low, high) = range(to);
            match soft::to_integer(value, format(from), control.rounding) {
                Integer::Value(v) => v.clamp(low, high) as u64,
                // What the hardware does: zero, unless a 64-bit type takes part.
                Integer::Nan if from != Ty::F64 && to.bytes() < 8 => 0,
                Integer::Nan => extend(1 << (8 * to.bytes() - 1), to),
            }
        }
        (_, Kind::Float) => {
            let value = extend(value, from);
            let negative = from.is_signed() && (value as i64) < 0;
            let magnitude = if negative { value.wrapping_neg() } else { value };
            let value = soft::from_integer(negative, magnitude, format(to), control.rounding);
            if control.saturate { soft::clamped(value, format(to)) } else { value }
        }
        _ => {
            let value = extend(value, from);
            if !control.saturate {
                return extend(value, to);
            }
            let wide = if from.is_signed() { i128::from(value as i64) } else { i128::from(value) };
            let (low, high) = range(to);
            wide.clamp(low, high) as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(value: u64, from: Ty, to: Ty, rounding: Rounding, saturate: bool) -> u64 {
        let control = Control { rounding, saturate, ..Control::PLAIN };
        convert(value, Conversion { from, to, control, integral: false }.pack().unwrap())
    }

    #[test]
    fn integers_extend_truncate_and_saturate() {
        let near = Rounding::Near;
        assert_eq!(run(0xff, Ty::S8, Ty::S32, near, false), u64::MAX);
        assert_eq!(run(0xff, Ty::U8, Ty::S32, near, false), 0xff);
        assert_eq!(run(0x1_8000, Ty::U32, Ty::S16, near, false) as u16, 0x8000);
        assert_eq!(run(300, Ty::U32, Ty::U8, near, true), 255);
        assert_eq!(run((-300i64) as u64, Ty::S64, Ty::S8, near, true) as i64, -128);
        assert_eq!(run((-1i32) as u32 as u64, Ty::S32, Ty::U64, near, true), 0);
    }

    #[test]
    fn floats_become_integers_by_clamping() {
        let single = |x: f32| u64::from(x.to_bits());
        let zero = Rounding::Zero;
        assert_eq!(run(single(3e9), Ty::F32, Ty::S32, zero, false) as i64, i64::from(i32::MAX));
        assert_eq!(run(single(-3e9), Ty::F32, Ty::S32, zero, false) as i64, i64::from(i32::MIN));
        assert_eq!(run(single(-1.5), Ty::F32, Ty::U32, zero, false), 0);
        assert_eq!(run(single(f32::NAN), Ty::F32, Ty::S32, zero, false), 0);
        assert_eq!(run(single(f32::NAN), Ty::F32, Ty::S64, zero, false), 1 << 63);
        assert_eq!(run(f64::NAN.to_bits(), Ty::F64, Ty::U32, zero, false), 1 << 31);
        assert_eq!(run(single(300.0), Ty::F32, Ty::U8, zero, false), 255);
        assert_eq!(run(single(f32::INFINITY), Ty::F32, Ty::U64, zero, false), u64::MAX);
        assert_eq!(run(single(2.5), Ty::F32, Ty::S32, Rounding::Up, false), 3);
    }

    #[test]
    fn integers_become_floats_in_any_direction() {
        for value in [0i64, 1, -1, 16_777_217, -16_777_219, i64::MIN, i64::MAX] {
            let bits = run(value as u64, Ty::S64, Ty::F32, Rounding::Near, false);
            assert_eq!(bits as u32, (value as f32).to_bits(), "{value}");
            let bits = run(value as u64, Ty::U64, Ty::F64, Rounding::Near, false);
            assert_eq!(bits, (value as u64 as f64).to_bits(), "{value}");
        }
        assert_eq!(run(16_777_217, Ty::U32, Ty::F32, Rounding::Up, false) as u32, 16_777_218f32.to_bits());
    }

    #[test]
    fn floats_change_format() {
        let run = |x: f64, rounding| run(x.to_bits(), Ty::F64, Ty::F16, rounding, false);
        assert_eq!(run(65504.0, Rounding::Near), 0x7bff);
        assert_eq!(run(65520.0, Rounding::Near), 0x7c00);
        assert_eq!(run(65520.0, Rounding::Zero), 0x7bff);
        assert_eq!(run(1e-9, Rounding::Up), 1);
        assert_eq!(run(f64::NAN, Rounding::Near), 0x7e00);
        let control = Control { saturate: true, ..Control::PLAIN };
        let word = Conversion { from: Ty::F32, to: Ty::F32, control, integral: false }.pack().unwrap();
        for (x, want) in [(2.0f32, 1.0f32), (-0.5, 0.0), (0.25, 0.25), (f32::NAN, 0.0)] {
            assert_eq!(convert(x.to_bits().into(), word) as u32, want.to_bits(), "{x}");
        }
    }
}
