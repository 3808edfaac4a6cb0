//! Operands: names that mean the same in every run, where handles and addresses would not.
//!
//! 1. A name is a letter and a number. It is given by the step that makes the object and never given twice in a sequence.
//! 2. What is written can be read back: `to_string` and `parse` are each other's inverse.

use std::fmt;
use std::str::FromStr;

/// A word that is no operand of the wanted kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadOperand;

impl fmt::Display for BadOperand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an operand of this kind")
    }
}

impl std::error::Error for BadOperand {}

/// Some object of a sequence, whatever its kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name {
    /// The letter of its kind.
    pub letter: char,
    /// Its number.
    pub number: u16,
}

/// What a call takes.
pub trait Operand: fmt::Display + FromStr<Err = BadOperand> {
    /// The objects that must be there for the call to be made.
    fn uses(&self) -> Vec<Name> {
        Vec::new()
    }

    /// The place that it is, if it is one.
    fn place(&self) -> Option<Place> {
        None
    }
}

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident = $letter:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u16);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", $letter, self.0)
            }
        }

        impl FromStr for $name {
            type Err = BadOperand;

            fn from_str(word: &str) -> Result<$name, BadOperand> {
                word.strip_prefix($letter).and_then(|digits| digits.parse().ok()).map($name).ok_or(BadOperand)
            }
        }

        impl From<u16> for $name {
            fn from(number: u16) -> $name {
                $name(number)
            }
        }

        impl From<$name> for Name {
            fn from(name: $name) -> Name {
                Name { letter: $letter, number: name.0 }
            }
        }

        impl Operand for $name {
            fn uses(&self) -> Vec<Name> {
                vec![(*self).into()]
            }
        }
    )*};
}

names! {
    /// A stream that a sequence has made.
    Stream = 's';
    /// An event.
    Event = 'e';
    /// A graph.
    Graph = 'g';
    /// An executable graph.
    Exec = 'x';
    /// A node of a graph.
    Node = 'n';
    /// A device allocation.
    Pointer = 'p';
    /// A page-locked host allocation.
    Block = 'h';
    /// A module.
    Module = 'm';
    /// A user object.
    Object = 'o';
}

/// The name that a call gives to what it makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct New<N>(pub N);

impl<N: fmt::Display> fmt::Display for New<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<N: FromStr<Err = BadOperand>> FromStr for New<N> {
    type Err = BadOperand;

    fn from_str(word: &str) -> Result<New<N>, BadOperand> {
        word.parse().map(New)
    }
}

impl<N: Operand> Operand for New<N> {}

/// A stream as a call names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StreamArg {
    /// One that the sequence has made.
    Named(Stream),
    /// No stream, which is the legacy default stream of the calling thread's context.
    Null,
    /// The legacy default stream, by its own handle.
    Legacy,
    /// The default stream of the calling thread in its context.
    Own,
}

impl fmt::Display for StreamArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamArg::Named(stream) => stream.fmt(f),
            StreamArg::Null => f.write_str("null"),
            StreamArg::Legacy => f.write_str("legacy"),
            StreamArg::Own => f.write_str("own"),
        }
    }
}

impl FromStr for StreamArg {
    type Err = BadOperand;

    fn from_str(word: &str) -> Result<StreamArg, BadOperand> {
        match word {
            "null" => Ok(StreamArg::Null),
            "legacy" => Ok(StreamArg::Legacy),
            "own" => Ok(StreamArg::Own),
            word => word.parse().map(StreamArg::Named),
        }
    }
}

impl Operand for StreamArg {
    fn uses(&self) -> Vec<Name> {
        match self {
            StreamArg::Named(stream) => stream.uses(),
            StreamArg::Null | StreamArg::Legacy | StreamArg::Own => Vec::new(),
        }
    }
}

/// A device with its primary context: a place where streams, memory and kernels are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place(pub usize);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", self.0)
    }
}

impl FromStr for Place {
    type Err = BadOperand;

    fn from_str(word: &str) -> Result<Place, BadOperand> {
        let number = word.strip_prefix('@').and_then(|digits| digits.parse().ok());
        number.filter(|number| *number < PLACES).map(Place).ok_or(BadOperand)
    }
}

impl Operand for Place {
    fn place(&self) -> Option<Place> {
        Some(*self)
    }
}

/// How many places there can be.
pub const PLACES: usize = 2;

/// A word of every device's test memory. A call that writes has one to itself, so that what is there in the end does not
/// depend on the order of things that are not ordered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cell(pub u16);

/// How many cells there are.
pub const CELLS: u16 = 1024;

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}", self.0)
    }
}

impl FromStr for Cell {
    type Err = BadOperand;

    fn from_str(word: &str) -> Result<Cell, BadOperand> {
        let number = word.strip_prefix('c').and_then(|digits| digits.parse().ok());
        number.filter(|number| *number < CELLS).map(Cell).ok_or(BadOperand)
    }
}

impl Operand for Cell {}

/// Some nodes: `n1+n2`, or `-` for none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Nodes(pub Vec<Node>);

impl fmt::Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("-");
        }
        let words: Vec<String> = self.0.iter().map(Node::to_string).collect();
        f.write_str(&words.join("+"))
    }
}

impl FromStr for Nodes {
    type Err = BadOperand;

    fn from_str(word: &str) -> Result<Nodes, BadOperand> {
        if word == "-" {
            return Ok(Nodes::default());
        }
        word.split('+').map(str::parse).collect::<Result<_, _>>().map(Nodes)
    }
}

impl Operand for Nodes {
    fn uses(&self) -> Vec<Name> {
        self.0.iter().flat_map(Operand::uses).collect()
    }
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            $($(#[$variant_doc])* $variant),*
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $($name::$variant => $word),*
                })
            }
        }

        impl FromStr for $name {
            type Err = BadOperand;

            fn from_str(word: &str) -> Result<$name, BadOperand> {
                match word {
                    $($word => Ok($name::$variant),)*
                    _ => Err(BadOperand),
                }
            }
        }

        impl Operand for $name {}
    )*};
}

words! {
    /// How a stream is ordered with the legacy stream.
    StreamKind {
        /// Not at all.
        Free = "non-blocking",
        /// In both directions.
        Blocking = "blocking"
    }
    /// On which side of a capture's border an event is.
    Side {
        /// As the stream is.
        Plain = "plain",
        /// Outside, always.
        External = "external"
    }
    /// Whether an event keeps time.
    Timing {
        /// It does.
        Timed = "timed",
        /// It does not.
        Untimed = "untimed"
    }
    /// A capture mode.
    Mode {
        /// Forbids unsafe calls of every thread.
        Global = "global",
        /// Forbids unsafe calls of the thread that began.
        ThreadLocal = "thread-local",
        /// Forbids nothing.
        Relaxed = "relaxed"
    }
    /// What kind of host memory a copy uses.
    Host {
        /// Page-locked.
        Pinned = "pinned",
        /// Ordinary.
        Pageable = "pageable"
    }
    /// On or off.
    Switch {
        /// On.
        On = "on",
        /// Off.
        Off = "off"
    }
    /// How dependencies are changed.
    Change {
        /// Added to what is there.
        Add = "add",
        /// Put in the place of what is there.
        Set = "set"
    }
}

impl Mode {
    /// The driver's number.
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Mode::Global => 0,
            Mode::ThreadLocal => 1,
            Mode::Relaxed => 2,
        }
    }
}

/// A plain number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Number(pub u32);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Number {
    type Err = BadOperand;

    fn from_str(word: &str) -> Result<Number, BadOperand> {
        word.parse().map(Number).map_err(|_| BadOperand)
    }
}

impl Operand for Number {}
