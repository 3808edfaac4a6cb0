//! Extended-precision arithmetic: `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`.
//!
//! Each is two operations: the carry that comes out, computed first, and the value. The carry flag is a predicate.

use super::{Alu, Modifiers, alu, no_type};
use crate::ptx::{error::Reason, types::Ty};

/// The operations behind one such instruction. Both take the carry flag as their last operand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Carrying {
    pub(crate) value: Alu,
    pub(crate) carry: Alu,
    /// Whether the instruction reads the flag; else it starts from zero.
    pub(crate) reads: bool,
    /// Whether it writes the flag.
    pub(crate) writes: bool,
}

macro_rules! sum {
    ($type:ty) => {
        (
            alu!(|a: $type, b: $type, carry: bool| -> $type { a.wrapping_add(b).wrapping_add(<$type>::from(carry)) }),
            alu!(|a: $type, b: $type, carry: bool| -> bool {
                let (sum, first) = a.overflowing_add(b);
                first | sum.overflowing_add(<$type>::from(carry)).1
            }),
        )
    };
}

macro_rules! difference {
    ($type:ty) => {
        (
            alu!(|a: $type, b: $type, borrow: bool| -> $type { a.wrapping_sub(b).wrapping_sub(<$type>::from(borrow)) }),
            alu!(|a: $type, b: $type, borrow: bool| -> bool {
                let (difference, first) = a.overflowing_sub(b);
                first | difference.overflowing_sub(<$type>::from(borrow)).1
            }),
        )
    };
}

macro_rules! product {
    ($type:ty, $bits:ty, |$a:ident, $b:ident| $part:expr) => {
        (
            alu!(|a: $type, b: $type, c: $bits, carry: bool| -> $bits {
                let ($a, $b) = (a, b);
                let part: $bits = $part;
                part.wrapping_add(c).wrapping_add(<$bits>::from(carry))
            }),
            alu!(|a: $type, b: $type, c: $bits, carry: bool| -> bool {
                let ($a, $b) = (a, b);
                let part: $bits = $part;
                let (sum, first) = part.overflowing_add(c);
                first | sum.overflowing_add(<$bits>::from(carry)).1
            }),
        )
    };
}

/// The operations of an extended-precision instruction; `None` for any other instruction.
pub(crate) fn carrying(opcode: &str, m: &mut Modifiers<'_>) -> Option<Result<Carrying, Reason>> {
    let reads = matches!(opcode, "addc" | "subc" | "madc");
    if !matches!(opcode, "add" | "sub" | "mad" | "addc" | "subc" | "madc") {
        return None;
    }
    let writes = m.flag("cc");
    if !reads && !writes {
        return None;
    }
    Some(operations(opcode, m).map(|(value, carry)| Carrying { value, carry, reads, writes }))
}

fn operations(opcode: &str, m: &mut Modifiers<'_>) -> Result<(Alu, Alu), Reason> {
    let part = m.any(&["lo", "hi"]);
    let ty = m.ty()?;
    Ok(match (opcode, part, ty) {
        ("add" | "addc", None, Ty::U32 | Ty::S32) => sum!(u32),
        ("add" | "addc", None, Ty::U64 | Ty::S64) => sum!(u64),
        ("sub" | "subc", None, Ty::U32 | Ty::S32) => difference!(u32),
        ("sub" | "subc", None, Ty::U64 | Ty::S64) => difference!(u64),
        ("mad" | "madc", Some("lo"), Ty::U32 | Ty::S32) => product!(u32, u32, |a, b| a.wrapping_mul(b)),
        ("mad" | "madc", Some("lo"), Ty::U64 | Ty::S64) => product!(u64, u64, |a, b| a.wrapping_mul(b)),
        ("mad" | "madc", Some("hi"), Ty::U32) => {
            product!(u32, u32, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32)
        }
        ("mad" | "madc", Some("hi"), Ty::S32) => {
            product!(i32, u32, |a, b| ((i64::from(a) * i64::from(b)) >> 32) as u32)
        }
        ("mad" | "madc", Some("hi"), Ty::U64) => {
            product!(u64, u64, |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64)
        }
        ("mad" | "madc", Some("hi"), Ty::S64) => {
            product!(i64, u64, |a, b| ((i128::from(a) * i128::from(b)) >> 64) as u64)
        }
        (_, _, ty) => return Err(no_type(ty)),
    })
}
