//! The syntax tree of a module, as the text has it: nothing is resolved yet. Names borrow from the text.

use crate::ptx::types::{Space, Ty};

/// A place in the text: the line and the byte where a statement begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Place {
    pub(crate) line: u32,
    pub(crate) start: u32,
}

/// A whole text.
#[derive(Debug, Default)]
pub(crate) struct ModuleTree<'a> {
    pub(crate) variables: Vec<Variable<'a>>,
    pub(crate) functions: Vec<FunctionTree<'a>>,
}

/// An `.entry` or `.func`, or the declaration of one.
#[derive(Debug)]
pub(crate) struct FunctionTree<'a> {
    pub(crate) entry: bool,
    pub(crate) name: &'a str,
    pub(crate) returns: Vec<Variable<'a>>,
    pub(crate) parameters: Vec<Variable<'a>>,
    /// The product of `.maxntid` or `.reqntid`.
    pub(crate) max_threads: Option<u32>,
    /// `None` when the text only declares the function.
    pub(crate) body: Option<Vec<(Place, Statement<'a>)>>,
    pub(crate) place: Place,
}

/// A variable or parameter in memory, or a parameter in a register (`space` is `None`).
#[derive(Debug)]
pub(crate) struct Variable<'a> {
    pub(crate) space: Option<Space>,
    pub(crate) ty: Ty,
    pub(crate) align: u32,
    pub(crate) name: &'a str,
    /// The number of elements; `None` for `name[]`, whose size the launch gives.
    pub(crate) elements: Option<u64>,
    pub(crate) initial: Vec<Initial<'a>>,
    pub(crate) external: bool,
    pub(crate) place: Place,
}

impl Variable<'_> {
    /// The size in bytes; zero for `name[]`. Never overflows: the parser bounds `elements`.
    pub(crate) fn bytes(&self) -> u64 {
        self.elements.unwrap_or(0) * u64::from(self.ty.bytes())
    }
}

/// One element of an initialiser.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Initial<'a> {
    Int(u64),
    F32(u32),
    F64(u64),
    /// The address of a variable plus an offset.
    Address(&'a str, i64),
}

/// One statement of a function body. Blocks are flat: `Open` and `Close` bracket them.
#[derive(Debug)]
pub(crate) enum Statement<'a> {
    Open,
    Close,
    Label(&'a str),
    /// `.reg .b32 %r<9>` has a count, `.reg .b32 x` has none.
    Register {
        ty: Ty,
        name: &'a str,
        count: Option<u64>,
    },
    Variable(Variable<'a>),
    /// `name: .branchtargets a, b, ..;`
    Targets {
        name: &'a str,
        labels: Vec<&'a str>,
    },
    Instruction(Instruction<'a>),
}

/// An instruction with its guard predicate.
#[derive(Debug)]
pub(crate) struct Instruction<'a> {
    /// `@p` or, negated, `@!p`.
    pub(crate) guard: Option<(&'a str, bool)>,
    pub(crate) opcode: &'a str,
    pub(crate) modifiers: Vec<&'a str>,
    pub(crate) operands: Vec<Operand<'a>>,
}

/// An operand.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand<'a> {
    /// A register, variable, label or function, plus an offset that is zero for all but variables.
    Name(&'a str, i64),
    /// `%tid.x`
    Member(&'a str, &'a str),
    /// `!p`
    Not(&'a str),
    /// The bits of an integer, sign-extended when it was written with a minus sign.
    Int(u64),
    F32(u32),
    F64(u64),
    /// `[base + offset]`
    Address(Base<'a>, i64),
    /// `{a, b}`
    Vector(Vec<Operand<'a>>),
    /// `d|p`
    Pair(&'a str, &'a str),
    /// `(a, b)`, of calls.
    List(Vec<Operand<'a>>),
}

/// What an address is relative to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Base<'a> {
    Name(&'a str),
    Absolute,
}
