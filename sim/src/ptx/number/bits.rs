//! Integer instructions that are not one Rust operation.

macro_rules! division {
    ($divide:ident, $remainder:ident, $type:ty) => {
        /// `a / b`; PTX leaves division by zero open, GPUs give all ones.
        #[inline(always)]
        pub(crate) fn $divide(a: $type, b: $type) -> $type {
            if b == 0 { !0 } else { a.wrapping_div(b) }
        }

        /// `a % b`; by zero, likewise.
        #[inline(always)]
        pub(crate) fn $remainder(a: $type, b: $type) -> $type {
            if b == 0 { !0 } else { a.wrapping_rem(b) }
        }
    };
}

division!(div_u16, rem_u16, u16);
division!(div_s16, rem_s16, i16);
division!(div_u32, rem_u32, u32);
division!(div_s32, rem_s32, i32);
division!(div_u64, rem_u64, u64);
division!(div_s64, rem_s64, i64);

/// The position of the highest bit that differs from the sign (`signed`) or is set; all ones when there is none.
/// With `shift` the distance from the top bit instead.
pub(crate) fn find_bit(value: u64, width: u32, signed: bool, shift: bool) -> u32 {
    let sign = signed && value >> (width - 1) & 1 != 0;
    let all = if width == 64 { u64::MAX } else { (1 << width) - 1 };
    let searched = if sign { !value & all } else { value & all };
    match searched.checked_ilog2() {
        None => u32::MAX,
        Some(position) if shift => width - 1 - position,
        Some(position) => position,
    }
}

/// The position or length of a field. Of those for words only the lowest byte counts, those for longs count in full.
fn measure(x: u32, width: u32) -> u32 {
    if width > 32 { x } else { x & 0xff }
}

/// Bits `start .. start + length` of `value`, extended by zeros or by the field's top bit. The field is cut at the top
/// of the value; for signed fields that begin beyond it the sign of the value is used.
pub(crate) fn extract(value: u64, width: u32, signed: bool, start: u32, length: u32) -> u64 {
    let (start, length) = (measure(start, width), measure(length, width));
    let top = width - 1;
    let sign = match length {
        0 => false,
        _ => signed && value >> start.saturating_add(length - 1).min(top) & 1 != 0,
    };
    let mut out = if sign { u64::MAX } else { 0 };
    for i in 0..width.min(length) {
        let position = start.saturating_add(i);
        let bit = if position <= top { value >> position & 1 != 0 } else { sign };
        out = out & !(1 << i) | u64::from(bit) << i;
    }
    out
}

/// `base` with bits `start .. start + length` replaced by the low bits of `field`.
pub(crate) fn insert(field: u64, base: u64, width: u32, start: u32, length: u32) -> u64 {
    let (start, length) = (measure(start, width), measure(length, width));
    if start >= width || length == 0 {
        return base;
    }
    let length = length.min(width - start);
    let ones = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
    base & !(ones << start) | (field & ones) << start
}

/// The modes of `prmt`. The plain one takes its selector from the third operand's nibbles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permute {
    Index,
    F4e,
    B4e,
    Rc8,
    Ecl,
    Ecr,
    Rc16,
}

impl Permute {
    pub(crate) const ALL: [Permute; 7] =
        [Permute::Index, Permute::F4e, Permute::B4e, Permute::Rc8, Permute::Ecl, Permute::Ecr, Permute::Rc16];

    pub(crate) fn parse(name: &str) -> Option<Permute> {
        Some(match name {
            "f4e" => Permute::F4e,
            "b4e" => Permute::B4e,
            "rc8" => Permute::Rc8,
            "ecl" => Permute::Ecl,
            "ecr" => Permute::Ecr,
            "rc16" => Permute::Rc16,
            _ => return None,
        })
    }

    /// Four bytes chosen from the eight bytes of `b:a`.
    pub(crate) fn apply(self, a: u32, b: u32, selector: u32) -> u32 {
        let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
        let n = (selector & 3) as usize;
        let chosen = match self {
            Permute::Index => {
                return (0..4).fold(0, |out, i| {
                    let nibble = selector >> (4 * i) & 0xf;
                    let byte = bytes[(nibble & 7) as usize];
                    let byte = if nibble & 8 != 0 { 0u8.wrapping_sub(byte >> 7) } else { byte };
                    out | u32::from(byte) << (8 * i)
                });
            }
            Permute::F4e => [n, n + 1, n + 2, n + 3],
            Permute::B4e => [n, (n + 7) & 7, (n + 6) & 7, (n + 5) & 7],
            Permute::Rc8 => [n; 4],
            Permute::Ecl => [n, n.max(1), n.max(2), n.max(3)],
            Permute::Ecr => [0, n.min(1), n.min(2), n],
            Permute::Rc16 => [2 * (n & 1), 2 * (n & 1) + 1, 2 * (n & 1), 2 * (n & 1) + 1],
        };
        u32::from_le_bytes(chosen.map(|i| bytes[i]))
    }
}

/// Any function of three bits, bit by bit: bit `4a + 2b + c` of `table` is the result.
#[inline(always)]
pub(crate) fn lookup3(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let mut out = 0;
    for index in 0..8 {
        let pick = 0u32.wrapping_sub(table >> index & 1);
        let a = if index & 4 != 0 { a } else { !a };
        let b = if index & 2 != 0 { b } else { !b };
        let c = if index & 1 != 0 { c } else { !c };
        out |= a & b & c & pick;
    }
    out
}

/// The high word of `high:low << amount`, amount at most 32.
pub(crate) fn funnel_left(low: u32, high: u32, amount: u32) -> u32 {
    ((u64::from(high) << 32 | u64::from(low)) << amount >> 32) as u32
}

/// The low word of `high:low >> amount`, amount at most 32.
pub(crate) fn funnel_right(low: u32, high: u32, amount: u32) -> u32 {
    ((u64::from(high) << 32 | u64::from(low)) >> amount) as u32
}

/// The sum of four products of bytes, plus `c`.
pub(crate) fn dot4(a: u32, a_signed: bool, b: u32, b_signed: bool, c: u32) -> u32 {
    let element = |x: u8, signed: bool| if signed { i32::from(x as i8) } else { i32::from(x) };
    let products = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    products.fold(c, |sum, (x, y)| sum.wrapping_add((element(x, a_signed) * element(y, b_signed)) as u32))
}

/// `dp2a`: the two 16-bit elements of `a` with the two lowest bytes of `b`, added to `c`.
pub(crate) fn dot2(a: u32, a_signed: bool, b: u32, b_signed: bool, c: u32) -> u32 {
    let element = |x: u32| if a_signed { i32::from(x as i16) } else { i32::from(x as u16) };
    let byte = |x: u32| if b_signed { i32::from(x as i8) } else { i32::from(x as u8) };
    let product = |a, b| element(a).wrapping_mul(byte(b)) as u32;
    c.wrapping_add(product(a, b)).wrapping_add(product(a >> 16, b >> 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_by_zero_and_overflow_are_defined() {
        assert_eq!((div_u32(7, 0), rem_u32(7, 0)), (u32::MAX, u32::MAX));
        assert_eq!((div_s32(i32::MIN, -1), rem_s32(i32::MIN, -1)), (i32::MIN, 0));
        assert_eq!((div_s64(-7, 2), rem_s64(-7, 2)), (-3, -1));
    }

    #[test]
    fn fields_are_cut_at_the_top() {
        assert_eq!(extract(0xdead_beef, 32, false, 8, 8), 0xbe);
        assert_eq!(extract(0xdead_beef, 32, true, 8, 8) as u32, 0xffff_ffbe);
        assert_eq!(extract(0x8000_0000, 32, true, 28, 8) as u32, 0xffff_fff8);
        assert_eq!(extract(0x8000_0000, 32, false, 28, 8), 8);
        assert_eq!(extract(0x8000_0000, 32, true, 40, 4) as u32, u32::MAX);
        assert_eq!(extract(u64::MAX, 64, false, 0, 0), 0);
        assert_eq!(extract(u64::MAX, 64, false, 0, 64), u64::MAX);
        assert_eq!(extract(5, 32, true, 0, 255), 5);
        assert_eq!(extract(0xdead_beef, 32, false, 0x108, 0x208), 0xbe);
        assert_eq!(extract(1 << 63, 64, true, u32::MAX, u32::MAX), u64::MAX);
        assert_eq!(extract(u64::MAX, 64, false, 256, 8), 0);
        assert_eq!(insert(0xff, 0, 32, 4, 4), 0xf0);
        assert_eq!(insert(0xff, 0x1234_5678, 32, 40, 4), 0x1234_5678);
        assert_eq!(insert(0xabcd, 0, 32, 24, 16), 0xcd00_0000);
        assert_eq!(insert(u64::MAX, 0, 64, 0, 255), u64::MAX);
        assert_eq!(insert(0xff, 0, 32, 0x104, 0x104), 0xf0);
        assert_eq!(insert(u64::MAX, 5, 64, 256, 8), 5);
        assert_eq!(insert(u64::MAX, 0, 64, 32, u32::MAX), u64::MAX << 32);
    }

    #[test]
    fn bits_are_found_from_the_top() {
        assert_eq!(find_bit(0x0001_0000, 32, false, false), 16);
        assert_eq!(find_bit(0x0001_0000, 32, false, true), 15);
        assert_eq!(find_bit(0xffff_fffe, 32, true, false), 0);
        assert_eq!(find_bit(0xffff_ffff, 32, true, false), u32::MAX);
        assert_eq!(find_bit(0, 64, false, true), u32::MAX);
        assert_eq!(find_bit(u64::MAX, 64, false, true), 0);
    }

    #[test]
    fn bytes_are_permuted_in_every_mode() {
        let (a, b) = (0x3322_1100, 0x7766_5544);
        let cases = [
            (Permute::Index, 0x7531, 0x7755_3311),
            (Permute::F4e, 1, 0x4433_2211),
            (Permute::B4e, 1, 0x6677_0011),
            (Permute::Rc8, 2, 0x2222_2222),
            (Permute::Ecl, 2, 0x3322_2222),
            (Permute::Ecr, 2, 0x2222_1100),
            (Permute::Rc16, 1, 0x3322_3322),
        ];
        for (mode, selector, want) in cases {
            assert_eq!(mode.apply(a, b, selector), want, "{mode:?}");
        }
        assert_eq!(Permute::Index.apply(0x0000_0080, 0, 0x9998), 0x0000_00ff, "sign of byte 0, then of byte 1");
    }

    #[test]
    fn words_are_combined() {
        assert_eq!(lookup3(0xff00, 0xf0f0, 0xcccc, 0x80), 0xff00 & 0xf0f0 & 0xcccc);
        assert_eq!(lookup3(0xff00, 0xf0f0, 0xcccc, 0x96), 0xff00 ^ 0xf0f0 ^ 0xcccc);
        assert_eq!(funnel_left(0x8000_0000, 1, 1), 3);
        assert_eq!((funnel_left(5, 7, 0), funnel_left(5, 7, 32)), (7, 5));
        assert_eq!((funnel_right(5, 7, 0), funnel_right(5, 7, 32)), (5, 7));
        assert_eq!(dot4(0xff02_0301, true, 0x0101_0102, false, 10), 10 + 2 + 3 + 2 - 1);
        assert_eq!(dot2(0xffff_0003, true, 0x0000_02ff, false, 10), 10 + 3 * 255 - 2);
        assert_eq!(dot2(0xffff_0003, false, 0x0000_02ff, true, 10), 10 - 3 + 2 * 0xffff);
    }
}
