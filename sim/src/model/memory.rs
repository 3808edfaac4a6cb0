//! Device memory: blocks at made-up addresses, and what has become of them.
//!
//! 1. A device address encodes its device, is never a host address, and is never given out twice; so an address of freed
//!    memory always tells what was there and who freed it.
//! 2. Blocks are kept apart by a gap, so that an access just beyond a block meets nothing.
//! 3. A graph's allocation has a fixed address for life; it is *held* (as the host sees it, when calls are made) and
//!    *mapped* (as the device sees it, when work runs) at different times.

use std::collections::{BTreeMap, VecDeque};

use super::bytes::{Backing, Span};
use super::id::{ContextId, GraphId, PoolId};
use super::pinned::Pinned;
use crate::code::{Code, Outcome};
use crate::report::{Range, Site};

/// Device `d` has the addresses that begin with `FIRST_TAG + d` in their top 16 bits.
const FIRST_TAG: u64 = 0x0D00;
const TAG_SHIFT: u32 = 48;
/// Where a device's addresses start, so that a small offset from zero is never mapped.
const FIRST_OFFSET: u64 = 1 << 20;
/// The alignment of every block, and the least gap between two.
const ALIGN: u64 = 512;
/// How many freed blocks are remembered.
const GRAVES: usize = 1 << 16;

/// What a block is for.
#[derive(Debug)]
pub(crate) enum BlockKind {
    /// `cuMemAlloc`.
    Direct,
    /// `cuMemAllocAsync` outside a capture.
    Pool(PoolId),
    /// A variable of a module.
    Module,
    /// An allocation node of a graph.
    Graph(GraphBlock),
}

/// The life of a graph's allocation.
#[derive(Debug, Default)]
pub(crate) struct GraphBlock {
    /// Whether the host's calls, taken in order, leave it allocated.
    pub(crate) held: bool,
    /// Whether the work that has run leaves it allocated.
    pub(crate) mapped: bool,
    /// Who freed it last.
    pub(crate) freed: Option<Site>,
    /// How many graphs and executables still hold its allocation node.
    pub(crate) owners: u32,
    /// The graph that its allocation node was added to.
    pub(crate) graph: Option<GraphId>,
    /// Whether that graph has a free node for it.
    pub(crate) freed_inside: bool,
    /// Whether it outlives launches of that graph for all the driver knows: it was instantiated, or another graph frees it.
    pub(crate) escaped: bool,
}

/// A live block.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) len: u64,
    pub(crate) device: u32,
    pub(crate) context: ContextId,
    pub(crate) kind: BlockKind,
    backing: Option<Backing>,
    pub(crate) made: Site,
    /// The stream-ordered free that is on its way, if any.
    pub(crate) freeing: Option<Site>,
    /// A number of its own, as `CU_POINTER_ATTRIBUTE_BUFFER_ID` gives it.
    pub(crate) serial: u64,
}

impl Block {
    /// Whether device work may touch the block now.
    fn mapped(&self) -> bool {
        !matches!(&self.kind, BlockKind::Graph(graph) if !graph.mapped)
    }

    /// Whether the program holds the block: a reserved graph allocation is not counted.
    pub(crate) fn held(&self) -> bool {
        match &self.kind {
            BlockKind::Graph(graph) => graph.held,
            _ => self.freeing.is_none(),
        }
    }
}

/// A block that was freed.
#[derive(Clone, Copy, Debug)]
struct Grave {
    len: u64,
    by: Site,
}

/// Why an access cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trouble {
    /// The block that was there is gone.
    Freed { block: Range, by: Site },
    /// The access leaves a live block, or begins just behind one.
    Outside { block: Range, made: Site },
    /// There is nothing near.
    Nothing,
}

/// One device's share.
#[derive(Debug)]
struct Arena {
    next: u64,
    total: u64,
    limit: u64,
    used: u64,
}

/// All simulated memory.
#[derive(Debug)]
pub(crate) struct Memory {
    arenas: Vec<Arena>,
    blocks: BTreeMap<u64, Block>,
    graves: BTreeMap<u64, Grave>,
    order: VecDeque<u64>,
    /// Page-locked host memory, by host address.
    pub(crate) pinned: BTreeMap<u64, Pinned>,
    serial: u64,
}

/// What a new block is to be.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) bytes: u64,
    pub(crate) device: u32,
    pub(crate) context: ContextId,
    pub(crate) kind: BlockKind,
    pub(crate) by: Site,
}

impl Memory {
    /// Memory for `devices` devices of `total` bytes each.
    pub(crate) fn new(devices: u32, total: u64) -> Memory {
        let arena = |device| Arena {
            next: (FIRST_TAG + u64::from(device)) << TAG_SHIFT | FIRST_OFFSET,
            total,
            limit: total,
            used: 0,
        };
        Memory {
            arenas: (0..devices).map(arena).collect(),
            blocks: BTreeMap::new(),
            graves: BTreeMap::new(),
            order: VecDeque::new(),
            pinned: BTreeMap::new(),
            serial: 0,
        }
    }

    /// The device that an address belongs to, whether or not anything is there.
    pub(crate) fn device_of(&self, address: u64) -> Option<u32> {
        let device = (address >> TAG_SHIFT).checked_sub(FIRST_TAG)?;
        (device < self.arenas.len() as u64).then_some(device as u32)
    }

    /// Bytes of a device: free and total.
    pub(crate) fn room(&self, device: u32) -> (u64, u64) {
        self.arenas.get(device as usize).map_or((0, 0), |arena| (arena.limit.saturating_sub(arena.used), arena.total))
    }

    /// Makes allocations beyond this many bytes fail.
    pub(crate) fn set_limit(&mut self, device: u32, bytes: Option<u64>) {
        if let Some(arena) = self.arenas.get_mut(device as usize) {
            arena.limit = bytes.map_or(arena.total, |bytes| bytes.min(arena.total));
        }
    }

    /// Makes a block.
    pub(crate) fn allocate(&mut self, request: Request) -> Outcome<u64> {
        let Request { bytes, device, context, kind, by } = request;
        let reserved = matches!(kind, BlockKind::Graph(_));
        let arena = self.arenas.get_mut(device as usize).ok_or(Code::INVALID_DEVICE)?;
        let span = bytes.checked_next_multiple_of(ALIGN).ok_or(Code::OUT_OF_MEMORY)?;
        if !reserved && arena.used.checked_add(bytes).is_none_or(|used| used > arena.limit) {
            return Err(Code::OUT_OF_MEMORY);
        }
        let backing = match reserved {
            true => None,
            false => Some(Backing::fresh(bytes).ok_or(Code::OUT_OF_MEMORY)?),
        };
        let base = arena.next;
        arena.next += span + ALIGN;
        if !reserved {
            arena.used += bytes;
        }
        self.serial += 1;
        let block = Block { len: bytes, device, context, kind, backing, made: by, freeing: None, serial: self.serial };
        self.blocks.insert(base, block);
        Ok(base)
    }

    /// Takes a block away for good.
    pub(crate) fn release(&mut self, base: u64, by: Site) -> Option<Block> {
        let block = self.blocks.remove(&base)?;
        if block.held()
            && let Some(arena) = self.arenas.get_mut(block.device as usize)
        {
            arena.used = arena.used.saturating_sub(block.len);
        }
        let by = match &block.kind {
            BlockKind::Graph(graph) => graph.freed.unwrap_or(by),
            _ => block.freeing.unwrap_or(by),
        };
        if self.order.len() == GRAVES
            && let Some(oldest) = self.order.pop_front()
        {
            self.graves.remove(&oldest);
        }
        self.graves.insert(base, Grave { len: block.len, by });
        self.order.push_back(base);
        Some(block)
    }

    /// A stream-ordered free is on its way: the bytes are free for the books, and still there for the device.
    pub(crate) fn begin_free(&mut self, base: u64, by: Site) {
        let Some(block) = self.blocks.get_mut(&base) else { return };
        if let Some(arena) = self.arenas.get_mut(block.device as usize) {
            arena.used = arena.used.saturating_sub(block.len);
        }
        block.freeing = Some(by);
    }

    /// Marks a graph's allocation as held or not, as the host's calls see it, and counts its bytes.
    pub(crate) fn hold(&mut self, base: u64, held: bool, by: Site) -> Outcome {
        let Some(block) = self.blocks.get_mut(&base) else { return Err(Code::INVALID_VALUE) };
        let BlockKind::Graph(graph) = &mut block.kind else { return Err(Code::INVALID_VALUE) };
        let arena = self.arenas.get_mut(block.device as usize).ok_or(Code::INVALID_DEVICE)?;
        match (graph.held, held) {
            (false, true) => {
                if arena.used.saturating_add(block.len) > arena.limit {
                    return Err(Code::OUT_OF_MEMORY);
                }
                if block.backing.is_none() {
                    block.backing = Some(Backing::fresh(block.len).ok_or(Code::OUT_OF_MEMORY)?);
                }
                arena.used += block.len;
            }
            (true, false) => {
                arena.used = arena.used.saturating_sub(block.len);
                graph.freed = Some(by);
            }
            _ => {}
        }
        graph.held = held;
        Ok(())
    }

    /// Takes back that a graph's allocation is held, as if it had not been.
    pub(crate) fn undo_hold(&mut self, base: u64) {
        let Some(block) = self.blocks.get_mut(&base) else { return };
        let BlockKind::Graph(graph @ GraphBlock { held: true, .. }) = &mut block.kind else { return };
        graph.held = false;
        if let Some(arena) = self.arenas.get_mut(block.device as usize) {
            arena.used = arena.used.saturating_sub(block.len);
        }
    }

    /// The block that begins at an address.
    pub(crate) fn block(&self, base: u64) -> Option<&Block> {
        self.blocks.get(&base)
    }

    /// The graph allocation that begins at an address, to change its state.
    pub(crate) fn graph_block(&mut self, base: u64) -> Option<&mut GraphBlock> {
        match &mut self.blocks.get_mut(&base)?.kind {
            BlockKind::Graph(graph) => Some(graph),
            _ => None,
        }
    }

    /// The block that an address lies in, with its first address.
    pub(crate) fn containing(&self, address: u64) -> Option<(u64, &Block)> {
        let (base, block) = self.blocks.range(..=address).next_back()?;
        (address - base < block.len.max(1)).then_some((*base, block))
    }

    /// Who freed the block that began at an address.
    pub(crate) fn freed_by(&self, base: u64) -> Option<Site> {
        self.graves.get(&base).map(|grave| grave.by)
    }

    /// Every block, by address.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (u64, &Block)> {
        self.blocks.iter().map(|(base, block)| (*base, block))
    }

    /// The bytes at a device or page-locked address, if the whole access can be made.
    pub(crate) fn span(&self, address: u64, bytes: u64) -> Result<Span, Trouble> {
        self.region(address).and_then(|(base, len, span)| {
            let offset = address - base;
            if bytes > len - offset {
                return Err(self.outside(base, len));
            }
            // SAFETY: `offset` is at most `len`, and `span` holds `len` bytes.
            Ok(Span { data: unsafe { span.data.add(offset as usize) }, shared: span.shared })
        })
    }

    /// The whole contiguous range around an address: first address, length, bytes.
    pub(crate) fn region(&self, address: u64) -> Result<(u64, u64, Span), Trouble> {
        if let Some((base, block)) = self.containing(address) {
            return match (&block.backing, block.mapped()) {
                (Some(backing), true) => Ok((base, block.len, Span { data: backing.data(), shared: false })),
                _ => Err(match &block.kind {
                    BlockKind::Graph(GraphBlock { freed: Some(by), .. }) => {
                        Trouble::Freed { block: Range { address: base, bytes: block.len }, by: *by }
                    }
                    _ => Trouble::Nothing,
                }),
            };
        }
        if let Some((base, pinned)) = self.pinned.range(..=address).next_back()
            && address - base < pinned.len
        {
            return Ok((*base, pinned.len, Span { data: *base as *mut u8, shared: true }));
        }
        Err(self.trouble(address))
    }

    fn outside(&self, base: u64, len: u64) -> Trouble {
        let made = self.blocks.get(&base).map(|block| block.made).or(self.pinned.get(&base).map(|pinned| pinned.made));
        match made {
            Some(made) => Trouble::Outside { block: Range { address: base, bytes: len }, made },
            None => Trouble::Nothing,
        }
    }

    /// What to say about an address that is in no live range.
    fn trouble(&self, address: u64) -> Trouble {
        if let Some((base, grave)) = self.graves.range(..=address).next_back()
            && address - base < grave.len.max(1)
        {
            return Trouble::Freed { block: Range { address: *base, bytes: grave.len }, by: grave.by };
        }
        match self.blocks.range(..=address).next_back() {
            Some((base, block)) if self.device_of(address) == Some(block.device) => self.outside(*base, block.len),
            _ => Trouble::Nothing,
        }
    }

    /// Forgets everything about a device, the remembered freed blocks included.
    pub(crate) fn reset_device(&mut self, device: u32) {
        self.blocks.retain(|_, block| block.device != device);
        self.pinned.retain(|_, pinned| pinned.device != device);
        let tag = FIRST_TAG + u64::from(device);
        self.graves.retain(|base, _| base >> TAG_SHIFT != tag);
        self.order.retain(|base| base >> TAG_SHIFT != tag);
        if let Some(arena) = self.arenas.get_mut(device as usize) {
            arena.used = 0;
            arena.limit = arena.total;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::id::Id;
    use super::*;

    fn site(call: u64) -> Site {
        Site { call, name: "cuTest", thread: 0 }
    }

    fn request(bytes: u64, call: u64) -> Request {
        Request { bytes, device: 1, context: ContextId::from_raw(1), kind: BlockKind::Direct, by: site(call) }
    }

    #[test]
    fn an_address_tells_its_device_and_what_became_of_it() {
        let mut memory = Memory::new(2, 1 << 20);
        let base = memory.allocate(request(100, 1)).expect("room");
        assert_eq!(memory.device_of(base), Some(1));
        assert!(memory.span(base, 100).is_ok());
        let block = Range { address: base, bytes: 100 };
        assert_eq!(memory.span(base + 1, 100).unwrap_err(), Trouble::Outside { block, made: site(1) });
        assert_eq!(memory.span(base + 100, 1).unwrap_err(), Trouble::Outside { block, made: site(1) });
        memory.release(base, site(2));
        assert_eq!(memory.span(base + 50, 4).unwrap_err(), Trouble::Freed { block, by: site(2) });
        assert_ne!(memory.allocate(request(100, 3)), Ok(base));
    }

    #[test]
    fn a_limit_makes_allocation_fail_and_freeing_makes_room() {
        let mut memory = Memory::new(2, 1 << 20);
        memory.set_limit(1, Some(1000));
        let base = memory.allocate(request(600, 1)).expect("room");
        assert_eq!(memory.allocate(request(401, 2)), Err(Code::OUT_OF_MEMORY));
        memory.release(base, site(3));
        assert!(memory.allocate(request(1000, 4)).is_ok());
        assert_eq!(memory.room(1), (0, 1 << 20));
    }

    #[test]
    fn a_graph_allocation_is_reachable_only_while_mapped() {
        let mut memory = Memory::new(2, 1 << 20);
        let wanted = Request { kind: BlockKind::Graph(GraphBlock::default()), ..request(64, 1) };
        let base = memory.allocate(wanted).expect("addresses");
        assert_eq!(memory.span(base, 4).unwrap_err(), Trouble::Nothing);
        memory.hold(base, true, site(2)).expect("room");
        memory.graph_block(base).expect("a graph block").mapped = true;
        assert!(memory.span(base, 64).is_ok());
        memory.hold(base, false, site(3)).expect("held");
        memory.graph_block(base).expect("a graph block").mapped = false;
        let gone = Trouble::Freed { block: Range { address: base, bytes: 64 }, by: site(3) };
        assert_eq!(memory.span(base, 4).unwrap_err(), gone);
    }
}
