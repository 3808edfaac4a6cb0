//! A warp's registers, and the typed views that arithmetic has of them.
//!
//! Registers are stored lane by lane within each register, so that one operation is one loop over 32 neighbours that the
//! compiler turns into vector instructions. There are three files: words of 32 bits (which also hold 8- and 16-bit
//! registers, zero-extended), words of 64 bits, and predicates, each of which is one mask of lanes.

/// Lanes in a warp.
pub(crate) const LANES: usize = 32;

/// A set of lanes: bit n is lane n.
pub(crate) type Mask = u32;

/// Every lane.
pub(crate) const ALL: Mask = Mask::MAX;

/// The number of a register within its file.
pub(crate) type Slot = u16;

/// The predicate that holds in every lane, and the one that holds in none.
pub(crate) const ALWAYS: Slot = 0;
pub(crate) const NEVER: Slot = 1;

/// The lanes of a mask, lowest first.
pub(crate) fn lanes(mut mask: Mask) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

/// The three register files of a warp.
#[derive(Debug, Clone, Default, Hash)]
pub(crate) struct Registers {
    pub(crate) words: Box<[[u32; LANES]]>,
    pub(crate) longs: Box<[[u64; LANES]]>,
    pub(crate) predicates: Box<[Mask]>,
}

impl Registers {
    /// Makes this a copy of `other`, in the memory that it has already when the numbers of registers are the same.
    pub(crate) fn reset_to(&mut self, other: &Registers) {
        self.words.clone_from(&other.words);
        self.longs.clone_from(&other.longs);
        self.predicates.clone_from(&other.predicates);
    }
}

/// The register file, and within the word file the width, that an operand needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Predicate,
    Half,
    Word,
    Long,
}

/// A Rust type that operands and results of one class are seen as.
pub(crate) trait Value: Copy {
    /// All lanes of a register.
    type Lanes;
    const CLASS: Class;

    /// A copy of all lanes, so that a result may go to the register that an operand came from.
    fn load(registers: &Registers, slot: Slot) -> Self::Lanes;

    fn lane(lanes: &Self::Lanes, lane: usize) -> Self;

    /// Stores `value(lane)` to the lanes of `mask`. Evaluates it for the others too, so it must be cheap and total.
    fn store(registers: &mut Registers, slot: Slot, mask: Mask, value: impl Fn(usize) -> Self);

    /// The same, evaluating `value` for the lanes of `mask` only.
    fn store_each(registers: &mut Registers, slot: Slot, mask: Mask, value: impl Fn(usize) -> Self);
}

/// Makes a type a [`Value`] of a word or long file: how it is read from a register's bits, and written to them.
macro_rules! word_value {
    ($type:ty, $file:ident: $word:ty, $class:ident, |$w:ident| $from:expr, |$v:ident| $to:expr) => {
        const _: () = {
            use $crate::ptx::registers::{ALL, Class, LANES, Mask, Registers, Slot, Value, lanes};

            impl Value for $type {
                type Lanes = [$word; LANES];
                const CLASS: Class = Class::$class;

                #[inline(always)]
                fn load(registers: &Registers, slot: Slot) -> Self::Lanes {
                    registers.$file[slot as usize]
                }

                #[inline(always)]
                fn lane(lanes: &Self::Lanes, lane: usize) -> Self {
                    let $w = lanes[lane];
                    $from
                }

                #[inline(always)]
                fn store(registers: &mut Registers, slot: Slot, mask: Mask, value: impl Fn(usize) -> Self) {
                    let out = &mut registers.$file[slot as usize];
                    if mask == ALL {
                        for lane in 0..LANES {
                            let $v = value(lane);
                            out[lane] = $to;
                        }
                    } else {
                        for lane in 0..LANES {
                            let $v = value(lane);
                            out[lane] = if mask & (1 << lane) != 0 { $to } else { out[lane] };
                        }
                    }
                }

                #[inline(always)]
                fn store_each(registers: &mut Registers, slot: Slot, mask: Mask, value: impl Fn(usize) -> Self) {
                    let out = &mut registers.$file[slot as usize];
                    for lane in lanes(mask) {
                        let $v = value(lane);
                        out[lane] = $to;
                    }
                }
            }
        };
    };
}

pub(crate) use word_value;

word_value!(u16, words: u32, Half, |w| w as u16, |v| u32::from(v));
word_value!(i16, words: u32, Half, |w| w as u16 as i16, |v| u32::from(v as u16));
word_value!(u32, words: u32, Word, |w| w, |v| v);
word_value!(i32, words: u32, Word, |w| w as i32, |v| v as u32);
word_value!(f32, words: u32, Word, |w| f32::from_bits(w), |v| v.to_bits());
word_value!(u64, longs: u64, Long, |w| w, |v| v);
word_value!(i64, longs: u64, Long, |w| w as i64, |v| v as u64);
word_value!(f64, longs: u64, Long, |w| f64::from_bits(w), |v| v.to_bits());

impl Value for bool {
    type Lanes = Mask;
    const CLASS: Class = Class::Predicate;

    #[inline(always)]
    fn load(registers: &Registers, slot: Slot) -> Mask {
        registers.predicates[slot as usize]
    }

    #[inline(always)]
    fn lane(lanes: &Mask, lane: usize) -> bool {
        lanes & (1 << lane) != 0
    }

    #[inline(always)]
    fn store(registers: &mut Registers, slot: Slot, mask: Mask, value: impl Fn(usize) -> bool) {
        let mut bits = 0;
        for lane in 0..LANES {
            bits |= if value(lane) { 1 << lane } else { 0 };
        }
        let out = &mut registers.predicates[slot as usize];
        *out = (*out & !mask) | (bits & mask);
    }

    #[inline(always)]
    fn store_each(registers: &mut Registers, slot: Slot, mask: Mask, value: impl Fn(usize) -> bool) {
        let mut bits = 0;
        for lane in lanes(mask) {
            bits |= Mask::from(value(lane)) << lane;
        }
        let out = &mut registers.predicates[slot as usize];
        *out = (*out & !mask) | bits;
    }
}
