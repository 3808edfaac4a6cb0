//! Arithmetic of the 16-bit formats, alone and in pairs.

use super::{Alu, Modifiers, alu, no_type};
use crate::ptx::{
    error::Reason,
    number::{
        Control, Rounding,
        half::{self, Bf16, F16},
    },
    types::Ty,
};

/// Whether `.NaN` stands beside the control: above all its bits.
const PROPAGATE: u32 = 1 << 16;

/// The operation on values of one format, or on pairs of them, by the type.
macro_rules! formats {
    ($ty:expr, |$($x:ident),+| $f:ident($($rest:expr),*), $control:expr) => {
        match $ty {
            Ty::F16 => Ok(formats!(one F16, |$($x),+| $f($($rest),*))),
            Ty::Bf16 => Ok(formats!(one Bf16, |$($x),+| $f($($rest),*))),
            Ty::F16x2 => Ok(formats!(pair F16, |$($x),+| $f($($rest),*))),
            Ty::Bf16x2 => Ok(formats!(pair Bf16, |$($x),+| $f($($rest),*))),
            ty => Err(no_type(ty)),
        }
        .map(|alu: Alu| alu.with_control($control))
    };
    (one $format:ident, |$word:ident, $($x:ident),+| $f:ident($($rest:expr),*)) => {
        alu!(each |$($x: u16),+, $word: u32| -> u16 { half::$f::<$format>($($x,)+ $($rest),*) })
    };
    (pair $format:ident, |$word:ident, $($x:ident),+| $f:ident($($rest:expr),*)) => {
        alu!(each |$($x: u32),+, $word: u32| -> u32 {
            half::pairwise([$($x),+], |[$($x),+]| half::$f::<$format>($($x,)+ $($rest),*))
        })
    };
}

/// The operation that an instruction on a 16-bit format stands for; `None` for other types and instructions.
pub(super) fn select(opcode: &str, m: &mut Modifiers<'_>) -> Option<Result<Alu, Reason>> {
    let ty = m.leading_type()?;
    if !matches!(ty, Ty::F16 | Ty::F16x2 | Ty::Bf16 | Ty::Bf16x2) {
        return None;
    }
    let choose = match opcode {
        "add" | "sub" | "mul" | "fma" => arithmetic,
        "min" | "max" => extreme,
        "abs" | "neg" => sign,
        "ex2" | "tanh" => approximate,
        _ => return None,
    };
    Some(choose(opcode, m))
}

/// Takes the suffixes that the type may have. The 16-bit formats only round to nearest, and one of them neither flushes
/// nor saturates.
fn control(m: &mut Modifiers<'_>) -> Result<Control, Reason> {
    let refused = |name: &str| Err(Reason::UnsupportedModifier(name.to_owned()));
    match m.rounding() {
        None | Some(Rounding::Near) => {}
        Some(Rounding::Zero) => return refused("rz"),
        Some(Rounding::Down) => return refused("rm"),
        Some(Rounding::Up) => return refused("rp"),
    }
    let control = Control { flush: m.flag("ftz"), saturate: m.flag("sat"), ..Control::PLAIN };
    let brain = matches!(m.leading_type(), Some(Ty::Bf16 | Ty::Bf16x2));
    match control {
        Control { flush: true, .. } if brain => refused("ftz"),
        Control { saturate: true, .. } if brain => refused("sat"),
        control => Ok(control),
    }
}

fn arithmetic(opcode: &str, m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    let mut control = control(m)?;
    if opcode == "fma" && !control.saturate {
        control.relu = m.flag("relu");
    }
    let (ty, word) = (m.ty()?, control.pack());
    match opcode {
        "add" => formats!(ty, |word, a, b| add(Control::unpack(word)), word),
        "sub" => formats!(ty, |word, a, b| sub(Control::unpack(word)), word),
        "mul" => formats!(ty, |word, a, b| mul(Control::unpack(word)), word),
        _ => formats!(ty, |word, a, b, c| fused(Control::unpack(word)), word),
    }
}

fn extreme(opcode: &str, m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    let control = control(m)?.pack() | if m.flag("NaN") { PROPAGATE } else { 0 };
    let ty = m.ty()?;
    match opcode {
        "min" => formats!(ty, |word, a, b| min(Control::unpack(word), word & PROPAGATE != 0), control),
        _ => formats!(ty, |word, a, b| max(Control::unpack(word), word & PROPAGATE != 0), control),
    }
}

/// A NaN becomes the one that all operations give.
fn sign(opcode: &str, m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    let control = control(m)?.pack();
    let ty = m.ty()?;
    match opcode {
        "abs" => formats!(ty, |word, a| absolute(Control::unpack(word)), control),
        _ => formats!(ty, |word, a| negated(Control::unpack(word)), control),
    }
}

/// The functions that hardware only approximates; here the exact value is rounded.
fn approximate(opcode: &str, m: &mut Modifiers<'_>) -> Result<Alu, Reason> {
    if !m.flag("approx") {
        return Err(Reason::MissingModifier("approx"));
    }
    let brain = matches!(m.leading_type(), Some(Ty::Bf16 | Ty::Bf16x2));
    let flush = opcode == "ex2" && m.flag("ftz");
    // One format always flushes here, and says so; the other never does.
    if flush != (brain && opcode == "ex2") {
        return Err(if flush { Reason::UnsupportedModifier("ftz".to_owned()) } else { Reason::MissingModifier("ftz") });
    }
    let ty = m.ty()?;
    let control = Control { flush, ..Control::PLAIN }.pack();
    match opcode {
        "ex2" => formats!(ty, |word, a| exponential(Control::unpack(word)), control),
        _ => formats!(ty, |word, a| tangent(Control::unpack(word)), control),
    }
}
