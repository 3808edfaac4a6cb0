//! Published graphs by size: a decode step for 1, 2, 4, 8 … sequences.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;

use super::Stream;
use crate::error::Error;
use crate::state::{Capturing, Idle, Mode, Published};
use crate::trace::tell;

/// Published graphs by size, on siblings of one stream: the smallest that fits is found, and the one that was not used for longest
/// makes room.
///
/// A graph is destroyed before another takes its place, so that the two are never in memory together; if it allocates memory itself
/// ([`MemoryNodes`](crate::MemoryNodes)), what the device has reserved for that is given back at once
/// ([`Device::trim_graph_memory`](crate::Device::trim_graph_memory)). After an eviction or a replacement its replayers are stale.
///
/// # Dropping
/// Drops every graph, as dropping a [`Stream<Published>`](Published) does.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use std::num::NonZeroUsize;
/// use dacapo::{Buckets, Device, Enqueue, ThreadLocal};
///
/// let mut stream = Device::open(0)?.stream()?;
/// let batch = stream.alloc::<u32>(8)?;
/// let mut buckets = Buckets::new(stream, NonZeroUsize::new(3).unwrap());
/// for size in [1, 4, 8] {
///     buckets.capture(size, ThreadLocal, |c| c.fill(&batch.slice(..size)?, 7))?;
/// }
/// let bucket = buckets.fit(3).expect("4 fits");
/// assert_eq!(bucket.size, 4);
/// bucket.published.replay()?;
/// # Ok::<(), dacapo::Error>(())
/// ```
pub struct Buckets {
    root: Stream<Idle>,
    limit: NonZeroUsize,
    buckets: BTreeMap<usize, Entry>,
    /// Counts uses, so that the least recent is known.
    clock: u64,
    evictions: u64,
}

struct Entry {
    published: Stream<Published>,
    used: u64,
}

/// A graph and the size that it is for.
#[derive(Debug)]
pub struct Bucket<'a> {
    /// The size that it was captured for.
    pub size: usize,
    /// The graph.
    pub published: &'a mut Stream<Published>,
}

impl Buckets {
    /// No graphs yet, and never more than `limit`.
    #[must_use]
    pub fn new(root: Stream<Idle>, limit: NonZeroUsize) -> Self {
        Self { root, limit, buckets: BTreeMap::new(), clock: 0, evictions: 0 }
    }

    /// Captures a graph for `size` and publishes it. Before that, what was there for this size is reset; or, if there are as
    /// many as may be, what was not used for longest.
    ///
    /// # Errors
    /// What [`Stream::capture`], [`Stream::publish`] and [`Stream::reset`] return. There is no graph for this size then.
    pub fn capture<M: Mode>(
        &mut self,
        size: usize,
        mode: M,
        body: impl FnOnce(&mut Stream<Capturing<M>>) -> Result<(), Error>,
    ) -> Result<Bucket<'_>, Error> {
        self.make_room_for(size)?;
        let sibling = self.root.sibling().with_policy(self.root.policy());
        let published = sibling.capture(mode, body)?.publish()?;
        let used = self.tick();
        let entry = self.buckets.entry(size).insert_entry(Entry { published, used }).into_mut();
        Ok(Bucket { size, published: &mut entry.published })
    }

    fn make_room_for(&mut self, size: usize) -> Result<(), Error> {
        self.remove(size)?;
        while self.buckets.len() >= self.limit.get() {
            let oldest = self.buckets.iter().min_by_key(|(_, entry)| entry.used).map(|(&size, _)| size);
            let Some(oldest) = oldest else { break };
            self.evictions += 1;
            tell!(DEBUG, size = oldest, "bucket evicted");
            self.remove(oldest)?;
        }
        Ok(())
    }

    /// The smallest graph that is large enough. Counts as a use.
    pub fn fit(&mut self, size: usize) -> Option<Bucket<'_>> {
        let used = self.tick();
        let (&size, entry) = self.buckets.range_mut(size..).next()?;
        entry.used = used;
        Some(Bucket { size, published: &mut entry.published })
    }

    /// Resets the graph of exactly this size, and gives memory that it allocated back to the device; false if there is none.
    ///
    /// # Errors
    /// What [`Stream::reset`] and [`Device::trim_graph_memory`](crate::Device::trim_graph_memory) return. The graph is gone from
    /// here all the same.
    pub fn remove(&mut self, size: usize) -> Result<bool, Error> {
        let Some(Entry { published, .. }) = self.buckets.remove(&size) else { return Ok(false) };
        let allocates = published.data.captured.allocates();
        drop(published.reset()?);
        // After a reset that was put off, because a sibling captures, there is nothing to give back yet.
        if allocates {
            self.root.device().trim_graph_memory()?;
        }
        Ok(true)
    }

    /// The sizes that there are graphs for, ascending.
    pub fn sizes(&self) -> impl Iterator<Item = usize> + '_ {
        self.buckets.keys().copied()
    }

    /// Graphs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.buckets.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// Graphs that have been reset to make room for one of another size.
    #[must_use]
    pub fn evictions(&self) -> u64 {
        self.evictions
    }

    /// The stream whose siblings the graphs are on: to move data with.
    pub fn stream(&mut self) -> &mut Stream<Idle> {
        &mut self.root
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }
}

impl fmt::Debug for Buckets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buckets")
            .field("sizes", &self.sizes().collect::<Vec<_>>())
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
