//! Work: what a stream runs, a graph's node holds and a capture records. One description serves all three.
//!
//! 1. Work holds addresses and handles, never references: whether they still mean anything is found out when it runs.
//! 2. Kernel parameters are copied when the work is made.

use std::ffi::c_void;
use std::sync::Arc;

use super::id::{ConditionId, EventId, FunctionId, GraphId, ModuleId};
use crate::ptx;
use crate::report::{Range, WorkKind};

/// One end of a copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Device memory.
    Device(u64),
    /// Page-locked host memory: reached when the copy runs.
    Pinned(u64),
    /// Any other host memory: it must outlive the copy.
    Host(u64),
    /// Bytes taken from host memory when the call was made.
    Staged(Arc<[u8]>),
}

impl Place {
    /// `CU_MEMORYTYPE_HOST` or `CU_MEMORYTYPE_DEVICE`.
    pub(crate) fn memory_type(&self) -> u32 {
        match self {
            Place::Device(_) => 2,
            Place::Pinned(_) | Place::Host(_) | Place::Staged(_) => 1,
        }
    }

    /// The address, zero for staged bytes.
    pub(crate) fn address(&self) -> u64 {
        match self {
            Place::Device(address) | Place::Pinned(address) | Place::Host(address) => *address,
            Place::Staged(_) => 0,
        }
    }
}

/// Equal rows at a distance: a plain range is one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rows {
    /// Bytes of a row.
    pub(crate) width: u64,
    /// How many rows.
    pub(crate) height: u64,
    /// From one row to the next, in the destination.
    pub(crate) dst_pitch: u64,
    /// The same in the source.
    pub(crate) src_pitch: u64,
}

impl Rows {
    /// A plain range.
    pub(crate) fn plain(bytes: u64) -> Rows {
        Rows { width: bytes, height: 1, dst_pitch: bytes, src_pitch: bytes }
    }

    /// The bytes between the first and one past the last, for a pitch.
    pub(crate) fn extent(&self, pitch: u64) -> u64 {
        match self.height {
            0 => 0,
            height => pitch.saturating_mul(height - 1).saturating_add(self.width),
        }
    }
}

/// A copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Copy {
    pub(crate) dst: Place,
    pub(crate) src: Place,
    pub(crate) rows: Rows,
}

/// A fill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fill {
    pub(crate) dst: u64,
    pub(crate) value: u32,
    /// Bytes of an element: 1, 2 or 4.
    pub(crate) element: u32,
    /// Elements of a row.
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) pitch: u64,
}

impl Fill {
    /// Every byte from the first to the last.
    pub(crate) fn range(&self) -> Range {
        let row = self.width.saturating_mul(u64::from(self.element));
        let bytes = match self.height {
            0 => 0,
            height => self.pitch.saturating_mul(height - 1).saturating_add(row),
        };
        Range { address: self.dst, bytes }
    }
}

/// Code of the caller's, run on a host thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HostCall {
    /// `cuLaunchHostFunc`, or the destructor of a user object.
    Function {
        /// The function.
        function: unsafe extern "C" fn(*mut c_void),
        /// Its argument.
        data: usize,
    },
    /// `cuStreamAddCallback`.
    Callback {
        /// The function.
        function: unsafe extern "C" fn(*mut c_void, u32, *mut c_void),
        /// The stream's handle.
        stream: u64,
        /// The last argument.
        data: usize,
    },
}

impl HostCall {
    /// Calls it.
    ///
    /// # Safety
    ///
    /// The caller of the driver vouched for function and data when it handed them over; it must be called where the driver
    /// promises to: without the driver's lock, once for each time it is due.
    pub(crate) unsafe fn call(self) {
        match self {
            // SAFETY: the caller of the driver gave the function with this argument.
            HostCall::Function { function, data } => unsafe { function(data as *mut c_void) },
            // SAFETY: as above; the status is success.
            HostCall::Callback { function, stream, data } => unsafe {
                function(stream as *mut c_void, 0, data as *mut c_void);
            },
        }
    }
}

impl PartialEq for HostCall {
    fn eq(&self, other: &Self) -> bool {
        let key = |call: &HostCall| match *call {
            HostCall::Function { function, data } => (function as usize, 0, data),
            HostCall::Callback { function, stream, data } => (function as usize, stream, data),
        };
        key(self) == key(other)
    }
}

/// The size and shape of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub(crate) shared: u32,
}

/// A kernel's arguments: the parameter block, and the address of each argument in it.
#[derive(Debug)]
pub(crate) struct Arguments {
    bytes: Box<[u8]>,
    pointers: Box<[u64]>,
}

impl Arguments {
    /// Arguments in the layout of a function.
    pub(crate) fn new(bytes: Box<[u8]>, code: &ptx::Function) -> Arc<Arguments> {
        let base = bytes.as_ptr() as u64;
        let pointers = code.params().iter().map(|param| base + param.offset as u64).collect();
        Arc::new(Arguments { bytes, pointers })
    }

    /// The parameter block.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where the addresses of the arguments stand; valid as long as the arguments live.
    pub(crate) fn pointers(&self) -> &[u64] {
        &self.pointers
    }
}

/// A kernel with its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) function: FunctionId,
    pub(crate) module: ModuleId,
    pub(crate) code: Arc<ptx::Function>,
    pub(crate) shape: Shape,
    pub(crate) params: Arc<Arguments>,
    pub(crate) cooperative: bool,
    /// Thread block clusters, if asked for.
    pub(crate) cluster: Option<[u32; 3]>,
}

impl Launch {
    /// Whether a word of the parameters is an address inside the block.
    fn names(&self, block: Range) -> bool {
        self.params.bytes().chunks_exact(8).any(|word| {
            let address = word.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
            inside(address, block)
        })
    }
}

/// An operation on a word of memory, in stream order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MemOp {
    /// Write a word of 4 or 8 bytes.
    Write { address: u64, value: u64, bytes: u32 },
    /// Wait until a comparison of a word holds.
    Wait { address: u64, value: u64, bytes: u32, compare: Compare },
    /// Order remote writes: nothing to do here.
    Fence,
}

/// How a waited-for word is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compare {
    /// At or after the value, cyclically.
    AtLeast,
    /// Equal.
    Equal,
    /// Any common bit.
    And,
    /// Some bit set in neither.
    Nor,
}

impl Compare {
    /// Whether a word of `bytes` bytes satisfies the comparison.
    pub(crate) fn holds(self, word: u64, value: u64, bytes: u32) -> bool {
        match (self, bytes) {
            (Compare::AtLeast, 4) => (word as u32).wrapping_sub(value as u32) as i32 >= 0,
            (Compare::AtLeast, _) => word.wrapping_sub(value) as i64 >= 0,
            (Compare::Equal, _) => word == value,
            (Compare::And, _) => word & value != 0,
            (Compare::Nor, 4) => !(word | value) as u32 != 0,
            (Compare::Nor, _) => !(word | value) != 0,
        }
    }
}

/// Something to run.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// Nothing; a meeting point.
    Empty,
    /// A kernel.
    Kernel(Arc<Launch>),
    /// A copy.
    Copy(Copy),
    /// A fill.
    Fill(Fill),
    /// A host function.
    Host(HostCall),
    /// A graph's allocation begins. Outside graphs allocation is immediate.
    Alloc {
        /// Its address, fixed for life.
        address: u64,
        bytes: u64,
        device: u32,
    },
    /// An allocation ends.
    Free { address: u64 },
    /// An event is recorded.
    RecordEvent(EventId),
    /// An event is waited for.
    WaitEvent(EventId),
    /// Words are written or waited for.
    MemOps(Arc<[MemOp]>),
    /// Another graph, as one node. Only in graphs.
    Child(GraphId),
    /// A body chosen by a value. Only in graphs.
    Conditional {
        handle: ConditionId,
        /// IF 0, WHILE 1, SWITCH 2.
        kind: u32,
        bodies: Arc<[GraphId]>,
    },
}

impl Work {
    /// The number of the kind of node that holds this, as in `CUgraphNodeType`.
    pub(crate) fn number(&self) -> u32 {
        match self {
            Work::Kernel(_) => 0,
            Work::Copy(_) => 1,
            Work::Fill(_) => 2,
            Work::Host(_) => 3,
            Work::Child(_) => 4,
            Work::Empty => 5,
            Work::WaitEvent(_) => 6,
            Work::RecordEvent(_) => 7,
            Work::Alloc { .. } => 10,
            Work::Free { .. } => 11,
            Work::MemOps(_) => 12,
            Work::Conditional { .. } => 13,
        }
    }

    /// What kind of work it is to a test; nothing for what is only structure.
    pub(crate) fn kind(&self) -> Option<WorkKind> {
        match self {
            Work::Kernel(_) => Some(WorkKind::Kernel),
            Work::Copy(_) => Some(WorkKind::Copy),
            Work::Fill(_) => Some(WorkKind::Fill),
            Work::Host(_) => Some(WorkKind::HostFunction),
            Work::MemOps(_) => Some(WorkKind::MemoryOperation),
            Work::RecordEvent(_) | Work::WaitEvent(_) => Some(WorkKind::Event),
            Work::Alloc { .. } | Work::Free { .. } => Some(WorkKind::Allocation),
            Work::Empty | Work::Child(_) | Work::Conditional { .. } => None,
        }
    }

    /// The name of a kernel.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Work::Kernel(launch) => Some(launch.code.name()),
            _ => None,
        }
    }

    /// Whether running this touches, or may touch, a block of memory.
    pub(crate) fn names(&self, block: Range) -> bool {
        match self {
            Work::Kernel(launch) => launch.names(block),
            Work::Copy(copy) => {
                let end = |place: &Place, pitch| match place {
                    Place::Staged(_) => false,
                    place => overlap(Range { address: place.address(), bytes: copy.rows.extent(pitch) }, block),
                };
                end(&copy.dst, copy.rows.dst_pitch) || end(&copy.src, copy.rows.src_pitch)
            }
            Work::Fill(fill) => overlap(fill.range(), block),
            Work::MemOps(ops) => ops.iter().any(|op| match *op {
                MemOp::Write { address, .. } | MemOp::Wait { address, .. } => inside(address, block),
                MemOp::Fence => false,
            }),
            _ => false,
        }
    }
}

fn inside(address: u64, block: Range) -> bool {
    address >= block.address && address - block.address < block.bytes
}

fn overlap(a: Range, b: Range) -> bool {
    a.bytes > 0
        && b.bytes > 0
        && a.address < b.address.saturating_add(b.bytes)
        && b.address < a.address.saturating_add(a.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_follow_their_words() {
        assert!(Compare::AtLeast.holds(3, 2, 4));
        assert!(Compare::AtLeast.holds(1, 0xFFFF_FFFF, 4));
        assert!(!Compare::AtLeast.holds(1, 2, 8));
        assert!(Compare::Equal.holds(7, 7, 8));
        assert!(Compare::And.holds(6, 2, 4));
        assert!(!Compare::Nor.holds(0xFFFF_FFFF, 0, 4));
    }

    #[test]
    fn copies_and_fills_name_the_memory_between_their_ends() {
        let block = Range { address: 1000, bytes: 100 };
        let copy =
            |dst, src| Work::Copy(Copy { dst: Place::Device(dst), src: Place::Device(src), rows: Rows::plain(10) });
        assert!(copy(1099, 5000).names(block));
        assert!(copy(5000, 991).names(block));
        assert!(!copy(1100, 990).names(block));
        let fill = Fill { dst: 900, value: 0, element: 4, width: 25, height: 2, pitch: 128 };
        assert!(Work::Fill(fill).names(block));
        assert!(!Work::Fill(Fill { height: 1, ..fill }).names(block));
    }
}
