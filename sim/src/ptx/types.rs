//! Scalar types and state spaces of PTX, by the names that the text gives them.

/// A fundamental type. `B*` are untyped bits, `U*` unsigned and `S*` signed integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Ty {
    Pred,
    B8,
    B16,
    B32,
    B64,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
}

/// What a type's bits mean when they are converted or compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bits,
    Unsigned,
    Signed,
    Float,
}

impl Ty {
    /// The type that a suffix such as `u32` names; `None` for what is no type or a type that is not supported.
    pub(crate) fn parse(name: &str) -> Option<Ty> {
        Some(match name {
            "pred" => Ty::Pred,
            "b8" => Ty::B8,
            "b16" => Ty::B16,
            "b32" => Ty::B32,
            "b64" => Ty::B64,
            "u8" => Ty::U8,
            "u16" => Ty::U16,
            "u32" => Ty::U32,
            "u64" => Ty::U64,
            "s8" => Ty::S8,
            "s16" => Ty::S16,
            "s32" => Ty::S32,
            "s64" => Ty::S64,
            "f16" => Ty::F16,
            "f16x2" => Ty::F16x2,
            "bf16" => Ty::Bf16,
            "bf16x2" => Ty::Bf16x2,
            "f32" => Ty::F32,
            "f64" => Ty::F64,
            _ => return None,
        })
    }

    /// The size in bytes; zero for a predicate, which lives in no memory.
    pub(crate) const fn bytes(self) -> u32 {
        match self {
            Ty::Pred => 0,
            Ty::B8 | Ty::U8 | Ty::S8 => 1,
            Ty::B16 | Ty::U16 | Ty::S16 | Ty::F16 | Ty::Bf16 => 2,
            Ty::B32 | Ty::U32 | Ty::S32 | Ty::F32 | Ty::F16x2 | Ty::Bf16x2 => 4,
            Ty::B64 | Ty::U64 | Ty::S64 | Ty::F64 => 8,
        }
    }

    pub(crate) const fn kind(self) -> Kind {
        match self {
            Ty::Pred | Ty::B8 | Ty::B16 | Ty::B32 | Ty::B64 | Ty::F16x2 | Ty::Bf16x2 => Kind::Bits,
            Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 => Kind::Unsigned,
            Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64 => Kind::Signed,
            Ty::F16 | Ty::Bf16 | Ty::F32 | Ty::F64 => Kind::Float,
        }
    }

    /// Of a pair of numbers, the type of each.
    pub(crate) const fn element(self) -> Option<Ty> {
        match self {
            Ty::F16x2 => Some(Ty::F16),
            Ty::Bf16x2 => Some(Ty::Bf16),
            _ => None,
        }
    }

    pub(crate) const fn is_signed(self) -> bool {
        matches!(self.kind(), Kind::Signed)
    }
}

/// Where an address points. `Generic` is decided by the address itself (see `window`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Generic,
    Global,
    Const,
    Shared,
    Local,
    Param,
}

impl Space {
    /// The space that a suffix such as `shared` or `shared::cta` names.
    pub(crate) fn parse(name: &str) -> Option<Space> {
        Some(match name {
            "global" => Space::Global,
            "const" => Space::Const,
            "shared" | "shared::cta" => Space::Shared,
            "local" => Space::Local,
            "param" | "param::entry" | "param::func" => Space::Param,
            _ => return None,
        })
    }
}

/// The generic address space: shared, local and parameter memory appear at the top of it, where neither device memory
/// nor a host address of a user process can lie. Everything below `BASE` is global memory.
pub(crate) mod window {
    use super::Space;

    /// The lowest generic address that is not global memory.
    pub(crate) const BASE: u64 = 0xffff_f000_0000_0000;
    const SHARED: u64 = BASE;
    const LOCAL: u64 = 0xffff_f100_0000_0000;
    const PARAM: u64 = 0xffff_f200_0000_0000;
    const SIZE: u64 = 0x0000_0100_0000_0000;

    /// What `cvta` adds to an address in `space`, and `cvta.to` takes off.
    pub(crate) const fn base(space: Space) -> u64 {
        match space {
            Space::Shared => SHARED,
            Space::Local => LOCAL,
            Space::Param => PARAM,
            Space::Generic | Space::Global | Space::Const => 0,
        }
    }

    /// The space that a generic address lies in, and the address within that space.
    pub(crate) const fn split(address: u64) -> (Space, u64) {
        if address < BASE {
            (Space::Global, address)
        } else if address < SHARED + SIZE {
            (Space::Shared, address - SHARED)
        } else if address < LOCAL + SIZE {
            (Space::Local, address - LOCAL)
        } else if address < PARAM + SIZE {
            (Space::Param, address - PARAM)
        } else {
            (Space::Global, address)
        }
    }
}

/// Parameter-space addresses from here on are call parameters, which live in the thread's own memory; those below are the
/// launch's parameter block. The block is far smaller than this.
pub(crate) const CALL_PARAMETERS: u64 = 1 << 20;
