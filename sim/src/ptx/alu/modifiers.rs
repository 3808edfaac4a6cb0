//! The suffixes of one instruction, taken one by one; what nobody takes is refused by name.

use crate::ptx::{error::Reason, number::Rounding, types::Ty};

/// The suffixes that nobody has taken yet, in the order of the text.
#[derive(Debug, Clone)]
pub(crate) struct Modifiers<'a> {
    rest: Vec<&'a str>,
}

impl<'a> Modifiers<'a> {
    pub(crate) fn new(all: &[&'a str]) -> Self {
        Modifiers { rest: all.to_vec() }
    }

    /// Takes the first suffix that `read` understands.
    pub(crate) fn take<T>(&mut self, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (index, value) = self.rest.iter().enumerate().find_map(|(i, m)| Some((i, read(m)?)))?;
        self.rest.remove(index);
        Some(value)
    }

    /// Takes the suffix `name` when it is there.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        self.take(|m| (m == name).then_some(())).is_some()
    }

    /// Takes whichever of `names` comes first.
    pub(crate) fn any(&mut self, names: &[&'static str]) -> Option<&'static str> {
        self.take(|m| names.iter().find(|n| **n == m).copied())
    }

    /// Takes the first type.
    pub(crate) fn ty(&mut self) -> Result<Ty, Reason> {
        match self.take(Ty::parse) {
            Some(ty) => Ok(ty),
            None => Err(Reason::UnsupportedType(self.rest.last().copied().unwrap_or("none").to_owned())),
        }
    }

    /// The first type, left in place.
    pub(crate) fn leading_type(&self) -> Option<Ty> {
        self.rest.iter().find_map(|m| Ty::parse(m))
    }

    /// Takes `.rn`, `.rz`, `.rm` or `.rp`.
    pub(crate) fn rounding(&mut self) -> Option<Rounding> {
        self.take(|m| match m {
            "rn" => Some(Rounding::Near),
            "rz" => Some(Rounding::Zero),
            "rm" => Some(Rounding::Down),
            "rp" => Some(Rounding::Up),
            _ => None,
        })
    }

    /// Takes `.rni`, `.rzi`, `.rmi` or `.rpi`: rounding to an integer.
    pub(crate) fn integer_rounding(&mut self) -> Option<Rounding> {
        self.take(|m| match m {
            "rni" => Some(Rounding::Near),
            "rzi" => Some(Rounding::Zero),
            "rmi" => Some(Rounding::Down),
            "rpi" => Some(Rounding::Up),
            _ => None,
        })
    }

    /// Refuses what is left.
    pub(crate) fn finish(&self) -> Result<(), Reason> {
        match self.rest.first() {
            None => Ok(()),
            Some(left) => Err(Reason::UnsupportedModifier((*left).to_owned())),
        }
    }
}
