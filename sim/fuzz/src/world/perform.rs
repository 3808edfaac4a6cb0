//! Each call, made: those on streams, captures, events, memory and modules.

use super::{Capture, Done, World};
use crate::call::Call;
use crate::machine::{callback, host_function};
use crate::names::*;

/// How large allocations are.
pub(super) const BYTES: usize = 4096;

impl World {
    /// Makes a call that [`World::forbids`] lets pass, on the current thread, which has this number.
    pub(super) fn perform(&mut self, thread: usize, call: &Call) -> Done {
        let machine = std::sync::Arc::clone(&self.machine);
        let driver = &machine.driver;
        let cell = |place: Place, cell: Cell| machine.site(place).cell(cell);
        let mark = |place: Place| machine.site(place).mark();
        let context = |place: Place| machine.site(place).context;
        let mut new = 0_u64;
        match *call {
            Call::CtxSetCurrent { place } => {
                let code = driver.cuCtxSetCurrent(context(place));
                if code == 0 {
                    self.current[thread] = place;
                }
                code.into()
            }
            Call::CtxSynchronize {} => driver.cuCtxSynchronize().into(),
            Call::CtxEnablePeerAccess { peer } => {
                let code = driver.cuCtxEnablePeerAccess(context(peer), 0);
                if code == 0 {
                    self.peers.insert((self.current[thread], peer));
                }
                code.into()
            }
            Call::CtxDisablePeerAccess { peer } => {
                let code = driver.cuCtxDisablePeerAccess(context(peer));
                if code == 0 {
                    self.peers.remove(&(self.current[thread], peer));
                }
                code.into()
            }
            Call::CtxRecordEvent { place, event } => driver.cuCtxRecordEvent(context(place), self.handle(event)).into(),
            Call::CtxWaitEvent { place, event } => driver.cuCtxWaitEvent(context(place), self.handle(event)).into(),
            Call::ThreadExchangeStreamCaptureMode { mode } => {
                let mut mode = mode.number();
                let code = driver.cuThreadExchangeStreamCaptureMode(&mut mode);
                Done::from(code).note(|| format!("mode={mode}"))
            }

            Call::StreamCreate { new: New(name), kind } => {
                let code = driver.cuStreamCreate(&mut new, u32::from(kind == StreamKind::Free));
                self.make(code, name, new)
            }
            Call::StreamDestroy { stream } => {
                let code = driver.cuStreamDestroy_v2(self.handle(stream));
                self.undead |= code != 0;
                self.forget(stream);
                code.into()
            }
            Call::StreamSynchronize { stream } => driver.cuStreamSynchronize(self.used(thread, stream)).into(),
            Call::StreamQuery { stream } => Done::ready(driver.cuStreamQuery(self.used(thread, stream))),
            Call::StreamGetFlags { stream } => {
                let mut flags = 0;
                let code = driver.cuStreamGetFlags(self.used(thread, stream), &mut flags);
                Done::from(code).note(|| format!("flags={flags}"))
            }
            Call::StreamGetPriority { stream } => {
                let mut priority = 0;
                let code = driver.cuStreamGetPriority(self.used(thread, stream), &mut priority);
                Done::from(code).note(|| format!("priority={priority}"))
            }
            Call::StreamGetCtx { stream } => {
                let code = driver.cuStreamGetCtx(self.used(thread, stream), &mut new);
                let place = (0..machine.places()).position(|place| context(Place(place)) == new);
                Done::from(code).note(|| place.map_or("elsewhere".to_owned(), |place| Place(place).to_string()))
            }
            Call::StreamWaitEvent { stream, event, side } => {
                let (stream, event) = (self.used(thread, stream), self.keep_if(side, event));
                driver.cuStreamWaitEvent(stream, event, u32::from(side == Side::External)).into()
            }
            Call::StreamAddCallback { stream } => {
                driver.cuStreamAddCallback(self.used(thread, stream), callback, 0, 0).into()
            }
            Call::StreamWriteValue { stream, place, cell: at, value } => {
                driver.cuStreamWriteValue32_v2(self.used(thread, stream), cell(place, at), value.0, 0).into()
            }

            Call::StreamBeginCapture { stream, mode } => {
                driver.cuStreamBeginCapture_v2(self.used(thread, stream), mode.number()).into()
            }
            Call::StreamBeginCaptureToGraph { stream, graph, ref after, mode } => {
                let (handle, into, after) = (self.handle(stream), self.handle(graph), self.nodes(after));
                let (nodes, edges, count) = (after.as_ptr(), std::ptr::null(), after.len());
                let code = driver.cuStreamBeginCaptureToGraph(handle, into, nodes, edges, count, mode.number());
                if code == 0 {
                    self.filling.push((stream, graph));
                }
                code.into()
            }
            Call::StreamEndCapture { stream, new: New(name) } => {
                let code = driver.cuStreamEndCapture(self.used(thread, stream), &mut new);
                let filled = self.filling.iter().position(|(_, graph)| self.handle(*graph) == new);
                match filled.filter(|_| code == 0) {
                    Some(filled) => {
                        let (_, graph) = self.filling.swap_remove(filled);
                        Done::from(code).note(|| graph.to_string())
                    }
                    None if new == 0 => Done::from(code).note(|| "none".to_owned()),
                    None => self.make(code, name, new),
                }
            }
            Call::StreamIsCapturing { stream } => {
                let mut status = 0;
                let code = driver.cuStreamIsCapturing(self.used(thread, stream), &mut status);
                Done::from(code).note(|| format!("status={status}"))
            }
            Call::StreamGetCaptureInfo { stream, new: New(name) } => {
                let stream = self.used(thread, stream);
                self.capture_info(stream, name)
            }
            Call::StreamUpdateCaptureDependencies { stream, ref nodes, change } => {
                let mut nodes = self.nodes(nodes);
                let (stream, list, count) = (self.used(thread, stream), nodes.as_mut_ptr(), nodes.len());
                driver.cuStreamUpdateCaptureDependencies(stream, list, count, u32::from(change == Change::Set)).into()
            }

            Call::EventCreate { new: New(name), timing } => {
                let code = driver.cuEventCreate(&mut new, if timing == Timing::Timed { 0 } else { 2 });
                self.make(code, name, new)
            }
            Call::EventDestroy { event } => {
                let code = driver.cuEventDestroy_v2(self.handle(event));
                self.forget(event);
                code.into()
            }
            Call::EventRecord { event, stream, side } => {
                let (stream, event) = (self.used(thread, stream), self.keep_if(side, event));
                driver.cuEventRecordWithFlags(event, stream, u32::from(side == Side::External)).into()
            }
            Call::EventQuery { event } => Done::ready(driver.cuEventQuery(self.handle(event))),
            Call::EventSynchronize { event } => driver.cuEventSynchronize(self.handle(event)).into(),
            Call::EventElapsedTime { from, to } => {
                Done::ready(driver.cuEventElapsedTime(&mut 0.0, self.handle(from), self.handle(to)))
            }

            Call::MemAlloc { new: New(name) } => {
                let code = driver.cuMemAlloc_v2(&mut new, BYTES);
                self.make(code, name, new)
            }
            Call::MemFree { pointer } => {
                let code = driver.cuMemFree_v2(self.handle(pointer));
                self.freed(code, pointer)
            }
            Call::MemAllocAsync { new: New(name), stream } => {
                let stream = self.used(thread, stream);
                let code = driver.cuMemAllocAsync(&mut new, BYTES, stream);
                match self.capture_of(stream) {
                    Ok(Some(Capture::Active { graph, .. })) => self.allocate_in(code, name, new, graph),
                    _ => self.make(code, name, new),
                }
            }
            Call::MemFreeAsync { pointer, stream } => {
                let stream = self.used(thread, stream);
                let code = driver.cuMemFreeAsync(self.handle(pointer), stream);
                if let Ok(Some(Capture::Active { graph, .. })) = self.capture_of(stream) {
                    self.freed_in(code, pointer, graph);
                }
                self.freed(code, pointer)
            }
            Call::MemHostAlloc { new: New(name) } => {
                let code = driver.cuMemHostAlloc(&mut new, BYTES, 1);
                self.make(code, name, new)
            }
            Call::MemFreeHost { block } => {
                let code = driver.cuMemFreeHost(self.handle(block));
                self.forget(block);
                code.into()
            }
            Call::MemPoolTrimTo { place } => driver.cuMemPoolTrimTo(machine.site(place).pool, 0).into(),
            Call::MemGetInfo {} => driver.cuMemGetInfo_v2(&mut 0, &mut 0).into(),
            Call::Memset { place, cell: at, value } => driver.cuMemsetD32_v2(cell(place, at), value.0, 1).into(),
            Call::MemsetAsync { place, cell: at, value, stream } => {
                driver.cuMemsetD32Async(cell(place, at), value.0, 1, self.used(thread, stream)).into()
            }
            Call::MemcpyHtoD { place, cell: at, host } => {
                driver.cuMemcpyHtoD_v2(cell(place, at), machine.source(host), 4).into()
            }
            Call::MemcpyHtoDAsync { place, cell: at, host, stream } => {
                let stream = self.used(thread, stream);
                driver.cuMemcpyHtoDAsync_v2(cell(place, at), machine.source(host), 4, stream).into()
            }
            Call::MemcpyDtoH { place, host } => driver.cuMemcpyDtoH_v2(machine.sink(host), mark(place), 4).into(),
            Call::MemcpyDtoHAsync { place, host, stream } => {
                driver.cuMemcpyDtoHAsync_v2(machine.sink(host), mark(place), 4, self.used(thread, stream)).into()
            }
            Call::MemcpyDtoD { from, to, cell: at } => driver.cuMemcpyDtoD_v2(cell(to, at), mark(from), 4).into(),
            Call::MemcpyDtoDAsync { from, to, cell: at, stream } => {
                driver.cuMemcpyDtoDAsync_v2(cell(to, at), mark(from), 4, self.used(thread, stream)).into()
            }
            Call::MemcpyPeerAsync { from, to, cell: at, stream } => {
                let stream = self.used(thread, stream);
                driver.cuMemcpyPeerAsync(cell(to, at), context(to), mark(from), context(from), 4, stream).into()
            }

            Call::ModuleLoadData { new: New(name) } => {
                let code = driver.cuModuleLoadData(&mut new, machine.image.as_ptr());
                self.make(code, name, new)
            }
            Call::ModuleUnload { module } => {
                let code = driver.cuModuleUnload(self.handle(module));
                self.forget(module);
                code.into()
            }
            Call::ModuleGetFunction { module } => {
                driver.cuModuleGetFunction(&mut new, self.handle(module), c"count".as_ptr()).into()
            }
            Call::ModuleGetGlobal { module } => {
                let mut bytes = 0;
                let code = driver.cuModuleGetGlobal_v2(&mut new, &mut bytes, self.handle(module), c"mark".as_ptr());
                Done::from(code).note(|| format!("bytes={bytes}"))
            }
            // What it asks for, the most threads of a block, is the same for such a kernel everywhere.
            Call::FuncGetAttribute { place } => {
                let mut value = 0;
                let code = driver.cuFuncGetAttribute(&mut value, 0, machine.site(place).count);
                Done::from(code).note(|| format!("value={value}"))
            }
            Call::LaunchKernel { stream, place, cell: at } => {
                let argument = cell(place, at);
                let arguments = [&raw const argument as u64];
                let (function, stream) = (machine.site(place).count, self.used(thread, stream));
                let extra = std::ptr::null();
                driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments.as_ptr(), extra).into()
            }
            Call::LaunchHostFunc { stream } => {
                driver.cuLaunchHostFunc(self.used(thread, stream), host_function, 0).into()
            }
            _ => self.perform_on_graphs(thread, call),
        }
    }

    /// The handle of a stream that a call uses.
    pub(super) fn used(&mut self, thread: usize, stream: StreamArg) -> u64 {
        if stream == StreamArg::Own {
            self.own.insert((thread, self.current[thread]));
        }
        self.stream(stream)
    }

    pub(super) fn nodes(&self, nodes: &Nodes) -> Vec<u64> {
        nodes.0.iter().map(|node| self.handle(*node)).collect()
    }

    /// The handle of an event that a node may come to name.
    pub(super) fn keep_if(&mut self, side: Side, event: Event) -> u64 {
        if side == Side::External {
            self.kept.insert(event);
        }
        self.handle(event)
    }

    /// After a free: memory of a graph keeps its address.
    fn freed(&mut self, code: u32, pointer: Pointer) -> Done {
        if code == 0 && !self.owners.contains_key(&pointer.into()) {
            self.forget(pointer);
        }
        code.into()
    }

    /// Asks for a stream's capture, and names the node that the next one will depend on, if it is one.
    fn capture_info(&mut self, stream: u64, name: Node) -> Done {
        let (mut status, mut id, mut graph, mut nodes, mut count) = (0, 0, 0, std::ptr::null(), 0);
        let driver = &self.machine.driver;
        let code = driver.cuStreamGetCaptureInfo_v2(stream, &mut status, &mut id, &mut graph, &mut nodes, &mut count);
        let done = Done::from(code).note(|| format!("status={status}"));
        if code != 0 || status != 1 {
            return done;
        }
        if count == 1 {
            // SAFETY: the driver says that there is one node; nothing was called since.
            let node = unsafe { *nodes };
            self.make_in(0, name, node, graph);
        }
        let kinds = self.kinds_of(graph);
        done.note(|| format!("after={count} {}", kinds.notes.concat()))
    }
}
