//! The driver model: every object and rule of the simulated driver, behind one lock.
//!
//! The C functions (`abi`) call into this model with the lock held; the engine runs pending work on it. There is one
//! [`Driver`] in a process.
//!
//! 1. One lock guards the whole model. It is never held while code of the caller runs (host functions, destructors of user
//!    objects) and is released between slices of a long kernel.
//! 2. A call either fails before it changes anything, or takes effect; the exceptions are those that the driver makes
//!    (an error that invalidates a capture, for one).
//! 3. Nothing reads a clock: time is counted in executed work.

mod alloc;
mod branch;
pub(crate) mod bytes;
mod capture;
mod context;
mod copy;
pub(crate) mod device;
mod dot;
mod enqueue;
mod event;
mod exec;
mod function;
mod graph;
pub(crate) mod id;
mod instantiate;
mod launch;
mod legality;
mod live;
mod managed;
mod mem_node;
pub(crate) mod memory;
mod module;
mod node;
mod pairing;
mod pinned;
mod pool;
mod source;
mod stream;
mod update;
mod user_object;
pub(crate) mod work;

use std::collections::{BTreeMap, VecDeque};

use id::{
    ConditionId, ContextId, EventId, ExecId, FunctionId, GraphId, KernelId, LibraryId, ModuleId, NodeId, PoolId,
    StreamId, Table, UserObjectId,
};
use memory::Memory;

use crate::code::{Code, Outcome};
use crate::engine::{Lane, LaneId};
use crate::install::Options;
use crate::report::{Faults, Log, ObjectKind, Range, Site, Violation, Violations};

pub(crate) use alloc::PointerAttribute;
pub(crate) use capture::{Capture, CaptureId, Info, Status};
pub(crate) use context::Context;
pub(crate) use copy::CopyKind;
pub(crate) use device::Device;
pub(crate) use event::{Event, Recorded};
pub(crate) use exec::{Executable, Plan};
pub(crate) use function::{Function, Kernel};
pub(crate) use graph::{Condition, Graph};
pub(crate) use instantiate::InstantiateResult;
pub(crate) use launch::LaunchRequest;
pub(crate) use managed::Home;
pub(crate) use module::{Image, Library, Module};
pub(crate) use node::Node;
pub(crate) use pool::Pool;
pub(crate) use source::Digest;
pub(crate) use stream::{Stream, StreamKind};
pub(crate) use update::Update;
pub(crate) use user_object::UserObject;
use work::HostCall;

/// The name under which [`SimDevice::reset`](crate::SimDevice::reset) destroys objects.
const RESET: &str = "SimDevice::reset";

/// What the driver knows of a host thread.
#[derive(Debug, Default)]
pub(crate) struct Thread {
    /// The interaction mode that `cuThreadExchangeStreamCaptureMode` swaps.
    pub(crate) mode: u32,
    /// The context stack; the last one is current.
    pub(crate) contexts: Vec<ContextId>,
}

/// The whole state of the simulated driver.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) initialised: bool,
    pub(crate) devices: Vec<Device>,
    pub(crate) threads: BTreeMap<u32, Thread>,
    pub(crate) contexts: Table<ContextId, Context>,
    /// The devices of all contexts that there ever were.
    pub(crate) context_devices: BTreeMap<ContextId, u32>,
    pub(crate) streams: Table<StreamId, Stream>,
    pub(crate) events: Table<EventId, Event>,
    pub(crate) captures: BTreeMap<CaptureId, Capture>,
    pub(crate) graphs: Table<GraphId, Graph>,
    pub(crate) nodes: Table<NodeId, Node>,
    pub(crate) conditions: Table<ConditionId, Condition>,
    pub(crate) execs: Table<ExecId, Executable>,
    pub(crate) modules: Table<ModuleId, Module>,
    pub(crate) functions: Table<FunctionId, Function>,
    pub(crate) libraries: Table<LibraryId, Library>,
    pub(crate) kernels: Table<KernelId, Kernel>,
    pub(crate) pools: Table<PoolId, Pool>,
    pub(crate) user_objects: Table<UserObjectId, UserObject>,
    pub(crate) memory: Memory,
    pub(crate) lanes: BTreeMap<LaneId, Lane>,
    /// Lanes for which a call found no room, with its thread.
    pub(crate) crowded: Vec<(u32, LaneId)>,
    /// How many queued items have been dropped without running.
    pub(crate) discarded: u64,
    pub(crate) next_lane: u64,
    next_capture: u64,
    next_graph: u64,
    /// How often a node has become an end of its graph.
    ends_made: u64,
    /// The simulated time of the lane whose work runs: executed instructions and operations, as nanoseconds.
    pub(crate) clock: u64,
    /// How many host functions have run in stream order.
    pub(crate) host_runs: u64,
    /// Destructors of user objects that are due; run without the lock at the end of the call that made them due.
    pub(crate) destructors: VecDeque<HostCall>,
    /// Calls, faults and violations that belong to no device.
    pub(crate) log: Log,
    pub(crate) faults: Faults,
    pub(crate) violations: Violations,
    pub(crate) calls: u64,
}

impl Driver {
    /// A driver in the state before `cuInit`.
    pub(crate) fn new(options: &Options) -> Driver {
        Driver {
            initialised: false,
            devices: (0..options.devices).map(|ordinal| Device::new(ordinal, options.coupled)).collect(),
            threads: BTreeMap::new(),
            contexts: Table::new(),
            context_devices: BTreeMap::new(),
            streams: Table::new(),
            events: Table::new(),
            captures: BTreeMap::new(),
            graphs: Table::new(),
            nodes: Table::new(),
            conditions: Table::new(),
            execs: Table::new(),
            modules: Table::new(),
            functions: Table::new(),
            libraries: Table::new(),
            kernels: Table::new(),
            pools: Table::new(),
            user_objects: Table::new(),
            memory: Memory::new(options.devices, options.memory),
            lanes: BTreeMap::new(),
            crowded: Vec::new(),
            discarded: 0,
            next_lane: 1,
            next_capture: 1,
            next_graph: 1,
            ends_made: 0,
            clock: 0,
            host_runs: 0,
            destructors: VecDeque::new(),
            log: Log::default(),
            faults: Faults::default(),
            violations: Violations::default(),
            calls: 0,
        }
    }

    /// The state of a thread, made on its first call.
    pub(crate) fn thread(&mut self, thread: u32) -> &mut Thread {
        self.threads.entry(thread).or_default()
    }

    /// Records a violation with the device it concerns, or with the process.
    pub(crate) fn violate(&mut self, device: Option<u32>, violation: Violation) {
        let device = device.and_then(|device| self.devices.get_mut(device as usize));
        device.map_or(&mut self.violations, |device| &mut device.violations).push(violation);
    }

    /// Records that a caller destroys something that is gone, with the device of its current context.
    ///
    /// What a test has reset away is no fault of the program's.
    pub(crate) fn destroyed_twice(&mut self, kind: ObjectKind, handle: u64, first: Option<Site>, again: Site) {
        if first.is_some_and(|first| first.name == RESET) {
            return;
        }
        let device = self.top(again.thread).map(|context| self.device_of_context(context));
        self.violate(device, Violation::DestroyedTwice { kind, handle, first, again });
    }

    /// Whether a device has had a fault that all its contexts keep returning.
    pub(crate) fn healthy(&self, device: u32) -> Outcome {
        match self.devices.get(device as usize).and_then(|device| device.poison) {
            Some(code) => Err(code),
            None => Ok(()),
        }
    }

    /// Which calls submitted pending work that names a range of memory.
    pub(crate) fn pending_users(&self, block: Range) -> Vec<Site> {
        self.lanes.values().flat_map(|lane| lane.users_of(block, 0)).collect()
    }

    /// The device ordinal that a caller passed.
    pub(crate) fn ordinal(&self, device: i32) -> Outcome<u32> {
        if !self.initialised {
            return Err(Code::NOT_INITIALIZED);
        }
        u32::try_from(device).ok().filter(|d| (*d as usize) < self.devices.len()).ok_or(Code::INVALID_DEVICE)
    }
}
