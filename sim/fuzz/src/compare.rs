//! Where two runs differ.

use std::collections::BTreeMap;
use std::fmt;

use crate::call::{END, Sequence};
use crate::runner::Report;

/// The first difference between two reports of a sequence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The step, or the number of steps for the end.
    pub step: usize,
    /// What the one says.
    pub left: String,
    /// What the other says.
    pub right: String,
}

impl Difference {
    /// Looks for it.
    #[must_use]
    pub fn find(left: &Report, right: &Report) -> Option<Difference> {
        const NOTHING: &str = "nothing";
        let line = |report: &Report, step: usize| report.steps.get(step).map_or(NOTHING, String::as_str).to_owned();
        (0..left.steps.len().max(right.steps.len()))
            .map(|step| Difference { step, left: line(left, step), right: line(right, step) })
            .find(|pair| pair.left != pair.right)
    }

    /// What kind of difference it is.
    #[must_use]
    pub fn kind(&self, sequence: &Sequence) -> Kind {
        let call = sequence.0.get(self.step).map_or(END, |step| step.call.name());
        let only = |one: &str, other: &str| {
            let other: Vec<&str> = other.split_whitespace().collect();
            let words = one.split_whitespace().filter(|word| !other.contains(word)).map(without_number);
            let mut words: Vec<String> = words.collect();
            words.dedup();
            words.join(" ")
        };
        Kind { call, left: only(&self.left, &self.right), right: only(&self.right, &self.left) }
    }
}

/// A word about an object without the object's number: `s3:A1` is `s:A`.
fn without_number(word: &str) -> String {
    match word.split_once([':', '=']) {
        Some((object, _)) if object.starts_with(['s', 'c']) && object.len() > 1 => {
            let said = &word[object.len()..];
            let letter = &object[..1];
            match said.strip_prefix(":A") {
                Some(_) => format!("{letter}:A"),
                None => format!("{letter}{said}"),
            }
        }
        _ => word.to_owned(),
    }
}

/// A kind of difference: the call, and what is different about it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Kind {
    /// The call.
    pub call: &'static str,
    /// What only the one says.
    pub left: String,
    /// What only the other says.
    pub right: String,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
        write!(f, "{}: {} / {}", self.call, said(&self.left), said(&self.right))
    }
}

/// Differences by kind: the numbers of the sequences that have one.
pub type Groups = BTreeMap<Kind, Vec<u64>>;

/// Compares the reports of sequences, which the caller has by number.
#[must_use]
pub fn compare<'a>(pairs: impl Iterator<Item = (u64, Sequence, &'a Report, &'a Report)>) -> Groups {
    let mut groups = Groups::new();
    for (number, sequence, left, right) in pairs {
        if let Some(difference) = Difference::find(left, right) {
            groups.entry(difference.kind(&sequence)).or_default().push(number);
        }
    }
    groups
}

/// A sequence with what two drivers said, for reading; it can be run again as it is.
#[must_use]
pub fn table(sequence: &Sequence, left: &Report, right: &Report) -> String {
    let line = |report: &Report, step: usize| report.steps.get(step).cloned().unwrap_or_default();
    let mut text = String::new();
    for (number, step) in sequence.0.iter().map(ToString::to_string).chain([END.to_owned()]).enumerate() {
        let (left, right) = (line(left, number), line(right, number));
        if left == right {
            text.push_str(&format!("{step:<60} => {left}\n"));
        } else {
            text.push_str(&format!("{step:<60} => {left}   <>   {right}\n"));
        }
    }
    text
}
