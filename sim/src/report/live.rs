//! What is alive on a device: counts for assertions, and a list that says where each object was made.

use std::fmt;

use super::Site;

/// What kind of object is alive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum ObjectKind {
    /// A context, primary or made by `cuCtxCreate`.
    Context,
    /// A stream that was created (default streams are not counted).
    Stream,
    /// An event.
    Event,
    /// A device allocation of any kind, graph allocations in use included.
    Allocation,
    /// A block of page-locked host memory, allocated or registered.
    Pinned,
    /// A module or a library.
    Module,
    /// A graph, the graph of an open capture included.
    Graph,
    /// An executable graph.
    Executable,
    /// A memory pool that was created.
    Pool,
    /// A user object.
    UserObject,
}

/// One live object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Object {
    /// What it is.
    pub kind: ObjectKind,
    /// Its handle or address.
    pub handle: u64,
    /// Its size in bytes where it has one, else 0.
    pub bytes: u64,
    /// The call that made it.
    pub made: Site,
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:#x}", self.kind, self.handle)?;
        if self.bytes > 0 {
            write!(f, " of {} bytes", self.bytes)?;
        }
        write!(f, ", made by {}", self.made)
    }
}

/// The live objects of a device.
///
/// A test that has released everything holds an empty one:
///
/// ```
/// let live = dacapo_sim::Live::default();
/// assert!(live.is_empty(), "left over:\n{live}");
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Live {
    objects: Vec<Object>,
}

impl Live {
    pub(crate) fn new(objects: Vec<Object>) -> Live {
        Live { objects }
    }

    /// Every live object, by kind and then in the order of creation.
    #[must_use]
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// How many objects of a kind are alive.
    #[must_use]
    pub fn count(&self, kind: ObjectKind) -> usize {
        self.objects.iter().filter(|object| object.kind == kind).count()
    }

    /// Live contexts.
    #[must_use]
    pub fn contexts(&self) -> usize {
        self.count(ObjectKind::Context)
    }

    /// Live streams, without the default ones.
    #[must_use]
    pub fn streams(&self) -> usize {
        self.count(ObjectKind::Stream)
    }

    /// Live events.
    #[must_use]
    pub fn events(&self) -> usize {
        self.count(ObjectKind::Event)
    }

    /// Live device allocations.
    #[must_use]
    pub fn allocations(&self) -> usize {
        self.count(ObjectKind::Allocation)
    }

    /// Bytes of live device allocations.
    #[must_use]
    pub fn allocated_bytes(&self) -> u64 {
        self.objects.iter().filter(|object| object.kind == ObjectKind::Allocation).map(|object| object.bytes).sum()
    }

    /// Live page-locked host blocks.
    #[must_use]
    pub fn pinned(&self) -> usize {
        self.count(ObjectKind::Pinned)
    }

    /// Live modules and libraries.
    #[must_use]
    pub fn modules(&self) -> usize {
        self.count(ObjectKind::Module)
    }

    /// Live graphs.
    #[must_use]
    pub fn graphs(&self) -> usize {
        self.count(ObjectKind::Graph)
    }

    /// Live executable graphs.
    #[must_use]
    pub fn executables(&self) -> usize {
        self.count(ObjectKind::Executable)
    }

    /// Live memory pools, without the default one.
    #[must_use]
    pub fn pools(&self) -> usize {
        self.count(ObjectKind::Pool)
    }

    /// Live user objects.
    #[must_use]
    pub fn user_objects(&self) -> usize {
        self.count(ObjectKind::UserObject)
    }

    /// Whether nothing is alive.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }
}

impl fmt::Display for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, object) in self.objects.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{object}")?;
        }
        Ok(())
    }
}
