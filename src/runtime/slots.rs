//! Which graph is published where: slots, generations, tokens.
//!
//! Invariants, all of them under the lane's lock:
//!
//! 1. A generation number is given out once. They count up from 1 on each lane; running out is an error.
//! 2. A slot is live from `publish` to `retire`, and its executable outlives that time.
//! 3. `admit` finds a slot only by the token that `publish` made for it.

use std::fmt;

use crate::driver::ExecutableHandle;
use crate::error::{Misuse, Stale};

/// Names exactly one published graph, for good: tokens of one stream are never the same for two graphs.
///
/// A token owns nothing and keeps nothing alive. Two are equal if they name the same publication.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Token {
    owner: u64,
    slot: usize,
    generation: u64,
}

impl Token {
    /// The number of the publication on its stream, from 1.
    #[must_use]
    pub fn generation(self) -> u64 {
        self.generation
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {} slot {} generation {}", self.owner, self.slot, self.generation)
    }
}

/// A published executable.
pub(crate) struct Live {
    pub(crate) executable: ExecutableHandle,
    /// Launches that the driver has taken.
    pub(crate) replays: u64,
    generation: u64,
}

/// The slots of one lane.
pub(crate) struct Slots {
    owner: u64,
    last_generation: u64,
    slots: Vec<Option<Live>>,
}

impl Slots {
    /// `owner` is the lane's number, which no other lane has.
    pub(crate) fn new(owner: u64) -> Self {
        Self { owner, last_generation: 0, slots: Vec::new() }
    }

    /// Makes `executable` the next generation, in a free slot.
    pub(crate) fn publish(&mut self, executable: ExecutableHandle) -> Result<Token, Misuse> {
        let generation = self.last_generation.checked_add(1).ok_or(Misuse::GenerationsExhausted)?;
        self.last_generation = generation;
        let slot = self.slots.iter().position(Option::is_none).unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some(Live { executable, replays: 0, generation });
        Ok(Token { owner: self.owner, slot, generation })
    }

    /// The graph that the token names, if it is still published.
    #[inline]
    pub(crate) fn admit(&mut self, token: Token) -> Result<&mut Live, Stale> {
        let (held, live) = (token.generation, self.slots.get_mut(token.slot).and_then(Option::as_mut));
        match live {
            Some(live) if live.generation == held => Ok(live),
            Some(live) => Err(Stale { held, current: Some(live.generation) }),
            None => Err(Stale { held, current: None }),
        }
    }

    /// Takes the graph out of circulation: from here on `admit` refuses its token.
    pub(crate) fn retire(&mut self, token: Token) {
        if self.admit(token).is_ok() {
            self.slots[token.slot] = None;
        }
    }
}
