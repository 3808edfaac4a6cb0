//! Which graph is published where: slots, generations, tokens.
//!
//! Invariants, all of them under the lane's lock:
//!
//! 1. A generation number is given out once. They count up from 1 on each lane; running out is an error.
//! 2. A slot is live from `publish` to `retire`, and its executable outlives that time.
//! 3. `admit` finds a slot only by the token that `publish` made for it.

use std::fmt;
use std::num::NonZeroU64;

use smallvec::SmallVec;

use crate::error::{Error, Misuse, Stale};
use crate::sync::{AtomicU64, Ordering};

/// Names exactly one published graph, for good: tokens of one stream are never the same for two graphs.
///
/// A token owns nothing and keeps nothing alive. Two are equal if they name the same publication.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::{Device, Enqueue, ThreadLocal};
///
/// let mut stream = Device::open(0)?.stream()?;
/// let buffer = stream.alloc::<u32>(1)?;
/// let published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 1))?.publish()?;
/// let token = published.token();
/// assert_eq!((token, token.generation()), (published.replayer().token(), 1));
/// let again = published.reset()?.capture(ThreadLocal, |c| c.fill(&buffer, 1))?.publish()?;
/// assert_eq!(again.token().generation(), 2);
/// # Ok::<(), dacapo::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Token {
    owner: u64,
    slot: usize,
    generation: Generation,
}

/// Counts the publications of one lane, from 1.
type Generation = NonZeroU64;

impl Token {
    /// The number of the publication on its stream, from 1.
    #[must_use]
    pub fn generation(self) -> u64 {
        self.generation.get()
    }

    /// The number of the stream (and of its siblings), which no other has.
    #[cfg(feature = "tracing")]
    pub(crate) fn stream(self) -> u64 {
        self.owner
    }

    /// The same slot's token of another generation; 0 is none.
    fn of_generation(self, generation: u64) -> Option<Self> {
        Some(Self { generation: Generation::new(generation)?, ..self })
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {} slot {} generation {}", self.owner, self.slot, self.generation)
    }
}

/// The generation that a publication has at the moment, as those see it who do not hold the lock.
///
/// Written under the lane's lock, together with the slot; 0 once the publication is gone.
pub(crate) struct Current(AtomicU64);

impl Current {
    pub(crate) fn new(token: Token) -> Self {
        Self(AtomicU64::new(token.generation()))
    }

    /// Under the lane's lock, so that who finds the old generation stale finds the new one here.
    pub(crate) fn set(&self, token: Option<Token>) {
        // Release: pairs with the acquire of `get`, so who sees a generation gone sees what came before that.
        self.0.store(token.map_or(0, Token::generation), Ordering::Release);
    }

    /// The token, of those of `any`'s publication, that is current. Waits for nothing.
    pub(crate) fn get(&self, any: Token) -> Option<Token> {
        // Acquire: pairs with the release of `set`.
        any.of_generation(self.0.load(Ordering::Acquire))
    }

    /// Does `replay` with whatever token is current: again, if that was replaced between the look and the turn.
    pub(crate) fn follow(&self, any: Token, replay: impl Fn(Token) -> Result<(), Error>) -> Result<Token, Error> {
        loop {
            let Some(token) = self.get(any) else {
                return Err(Stale { held: any.generation(), current: None }.into());
            };
            match replay(token) {
                Err(Error::Stale(_)) if self.get(any) != Some(token) => {}
                replayed => return replayed.map(|()| token),
            }
        }
    }
}

/// What is published in a slot, of whatever type `P`.
pub(crate) struct Live<P> {
    pub(crate) program: P,
    /// Launches that the driver has taken.
    pub(crate) replays: u64,
    generation: Generation,
}

/// The slots of one lane.
///
/// Small enough to share a cache line with the lock around it, as long as no more than one graph is published: a replay
/// comes from a driver call that has emptied the caches, and touches this line alone.
pub(crate) struct Slots<P> {
    last_generation: u64,
    slots: SmallVec<[Option<Live<P>>; 1]>,
}

impl<P> Slots<P> {
    pub(crate) fn new() -> Self {
        Self { last_generation: 0, slots: SmallVec::new() }
    }

    /// Makes `program` the next generation of the lane called `owner`, in a free slot.
    pub(crate) fn publish(&mut self, owner: u64, program: P) -> Result<Token, Misuse> {
        let generation = self.next_generation()?;
        let slot = self.slots.iter().position(Option::is_none).unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some(Live { program, replays: 0, generation });
        Ok(Token { owner, slot, generation })
    }

    /// Makes `program` the next generation, in place of what `token` names: that is published no more. Returns how often it was
    /// replayed, too.
    pub(crate) fn replace(&mut self, token: Token, program: P) -> Result<(Token, u64), Error> {
        let replays = self.admit(token)?.replays;
        let generation = self.next_generation()?;
        self.slots[token.slot] = Some(Live { program, replays: 0, generation });
        Ok((Token { generation, ..token }, replays))
    }

    fn next_generation(&mut self) -> Result<Generation, Misuse> {
        let generation = self.last_generation.checked_add(1).and_then(Generation::new);
        let generation = generation.ok_or(Misuse::GenerationsExhausted)?;
        self.last_generation = generation.get();
        Ok(generation)
    }

    /// The graph that the token names, if it is still published.
    #[inline]
    pub(crate) fn admit(&mut self, token: Token) -> Result<&mut Live<P>, Stale> {
        let (held, live) = (token.generation, self.slots.get_mut(token.slot).and_then(Option::as_mut));
        match live {
            Some(live) if live.generation == held => Ok(live),
            live => Err(Stale { held: held.get(), current: live.map(|live| live.generation.get()) }),
        }
    }

    /// Takes the graph out of circulation: from here on `admit` refuses its token. Returns how often it was replayed.
    pub(crate) fn retire(&mut self, token: Token) -> u64 {
        let Ok(live) = self.admit(token) else { return 0 };
        let replays = live.replays;
        self.slots[token.slot] = None;
        replays
    }

    /// Replays of everything that is published.
    pub(crate) fn replays(&self) -> u64 {
        self.slots.iter().flatten().map(|live| live.replays).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executable(slots: &mut Slots<char>, token: Token) -> Option<char> {
        slots.admit(token).ok().map(|live| live.program)
    }

    #[test]
    fn a_token_admits_its_own_graph_until_that_is_retired() {
        let mut slots = Slots::new();
        let (a, b) = (slots.publish(1, 'a').unwrap(), slots.publish(1, 'b').unwrap());
        assert_eq!((executable(&mut slots, a), executable(&mut slots, b)), (Some('a'), Some('b')));
        slots.retire(a);
        assert_eq!((executable(&mut slots, a), executable(&mut slots, b)), (None, Some('b')));
        slots.retire(a);
        assert_eq!(executable(&mut slots, b), Some('b'), "retiring twice takes nobody else's slot");
    }

    #[test]
    fn a_slot_is_used_again_and_its_old_token_is_stale() {
        let mut slots = Slots::new();
        let a = slots.publish(1, 'a').unwrap();
        assert_eq!(slots.admit(a).err(), None);
        slots.retire(a);
        assert_eq!(slots.admit(a).err(), Some(Stale { held: 1, current: None }));
        let b = slots.publish(1, 'b').unwrap();
        assert_eq!((b.slot, b.generation()), (a.slot, 2));
        assert_eq!(slots.admit(a).err(), Some(Stale { held: 1, current: Some(2) }));
        slots.retire(a);
        assert_eq!(executable(&mut slots, b), Some('b'), "a stale token retires nothing");
    }

    #[test]
    fn a_replacement_is_a_new_generation_in_the_same_slot() {
        let mut slots = Slots::new();
        let (a, b) = (slots.publish(1, 'a').unwrap(), slots.publish(1, 'b').unwrap());
        let (c, replays) = slots.replace(a, 'c').unwrap();
        assert_eq!(replays, 0);
        assert_eq!((c.slot, c.generation()), (a.slot, 3));
        assert_eq!(slots.admit(a).err(), Some(Stale { held: 1, current: Some(3) }));
        assert_eq!((executable(&mut slots, b), executable(&mut slots, c)), (Some('b'), Some('c')));
        assert!(matches!(slots.replace(a, 'd'), Err(Error::Stale(_))), "what is published no more is not replaced");
        assert_eq!(executable(&mut slots, c), Some('c'));
    }

    #[test]
    fn generations_never_repeat() {
        let mut slots = Slots::new();
        slots.last_generation = u64::MAX - 1;
        let last = slots.publish(1, 'a').unwrap();
        assert_eq!(last.generation(), u64::MAX);
        slots.retire(last);
        assert_eq!(slots.publish(1, 'b').err(), Some(Misuse::GenerationsExhausted));
        assert_eq!(slots.admit(last).err(), Some(Stale { held: u64::MAX, current: None }));
    }

    #[test]
    fn a_token_from_nowhere_is_refused() {
        let mut slots = Slots::<char>::new();
        let elsewhere = Token { owner: 2, slot: 7, generation: Generation::MIN };
        assert_eq!(slots.admit(elsewhere).err(), Some(Stale { held: 1, current: None }));
    }
}
