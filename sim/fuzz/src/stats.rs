//! How often calls are made, and how they end: whether the sequences get anywhere.

use std::collections::BTreeMap;
use std::fmt;

use crate::call::Sequence;
use crate::runner::Report;

#[derive(Default)]
struct Count {
    made: u64,
    succeeded: u64,
    failed: BTreeMap<String, u64>,
    skipped: u64,
}

/// Counts of calls.
#[derive(Default)]
pub struct Stats {
    calls: BTreeMap<&'static str, Count>,
    all: u64,
    while_capturing: u64,
}

impl Stats {
    /// Adds a sequence and what came of it.
    pub fn add(&mut self, sequence: &Sequence, report: &Report) {
        let mut capturing = false;
        for (step, said) in sequence.0.iter().zip(&report.steps) {
            let count = self.calls.entry(step.call.name()).or_default();
            self.all += 1;
            self.while_capturing += u64::from(capturing);
            count.made += 1;
            match said.split_whitespace().next().unwrap_or("") {
                "0" | "0/600" => count.succeeded += 1,
                "skipped" => count.skipped += 1,
                code => *count.failed.entry(code.to_owned()).or_default() += 1,
            }
            capturing = said.split_once('|').is_some_and(|(_, statuses)| statuses.contains(":A"));
        }
    }
}

impl Stats {
    /// How many calls of a hundred were made while a stream was capturing.
    #[must_use]
    pub fn percent_while_capturing(&self) -> u64 {
        100 * self.while_capturing / self.all.max(1)
    }

    /// How often a call was made.
    #[must_use]
    pub fn made(&self, name: &str) -> u64 {
        self.calls.get(name).map_or(0, |count| count.made)
    }

    /// How often it succeeded.
    #[must_use]
    pub fn succeeded(&self, name: &str) -> u64 {
        self.calls.get(name).map_or(0, |count| count.succeeded)
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<34} {:>7} {:>7} {:>7}  failed", "call", "made", "0", "skipped")?;
        for (name, count) in &self.calls {
            let failed: Vec<String> = count.failed.iter().map(|(code, times)| format!("{code}:{times}")).collect();
            let failed = failed.join(" ");
            writeln!(f, "{name:<34} {:>7} {:>7} {:>7}  {failed}", count.made, count.succeeded, count.skipped)?;
        }
        let share = self.percent_while_capturing();
        write!(f, "{} calls, {share} % of them while a stream was capturing", self.all)
    }
}
