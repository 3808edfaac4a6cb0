//! The live objects of a device, and bringing a device back to rest.

use super::id::Id;
use super::{Driver, StreamKind};
use crate::report::{Live, Object, ObjectKind, Site};

impl Driver {
    /// Everything that a program has made on a device and not let go of.
    pub(crate) fn live(&self, device: u32) -> Live {
        let on = |context| self.device_of_context(context) == device;
        let object = |kind, handle, bytes, made| Object { kind, handle, bytes, made };
        let mut objects: Vec<Object> = Vec::new();
        let contexts = self.contexts.iter().filter(|(_, context)| context.device == device);
        objects.extend(contexts.map(|(id, context)| object(ObjectKind::Context, id.raw(), 0, context.made)));
        let streams = self.streams.iter().filter(|(_, s)| s.kind == StreamKind::Created && on(s.context));
        objects.extend(streams.map(|(id, stream)| object(ObjectKind::Stream, id.raw(), 0, stream.made)));
        let events = self.events.iter().filter(|(_, event)| on(event.context));
        objects.extend(events.map(|(id, event)| object(ObjectKind::Event, id.raw(), 0, event.made)));
        let blocks = self.memory.blocks().filter(|(_, block)| {
            block.device == device && block.held() && !matches!(block.kind, super::memory::BlockKind::Module)
        });
        objects.extend(blocks.map(|(base, block)| object(ObjectKind::Allocation, base, block.len, block.made)));
        objects.extend(self.live_pinned(device));
        objects.extend(self.live_modules(device));
        let graphs = self.graphs.iter().filter(|(_, graph)| graph.device == device && !graph.nested);
        objects.extend(graphs.map(|(id, graph)| object(ObjectKind::Graph, id.raw(), 0, graph.made)));
        let execs = self.execs.iter().filter(|(_, exec)| exec.device == device);
        objects.extend(execs.map(|(id, exec)| object(ObjectKind::Executable, id.raw(), 0, exec.made)));
        objects.extend(self.live_pools(device));
        let users = self.user_objects.iter().filter(|(_, user)| user.device == device);
        objects.extend(users.map(|(id, user)| object(ObjectKind::UserObject, id.raw(), 0, user.made)));
        Live::new(objects)
    }

    /// Destroys everything on a device and heals it. Pending work is dropped, not run. User objects lose the references that
    /// graphs and launches hold; those that the program holds itself are forgotten, and their destructors not called: what
    /// they would destroy may be in use.
    pub(crate) fn reset_device(&mut self, device: u32) {
        let by = Site { call: self.calls, name: super::RESET, thread: 0 };
        for exec in self.execs.select(|exec| exec.device == device) {
            self.drop_exec(exec, by);
        }
        let lanes: Vec<_> = self.lanes.iter().map(|(id, lane)| (*id, lane.context)).collect();
        for (lane, context) in lanes {
            if self.device_of_context(context) == device {
                self.discard_lane(lane);
            }
        }
        for context in self.contexts.select(|context| context.device == device) {
            self.tear_down(context, by);
        }
        for graph in self.graphs.select(|graph| graph.device == device && !graph.nested) {
            self.drop_graph(graph, by);
        }
        for library in self.libraries.select(|library| library.device == device) {
            self.libraries.remove(library, by);
        }
        for pool in self.pools.select(|pool| pool.device == device) {
            self.pools.remove(pool, by);
        }
        for object in self.user_objects.select(|object| object.device == device) {
            self.user_objects.remove(object, by);
        }
        self.memory.reset_device(device);
        if let Some(entry) = self.devices.get_mut(device as usize) {
            *entry = super::Device { group: entry.group, ..super::Device::new(device, false) };
        }
    }
}
