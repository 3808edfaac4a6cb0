//! Comparisons: what `setp` and `set` ask, without the logic that may follow.

use super::{Alu, Modifiers, Run, Slots, no_type};
use crate::ptx::{
    error::Reason,
    number::{
        half::{self, Bf16, F16, widen},
        single_double::flushed,
    },
    registers::{Mask, Registers, Value, word_value},
    types::Ty,
};

/// A relation. The last six also hold when an operand is NaN; `Num` and `Nan` only ask for NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Num,
    Nan,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
}

impl Comparison {
    const ALL: [Comparison; 14] = [
        Comparison::Eq,
        Comparison::Ne,
        Comparison::Lt,
        Comparison::Le,
        Comparison::Gt,
        Comparison::Ge,
        Comparison::Num,
        Comparison::Nan,
        Comparison::Equ,
        Comparison::Neu,
        Comparison::Ltu,
        Comparison::Leu,
        Comparison::Gtu,
        Comparison::Geu,
    ];

    /// The relation that a suffix names; `lo`, `ls`, `hi` and `hs` are the orders of unsigned operands.
    fn parse(name: &str) -> Option<Comparison> {
        Some(match name {
            "eq" => Comparison::Eq,
            "ne" => Comparison::Ne,
            "lt" | "lo" => Comparison::Lt,
            "le" | "ls" => Comparison::Le,
            "gt" | "hi" => Comparison::Gt,
            "ge" | "hs" => Comparison::Ge,
            "num" => Comparison::Num,
            "nan" => Comparison::Nan,
            "equ" => Comparison::Equ,
            "neu" => Comparison::Neu,
            "ltu" => Comparison::Ltu,
            "leu" => Comparison::Leu,
            "gtu" => Comparison::Gtu,
            "geu" => Comparison::Geu,
            _ => return None,
        })
    }

    #[inline(always)]
    fn holds<T: PartialOrd>(self, a: T, b: T) -> bool {
        let unordered = || a.partial_cmp(&b).is_none();
        match self {
            Comparison::Eq => a == b,
            Comparison::Ne => !unordered() && a != b,
            Comparison::Lt => a < b,
            Comparison::Le => a <= b,
            Comparison::Gt => a > b,
            Comparison::Ge => a >= b,
            Comparison::Num => !unordered(),
            Comparison::Nan => unordered(),
            Comparison::Equ => unordered() || a == b,
            Comparison::Neu => a != b,
            Comparison::Ltu => unordered() || a < b,
            Comparison::Leu => unordered() || a <= b,
            Comparison::Gtu => unordered() || a > b,
            Comparison::Geu => unordered() || a >= b,
        }
    }
}

/// A single-precision operand whose denormals are taken as zeros.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Flushed(f32);

/// Operands of 16 bits, widened.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Half(f32);
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct FlushedHalf(f32);
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Brain(f32);

word_value!(Flushed, words: u32, Word, |w| Flushed(flushed(f32::from_bits(w))), |v| v.0.to_bits());
word_value!(Half, words: u32, Half, |w| Half(widen::<F16>(w as u16)), |v| v.0.to_bits());
word_value!(
    FlushedHalf, words: u32, Half, |w| FlushedHalf(widen::<F16>(half::flushed::<F16>(w as u16))), |v| v.0.to_bits()
);
word_value!(Brain, words: u32, Half, |w| Brain(widen::<Bf16>(w as u16)), |v| v.0.to_bits());

fn run<T: Value + PartialOrd, const COMPARISON: usize>(registers: &mut Registers, slots: &Slots, mask: Mask) {
    let (a, b) = (T::load(registers, slots.s[0]), T::load(registers, slots.s[1]));
    bool::store(registers, slots.d, mask, |lane| {
        Comparison::ALL[COMPARISON].holds(T::lane(&a, lane), T::lane(&b, lane))
    });
}

macro_rules! choose {
    ($comparison:expr, $type:ty, $($name:ident)+) => {
        match $comparison {
            $(Comparison::$name => Some(run::<$type, { Comparison::$name as usize }> as Run),)+
            #[allow(unreachable_patterns)]
            _ => None,
        }
    };
}

macro_rules! integer {
    ($comparison:expr, $type:ty) => {
        (choose!($comparison, $type, Eq Ne Lt Le Gt Ge), &[<$type>::CLASS, <$type>::CLASS])
    };
}

macro_rules! float {
    ($comparison:expr, $type:ty) => {
        (
            choose!($comparison, $type, Eq Ne Lt Le Gt Ge Num Nan Equ Neu Ltu Leu Gtu Geu),
            &[<$type>::CLASS, <$type>::CLASS],
        )
    };
}

/// The comparison that the suffixes ask for: two operands, a predicate as result. For pairs it is that of their elements.
pub(crate) fn set_predicate(m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    let comparison = m.take(Comparison::parse).ok_or_else(|| Reason::UnsupportedInstruction("setp".to_owned()))?;
    let flush = m.flag("ftz");
    let (run, operands): (Option<Run>, &'static [_]) = match (m.ty()?, comparison) {
        (Ty::U16 | Ty::B16, comparison) => integer!(comparison, u16),
        (Ty::S16, comparison) => integer!(comparison, i16),
        (Ty::U32 | Ty::B32, comparison) => integer!(comparison, u32),
        (Ty::S32, comparison) => integer!(comparison, i32),
        (Ty::U64 | Ty::B64, comparison) => integer!(comparison, u64),
        (Ty::S64, comparison) => integer!(comparison, i64),
        (Ty::F32, comparison) if flush => float!(comparison, Flushed),
        (Ty::F32, comparison) => float!(comparison, f32),
        (Ty::F64, comparison) if !flush => float!(comparison, f64),
        (Ty::F16 | Ty::F16x2, comparison) if flush => float!(comparison, FlushedHalf),
        (Ty::F16 | Ty::F16x2, comparison) => float!(comparison, Half),
        (Ty::Bf16 | Ty::Bf16x2, comparison) if !flush => float!(comparison, Brain),
        (ty, _) => return Err(no_type(ty)),
    };
    let run = run.ok_or_else(|| Reason::UnsupportedModifier(format!("{comparison:?}").to_lowercase()))?;
    Ok(Alu { run, result: bool::CLASS, operands, control: None })
}
