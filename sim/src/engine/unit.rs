//! Running one piece of work.

use std::io::Write;
use std::sync::Arc;

use super::LaneId;
use super::fault::{DeviceFault, Doom};
use super::spin::Spin;
use super::view::View;
use crate::Code;
use crate::model::Digest;
use crate::model::Driver;
use crate::model::bytes::{self, Span};
use crate::model::id::ContextId;
use crate::model::memory::Trouble;
use crate::model::work::{Copy, Fill, HostCall, Launch, MemOp, Place, Work};
use crate::ptx;
use crate::report::{Range, Site, Violation};

/// Instructions that a kernel runs before others get a turn.
const SLICE: u64 = 1 << 16;
/// A kernel that has had this many turns is watched for going round in circles.
const LONG: u32 = 16;
/// Simulated nanoseconds that an operation other than a kernel takes.
const OPERATION: u64 = 1000;

/// A piece of work under way.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) work: Work,
    /// The context in which it runs.
    pub(crate) context: ContextId,
    /// Whether a thread is running its host function right now.
    pub(crate) busy: bool,
    /// How many slices its kernel has had.
    pub(crate) slices: u32,
    /// Whether it has had its first turn.
    begun: bool,
    /// The device fault that is to follow when it is done.
    doom: Doom,
    /// Whether its kernel goes round in circles, once it takes long.
    spin: Option<Box<Spin>>,
    grid: Option<Box<ptx::Grid>>,
    /// How many of its memory operations are done.
    ops_done: usize,
    /// A digest of the page-locked source when the copy was submitted.
    pub(crate) source: Option<Digest>,
}

/// What happened to a piece of work.
#[derive(Debug)]
pub(crate) enum Step {
    /// It is done.
    Done,
    /// It has moved and wants another turn.
    Again,
    /// It cannot move until other work, another thread or a test lets it.
    Blocked,
    /// It cannot move until memory changes, which nobody may tell: somebody must look again.
    Polling,
    /// A test has just stopped its stream.
    Hung,
    /// The caller must run this host function, without the lock, and then report back.
    Host(HostCall),
    /// The device has failed.
    Fault(DeviceFault),
}

impl Unit {
    /// A piece of work at its beginning.
    pub(crate) fn new(work: Work, context: ContextId) -> Unit {
        Unit {
            work,
            context,
            busy: false,
            slices: 0,
            begun: false,
            doom: None,
            spin: None,
            grid: None,
            ops_done: 0,
            source: None,
        }
    }

    /// Takes the device fault that is to follow.
    pub(super) fn doom(&mut self) -> Doom {
        self.doom.take()
    }
}

impl Driver {
    /// Gives a piece of work that a lane has come to one turn.
    pub(crate) fn step_unit(&mut self, unit: &mut Unit, lane: LaneId, by: Site) -> Step {
        if !unit.begun {
            unit.begun = true;
            if let Some(step) = self.meet_work(unit.work.kind(), unit.context, lane, &mut unit.doom) {
                return step;
            }
        }
        match self.move_unit(unit, by) {
            Step::Done => self.meet_end(unit.doom(), unit.context),
            step => step,
        }
    }

    fn move_unit(&mut self, unit: &mut Unit, by: Site) -> Step {
        if unit.busy {
            return Step::Blocked;
        }
        let context = unit.context;
        let outcome = match &unit.work {
            Work::Kernel(launch) => {
                let launch = Arc::clone(launch);
                return self.step_kernel(unit, &launch, by);
            }
            Work::Host(call) => {
                unit.busy = true;
                return Step::Host(*call);
            }
            Work::MemOps(ops) => {
                let ops = Arc::clone(ops);
                return self.step_mem_ops(unit, &ops, by);
            }
            Work::Copy(copy) => self.run_copy(copy, unit.source, context, by),
            Work::Fill(fill) => self.run_fill(*fill, context, by),
            Work::Alloc { address, .. } => {
                if let Some(block) = self.memory.graph_block(*address) {
                    block.mapped = true;
                }
                Ok(())
            }
            Work::Free { address } => {
                let address = *address;
                self.finish_free(address, by);
                Ok(())
            }
            // Records and waits of graph nodes are the run's business; the rest is only structure.
            Work::Empty | Work::RecordEvent(_) | Work::WaitEvent(_) | Work::Child(_) | Work::Conditional { .. } => {
                Ok(())
            }
        };
        self.clock += OPERATION;
        outcome.map_or_else(Step::Fault, |()| Step::Done)
    }

    fn step_kernel(&mut self, unit: &mut Unit, launch: &Launch, by: Site) -> Step {
        if unit.slices == 0 {
            self.check_module(unit.context, launch.module, launch.code.name(), by);
        }
        let grid = unit.grid.get_or_insert_with(|| {
            let shape = launch.shape;
            let code = Arc::clone(&launch.code);
            Box::new(ptx::Grid::new(code, shape.grid, shape.block, shape.shared, launch.params.bytes().into()))
        });
        unit.slices = unit.slices.saturating_add(1);
        let before = grid.instructions();
        let mut view = View::new(self, unit.context);
        let progress = grid.run(&mut view, SLICE);
        for address in view.shared {
            self.touch_pinned(Range { address, bytes: 1 });
        }
        self.clock += grid.instructions() - before;
        let printed = grid.take_printed();
        if !printed.is_empty() {
            // Where nobody reads, the text is lost, as with the driver.
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(&printed).and_then(|()| out.flush());
        }
        match progress {
            ptx::Progress::Done => Step::Done,
            ptx::Progress::Running if unit.slices > LONG && unit.spin.get_or_insert_default().watch(grid) => {
                Step::Polling
            }
            ptx::Progress::Running => Step::Again,
            ptx::Progress::Fault(fault) => Step::Fault(self.kernel_fault(unit.context, launch, &fault, by)),
        }
    }

    fn step_mem_ops(&mut self, unit: &mut Unit, ops: &[MemOp], by: Site) -> Step {
        while let Some(op) = ops.get(unit.ops_done) {
            let (address, bytes) = match *op {
                MemOp::Fence => {
                    unit.ops_done += 1;
                    continue;
                }
                MemOp::Write { address, bytes, .. } | MemOp::Wait { address, bytes, .. } => (address, bytes),
            };
            let span = match self.reach(address, u64::from(bytes), unit.context, by) {
                Ok(span) => span,
                Err(fault) => return Step::Fault(fault),
            };
            match *op {
                MemOp::Write { value, .. } => {
                    let mut value = value.to_le_bytes();
                    let src = Span { data: value.as_mut_ptr(), shared: false };
                    // SAFETY: `reach` vouches for `bytes` bytes at the address; `value` holds eight.
                    unsafe { bytes::copy(span, src, bytes as usize) };
                }
                MemOp::Wait { value, compare, .. } => {
                    // SAFETY: `reach` vouches for `bytes` bytes at the address.
                    let word = unsafe { bytes::read(span, bytes as usize) };
                    let word = word.iter().rev().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
                    if !compare.holds(word, value, bytes) {
                        return Step::Polling;
                    }
                }
                MemOp::Fence => {}
            }
            unit.ops_done += 1;
        }
        self.clock += OPERATION;
        Step::Done
    }

    fn run_fill(&mut self, fill: Fill, context: ContextId, by: Site) -> Result<(), DeviceFault> {
        let row = fill.width.saturating_mul(u64::from(fill.element));
        for y in 0..fill.height {
            let span = self.reach_any(fill.dst + y * fill.pitch, row, context, by)?;
            // SAFETY: `reach_any` vouches for the row.
            unsafe { bytes::fill(span, fill.value, fill.element as usize, fill.width as usize) };
        }
        Ok(())
    }

    fn run_copy(
        &mut self,
        copy: &Copy,
        source: Option<Digest>,
        context: ContextId,
        by: Site,
    ) -> Result<(), DeviceFault> {
        if let (Some(digest), Place::Pinned(address)) = (source, &copy.src) {
            let bytes = copy.rows.extent(copy.rows.src_pitch);
            if self.overwritten(*address, bytes, digest) {
                let source = Range { address: *address, bytes };
                self.violate(Some(self.device_of_context(context)), Violation::SourceOverwritten { source, used: by });
            }
        }
        let rows = copy.rows;
        for y in 0..rows.height {
            let dst = self.end(&copy.dst, y * rows.dst_pitch, rows.width, context, by)?;
            let src = self.end(&copy.src, y * rows.src_pitch, rows.width, context, by)?;
            // SAFETY: `end` vouches for a row of `width` bytes at both places.
            unsafe { bytes::copy(dst, src, rows.width as usize) };
        }
        if let Place::Pinned(address) = copy.dst {
            self.touch_pinned(Range { address, bytes: rows.extent(rows.dst_pitch) });
        }
        Ok(())
    }

    /// A row of one end of a copy.
    fn end(&mut self, place: &Place, offset: u64, len: u64, context: ContextId, by: Site) -> Result<Span, DeviceFault> {
        match place {
            Place::Device(address) | Place::Pinned(address) => self.reach_any(address + offset, len, context, by),
            // The program vouched for the host range when it submitted the copy, until the copy is done.
            Place::Host(address) => Ok(Span { data: (address + offset) as *mut u8, shared: false }),
            // Staged bytes are only ever read.
            Place::Staged(bytes) => {
                let at = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                Ok(Span { data: bytes[at..].as_ptr().cast_mut(), shared: false })
            }
        }
    }

    /// Memory that a copy engine can reach: any device's.
    fn reach_any(&mut self, address: u64, len: u64, context: ContextId, by: Site) -> Result<Span, DeviceFault> {
        self.memory.span(address, len).map_err(|trouble| self.bad_access(context, address, len, trouble, by))
    }

    /// Memory that work of a context can reach by itself.
    fn reach(&mut self, address: u64, len: u64, context: ContextId, by: Site) -> Result<Span, DeviceFault> {
        let reachable = self.memory.device_of(address).is_none_or(|device| self.reaches(context, device));
        match self.memory.span(address, len) {
            Ok(span) if reachable => Ok(span),
            Ok(_) => Err(self.bad_access(context, address, len, Trouble::Nothing, by)),
            Err(trouble) => Err(self.bad_access(context, address, len, trouble, by)),
        }
    }

    /// Whether kernels of a context may touch a device's memory.
    pub(crate) fn reaches(&self, context: ContextId, device: u32) -> bool {
        let Some(context) = self.contexts.get(context) else { return false };
        context.device == device || context.peers.iter().any(|peer| self.device_of_context(*peer) == device)
    }

    /// Records what is wrong with an access; the fault that it raises.
    pub(crate) fn bad_access(
        &mut self,
        context: ContextId,
        address: u64,
        bytes: u64,
        trouble: Trouble,
        used: Site,
    ) -> DeviceFault {
        let touched = Range { address, bytes };
        let violation = match trouble {
            Trouble::Freed { block, by } => Violation::UseAfterFree { touched, block, freed: by, used },
            Trouble::Outside { block, made } => Violation::OutOfBounds { touched, block, made, used },
            Trouble::Nothing => Violation::UnmappedAddress { touched, used },
        };
        self.violate(Some(self.device_of_context(context)), violation);
        DeviceFault { context, code: Code::ILLEGAL_ADDRESS }
    }
}
