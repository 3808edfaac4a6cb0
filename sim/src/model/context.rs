//! Contexts: which is current on a thread, primary contexts, peer access, limits.
//!
//! 1. Every object but a graph belongs to a context, and goes with it.
//! 2. A primary context is counted by retain and release; the last release destroys it, and the next retain makes another.

use std::collections::BTreeMap;

use super::id::{ContextId, Id, Miss, StreamId};
use super::{Driver, StreamKind};
use crate::code::{Code, Outcome};
use crate::engine::LaneId;
use crate::report::{ObjectKind, Site};

/// The valid bits of context flags: scheduling, host mapping, local memory kept, coredump, sync memops.
const FLAGS: u32 = 0xFF;

/// A context.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) device: u32,
    pub(crate) primary: bool,
    pub(crate) flags: u32,
    /// The legacy default stream.
    pub(crate) legacy: StreamId,
    /// The per-thread default streams, by thread.
    pub(crate) per_thread: BTreeMap<u32, StreamId>,
    /// Contexts whose memory the kernels of this one may touch.
    pub(crate) peers: Vec<ContextId>,
    /// Values of `cuCtxSetLimit`.
    pub(crate) limits: BTreeMap<u32, u64>,
    pub(crate) cache_config: u32,
    pub(crate) made: Site,
}

/// A device's primary context while it is active.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Primary {
    pub(crate) context: ContextId,
    pub(crate) references: u32,
}

impl Driver {
    /// The context that a caller's handle names.
    pub(crate) fn context(&self, raw: u64) -> Outcome<ContextId> {
        self.contexts.find(raw).map_err(|miss| match miss {
            Miss::Stale(_) => Code::CONTEXT_IS_DESTROYED,
            Miss::Null | Miss::Unknown => Code::INVALID_CONTEXT,
        })
    }

    /// The device of a context, even of one that is gone.
    pub(crate) fn device_of_context(&self, context: ContextId) -> u32 {
        self.context_devices.get(&context).copied().unwrap_or(0)
    }

    /// The context on top of a thread's stack, whatever its state.
    pub(crate) fn top(&self, thread: u32) -> Option<ContextId> {
        self.threads.get(&thread).and_then(|thread| thread.contexts.last().copied())
    }

    /// The usable current context of a thread.
    pub(crate) fn current(&self, thread: u32) -> Outcome<ContextId> {
        let context = self.current_any(thread)?;
        self.healthy(self.device_of_context(context))?;
        Ok(context)
    }

    /// The current context of a thread, even if its device has had a fault.
    pub(crate) fn current_any(&self, thread: u32) -> Outcome<ContextId> {
        if !self.initialised {
            return Err(Code::NOT_INITIALIZED);
        }
        let context = self.top(thread).ok_or(Code::INVALID_CONTEXT)?;
        self.context(context.raw())
    }

    fn make_context(&mut self, device: u32, primary: bool, flags: u32, by: Site) -> ContextId {
        let context = self.contexts.upcoming();
        self.context_devices.insert(context, device);
        let legacy = self.make_stream(context, StreamKind::Legacy, 0, by);
        self.contexts.insert(Context {
            device,
            primary,
            flags,
            legacy,
            per_thread: BTreeMap::new(),
            peers: Vec::new(),
            limits: BTreeMap::new(),
            cache_config: 0,
            made: by,
        })
    }

    /// `cuCtxCreate`: the new context becomes current.
    pub(crate) fn context_create(&mut self, flags: u32, device: i32, by: Site) -> Outcome<ContextId> {
        let device = self.ordinal(device)?;
        if flags & !FLAGS != 0 {
            return Err(Code::INVALID_VALUE);
        }
        self.healthy(device)?;
        let context = self.make_context(device, false, flags, by);
        self.thread(by.thread).contexts.push(context);
        Ok(context)
    }

    /// `cuCtxDestroy`.
    pub(crate) fn context_destroy(&mut self, raw: u64, by: Site) -> Outcome {
        let context = match self.contexts.find(raw) {
            Ok(context) => context,
            Err(Miss::Stale(first)) => {
                self.destroyed_twice(ObjectKind::Context, raw, first, by);
                return Err(Code::CONTEXT_IS_DESTROYED);
            }
            Err(_) => return Err(Code::INVALID_CONTEXT),
        };
        if self.contexts.get(context).is_some_and(|context| context.primary) {
            return Err(Code::INVALID_CONTEXT);
        }
        self.tear_down(context, by);
        let thread = self.thread(by.thread);
        if thread.contexts.last() == Some(&context) {
            thread.contexts.pop();
        }
        Ok(())
    }

    /// Destroys a context with everything in it. Work that is still queued is dropped.
    pub(crate) fn tear_down(&mut self, context: ContextId, by: Site) {
        let lanes: Vec<LaneId> =
            self.lanes.iter().filter(|(_, lane)| lane.context == context).map(|(id, _)| *id).collect();
        for lane in lanes {
            self.discard_lane(lane);
        }
        for stream in self.streams.select(|stream| stream.context == context) {
            self.drop_stream(stream, by);
        }
        for event in self.events.select(|event| event.context == context) {
            self.events.remove(event, by);
        }
        for module in self.modules.select(|module| module.context == context) {
            self.drop_module(module, by);
        }
        let blocks: Vec<u64> =
            self.memory.blocks().filter(|(_, block)| block.context == context).map(|(base, _)| base).collect();
        for base in blocks {
            self.memory.release(base, by);
        }
        self.memory.pinned.retain(|_, pinned| pinned.context != context);
        for (_, other) in self.contexts.iter_mut() {
            other.peers.retain(|peer| *peer != context);
        }
        self.contexts.remove(context, by);
    }

    /// `cuDevicePrimaryCtxRetain`.
    pub(crate) fn primary_retain(&mut self, device: i32, by: Site) -> Outcome<ContextId> {
        let ordinal = self.ordinal(device)?;
        self.healthy(ordinal)?;
        if let Some(primary) = &mut self.devices[ordinal as usize].primary {
            primary.references += 1;
            return Ok(primary.context);
        }
        let flags = self.devices[ordinal as usize].primary_flags;
        let context = self.make_context(ordinal, true, flags, by);
        self.devices[ordinal as usize].primary = Some(Primary { context, references: 1 });
        Ok(context)
    }

    /// `cuDevicePrimaryCtxRelease`.
    pub(crate) fn primary_release(&mut self, device: i32, by: Site) -> Outcome {
        let ordinal = self.ordinal(device)?;
        let slot = &mut self.devices[ordinal as usize].primary;
        let primary = slot.as_mut().ok_or(Code::INVALID_CONTEXT)?;
        primary.references -= 1;
        if primary.references == 0 {
            let context = primary.context;
            *slot = None;
            self.tear_down(context, by);
        }
        Ok(())
    }

    /// `cuDevicePrimaryCtxReset`: destroys the context whatever its count.
    pub(crate) fn primary_reset(&mut self, device: i32, by: Site) -> Outcome {
        let ordinal = self.ordinal(device)?;
        if let Some(primary) = self.devices[ordinal as usize].primary.take() {
            self.tear_down(primary.context, by);
        }
        Ok(())
    }

    /// `cuDevicePrimaryCtxGetState`: flags, and whether it is active.
    pub(crate) fn primary_state(&self, device: i32) -> Outcome<(u32, bool)> {
        let ordinal = self.ordinal(device)?;
        let device = &self.devices[ordinal as usize];
        Ok((device.primary_flags, device.primary.is_some()))
    }

    /// `cuDevicePrimaryCtxSetFlags`.
    pub(crate) fn primary_set_flags(&mut self, device: i32, flags: u32) -> Outcome {
        let ordinal = self.ordinal(device)?;
        if flags & !FLAGS != 0 {
            return Err(Code::INVALID_VALUE);
        }
        self.devices[ordinal as usize].primary_flags = flags;
        Ok(())
    }

    /// `cuCtxSetCurrent`: replaces the top of the stack; zero takes it away.
    pub(crate) fn set_current(&mut self, raw: u64, by: Site) -> Outcome {
        if !self.initialised {
            return Err(Code::NOT_INITIALIZED);
        }
        let context = if raw == 0 { None } else { Some(self.context(raw)?) };
        let stack = &mut self.thread(by.thread).contexts;
        stack.pop();
        stack.extend(context);
        Ok(())
    }

    /// `cuCtxPushCurrent`.
    pub(crate) fn push_current(&mut self, raw: u64, by: Site) -> Outcome {
        let context = self.context(raw)?;
        self.thread(by.thread).contexts.push(context);
        Ok(())
    }

    /// `cuCtxPopCurrent`.
    pub(crate) fn pop_current(&mut self, by: Site) -> Outcome<ContextId> {
        self.thread(by.thread).contexts.pop().ok_or(Code::INVALID_CONTEXT)
    }

    /// `cuCtxEnablePeerAccess`: kernels of the current context may touch the peer's memory.
    pub(crate) fn enable_peer(&mut self, raw: u64, flags: u32, by: Site) -> Outcome {
        let context = self.current(by.thread)?;
        let peer = self.context(raw)?;
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        if self.device_of_context(context) == self.device_of_context(peer) {
            return Err(Code::PEER_ACCESS_UNSUPPORTED);
        }
        self.unsafe_call(by.thread)?;
        let peers = &mut self.contexts.get_mut(context).ok_or(Code::INVALID_CONTEXT)?.peers;
        if peers.contains(&peer) {
            return Err(Code::PEER_ACCESS_ALREADY_ENABLED);
        }
        peers.push(peer);
        Ok(())
    }

    /// `cuCtxDisablePeerAccess`.
    pub(crate) fn disable_peer(&mut self, raw: u64, by: Site) -> Outcome {
        let context = self.current(by.thread)?;
        let peer = self.context(raw)?;
        self.unsafe_call(by.thread)?;
        let peers = &mut self.contexts.get_mut(context).ok_or(Code::INVALID_CONTEXT)?.peers;
        let at = peers.iter().position(|other| *other == peer).ok_or(Code::PEER_ACCESS_NOT_ENABLED)?;
        peers.remove(at);
        Ok(())
    }

    /// `cuCtxGetLimit`.
    pub(crate) fn limit(&self, limit: u32, by: Site) -> Outcome<u64> {
        let context = self.current(by.thread)?;
        let default = default_limit(limit)?;
        Ok(self.contexts.get(context).and_then(|context| context.limits.get(&limit).copied()).unwrap_or(default))
    }

    /// `cuCtxSetLimit`.
    pub(crate) fn set_limit(&mut self, limit: u32, value: u64, by: Site) -> Outcome {
        let context = self.current(by.thread)?;
        default_limit(limit)?;
        self.unsafe_call(by.thread)?;
        if let Some(context) = self.contexts.get_mut(context) {
            context.limits.insert(limit, value);
        }
        Ok(())
    }
}

/// What a limit is before anybody sets it: stack, printf buffer, heap, launch depth, pending launches, L2 fetch, L2 carve-out.
fn default_limit(limit: u32) -> Outcome<u64> {
    match limit {
        0 => Ok(1024),
        1 => Ok(1 << 20),
        2 => Ok(8 << 20),
        3 => Ok(2),
        4 => Ok(2048),
        5 => Ok(128),
        6 => Ok(0),
        _ => Err(Code::UNSUPPORTED_LIMIT),
    }
}
