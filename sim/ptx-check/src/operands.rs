//! Operands: a seed and a form's name give the same ones everywhere, so files hold results only.
//!
//! A form begins with all combinations of special values, as far as half of its rows go; the rest is random: patterns of any
//! kind, numbers of ordinary size, and neighbours of another operand.

use crate::form::{Form, Ty};

/// The operands of every row, row by row.
#[must_use]
pub fn rows(seed: u64, form: &Form, count: usize) -> Vec<u64> {
    let mut random = Random::new(seed, &form.name);
    let specials: Vec<&[u64]> = form.operands.iter().map(|ty| specials(*ty)).collect();
    let combinations: usize = specials.iter().map(|values| values.len()).product();
    let mut rows = Vec::with_capacity(count * form.operands.len());
    for row in 0..count {
        // More combinations than fit are thinned out evenly, by a step that has no factor in common with their number.
        let chosen = (row < combinations.min(count / 2)).then(|| match combinations > count / 2 {
            true => (row as u64 * 7_368_787 % combinations as u64) as usize,
            false => row,
        });
        let mut chosen = chosen;
        let mut previous = None;
        for (ty, specials) in form.operands.iter().zip(&specials) {
            let value = match &mut chosen {
                Some(rest) => {
                    let value = specials[*rest % specials.len()];
                    *rest /= specials.len();
                    value
                }
                None => random.operand(*ty, specials, previous),
            };
            previous = Some(value);
            rows.push(value);
        }
    }
    rows
}

/// A generator of the splitmix kind: a counter, mixed.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The generator that belongs to a name.
    #[must_use]
    pub fn new(seed: u64, name: &str) -> Random {
        let hash =
            name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        Random { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ hash }
    }

    /// The next 64 bits.
    #[allow(clippy::should_implement_trait, reason = "an endless generator is no iterator here")]
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below a bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn operand(&mut self, ty: Ty, specials: &[u64], previous: Option<u64>) -> u64 {
        match self.below(8) {
            0 => specials[self.below(specials.len() as u64) as usize],
            // A neighbour of the operand before, perhaps with the other sign: cancellation, ties, equality.
            1 => match previous {
                Some(near) => cut(near.wrapping_add(self.below(5)).wrapping_sub(2) ^ self.sign(ty), ty),
                None => self.pattern(ty),
            },
            2..=4 => self.ordinary(ty),
            _ => self.pattern(ty),
        }
    }

    fn sign(&mut self, ty: Ty) -> u64 {
        let top = match ty {
            Ty::F16 | Ty::Bf16 => 15,
            Ty::F16x2 | Ty::Bf16x2 | Ty::F32 => 31,
            Ty::F64 => 63,
            _ => return 0,
        };
        self.below(2) << top
    }

    /// Any bits at all.
    fn pattern(&mut self, ty: Ty) -> u64 {
        match ty {
            Ty::Small => self.below(70),
            _ => cut(self.next(), ty),
        }
    }

    /// A number of the size that programs use.
    fn ordinary(&mut self, ty: Ty) -> u64 {
        let word = self.next();
        match ty {
            Ty::Pred => word & 1,
            Ty::Small => word & 31,
            Ty::I16 | Ty::I32 | Ty::I64 => {
                // Any number of bits is as likely as any other, of either sign.
                let magnitude = self.next() >> self.below(64);
                cut(if word & 1 == 0 { magnitude } else { magnitude.wrapping_neg() }, ty)
            }
            Ty::F16 => self.float(5, 10, 12),
            Ty::Bf16 => self.float(8, 7, 40),
            Ty::F16x2 => self.float(5, 10, 12) | self.float(5, 10, 12) << 16,
            Ty::Bf16x2 => self.float(8, 7, 40) | self.float(8, 7, 40) << 16,
            Ty::F32 => self.float(8, 23, 40),
            Ty::F64 => self.float(11, 52, 70),
        }
    }

    /// A float with a binary exponent of small magnitude; a quarter of them have few digits, so that ties occur.
    fn float(&mut self, exponent: u32, mantissa: u32, reach: u64) -> u64 {
        let word = self.next();
        let bias = (1u64 << (exponent - 1)) - 1;
        let power = match word & 3 {
            0 => bias - 3 + self.below(6),
            1 => bias - reach.min(bias) + self.below(2 * reach.min(bias)),
            _ => bias - 8 + self.below(24),
        };
        let keep = if word & 12 == 0 { self.below(u64::from(mantissa)) as u32 } else { mantissa };
        let digits = (self.next() & ((1 << mantissa) - 1)) >> (mantissa - keep) << (mantissa - keep);
        (word >> 63) << (exponent + mantissa) | power.min(2 * bias) << mantissa | digits
    }
}

fn cut(value: u64, ty: Ty) -> u64 {
    match ty {
        Ty::Pred => value & 1,
        _ => value & (u64::MAX >> (64 - 8 * ty.bytes())),
    }
}

const SPECIAL_16: &[u64] =
    &[0, 1, 2, 3, 0x7f, 0x80, 0xff, 0x100, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xff80, 0xfffe, 0xffff];
const SPECIAL_32: &[u64] = &[
    0,
    1,
    2,
    3,
    31,
    32,
    0x80,
    0xff,
    0xffff,
    0x1_0000,
    0x0080_0000,
    0x00ff_ffff,
    0x0100_0001,
    0x7fff_fffe,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_8000,
    0xffff_fffe,
    0xffff_ffff,
];
const SPECIAL_64: &[u64] = &[
    0,
    1,
    2,
    0xff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x20_0000_0000_0001,
    0x7fff_ffff_ffff_fbff,
    0x7fff_ffff_ffff_fffe,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0x8000_0000_0000_0001,
    0xffff_ffff_0000_0000,
    0xffff_ffff_8000_0000,
    0xffff_ffff_ffff_fffe,
    0xffff_ffff_ffff_ffff,
];
const SPECIAL_F16: &[u64] = &[
    0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x8400, 0x3800, 0xb800, 0x3bff, 0x3c00, 0xbc00, 0x3c01, 0x3e00,
    0x4100, 0x5bf8, 0x7800, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01,
];
const SPECIAL_BF16: &[u64] = &[
    0x0000, 0x8000, 0x0001, 0x8001, 0x007f, 0x0080, 0x8080, 0x3f00, 0xbf00, 0x3f7f, 0x3f80, 0xbf80, 0x3f81, 0x3fc0,
    0x4020, 0x4eff, 0x7f00, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xffc1, 0x7f81,
];
const SPECIAL_F32: &[u64] = &[
    0x0000_0000,
    0x8000_0000,
    0x0000_0001,
    0x8000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x8080_0000,
    0x3300_0000,
    0x3880_0000,
    0x3eff_ffff,
    0x3f00_0000,
    0xbf00_0000,
    0x3f7f_ffff,
    0x3f80_0000,
    0xbf80_0000,
    0x3f80_0001,
    0x3fc0_0000,
    0x4020_0000,
    0x42fe_0000,
    0x437f_8000,
    0x46ff_fe00,
    0x477f_e000,
    0x477f_ff80,
    0x4f00_0000,
    0xcf00_0000,
    0x4f80_0000,
    0x5f00_0000,
    0x5f80_0000,
    0x7e80_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xffc0_0001,
    0x7f80_0001,
];
const SPECIAL_F64: &[u64] = &[
    0x0000_0000_0000_0000,
    0x8000_0000_0000_0000,
    0x0000_0000_0000_0001,
    0x8000_0000_0000_0001,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x36a0_0000_0000_0000,
    0x3690_0000_0000_0000,
    0x380f_ffff_f000_0000,
    0x3e60_0000_0000_0000,
    0x3fe0_0000_0000_0000,
    0xbfe0_0000_0000_0000,
    0x3fef_ffff_ffff_ffff,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x3ff0_0000_0000_0001,
    0x3ff0_0000_1000_0000,
    0x3ff8_0000_0000_0000,
    0x4004_0000_0000_0000,
    0x40ef_fdff_ffff_ffff,
    0x41df_ffff_ffc0_0000,
    0x41e0_0000_0000_0000,
    0xc1e0_0000_0020_0000,
    0x43e0_0000_0000_0000,
    0x43f0_0000_0000_0000,
    0x47ef_ffff_efff_ffff,
    0x47ef_ffff_f000_0000,
    0x7fef_ffff_ffff_ffff,
    0xffef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0xfff8_0000_0000_1234,
    0x7ff0_0000_0000_0001,
];
const SPECIAL_F16X2: &[u64] = &[
    0x0000_0000,
    0x8000_0001,
    0x3c00_bc00,
    0x7bff_fbff,
    0x7c00_fc00,
    0x7e00_3c00,
    0x0400_83ff,
    0x3800_7c01,
    0x3c01_3e00,
];
const SPECIAL_BF16X2: &[u64] = &[
    0x0000_0000,
    0x8000_0001,
    0x3f80_bf80,
    0x7f7f_ff7f,
    0x7f80_ff80,
    0x7fc0_3f80,
    0x0080_807f,
    0x3f00_7f81,
    0x3f81_3fc0,
];
const SPECIAL_SMALL: &[u64] = &[
    0,
    1,
    2,
    7,
    8,
    15,
    16,
    17,
    24,
    31,
    32,
    33,
    63,
    64,
    65,
    127,
    128,
    255,
    256,
    257,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
];

/// The values of a type that are most likely to be treated specially.
#[must_use]
pub fn specials(ty: Ty) -> &'static [u64] {
    match ty {
        Ty::Pred => &[0, 1],
        Ty::I16 => SPECIAL_16,
        Ty::I32 => SPECIAL_32,
        Ty::I64 => SPECIAL_64,
        Ty::F16 => SPECIAL_F16,
        Ty::F16x2 => SPECIAL_F16X2,
        Ty::Bf16 => SPECIAL_BF16,
        Ty::Bf16x2 => SPECIAL_BF16X2,
        Ty::F32 => SPECIAL_F32,
        Ty::F64 => SPECIAL_F64,
        Ty::Small => SPECIAL_SMALL,
    }
}
