//! Allocations that belong to graphs.
//!
//! 1. The address of an allocation node is fixed when the node is made. The memory is there from the launch on, until a free
//!    node or a call of the program's frees it.
//! 2. Whether a launch may go ahead is decided when it is called, from the calls made so far: every allocation of the graph
//!    must be free (unless the executable frees on launch), and everything that it frees must be allocated.
//! 3. An address is given up for good when its node is gone from every graph and executable and it is not allocated.

use super::capture::CaptureId;
use super::id::{GraphId, StreamId};
use super::memory::{BlockKind, GraphBlock, Request};
use super::work::Work;
use super::{Driver, Plan};
use crate::code::{Code, Outcome};
use crate::report::Site;

/// The granularity in which a device reserves memory for graphs.
const GRANULE: u64 = 32 << 20;

impl Driver {
    /// An allocation node is captured: its address.
    pub(super) fn record_alloc(&mut self, stream: StreamId, capture: CaptureId, bytes: u64, by: Site) -> Outcome<u64> {
        let (context, device) = (self.at(stream)?.context, self.device_of_stream(stream));
        let graph = self.captures.get(&capture).map(|capture| capture.graph).ok_or(Code::ILLEGAL_STATE)?;
        let address = self.reserve_block(graph, context, device, bytes, by)?;
        self.record_node(stream, capture, Work::Alloc { address, bytes, device })?;
        Ok(address)
    }

    /// Sets an address aside for an allocation node of a graph.
    pub(crate) fn reserve_block(
        &mut self,
        graph: GraphId,
        context: super::id::ContextId,
        device: u32,
        bytes: u64,
        by: Site,
    ) -> Outcome<u64> {
        self.mark_memory(graph);
        let kind = BlockKind::Graph(GraphBlock { owners: 1, graph: Some(graph), ..GraphBlock::default() });
        self.memory.allocate(Request { bytes, device, context, kind, by })
    }

    /// A free node is captured.
    pub(super) fn record_free(&mut self, stream: StreamId, capture: CaptureId, address: u64) -> Outcome {
        let graph = self.captures.get(&capture).map(|capture| capture.graph).ok_or(Code::ILLEGAL_STATE)?;
        self.check_free_node(graph, address)?;
        self.record_node(stream, capture, Work::Free { address })?;
        self.free_node_added(graph, address);
        Ok(())
    }

    /// Whether a graph may get a free node for an address, which must be a graph's allocation that its graph does not free.
    ///
    /// The allocation's own graph may free it until it is instantiated or another graph frees it; any other graph may, once.
    pub(crate) fn check_free_node(&mut self, graph: GraphId, address: u64) -> Outcome {
        self.mark_memory(graph);
        let frees = |work: &Work| matches!(work, Work::Free { address: other } if *other == address);
        let again = self.graph_works(graph).any(frees);
        match self.memory.graph_block(address) {
            Some(block) if block.freed_inside || again || (block.graph == Some(graph) && block.escaped) => {
                Err(Code::INVALID_VALUE)
            }
            Some(_) => Ok(()),
            None => Err(Code::INVALID_VALUE),
        }
    }

    /// A graph has got a free node.
    pub(crate) fn free_node_added(&mut self, graph: GraphId, address: u64) {
        let Some(block) = self.memory.graph_block(address) else { return };
        match block.graph == Some(graph) {
            true => block.freed_inside = true,
            false => block.escaped = true,
        }
    }

    /// A graph that allocates has been instantiated.
    pub(super) fn escape_block(&mut self, address: u64) {
        if let Some(block) = self.memory.graph_block(address) {
            block.escaped = true;
        }
    }

    /// Whether a graph counts as one with allocation or free nodes: being asked for one is enough.
    pub(super) fn has_memory_nodes(&self, graph: GraphId) -> bool {
        self.graphs.get(graph).is_some_and(|graph| graph.memory)
    }

    fn mark_memory(&mut self, graph: GraphId) {
        if let Some(graph) = self.graphs.get_mut(graph) {
            graph.memory = true;
        }
    }

    /// The books for a launch: what it allocates becomes held, what it frees is held no more. Nothing changes if the launch
    /// is refused.
    pub(super) fn account_launch(&mut self, plan: &Plan, auto_free: bool, by: Site) -> Outcome {
        let mut allocs = Vec::new();
        let mut frees = Vec::new();
        for node in &plan.nodes {
            match node.work {
                Work::Alloc { address, .. } => allocs.push(address),
                Work::Free { address } => frees.push(address),
                _ => {}
            }
        }
        if allocs.is_empty() && frees.is_empty() {
            return Ok(());
        }
        let mut held = |address: u64| self.memory.graph_block(address).map(|block| block.held);
        for address in &allocs {
            if held(*address).ok_or(Code::INVALID_VALUE)? && !auto_free {
                return Err(Code::INVALID_VALUE);
            }
        }
        for address in &frees {
            if held(*address) != Some(true) && !allocs.contains(address) {
                return Err(Code::INVALID_VALUE);
            }
        }
        let fresh: Vec<u64> = allocs.iter().copied().filter(|address| held(*address) == Some(false)).collect();
        for (at, address) in fresh.iter().enumerate() {
            if let Err(code) = self.memory.hold(*address, true, by) {
                fresh[..at].iter().for_each(|address| self.memory.undo_hold(*address));
                return Err(code);
            }
        }
        self.reserve_graph_memory(&allocs)?;
        for address in &frees {
            self.memory.hold(*address, false, by)?;
        }
        Ok(())
    }

    /// Raises what the devices have reserved for graphs to what these allocations need.
    fn reserve_graph_memory(&mut self, allocs: &[u64]) -> Outcome {
        let devices = self.devices.len() as u32;
        for device in 0..devices {
            let of_device = |address: &&u64| self.memory.device_of(**address) == Some(device);
            let bytes = |address: &u64| self.memory.block(*address).map_or(0, |block| block.len);
            let wanted: u64 = allocs.iter().filter(of_device).map(bytes).sum();
            if wanted == 0 {
                continue;
            }
            let reserved = (self.held_graph_bytes(device, allocs) + wanted).next_multiple_of(GRANULE);
            let entry = self.devices.get_mut(device as usize).ok_or(Code::INVALID_DEVICE)?;
            entry.graph_reserved = entry.graph_reserved.max(reserved);
            entry.graph_high = entry.graph_high.max(entry.graph_reserved);
        }
        Ok(())
    }

    /// Bytes of graph allocations that are held, but for some.
    fn held_graph_bytes(&self, device: u32, but: &[u64]) -> u64 {
        let held = self.memory.blocks().filter(|(base, block)| {
            block.device == device && block.held() && matches!(block.kind, BlockKind::Graph(_)) && !but.contains(base)
        });
        held.map(|(_, block)| block.len).sum()
    }

    /// `cuDeviceGraphMemTrim`.
    pub(crate) fn graph_trim(&mut self, device: i32) -> Outcome {
        let device = self.ordinal(device)?;
        let reserved = self.held_graph_bytes(device, &[]).next_multiple_of(GRANULE);
        let entry = &mut self.devices[device as usize];
        entry.graph_reserved = entry.graph_reserved.min(reserved);
        Ok(())
    }

    /// `cuDeviceGetGraphMemAttribute`: used and reserved, each now and at most.
    pub(crate) fn graph_mem_attribute(&self, device: i32, attribute: u32) -> Outcome<u64> {
        let device = self.ordinal(device)?;
        let entry = &self.devices[device as usize];
        match attribute {
            0 | 2 => Ok(entry.graph_reserved),
            1 | 3 => Ok(entry.graph_high),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// `cuDeviceSetGraphMemAttribute`: a high-water mark can be set back to now.
    pub(crate) fn reset_graph_high(&mut self, device: i32, attribute: u32) -> Outcome {
        let device = self.ordinal(device)?;
        if !matches!(attribute, 1 | 3) {
            return Err(Code::INVALID_VALUE);
        }
        let entry = &mut self.devices[device as usize];
        entry.graph_high = entry.graph_reserved;
        Ok(())
    }

    /// One more graph, executable or launch holds an allocation node.
    pub(crate) fn own_block(&mut self, address: u64) {
        if let Some(block) = self.memory.graph_block(address) {
            block.owners += 1;
        }
    }

    /// One fewer does; the last one gives the address up unless it is allocated.
    pub(crate) fn disown_block(&mut self, address: u64, by: Site) {
        let Some(block) = self.memory.graph_block(address) else { return };
        block.owners = block.owners.saturating_sub(1);
        if block.owners == 0 && !block.held {
            self.memory.release(address, by);
        }
    }
}
