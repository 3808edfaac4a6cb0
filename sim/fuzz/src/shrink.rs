//! Making a sequence short that two drivers do not agree about.

use std::time::Instant;

use crate::call::Sequence;
use crate::compare::{Difference, Kind};
use crate::runner::{Report, RunError};

/// Runs a sequence on both drivers.
pub trait Both {
    /// What the one and the other make of it.
    ///
    /// # Errors
    ///
    /// When one of them cannot be run at all.
    fn both(&mut self, sequence: &Sequence) -> Result<(Report, Report), RunError>;
}

/// A sequence, as short as it could be made in the time, whose first difference is of the given kind.
///
/// # Errors
///
/// When a driver cannot be run.
pub fn shrink(drivers: &mut impl Both, sequence: &Sequence, kind: &Kind, until: Instant) -> Result<Sequence, RunError> {
    let mut shortest = sequence.clone();
    let mut differs = |sequence: &Sequence| -> Result<Option<usize>, RunError> {
        let (left, right) = drivers.both(sequence)?;
        let difference = Difference::find(&left, &right).filter(|difference| difference.kind(sequence) == *kind);
        Ok(difference.map(|difference| difference.step))
    };
    match differs(&shortest)? {
        // What comes after the difference does not matter.
        Some(step) => shortest.0.truncate(step + 1),
        None => return Ok(shortest),
    }
    let mut piece = shortest.0.len().div_ceil(2);
    while piece > 0 {
        let mut shorter = false;
        let mut end = shortest.0.len();
        while end > 0 {
            if Instant::now() >= until {
                return Ok(shortest);
            }
            let start = end.saturating_sub(piece);
            let mut candidate = shortest.clone();
            candidate.0.drain(start..end);
            if differs(&candidate)?.is_some() {
                shortest = candidate;
                shorter = true;
            }
            end = start;
        }
        // Single steps are tried again for as long as that helps.
        if piece > 1 || !shorter {
            piece /= 2;
        }
    }
    Ok(shortest)
}
