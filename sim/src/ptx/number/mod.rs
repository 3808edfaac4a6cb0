//! Number formats and their arithmetic, one value at a time.
//!
//! `soft` is exact arithmetic on bit patterns with any rounding; `single_double` and `half` (both 16-bit formats) are
//! the operations of PTX on top of the machine's own arithmetic and of `soft`; `convert` goes between any two types; `bits`
//! has the integer instructions that are not one Rust operation.
//!
//! 1. Results depend on the operands alone: not on the host's rounding mode, vector width or compiler.
//! 2. A NaN is the one that an H200 gives. Operations in half and single precision give `0x7fff` and `0x7fffffff`. Those
//!    in double precision keep a NaN operand, made quiet, and give `0xfff8000000000000` when no operand is one.
//!    Saturation makes every NaN zero.
//! 3. Nothing here panics, for any bit pattern.

pub(crate) mod bits;
pub(crate) mod convert;
pub(crate) mod half;
pub(crate) mod single_double;
pub(crate) mod soft;

/// How a result that does not fit its format is rounded. To nearest means ties to even.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    Near,
    Zero,
    Down,
    Up,
}

/// Rounding, flushing and clamping of one instruction, packed into the word that a control operand holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Control {
    pub(crate) rounding: Rounding,
    /// `.ftz`: denormal operands and results become zeros of the same sign. What counts of a result of arithmetic is its
    /// exact value: one below the smallest normal number is flushed even where rounding would lift it there. A conversion
    /// between formats rounds first.
    pub(crate) flush: bool,
    /// `.sat`: results are clamped to [0, 1], NaN becomes 0; for integers, to the type's range.
    pub(crate) saturate: bool,
    /// `.relu`: negative results become 0.
    pub(crate) relu: bool,
}

/// The bit of `relu` in a packed control. What lies between it and the others is for conversions.
const RELU: u32 = 13;

impl Control {
    pub(crate) const PLAIN: Control = Control { rounding: Rounding::Near, flush: false, saturate: false, relu: false };

    pub(crate) const fn pack(self) -> u32 {
        self.rounding as u32 | (self.flush as u32) << 2 | (self.saturate as u32) << 3 | (self.relu as u32) << RELU
    }

    #[inline(always)]
    pub(crate) const fn unpack(word: u32) -> Control {
        let rounding = match word & 3 {
            0 => Rounding::Near,
            1 => Rounding::Zero,
            2 => Rounding::Down,
            _ => Rounding::Up,
        };
        Control { rounding, flush: word & 4 != 0, saturate: word & 8 != 0, relu: word >> RELU & 1 != 0 }
    }
}
