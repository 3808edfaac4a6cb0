//! What can go wrong with several ranks at once.

use std::error::Error as StdError;
use std::fmt;

use super::{DriverError, Error, ManifestMismatch};

/// The ranks of a [`Ranks`](crate::Ranks) that have failed, each with its own error; one at least.
#[derive(Debug)]
pub struct RankFailures(Vec<RankFailure>);

/// A rank and what went wrong there.
#[derive(Debug)]
#[non_exhaustive]
pub struct RankFailure {
    /// The rank, from 0.
    pub rank: usize,
    /// What went wrong.
    pub error: Error,
}

impl RankFailures {
    /// One rank's error.
    pub(crate) fn at(rank: usize, error: impl Into<Error>) -> Error {
        Self(vec![RankFailure { rank, error: error.into() }]).into()
    }

    /// Of one failure at least.
    pub(crate) fn of(failures: impl IntoIterator<Item = (usize, Error)>) -> Error {
        let failures: Vec<_> = failures.into_iter().map(|(rank, error)| RankFailure { rank, error }).collect();
        debug_assert!(!failures.is_empty(), "no failure without one");
        Self(failures).into()
    }

    /// What all ranks have, or every failure.
    pub(crate) fn all<R>(results: impl IntoIterator<Item = Result<R, Error>>) -> Result<Vec<R>, Error> {
        let (mut done, mut failures) = (Vec::new(), Vec::new());
        for (rank, result) in results.into_iter().enumerate() {
            match result {
                Ok(value) => done.push(value),
                Err(error) => failures.push(RankFailure { rank, error }),
            }
        }
        if failures.is_empty() { Ok(done) } else { Err(Self(failures).into()) }
    }

    /// The failure of the lowest rank.
    #[must_use]
    pub fn first(&self) -> &RankFailure {
        &self.0[0]
    }

    /// Every failure, by rank.
    pub fn iter(&self) -> impl Iterator<Item = &RankFailure> {
        self.0.iter()
    }
}

impl fmt::Display for RankFailures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, RankFailure { rank, error }) in self.iter().enumerate() {
            let separator = if position == 0 { "" } else { "; " };
            write!(f, "{separator}rank {rank}: {error}")?;
        }
        Ok(())
    }
}

impl StdError for RankFailures {
    /// What caused the first; the failures themselves are in the text.
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.first().error.source()
    }
}

/// A replay that was submitted on some ranks and then refused on another: what was submitted runs, the rest does not.
///
/// By the time that this is returned every rank has been drained. The ranks may be replayed again, unless that has failed: then
/// [`unproven`](Self::unproven) says so, and they are poisoned; or unless the device has faulted.
#[derive(Debug)]
#[non_exhaustive]
pub struct PartialSubmission {
    /// Ranks on which it was submitted.
    pub submitted: usize,
    /// The first rank that refused it.
    pub rank: usize,
    /// Why.
    pub source: Error,
    /// What was found by draining, if that has failed.
    pub unproven: Option<Unproven>,
}

impl fmt::Display for PartialSubmission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { submitted, rank, source, unproven } = self;
        let ranks = if *submitted == 1 { "rank" } else { "ranks" };
        write!(f, "the replay was submitted on {submitted} {ranks} and refused on rank {rank}: {source}")?;
        match unproven {
            None => f.write_str("; all ranks were drained"),
            Some(unproven) => write!(f, "; {unproven}"),
        }
    }
}

impl StdError for PartialSubmission {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.source)
    }
}

/// Ranks that could not be drained: their work may still be running, so what all ranks had captured was kept for good, and all of
/// them refuse everything from here on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unproven(Vec<RankDrain>);

/// A rank that could not be drained.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RankDrain {
    /// The rank, from 0.
    pub rank: usize,
    /// What the driver said.
    pub cause: DriverError,
}

impl Unproven {
    /// Of one failure at least.
    pub(crate) fn of(drains: Vec<RankDrain>) -> Self {
        debug_assert!(!drains.is_empty(), "nothing is unproven without a failure");
        Self(drains)
    }

    /// The failure of the lowest rank.
    #[must_use]
    pub fn first(&self) -> RankDrain {
        self.0[0]
    }

    /// Every failure, by rank.
    pub fn iter(&self) -> impl Iterator<Item = RankDrain> + '_ {
        self.0.iter().copied()
    }
}

impl fmt::Display for Unproven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("completion is unproven")?;
        for (position, RankDrain { rank, cause }) in self.iter().enumerate() {
            write!(f, "{} rank {rank}: {cause}", if position == 0 { " on" } else { "," })?;
        }
        f.write_str("; captured storage of all ranks is kept, they refuse everything")
    }
}

impl StdError for Unproven {}

/// Where the graph of a rank first differs from that of rank 0.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RankDifference {
    /// The rank that differs.
    pub rank: usize,
    /// The node, and what rank 0 (expected) and this rank (found) have there.
    pub node: ManifestMismatch,
}

impl fmt::Display for RankDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rank, node: ManifestMismatch { position, expected, found } } = self;
        let or_nothing =
            |node: &Option<_>| node.as_ref().map_or_else(|| "nothing".to_owned(), crate::node::Node::to_string);
        let (expected, found) = (or_nothing(expected), or_nothing(found));
        write!(f, "node {position} of rank {rank} is not what rank 0 has there: {found} instead of {expected}")
    }
}

impl From<RankFailures> for Error {
    fn from(failures: RankFailures) -> Self {
        Self::Ranks(Box::new(failures))
    }
}

impl From<PartialSubmission> for Error {
    fn from(partial: PartialSubmission) -> Self {
        Self::PartialSubmission(Box::new(partial))
    }
}

impl From<Unproven> for Error {
    fn from(unproven: Unproven) -> Self {
        Self::Unproven(Box::new(unproven))
    }
}
