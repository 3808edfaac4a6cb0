//! Why a PTX text was refused.

use std::fmt;

use thiserror::Error;

/// A text that the interpreter cannot run: the line, the statement there, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("ptx line {line}: {reason} in `{instruction}`")]
#[non_exhaustive]
pub struct ParseError {
    /// The line of the statement, counted from 1.
    pub line: usize,
    /// The statement's text, blanks collapsed, cut when it is long.
    pub instruction: String,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What is wrong with a statement.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Reason {
    /// A token that does not fit here.
    #[error("expected {expected}, found `{found}`")]
    Unexpected {
        /// What the grammar wants.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// The text ends inside a statement or a block.
    #[error("unexpected end of text")]
    UnexpectedEnd,
    /// A byte that begins no token.
    #[error("invalid character")]
    InvalidCharacter,
    /// A number that does not fit its place.
    #[error("number out of range")]
    NumberOutOfRange,
    /// An instruction outside the supported subset.
    #[error("unsupported instruction `{0}`")]
    UnsupportedInstruction(String),
    /// A modifier that the instruction does not have here.
    #[error("unsupported modifier `.{0}`")]
    UnsupportedModifier(String),
    /// A modifier that the instruction must have.
    #[error("missing modifier: {0}")]
    MissingModifier(&'static str),
    /// The instruction exists, but not for this type or these types.
    #[error("unsupported type `{0}`")]
    UnsupportedType(String),
    /// A directive outside the supported subset.
    #[error("unsupported directive `.{0}`")]
    UnsupportedDirective(String),
    /// A call that cannot be resolved when the module is loaded, such as `malloc`.
    #[error("unsupported call of `{0}`")]
    UnsupportedCall(String),
    /// A function that reaches itself.
    #[error("recursive call of `{0}`")]
    RecursiveCall(String),
    /// A name that nothing declares.
    #[error("undeclared name `{0}`")]
    Undeclared(String),
    /// A name that is declared twice in one scope.
    #[error("`{0}` is declared twice")]
    DeclaredTwice(String),
    /// An instruction with too few or too many operands.
    #[error("wrong number of operands")]
    OperandCount,
    /// An operand of a kind or width that the instruction does not take.
    #[error("operand {0} does not fit the instruction")]
    Operand(usize),
    /// Something is larger than the interpreter allows.
    #[error("too large: {0}")]
    TooLarge(Limit),
}

/// The quantities that the interpreter limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// Bytes of text: 16 MiB.
    Text,
    /// Nested blocks in a function: 64.
    Nesting,
    /// Statements of a function after calls are inlined: 1048576.
    Instructions,
    /// Registers and constants of one width that a function uses: 16384.
    Registers,
    /// Nested calls: 32.
    CallDepth,
    /// Bytes of parameters: 4352 a kernel.
    Parameters,
    /// Bytes of static shared memory: 16 MiB.
    Shared,
    /// Bytes of local memory: 512 KiB a thread.
    Local,
    /// Bytes of a module-scope variable: 1 GiB, and 16 MiB with an initialiser.
    Variable,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limit::Text => "text",
            Limit::Nesting => "nested blocks",
            Limit::Instructions => "function",
            Limit::Registers => "registers",
            Limit::CallDepth => "nested calls",
            Limit::Parameters => "parameters",
            Limit::Shared => "shared memory",
            Limit::Local => "local memory",
            Limit::Variable => "variable",
        })
    }
}

/// The text of the statement that begins at byte `start`: up to its semicolon, else to the end of the line, on one line.
pub(crate) fn snippet(text: &str, start: usize) -> String {
    const LONGEST: usize = 160;
    let rest = text.get(start..).unwrap_or_default();
    let line = rest.find('\n').unwrap_or(rest.len());
    let end = match rest.find(';') {
        Some(semicolon) if semicolon < LONGEST => semicolon + 1,
        _ => line,
    };
    let mut out = String::new();
    for word in rest[..end].split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(word.chars().take(LONGEST));
        if out.len() >= LONGEST {
            break;
        }
    }
    out
}
