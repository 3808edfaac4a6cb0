//! What forms with a plain meaning give, in plain Rust, by their names.

/// What a result may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    Bits(u64),
    /// Any NaN in double precision.
    Nan64,
}

impl Want {
    pub(crate) fn allows(self, got: u64) -> bool {
        match self {
            Want::Bits(bits) => got == bits,
            Want::Nan64 => f64::from_bits(got).is_nan(),
        }
    }
}

/// The result of a form, if it has a plain meaning for these operands.
pub(crate) fn result(name: &str, operands: &[u64]) -> Option<Want> {
    let parts: Vec<&str> = name.split('.').collect();
    let (a, b, c) = match *operands {
        [a] => return unary(&parts, a),
        [a, b] => (a, b, None),
        [a, b, c] => (a, b, Some(c)),
        _ => return None,
    };
    match &parts[..] {
        ["setp", comparison, ty] => compared(comparison, ty, a, b),
        [opcode, rest @ .., ty @ ("f32" | "f64")] => float(opcode, rest, ty, operands),
        [opcode @ ("add" | "sub" | "div" | "rem" | "min" | "max"), ty] => integer(opcode, ty, a, b, 0),
        ["sad", ty] => integer("sad", ty, a, b, c?),
        ["mul", part, ty] => integer(&format!("mul.{part}"), ty, a, b, 0),
        ["mad", part, ty] => integer(&format!("mad.{part}"), ty, a, b, c?),
        ["and" | "or" | "xor" | "shl" | "shr" | "selp", ..] => bits(parts[0], parts.get(1)?, a, b, c),
        _ => None,
    }
}

/// The same for forms of one operand.
fn unary(parts: &[&str], a: u64) -> Option<Want> {
    let bits = |value: u64| Some(Want::Bits(value));
    match *parts {
        ["abs", ty @ ("s16" | "s32" | "s64")] => whole(signed(a, ty)?.abs(), ty),
        ["neg", ty @ ("s16" | "s32" | "s64")] => whole(-signed(a, ty)?, ty),
        ["not", ty @ ("b16" | "b32" | "b64")] => whole(!i128::from(a), ty),
        ["cnot", "b16" | "b32" | "b64"] => bits(u64::from(a == 0)),
        ["popc", _] => bits(a.count_ones().into()),
        ["clz", ty] => bits((a.leading_zeros() + width(ty)? - 64).into()),
        ["brev", ty] => bits(a.reverse_bits() >> (64 - width(ty)?)),
        ["sqrt", "rn", "f32"] => single(f32::from_bits(a as u32).sqrt()),
        ["sqrt", "rn", "f64"] => double(f64::from_bits(a).sqrt()),
        ["rcp", "rn", "f32"] => single(1.0 / f32::from_bits(a as u32)),
        ["rcp", "rn", "f64"] => double(1.0 / f64::from_bits(a)),
        ["cvt", "rni", "f32", "f32"] => single(f32::from_bits(a as u32).round_ties_even()),
        ["cvt", "rmi", "f32", "f32"] => single(f32::from_bits(a as u32).floor()),
        ["cvt", "rpi", "f64", "f64"] => double(f64::from_bits(a).ceil()),
        ["cvt", "rzi", "f64", "f64"] => double(f64::from_bits(a).trunc()),
        ["cvt", "f64", "f32"] => double(f32::from_bits(a as u32).into()),
        ["cvt", "rn", "f32", "f64"] if !f64::from_bits(a).is_nan() => single(f64::from_bits(a) as f32),
        ["cvt", "rn", "f32", ty] => single(signed(a, ty)? as f32),
        ["cvt", "rn", "f64", ty] => double(signed(a, ty)? as f64),
        ["cvt", "rzi", ty, "f32"] if !f32::from_bits(a as u32).is_nan() => {
            clamped(f32::from_bits(a as u32) as i128, ty)
        }
        ["cvt", "rzi", ty, "f64"] if !f64::from_bits(a).is_nan() => clamped(f64::from_bits(a) as i128, ty),
        ["cvt", "sat", to, from] => clamped(signed(a, from)?, to),
        ["cvt", to, from] => {
            // Bytes live in 16 bits, extended by their sign.
            let value = signed(a, from)? & ((1 << width(to)?) - 1);
            let value = signed(value as u64, to)?;
            bits(value as u64 & (u64::MAX >> (64 - width(to)?.max(16))))
        }
        _ => None,
    }
}

fn width(ty: &str) -> Option<u32> {
    ty.get(1..)?.parse().ok().filter(|_| ty.starts_with(['u', 's', 'b']))
}

/// The value of an integer of a type.
fn signed(bits: u64, ty: &str) -> Option<i128> {
    let unused = 64 - width(ty)?;
    Some(if ty.starts_with('s') {
        i128::from((bits << unused) as i64 >> unused)
    } else {
        i128::from(bits << unused >> unused)
    })
}

/// The low bits of an integer.
fn whole(value: i128, ty: &str) -> Option<Want> {
    Some(Want::Bits(value as u64 & (u64::MAX >> (64 - width(ty)?))))
}

fn clamped(value: i128, ty: &str) -> Option<Want> {
    let bits = width(ty)?;
    let (low, high) =
        if ty.starts_with('s') { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    Some(Want::Bits(value.clamp(low, high) as u64 & (u64::MAX >> (64 - bits.max(16)))))
}

fn integer(opcode: &str, ty: &str, a: u64, b: u64, c: u64) -> Option<Want> {
    let (x, y) = (signed(a, ty)?, signed(b, ty)?);
    let bits = width(ty)?;
    let product = || x.checked_mul(y);
    whole(
        match opcode {
            "add" => x + y,
            "sub" => x - y,
            "div" if y != 0 => x / y,
            "rem" if y != 0 => x % y,
            "min" => x.min(y),
            "max" => x.max(y),
            "sad" => (x - y).abs() + i128::from(c),
            "mul.lo" => x.wrapping_mul(y),
            "mad.lo" => x.wrapping_mul(y).wrapping_add(c.into()),
            "mul.hi" => product()? >> bits,
            "mad.hi" => (product()? >> bits) + i128::from(c),
            "mul.wide" => return whole(product()?, if bits == 16 { "b32" } else { "b64" }),
            "mad.wide" => return whole(product()? + i128::from(c), if bits == 16 { "b32" } else { "b64" }),
            _ => return None,
        },
        ty,
    )
}

fn bits(opcode: &str, ty: &str, a: u64, b: u64, c: Option<u64>) -> Option<Want> {
    if ty == "pred" {
        return match opcode {
            "and" => Some(Want::Bits(a & b)),
            "or" => Some(Want::Bits(a | b)),
            "xor" => Some(Want::Bits(a ^ b)),
            _ => None,
        };
    }
    let amount = b.min(64) as u32;
    whole(
        match opcode {
            "and" => i128::from(a & b),
            "or" => i128::from(a | b),
            "xor" => i128::from(a ^ b),
            "shl" => i128::from(a) << amount,
            "shr" => signed(a, ty)? >> amount,
            "selp" => i128::from(if c? == 1 { a } else { b }),
            _ => return None,
        },
        ty,
    )
}

fn single(value: f32) -> Option<Want> {
    Some(Want::Bits(if value.is_nan() { 0x7fff_ffff } else { value.to_bits().into() }))
}

fn double(value: f64) -> Option<Want> {
    Some(if value.is_nan() { Want::Nan64 } else { Want::Bits(value.to_bits()) })
}

fn float(opcode: &str, suffixes: &[&str], ty: &str, operands: &[u64]) -> Option<Want> {
    if !matches!(suffixes, [] | ["rn"]) {
        return None;
    }
    macro_rules! operation {
        ($give:ident, $x:expr) => {{
            let x: Vec<_> = operands.iter().map($x).collect();
            match (opcode, &x[..]) {
                ("add", [a, b]) => $give(a + b),
                ("sub", [a, b]) => $give(a - b),
                ("mul", [a, b]) => $give(a * b),
                ("div", [a, b]) => $give(a / b),
                ("fma" | "mad", [a, b, c]) => $give(a.mul_add(*b, *c)),
                _ => None,
            }
        }};
    }
    match ty {
        "f32" => operation!(single, |bits| f32::from_bits(*bits as u32)),
        _ => operation!(double, |bits| f64::from_bits(*bits)),
    }
}

fn compared(comparison: &str, ty: &str, a: u64, b: u64) -> Option<Want> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = match ty {
        "f32" => f32::from_bits(a as u32).partial_cmp(&f32::from_bits(b as u32)),
        "f64" => f64::from_bits(a).partial_cmp(&f64::from_bits(b)),
        ty => signed(a, ty)?.partial_cmp(&signed(b, ty)?),
    };
    let holds = match (comparison, order) {
        ("num", order) => order.is_some(),
        ("nan", order) => order.is_none(),
        (comparison, None) => comparison.len() == 3,
        ("eq" | "equ", Some(order)) => order == Equal,
        ("ne" | "neu", Some(order)) => order != Equal,
        ("lt" | "ltu" | "lo", Some(order)) => order == Less,
        ("le" | "leu" | "ls", Some(order)) => order != Greater,
        ("gt" | "gtu" | "hi", Some(order)) => order == Greater,
        ("ge" | "geu" | "hs", Some(order)) => order != Less,
        _ => return None,
    };
    Some(Want::Bits(holds.into()))
}
