//! Number formats and their arithmetic, one value at a time.
//!
//! `soft` is exact arithmetic on bit patterns with any rounding; `single_double` and `half` are the operations of PTX on top
//! of the machine's own arithmetic and of `soft`; `convert` goes between any two types; `bits` has the integer
//! instructions that are not one Rust operation.
//!
//! 1. Results depend on the operands alone: not on the host's rounding mode, vector width or compiler.
//! 2. A NaN is the one that an H200 gives. Operations in half and single precision give `0x7fff` and `0x7fffffff`. Those
//!    in double precision keep a NaN operand, made quiet, and give `0xfff8000000000000` when no operand is one.
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

/// Rounding, flushing and saturation of one instruction, packed into the word that a control operand holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Control {
    pub(crate) rounding: Rounding,
    /// `.ftz`: denormal operands and results of single precision become zeros of the same sign.
    pub(crate) flush: bool,
    /// `.sat`: results are clamped to [0, 1], NaN becomes 0; for integers, to the type's range.
    pub(crate) saturate: bool,
}

impl Control {
    pub(crate) const PLAIN: Control = Control { rounding: Rounding::Near, flush: false, saturate: false };

    pub(crate) const fn pack(self) -> u32 {
        self.rounding as u32 | (self.flush as u32) << 2 | (self.saturate as u32) << 3
    }

    #[inline(always)]
    pub(crate) const fn unpack(word: u32) -> Control {
        let rounding = match word & 3 {
            0 => Rounding::Near,
            1 => Rounding::Zero,
            2 => Rounding::Down,
            _ => Rounding::Up,
        };
        Control { rounding, flush: word & 4 != 0, saturate: word & 8 != 0 }
    }
}
