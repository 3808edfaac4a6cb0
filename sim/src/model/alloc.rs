//! Allocating and freeing device memory, at once and in stream order.
//!
//! 1. Stream-ordered allocation outside a capture gives the memory at once; a stream-ordered free takes effect when the
//!    stream gets there, and counts as done for the caller's books when the call is made.
//! 2. Freeing memory that pending work names, and that the free is not ordered behind, is recorded.

use super::Driver;
use super::enqueue::Target;
use super::id::{Id, PoolId, StreamId};
use super::memory::{BlockKind, Request};
use super::work::Work;
use crate::code::{Code, Outcome};
use crate::engine::{Goal, Ticket};
use crate::report::{ObjectKind, Range, Site, Violation};

/// The pitch of rows in memory from `cuMemAllocPitch`.
const PITCH: u64 = 512;

impl Driver {
    /// `cuMemAlloc`.
    pub(crate) fn mem_alloc(&mut self, bytes: u64, by: Site) -> Outcome<u64> {
        let context = self.current(by.thread)?;
        if bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        self.unsafe_call(by.thread)?;
        let device = self.device_of_context(context);
        self.memory.allocate(Request { bytes, device, context, kind: BlockKind::Direct, by })
    }

    /// `cuMemAllocPitch`: address and pitch.
    pub(crate) fn mem_alloc_pitch(&mut self, width: u64, height: u64, element: u32, by: Site) -> Outcome<(u64, u64)> {
        if !matches!(element, 4 | 8 | 16) || width == 0 || height == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let pitch = width.checked_next_multiple_of(PITCH).ok_or(Code::INVALID_VALUE)?;
        let bytes = pitch.checked_mul(height).ok_or(Code::INVALID_VALUE)?;
        Ok((self.mem_alloc(bytes, by)?, pitch))
    }

    /// `cuMemFree`.
    pub(crate) fn mem_free(&mut self, address: u64, by: Site) -> Outcome {
        self.current(by.thread)?;
        self.unsafe_call(by.thread)?;
        if address == 0 {
            return Ok(());
        }
        if self.managed_free(address, by) {
            return Ok(());
        }
        let block = self.freeable(address, by)?;
        let device = self.memory.device_of(address);
        for used in self.pending_users(block) {
            self.violate(device, Violation::FreedWhileInUse { block, freed: by, used });
        }
        if self.memory.graph_block(address).is_some() {
            self.memory.hold(address, false, by)?;
            self.finish_free(address, by);
        } else {
            self.memory.release(address, by);
        }
        Ok(())
    }

    /// The block that begins at an address, if it may be freed; a second free is recorded.
    fn freeable(&mut self, address: u64, by: Site) -> Outcome<Range> {
        match self.memory.block(address) {
            Some(block) if block.held() && block.freeing.is_none() && !matches!(block.kind, BlockKind::Module) => {
                Ok(Range { address, bytes: block.len })
            }
            found => {
                let first = match found {
                    Some(block) => block.freeing,
                    None => self.memory.freed_by(address),
                };
                if first.is_some() {
                    let kind = ObjectKind::Allocation;
                    let again = Violation::DestroyedTwice { kind, handle: address, first, again: by };
                    self.violate(self.memory.device_of(address), again);
                }
                Err(Code::INVALID_VALUE)
            }
        }
    }

    /// `cuMemAllocAsync` and `cuMemAllocFromPoolAsync`: in a capture, an allocation node.
    pub(crate) fn alloc_async(&mut self, bytes: u64, pool: Option<u64>, stream: u64, by: Site) -> Outcome<u64> {
        let stream = self.stream(stream, by)?;
        let pool = pool.map(|pool| self.pool(pool)).transpose()?;
        if bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let device = self.device_of_stream(stream);
        match self.target(stream)? {
            Target::Captured(capture) => self.record_alloc(stream, capture, bytes, by),
            Target::Eager => {
                self.unsafe_call(by.thread)?;
                let context = self.at(stream)?.context;
                let pool = match pool {
                    Some(pool) => pool,
                    None => self.current_pool(device)?,
                };
                self.memory.allocate(Request { bytes, device, context, kind: BlockKind::Pool(pool), by })
            }
        }
    }

    /// `cuMemFreeAsync`: in a capture, a free node.
    pub(crate) fn free_async(&mut self, address: u64, stream: u64, by: Site) -> Outcome {
        let stream = self.stream(stream, by)?;
        match self.target(stream)? {
            Target::Captured(_) if address == 0 => Ok(()),
            Target::Captured(capture) => self.record_free(stream, capture, address),
            Target::Eager => {
                self.unsafe_call(by.thread)?;
                if address == 0 {
                    return Ok(());
                }
                let block = self.freeable(address, by)?;
                for used in self.unordered_users(block, stream)? {
                    let violation = Violation::FreedWhileInUse { block, freed: by, used };
                    self.violate(self.memory.device_of(address), violation);
                }
                if self.memory.graph_block(address).is_some() {
                    self.memory.hold(address, false, by)?;
                } else {
                    self.memory.begin_free(address, by);
                }
                self.submit(stream, Work::Free { address }, by).map(|_| ())
            }
        }
    }

    /// Pending work that names a block and that the next item of a stream does not come after.
    fn unordered_users(&self, block: Range, stream: StreamId) -> Outcome<Vec<Site>> {
        let lane = self.at(stream)?.lane;
        let mut before: Vec<Ticket> = self.implicit_deps(stream)?;
        before.extend(self.lanes.get(&lane).and_then(|own| own.tail(lane)));
        let ordered = self.needed(&Goal::all(before));
        let pending = self.lanes.iter().flat_map(|(id, lane)| {
            let upto = ordered.get(id).copied().unwrap_or(0);
            lane.users_of(block, upto)
        });
        Ok(pending.collect())
    }

    /// A free takes effect on the device.
    pub(crate) fn finish_free(&mut self, address: u64, by: Site) {
        match self.memory.graph_block(address) {
            Some(block) => {
                block.mapped = false;
                if block.owners == 0 && !block.held {
                    self.memory.release(address, by);
                }
            }
            None => {
                self.memory.release(address, by);
            }
        }
    }

    /// `cuMemGetInfo`: free and total bytes.
    pub(crate) fn mem_info(&self, by: Site) -> Outcome<(u64, u64)> {
        let context = self.current(by.thread)?;
        Ok(self.memory.room(self.device_of_context(context)))
    }

    /// `cuMemGetAddressRange`: the block that an address lies in.
    pub(crate) fn address_range(&self, address: u64) -> Outcome<Range> {
        if let Some((base, block)) = self.memory.containing(address) {
            return Ok(Range { address: base, bytes: block.len });
        }
        match self.pinned_at(address) {
            Some((address, pinned)) if pinned.managed => Ok(Range { address, bytes: pinned.len }),
            _ => Err(Code::NOT_FOUND),
        }
    }
}

/// What `cuPointerGetAttribute` writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PointerAttribute {
    /// A pointer or another word of eight bytes.
    Word(u64),
    /// An `int`.
    Int(u32),
    /// A `bool`-like byte.
    Flag(bool),
}

impl Driver {
    /// `cuPointerGetAttribute`, by the number in `CUpointer_attribute`.
    pub(crate) fn pointer_attribute(&self, attribute: u32, address: u64) -> Outcome<PointerAttribute> {
        use PointerAttribute::{Flag, Int, Word};
        if !self.initialised {
            return Err(Code::NOT_INITIALIZED);
        }
        let block = self.memory.containing(address);
        let pinned = self.pinned_at(address);
        let managed = pinned.is_some_and(|(_, pinned)| pinned.managed);
        let (base, len, device, context, serial) = match (&block, &pinned) {
            (Some((base, block)), _) => (*base, block.len, block.device, block.context, block.serial),
            (None, Some((base, pinned))) => (*base, pinned.len, pinned.device, pinned.context, pinned.serial),
            (None, None) => return Err(Code::INVALID_VALUE),
        };
        Ok(match attribute {
            1 => Word(context.raw()),
            2 => Int(if block.is_some() || managed { 2 } else { 1 }),
            3 => Word(address),
            4 if pinned.is_some() => Word(address),
            4 => return Err(Code::INVALID_VALUE),
            6 => Flag(false),
            7 => Word(serial),
            8 => Flag(managed),
            9 => Int(device),
            11 => Word(base),
            12 => Word(len),
            13 => Flag(true),
            17 => match block.map(|(_, block)| &block.kind) {
                Some(BlockKind::Pool(pool)) => Word(pool.raw()),
                _ => Word(0),
            },
            _ => return Err(Code::NOT_SUPPORTED),
        })
    }

    /// The pool that `cuMemAllocAsync` of a device takes from.
    pub(crate) fn current_pool(&mut self, device: u32) -> Outcome<PoolId> {
        let default = self.default_pool(device)?;
        let device = self.devices.get(device as usize).ok_or(Code::INVALID_DEVICE)?;
        Ok(device.current_pool.filter(|pool| self.pools.get(*pool).is_some()).unwrap_or(default))
    }
}
