//! Copies and fills, as the calls describe them.
//!
//! 1. An address that is given as device memory is looked up when the call is made: it must lie in live memory of the
//!    simulator, or the call fails. It is looked up again when the work runs.
//! 2. Pageable host memory is read when the call is made, and written before the call returns. In a graph it is read when
//!    the graph is launched and written when the node runs.
//! 3. Blocking copies are work of the legacy stream that the caller waits for; fills and copies between device memory are
//!    not waited for.

use std::sync::Arc;

use super::Driver;
use super::bytes::{self, Span};
use super::enqueue::Target;
use super::id::StreamId;
use super::memory::Trouble;
use super::work::{Copy, Fill, Place, Rows, Work};
use crate::code::{Code, Outcome};
use crate::engine::Goal;
use crate::report::{Range, Site, Violation};

/// Where the ends of a copy lie, as the function called says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CopyKind {
    /// Host to device.
    HtoD,
    /// Device to host.
    DtoH,
    /// Device to device.
    DtoD,
    /// The addresses tell.
    Unified,
}

impl Driver {
    /// A copy in stream order. The goal is what a caller must wait for before the call may return, if anything.
    pub(crate) fn copy_async(
        &mut self,
        stream: u64,
        kind: CopyKind,
        (dst, src): (u64, u64),
        rows: Rows,
        by: Site,
    ) -> Outcome<Option<Goal>> {
        let stream = self.stream(stream, by)?;
        let target = self.target(stream)?;
        let copy = self.copy(kind, dst, src, rows, by)?;
        self.submit_copy(stream, target, copy, by)
    }

    /// A blocking copy.
    pub(crate) fn copy_sync(
        &mut self,
        kind: CopyKind,
        (dst, src): (u64, u64),
        rows: Rows,
        by: Site,
    ) -> Outcome<Option<Goal>> {
        let stream = self.stream(0, by)?;
        let target = self.target(stream)?;
        let copy = self.copy(kind, dst, src, rows, by)?;
        let between_devices = matches!((&copy.dst, &copy.src), (Place::Device(_), Place::Device(_)));
        self.submit_copy(stream, target, copy, by)?;
        (!between_devices).then(|| self.at(stream).map(|stream| self.lane_goal(stream.lane))).transpose()
    }

    fn submit_copy(&mut self, stream: StreamId, target: Target, mut copy: Copy, by: Site) -> Outcome<Option<Goal>> {
        if copy.rows.width == 0 || copy.rows.height == 0 {
            return Ok(None);
        }
        let mut blocks = false;
        if target == Target::Eager {
            if let Place::Host(address) = copy.src {
                copy.src = stage(address, copy.rows.extent(copy.rows.src_pitch));
            }
            blocks = matches!(copy.dst, Place::Host(_));
        }
        let ticket = self.submit(stream, Work::Copy(copy), by)?;
        Ok(ticket.filter(|_| blocks).map(|ticket| Goal::all(vec![ticket])))
    }

    /// A copy with its ends looked up.
    pub(crate) fn copy(&mut self, kind: CopyKind, dst: u64, src: u64, rows: Rows, by: Site) -> Outcome<Copy> {
        let (dst_bytes, src_bytes) = (rows.extent(rows.dst_pitch), rows.extent(rows.src_pitch));
        if rows.height > 1 && (rows.dst_pitch < rows.width || rows.src_pitch < rows.width) {
            return Err(Code::INVALID_VALUE);
        }
        let dst_place = match kind {
            CopyKind::HtoD | CopyKind::DtoD => self.device_place(dst, dst_bytes, by)?,
            CopyKind::DtoH | CopyKind::Unified => self.any_place(dst, dst_bytes, by)?,
        };
        let src_place = match kind {
            CopyKind::DtoH | CopyKind::DtoD => self.device_place(src, src_bytes, by)?,
            CopyKind::HtoD | CopyKind::Unified => self.any_place(src, src_bytes, by)?,
        };
        let host_only = matches!((&dst_place, &src_place), (Place::Host(_), Place::Host(_)));
        if host_only && dst_bytes > 0 {
            return Err(Code::INVALID_VALUE);
        }
        Ok(Copy { dst: dst_place, src: src_place, rows })
    }

    /// An address that must be device memory, or page-locked memory by its device address.
    pub(crate) fn device_place(&mut self, address: u64, bytes: u64, by: Site) -> Outcome<Place> {
        match self.any_place(address, bytes, by)? {
            Place::Host(_) if bytes > 0 => Err(Code::INVALID_VALUE),
            place => Ok(place),
        }
    }

    /// Device, page-locked or pageable memory, whichever an address is in.
    fn any_place(&mut self, address: u64, bytes: u64, by: Site) -> Outcome<Place> {
        if bytes == 0 {
            return Ok(Place::Host(address));
        }
        if let Some(device) = self.memory.device_of(address) {
            return match self.reserved(address, bytes) {
                Ok(()) => Ok(Place::Device(address)),
                Err(trouble) => {
                    let touched = Range { address, bytes };
                    let violation = match trouble {
                        Trouble::Freed { block, by: freed } => {
                            Violation::UseAfterFree { touched, block, freed, used: by }
                        }
                        Trouble::Outside { block, made } => Violation::OutOfBounds { touched, block, made, used: by },
                        Trouble::Nothing => Violation::UnmappedAddress { touched, used: by },
                    };
                    self.violate(Some(device), violation);
                    Err(Code::INVALID_VALUE)
                }
            };
        }
        if address == 0 || address.checked_add(bytes).is_none() {
            return Err(Code::INVALID_VALUE);
        }
        match self.pinned_at(address) {
            Some((base, pinned)) if address - base + bytes <= pinned.len => Ok(Place::Pinned(address)),
            Some(_) => Err(Code::INVALID_VALUE),
            None => Ok(Place::Host(address)),
        }
    }

    /// Whether a range lies in one block, mapped at this moment or not.
    fn reserved(&self, address: u64, bytes: u64) -> Result<(), Trouble> {
        match self.memory.containing(address) {
            Some((base, block)) if bytes <= block.len - (address - base) => Ok(()),
            _ => self.memory.span(address, bytes).map(|_| ()),
        }
    }

    /// A fill with its range looked up.
    pub(crate) fn fill(&mut self, fill: Fill, by: Site) -> Outcome<Fill> {
        if !matches!(fill.element, 1 | 2 | 4) || !fill.dst.is_multiple_of(u64::from(fill.element)) {
            return Err(Code::INVALID_VALUE);
        }
        let row = fill.width.checked_mul(u64::from(fill.element)).ok_or(Code::INVALID_VALUE)?;
        if fill.height > 1 && fill.pitch < row {
            return Err(Code::INVALID_VALUE);
        }
        let range = fill.range();
        self.device_place(range.address, range.bytes, by)?;
        Ok(fill)
    }

    /// A fill in stream order; stream 0 for the blocking calls. Unlike a copy, it needs memory that kernels of the stream's context
    /// reach.
    pub(crate) fn fill_async(&mut self, stream: u64, fill: Fill, by: Site) -> Outcome {
        let stream = self.stream(stream, by)?;
        self.target(stream)?;
        let fill = self.fill(fill, by)?;
        if fill.width == 0 || fill.height == 0 {
            return Ok(());
        }
        let context = self.at(stream)?.context;
        if self.memory.device_of(fill.dst).is_some_and(|device| !self.reaches(context, device)) {
            return Err(Code::INVALID_VALUE);
        }
        self.submit(stream, Work::Fill(fill), by).map(|_| ())
    }

    /// `cuMemcpyPeerAsync`: like a copy, except that it cannot be captured.
    pub(crate) fn copy_peer_async(
        &mut self,
        stream: u64,
        (dst, src): (u64, u64),
        (dst_context, src_context): (u64, u64),
        rows: Rows,
        by: Site,
    ) -> Outcome<Option<Goal>> {
        let stream = self.stream(stream, by)?;
        self.context(dst_context)?;
        self.context(src_context)?;
        self.uncaptured(stream)?;
        let copy = self.copy(CopyKind::DtoD, dst, src, rows, by)?;
        self.submit_copy(stream, Target::Eager, copy, by)
    }

    /// `cuMemcpyBatchAsync`: refused on a capturing stream, without harm to the capture.
    pub(crate) fn copy_batch(&mut self, stream: u64, copies: &[(u64, u64, u64)], by: Site) -> Outcome<Vec<Goal>> {
        if stream <= 1 {
            return Err(Code::INVALID_VALUE);
        }
        let stream = self.stream(stream, by)?;
        if let Target::Captured(_) = self.target(stream)? {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        let copies = copies
            .iter()
            .map(|(dst, src, bytes)| self.copy(CopyKind::Unified, *dst, *src, Rows::plain(*bytes), by))
            .collect::<Outcome<Vec<Copy>>>()?;
        let goals = copies.into_iter().map(|copy| self.submit_copy(stream, Target::Eager, copy, by));
        Ok(goals.collect::<Outcome<Vec<Option<Goal>>>>()?.into_iter().flatten().collect())
    }
}

/// Reads a pageable host range now.
pub(crate) fn stage(address: u64, bytes: u64) -> Place {
    let src = Span { data: address as *mut u8, shared: false };
    // SAFETY: the caller of the driver passes a host range that is valid for reads during the call, as the copy functions
    // demand of it.
    let staged = unsafe { bytes::read(src, bytes as usize) };
    Place::Staged(Arc::from(staged))
}
