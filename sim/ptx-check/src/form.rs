//! One instruction form: how it is written, what it takes, what it gives, and how far two machines may differ.

/// What an operand or a result is: its register, and the kind of values that are worth trying.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ty {
    /// A predicate; in memory 0 or 1.
    Pred,
    /// An integer or a bit pattern of 16 bits.
    I16,
    /// An integer or a bit pattern of 32 bits.
    I32,
    /// An integer or a bit pattern of 64 bits.
    I64,
    /// Half precision.
    F16,
    /// Two values in half precision.
    F16x2,
    /// The 16-bit format with the exponent of single precision.
    Bf16,
    /// Two values of that format.
    Bf16x2,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// A 32-bit number that is mostly small: a shift amount, a position, a lane.
    Small,
}

impl Ty {
    /// The type of registers that hold it. Registers of bits suit instructions of any type of the same size.
    #[must_use]
    pub fn register(self) -> &'static str {
        match self {
            Ty::Pred => "pred",
            Ty::I16 | Ty::F16 | Ty::Bf16 => "b16",
            Ty::I32 | Ty::F16x2 | Ty::Bf16x2 | Ty::F32 | Ty::Small => "b32",
            Ty::I64 | Ty::F64 => "b64",
        }
    }

    /// Bytes of a stored result.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Ty::I16 | Ty::F16 | Ty::Bf16 => 2,
            Ty::Pred | Ty::I32 | Ty::F16x2 | Ty::Bf16x2 | Ty::F32 | Ty::Small => 4,
            Ty::I64 | Ty::F64 => 8,
        }
    }

    /// The type that a suffix names: `u32`, `b64`, `f16x2`. `None` for types that no register has.
    #[must_use]
    pub fn of(suffix: &str) -> Option<Ty> {
        Some(match suffix {
            "pred" => Ty::Pred,
            "u16" | "s16" | "b16" => Ty::I16,
            "u32" | "s32" | "b32" => Ty::I32,
            "u64" | "s64" | "b64" => Ty::I64,
            "f16" => Ty::F16,
            "f16x2" => Ty::F16x2,
            "bf16" => Ty::Bf16,
            "bf16x2" => Ty::Bf16x2,
            "f32" => Ty::F32,
            "f64" => Ty::F64,
            _ => return None,
        })
    }
}

/// How far the results of two machines may be apart. A NaN only equals a NaN, an infinity itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// To the bit.
    Exact,
    /// So many steps between neighbouring values.
    Ulps(u32),
    /// Within one of the two errors.
    Within {
        /// The largest difference.
        absolute: f64,
        /// The largest difference as a part of the value.
        relative: f64,
    },
    /// For sine and cosine: an error in the first period, a larger one up to a hundred of them, then anything.
    Periodic,
}

impl Bound {
    /// A bound on the relative error, of 2 to the given power. What rounding the exact value adds is allowed as well.
    #[must_use]
    pub fn relative(power: f64) -> Bound {
        Bound::Within { absolute: 0.0, relative: power.exp2() + (-24.0f64).exp2() }
    }

    /// The absolute error that [`Bound::Periodic`] allows for an operand.
    #[must_use]
    pub fn periodic(operand: f64) -> f64 {
        match operand.abs() / std::f64::consts::TAU {
            periods if periods <= 1.0 => (-20.5f64).exp2(),
            periods if periods <= 50.0 => (-14.7f64).exp2(),
            _ => 2.0,
        }
    }
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Bound::Exact => write!(f, "exact"),
            Bound::Ulps(ulps) => write!(f, "{ulps} ulp"),
            Bound::Periodic => write!(f, "2^-20.5 up to 2 pi, 2^-14.7 up to 100 pi"),
            Bound::Within { absolute, relative } => {
                let mut parts = Vec::new();
                if absolute > 0.0 {
                    parts.push(format!("2^{:.1}", absolute.log2()));
                }
                if relative > 0.0 {
                    parts.push(format!("2^{:.1} relative", relative.log2()));
                }
                write!(f, "{}", parts.join(", "))
            }
        }
    }
}

/// One instruction form.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// The instruction with all its suffixes; unique.
    pub name: String,
    /// Statements that compute register `d` from `a`, `b`, `c` and `e`. They may use the scratch registers, and the addresses
    /// that [`crate::text`] describes.
    pub body: String,
    /// The operands, at most four.
    pub operands: Vec<Ty>,
    /// What register `d` holds.
    pub result: Ty,
    /// How far from each other two machines may be.
    pub bound: Bound,
}

impl Form {
    /// A form of one instruction, named like it, whose operands are registers in order.
    #[must_use]
    pub fn plain(instruction: impl Into<String>, operands: &[Ty], result: Ty) -> Form {
        let name = instruction.into();
        let registers: String = REGISTERS.iter().take(operands.len()).map(|register| format!(", {register}")).collect();
        let body = format!("{name} d{registers};");
        Form { name, body, operands: operands.to_vec(), result, bound: Bound::Exact }
    }

    /// A form of several statements under a name of its own.
    #[must_use]
    pub fn code(name: impl Into<String>, operands: &[Ty], result: Ty, body: impl Into<String>) -> Form {
        Form { name: name.into(), body: body.into(), operands: operands.to_vec(), result, bound: Bound::Exact }
    }

    /// The same with another bound.
    #[must_use]
    pub fn within(self, bound: Bound) -> Form {
        Form { bound, ..self }
    }
}

/// The registers of operands.
pub const REGISTERS: [&str; 4] = ["a", "b", "c", "e"];
