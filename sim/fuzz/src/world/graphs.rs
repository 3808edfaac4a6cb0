//! Each call, made: those on graphs, executables and user objects.

use super::perform::BYTES;
use super::{Done, World};
use crate::call::Call;
use crate::machine::{destructor, host_function};
use crate::names::*;
use crate::structs::{AllocParams, Copy3d, CopySide, FillParams, HostParams, KernelParams, UpdateInfo};

/// A copy of one word.
fn copy(from: u64, to: u64) -> Copy3d {
    let side = |device| CopySide { kind: 2, device, pitch: 4, height: 1, ..CopySide::default() };
    Copy3d { from: side(from), to: side(to), extent: [4, 1, 1] }
}

impl World {
    /// The calls on graphs, executables and user objects.
    pub(super) fn perform_on_graphs(&mut self, thread: usize, call: &Call) -> Done {
        let machine = std::sync::Arc::clone(&self.machine);
        let driver = &machine.driver;
        let mut new = 0_u64;
        match *call {
            Call::GraphCreate { new: New(name) } => {
                let code = driver.cuGraphCreate(&mut new, 0);
                self.make(code, name, new)
            }
            Call::GraphDestroy { graph } => {
                let code = driver.cuGraphDestroy(self.handle(graph));
                self.forget_graph(graph);
                code.into()
            }
            Call::GraphClone { new: New(name), graph } => {
                let code = driver.cuGraphClone(&mut new, self.handle(graph));
                self.make(code, name, new)
            }
            Call::GraphGetNodes { graph } => self.kinds_of(self.handle(graph)),
            Call::GraphGetRootNodes { graph } => {
                let mut count = 0;
                let code = driver.cuGraphGetRootNodes(self.handle(graph), std::ptr::null_mut(), &mut count);
                Done::from(code).note(|| format!("roots={count}"))
            }
            Call::GraphGetEdges { graph } => {
                let (mut count, nowhere) = (0, std::ptr::null_mut());
                let code = driver.cuGraphGetEdges(self.handle(graph), nowhere, nowhere, &mut count);
                Done::from(code).note(|| format!("edges={count}"))
            }
            Call::GraphNodeGetType { node } => {
                let mut kind = 0;
                let code = driver.cuGraphNodeGetType(self.handle(node), &mut kind);
                Done::from(code).note(|| format!("type={kind}"))
            }
            Call::GraphNodeGetDependencies { node } => {
                let mut count = 0;
                let code = driver.cuGraphNodeGetDependencies(self.handle(node), std::ptr::null_mut(), &mut count);
                Done::from(code).note(|| format!("after={count}"))
            }
            Call::GraphDestroyNode { node } => {
                let handle = self.handle(node);
                let code = driver.cuGraphDestroyNode(handle);
                self.forget_node(handle);
                code.into()
            }
            Call::GraphAddDependencies { graph, from, to } => {
                let (from, to) = (self.handle(from), self.handle(to));
                driver.cuGraphAddDependencies(self.handle(graph), &from, &to, 1).into()
            }
            Call::GraphRemoveDependencies { graph, from, to } => {
                let (from, to) = (self.handle(from), self.handle(to));
                driver.cuGraphRemoveDependencies(self.handle(graph), &from, &to, 1).into()
            }
            Call::GraphKernelNodeSetParams { node, place, cell } => {
                let node = self.handle(node);
                self.with_kernel(place, cell, |params| driver.cuGraphKernelNodeSetParams_v2(node, params)).into()
            }

            Call::GraphInstantiate { new: New(name), graph, flags } => {
                let code = driver.cuGraphInstantiateWithFlags(&mut new, self.handle(graph), flags.0.into());
                self.make(code, name, new)
            }
            Call::GraphExecDestroy { exec } => {
                let code = driver.cuGraphExecDestroy(self.handle(exec));
                self.forget(exec);
                code.into()
            }
            Call::GraphExecGetFlags { exec } => {
                let mut flags = 0;
                let code = driver.cuGraphExecGetFlags(self.handle(exec), &mut flags);
                Done::from(code).note(|| format!("flags={flags}"))
            }
            Call::GraphUpload { exec, stream } => {
                driver.cuGraphUpload(self.handle(exec), self.used(thread, stream)).into()
            }
            Call::GraphLaunch { exec, stream } => {
                driver.cuGraphLaunch(self.handle(exec), self.used(thread, stream)).into()
            }
            Call::GraphExecUpdate { exec, graph } => {
                let mut info = UpdateInfo::default();
                let mut done =
                    Done::from(driver.cuGraphExecUpdate_v2(self.handle(exec), self.handle(graph), &mut info));
                done.notes.push(format!("result={} node={}", info.result, u32::from(info.node != 0)));
                done
            }
            Call::GraphExecKernelNodeSetParams { exec, node, place, cell } => {
                let (exec, node) = (self.handle(exec), self.handle(node));
                self.with_kernel(place, cell, |params| driver.cuGraphExecKernelNodeSetParams_v2(exec, node, params))
                    .into()
            }
            Call::GraphNodeSetEnabled { exec, node, switch } => {
                let on = u32::from(switch == Switch::On);
                driver.cuGraphNodeSetEnabled(self.handle(exec), self.handle(node), on).into()
            }
            Call::GraphNodeGetEnabled { exec, node } => {
                let mut on = 0;
                let code = driver.cuGraphNodeGetEnabled(self.handle(exec), self.handle(node), &mut on);
                Done::from(code).note(|| format!("enabled={on}"))
            }

            Call::UserObjectCreate { new: New(name) } => {
                let code = driver.cuUserObjectCreate(&mut new, 0, destructor, 1, 1);
                self.held.insert(name, 1);
                self.make(code, name, new)
            }
            Call::UserObjectRetain { object } => {
                let code = driver.cuUserObjectRetain(self.handle(object), 1);
                *self.held.entry(object).or_default() += u32::from(code == 0);
                code.into()
            }
            Call::UserObjectRelease { object } => {
                let code = driver.cuUserObjectRelease(self.handle(object), 1);
                let held = self.held.entry(object).or_default();
                *held -= 1;
                if *held == 0 {
                    self.forget(object);
                }
                code.into()
            }
            Call::GraphRetainUserObject { graph, object } => {
                let code = driver.cuGraphRetainUserObject(self.handle(graph), self.handle(object), 1, 0);
                if code == 0 {
                    *self.held_by.entry((graph, object)).or_default() += 1;
                }
                code.into()
            }
            Call::GraphReleaseUserObject { graph, object } => {
                let code = driver.cuGraphReleaseUserObject(self.handle(graph), self.handle(object), 1);
                let held = self.held_by.entry((graph, object)).or_default();
                *held = held.saturating_sub(1);
                self.held_by.retain(|_, held| *held != 0);
                code.into()
            }
            _ => self.add_node(call),
        }
    }

    /// The calls that add a node to a graph.
    fn add_node(&mut self, call: &Call) -> Done {
        let machine = std::sync::Arc::clone(&self.machine);
        let driver = &machine.driver;
        let mut node = 0_u64;
        let (name, graph, after) = match call {
            Call::GraphAddEmptyNode { new, graph, after }
            | Call::GraphAddKernelNode { new, graph, after, .. }
            | Call::GraphAddMemsetNode { new, graph, after, .. }
            | Call::GraphAddMemcpyNode { new, graph, after, .. }
            | Call::GraphAddHostNode { new, graph, after }
            | Call::GraphAddEventRecordNode { new, graph, after, .. }
            | Call::GraphAddEventWaitNode { new, graph, after, .. }
            | Call::GraphAddChildGraphNode { new, graph, after, .. }
            | Call::GraphAddMemAllocNode { new, graph, after, .. }
            | Call::GraphAddMemFreeNode { new, graph, after, .. } => (new.0, self.handle(*graph), self.nodes(after)),
            other => unreachable!("{} adds no node", other.name()),
        };
        let (list, count) = (after.as_ptr(), after.len());
        let code = match *call {
            Call::GraphAddKernelNode { place, cell, .. } => self.with_kernel(place, cell, |params| {
                driver.cuGraphAddKernelNode_v2(&mut node, graph, list, count, params)
            }),
            Call::GraphAddMemsetNode { place, cell, value, .. } => {
                let site = machine.site(place);
                let (to, value) = (site.cell(cell), value.0);
                let params = FillParams { to, pitch: 0, value, element: 4, width: 1, height: 1 };
                driver.cuGraphAddMemsetNode(&mut node, graph, list, count, &params, site.context)
            }
            Call::GraphAddMemcpyNode { from, to, cell, .. } => {
                let params = copy(machine.site(from).mark(), machine.site(to).cell(cell));
                driver.cuGraphAddMemcpyNode(&mut node, graph, list, count, &params, machine.site(to).context)
            }
            Call::GraphAddHostNode { .. } => {
                let params = HostParams { function: host_function, data: 0 };
                driver.cuGraphAddHostNode(&mut node, graph, list, count, &params)
            }
            Call::GraphAddEventRecordNode { event, .. } => {
                let event = self.keep_if(Side::External, event);
                driver.cuGraphAddEventRecordNode(&mut node, graph, list, count, event)
            }
            Call::GraphAddEventWaitNode { event, .. } => {
                let event = self.keep_if(Side::External, event);
                driver.cuGraphAddEventWaitNode(&mut node, graph, list, count, event)
            }
            Call::GraphAddChildGraphNode { child, .. } => {
                driver.cuGraphAddChildGraphNode(&mut node, graph, list, count, self.handle(child))
            }
            Call::GraphAddMemAllocNode { place, pointer: New(pointer), .. } => {
                let location = i32::try_from(place.0).expect("there are few places");
                let mut params =
                    AllocParams { kind: 1, location_kind: 1, location, bytes: BYTES as u64, ..AllocParams::default() };
                let code = driver.cuGraphAddMemAllocNode(&mut node, graph, list, count, &mut params);
                self.allocate_in(code, pointer, params.address, graph);
                code
            }
            Call::GraphAddMemFreeNode { pointer, .. } => {
                let code = driver.cuGraphAddMemFreeNode(&mut node, graph, list, count, self.handle(pointer));
                self.freed_in(code, pointer, graph);
                code
            }
            _ => driver.cuGraphAddEmptyNode(&mut node, graph, list, count),
        };
        self.make_in(code, name, node, graph)
    }

    /// Hands over the parameters of a node that counts in a cell.
    fn with_kernel(&self, place: Place, cell: Cell, call: impl FnOnce(&KernelParams) -> u32) -> u32 {
        let site = self.machine.site(place);
        let argument = site.cell(cell);
        let arguments = [&raw const argument as u64];
        let arguments = arguments.as_ptr() as u64;
        let one = [1; 3];
        call(&KernelParams { function: site.count, grid: one, block: one, arguments, ..KernelParams::default() })
    }

    /// What kinds of node a graph has. In which order the driver lists them is its own affair.
    pub(super) fn kinds_of(&self, graph: u64) -> Done {
        let driver = &self.machine.driver;
        let mut count = 0;
        let code = driver.cuGraphGetNodes(graph, std::ptr::null_mut(), &mut count);
        let mut nodes = vec![0; count];
        if code != 0 || driver.cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count) != 0 {
            return code.into();
        }
        let kind = |node: u64| {
            let mut kind = 99;
            driver.cuGraphNodeGetType(node, &mut kind);
            kind
        };
        let mut kinds: Vec<u32> = nodes.into_iter().map(kind).collect();
        kinds.sort_unstable();
        Done::from(code).note(|| format!("types={kinds:?}").replace(' ', ""))
    }
}
