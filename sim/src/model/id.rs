//! Handles and the tables that give them a meaning.
//!
//! Every object of the driver is named by a made-up number. A caller may hand back any bits at all, so a handle is looked
//! up and never followed.
//!
//! 1. A handle carries its kind in its top bits and is not a valid address on any supported machine.
//! 2. A handle is never given out twice, so a stale handle is told apart from one that never existed.
//! 3. Tables are ordered: walking one gives the same order in every run.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;

use crate::report::Site;

/// How many destroyed objects of a kind are remembered, to tell who destroyed them.
const GRAVES: usize = 1 << 16;

/// A typed handle.
pub(crate) trait Id: Copy + Ord + Debug {
    /// What sets this kind of handle apart from the others.
    const TAG: u64;
    /// The handle with this serial number.
    fn from_raw(raw: u64) -> Self;
    /// The bits that the caller sees.
    fn raw(self) -> u64;
}

const SERIAL_SHIFT: u32 = 4;
const TAG_SHIFT: u32 = 48;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $tag:literal;)*) => {
        $(
            $(#[$doc])*
            #[repr(transparent)]
            #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
            pub(crate) struct $name(u64);

            impl Id for $name {
                const TAG: u64 = 0xDA00 | $tag;

                fn from_raw(raw: u64) -> Self {
                    Self(raw)
                }

                fn raw(self) -> u64 {
                    self.0
                }
            }
        )*
    };
}

ids! {
    /// A context.
    ContextId = 0x01;
    /// A stream, the two default streams of a context included.
    StreamId = 0x02;
    /// An event.
    EventId = 0x03;
    /// A graph.
    GraphId = 0x04;
    /// A node of a graph.
    NodeId = 0x05;
    /// An executable graph.
    ExecId = 0x06;
    /// A loaded module.
    ModuleId = 0x07;
    /// A kernel function of a module.
    FunctionId = 0x08;
    /// A library: a module that belongs to no context.
    LibraryId = 0x09;
    /// A kernel of a library.
    KernelId = 0x0A;
    /// A memory pool.
    PoolId = 0x0B;
    /// A user object.
    UserObjectId = 0x0C;
    /// A conditional handle of a graph.
    ConditionId = 0x0D;
}

/// Why a handle names nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Miss {
    /// The handle is zero.
    Null,
    /// No such handle was ever given out.
    Unknown,
    /// The object has been destroyed, here if it is still remembered.
    Stale(Option<Site>),
}

/// The live objects of one kind.
#[derive(Debug)]
pub(crate) struct Table<I, T> {
    next: u64,
    live: BTreeMap<I, T>,
    graves: BTreeMap<I, Site>,
    order: VecDeque<I>,
}

impl<I: Id, T> Table<I, T> {
    /// A table with nothing in it.
    pub(crate) fn new() -> Self {
        Table { next: 1, live: BTreeMap::new(), graves: BTreeMap::new(), order: VecDeque::new() }
    }

    /// The handle that the next [`insert`](Self::insert) will give out.
    pub(crate) fn upcoming(&self) -> I {
        I::from_raw(I::TAG << TAG_SHIFT | self.next << SERIAL_SHIFT)
    }

    /// Adds an object and names it.
    pub(crate) fn insert(&mut self, value: T) -> I {
        let id = self.upcoming();
        self.next += 1;
        self.live.insert(id, value);
        id
    }

    /// Takes an object out and remembers who did it.
    pub(crate) fn remove(&mut self, id: I, by: Site) -> Option<T> {
        let value = self.live.remove(&id)?;
        if self.order.len() == GRAVES
            && let Some(oldest) = self.order.pop_front()
        {
            self.graves.remove(&oldest);
        }
        self.graves.insert(id, by);
        self.order.push_back(id);
        Some(value)
    }

    /// What the caller's bits name.
    pub(crate) fn find(&self, raw: u64) -> Result<I, Miss> {
        let id = I::from_raw(raw);
        if self.live.contains_key(&id) {
            return Ok(id);
        }
        let serial = (raw & ((1 << TAG_SHIFT) - 1)) >> SERIAL_SHIFT;
        let well_formed = raw >> TAG_SHIFT == I::TAG && raw.trailing_zeros() >= SERIAL_SHIFT;
        Err(match raw {
            0 => Miss::Null,
            _ if well_formed && serial > 0 && serial < self.next => Miss::Stale(self.graves.get(&id).copied()),
            _ => Miss::Unknown,
        })
    }

    /// The object of a handle.
    pub(crate) fn get(&self, id: I) -> Option<&T> {
        self.live.get(&id)
    }

    /// The object of a handle, to change it.
    pub(crate) fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.live.get_mut(&id)
    }

    /// Every object, in the order of creation.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (I, &T)> {
        self.live.iter().map(|(id, value)| (*id, value))
    }

    /// Every object, in the order of creation, to change it.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (I, &mut T)> {
        self.live.iter_mut().map(|(id, value)| (*id, value))
    }

    /// The handles of the objects that `keep` accepts.
    pub(crate) fn select(&self, mut keep: impl FnMut(&T) -> bool) -> Vec<I> {
        self.live.iter().filter(|(_, value)| keep(value)).map(|(id, _)| *id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> Site {
        Site { call: 7, name: "cuTest", thread: 0 }
    }

    #[test]
    fn a_handle_is_live_then_stale_and_never_reused() {
        let mut table: Table<StreamId, u8> = Table::new();
        let first = table.insert(1);
        assert_eq!(table.find(first.raw()), Ok(first));
        assert_eq!(table.remove(first, site()), Some(1));
        assert_eq!(table.find(first.raw()), Err(Miss::Stale(Some(site()))));
        assert_ne!(table.insert(2), first);
    }

    #[test]
    fn null_garbage_and_handles_of_another_kind_are_told_apart() {
        let mut events: Table<EventId, ()> = Table::new();
        let event = events.insert(());
        let streams: Table<StreamId, ()> = Table::new();
        assert_eq!(streams.find(0), Err(Miss::Null));
        assert_eq!(streams.find(0xdead), Err(Miss::Unknown));
        assert_eq!(streams.find(event.raw()), Err(Miss::Unknown));
        assert_eq!(events.find(event.raw() + 1), Err(Miss::Unknown));
        assert_eq!(events.find(event.raw() + 16), Err(Miss::Unknown));
    }
}
