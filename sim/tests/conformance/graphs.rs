//! Commands on graphs and executables.

use std::sync::atomic::Ordering;

use crate::common::*;
use crate::script::Line;
use crate::world::{Answer, RELEASED, World, count_released};

impl World {
    /// Graphs.
    pub(crate) fn graphs(&mut self, line: &Line<'_>) -> Option<Answer> {
        Some(match *line.words.as_slice() {
            ["graph", name] => {
                let (code, graph) = out(|g| cuGraphCreate(g, 0));
                self.name(name, graph, 0);
                (code, None)
            }
            ["destroy_graph", graph] => {
                let graph = self.handle(graph);
                (self.on(line.thread, move || cuGraphDestroy(graph)), None)
            }
            ["clone", name, graph] => {
                let (code, clone) = out(|g| cuGraphClone(g, self.handle(graph)));
                self.name(name, clone, 0);
                (code, None)
            }
            ["nodes", graph] => {
                let mut count = 0;
                let code = cuGraphGetNodes(self.handle(graph), std::ptr::null_mut(), &mut count);
                (code, Some(count.to_string()))
            }
            ["roots", graph] => {
                let mut count = 0;
                let code = cuGraphGetRootNodes(self.handle(graph), std::ptr::null_mut(), &mut count);
                (code, Some(count.to_string()))
            }
            ["edges", graph] => {
                let (mut count, none) = (0, std::ptr::null_mut());
                let code = cuGraphGetEdges_v2(self.handle(graph), none, none, std::ptr::null_mut(), &mut count);
                (code, Some(count.to_string()))
            }
            ["kinds", graph] => {
                let kinds = nodes(self.handle(graph)).into_iter().map(|node| {
                    let mut kind = 99;
                    assert_eq!(cuGraphNodeGetType(node, &mut kind), 0);
                    kind.to_string()
                });
                (0, Some(kinds.collect::<Vec<_>>().join(" ")))
            }
            ["add_kernel", graph, word] => {
                let gpu = &self.gpus[0];
                let address = gpu.memory + 4 * word.parse::<u64>().expect("a word");
                let arguments = [&raw const address as u64];
                let params = kernel_params(gpu.function("inc"), &arguments);
                (out(|node| cuGraphAddKernelNode_v2(node, self.handle(graph), std::ptr::null(), 0, &params)).0, None)
            }
            ["add_child", graph, child] => {
                let (graph, child) = (self.handle(graph), self.handle(child));
                (out(|node| cuGraphAddChildGraphNode(node, graph, std::ptr::null(), 0, child)).0, None)
            }
            ["destroy_node", graph, at] => {
                (cuGraphDestroyNode(nodes(self.handle(graph))[at.parse::<usize>().expect("a place")]), None)
            }
            ["condition", name, graph, default] => {
                let (graph, context) = (self.handle(graph), self.gpus[0].context);
                let default = default.parse().expect("a value");
                let (code, handle) = out(|h| cuGraphConditionalHandleCreate(h, graph, context, default, 1));
                self.name(name, handle, 0);
                (code, None)
            }
            ["add_if", graph, handle, body] => {
                let mut params = NodeParams {
                    kind: 13,
                    reserved: [0; 3],
                    handle: self.handle(handle),
                    condition: 0,
                    size: 1,
                    bodies: std::ptr::null_mut(),
                    ctx: self.gpus[0].context,
                    rest: [0; 25],
                    tail: 0,
                };
                let none = std::ptr::null();
                let graph = self.handle(graph);
                let (code, _) = out(|node| cuGraphAddNode_v2(node, graph, none, std::ptr::null(), 0, &mut params));
                if code == 0 {
                    // SAFETY: the driver has stored the array of its bodies, one of them, which lives as long as the node.
                    let handle = unsafe { params.bodies.read() };
                    self.name(body, handle, 0);
                }
                (code, None)
            }
            ["object", name] => {
                let (code, object) = out(|o| cuUserObjectCreate(o, 1, Some(count_released), 1, 1));
                self.name(name, object, 0);
                (code, None)
            }
            ["hold", graph, object] => (cuGraphRetainUserObject(self.handle(graph), self.handle(object), 1, 1), None),
            ["hold_captured", stream, object] => {
                let (mut status, mut id, mut graph) = (0, 0, 0);
                let (mut nodes, mut data, mut count) = (std::ptr::null(), std::ptr::null(), 0);
                let stream = self.handle(stream);
                let code = cuStreamGetCaptureInfo_v3(
                    stream,
                    &mut status,
                    &mut id,
                    &mut graph,
                    &mut nodes,
                    &mut data,
                    &mut count,
                );
                assert_eq!(code, 0);
                (cuGraphRetainUserObject(graph, self.handle(object), 1, 1), None)
            }
            // SeqCst: as where it is raised.
            ["released"] => (0, Some((RELEASED.load(Ordering::SeqCst) - self.released).to_string())),
            _ => return None,
        })
    }

    /// Executables.
    pub(crate) fn executables(&mut self, line: &Line<'_>) -> Option<Answer> {
        Some(match *line.words.as_slice() {
            ["instantiate", name, graph] => {
                let graph = self.handle(graph);
                let (code, exec) = self.on(line.thread, move || out(|x| cuGraphInstantiateWithFlags(x, graph, 0)));
                self.name(name, exec, 0);
                (code, None)
            }
            ["instantiate", name, graph, flags] => {
                let flags = flags.parse().expect("flags");
                let (code, exec) = out(|x| cuGraphInstantiateWithFlags(x, self.handle(graph), flags));
                self.name(name, exec, 0);
                (code, None)
            }
            ["instantiate_params", name, graph, flags, stream] => {
                let flags = flags.parse().expect("flags");
                let mut params = InstantiateParams { flags, upload: self.handle(stream), error_node: 0, result: 99 };
                let (code, exec) = out(|x| cuGraphInstantiateWithParams(x, self.handle(graph), &mut params));
                self.name(name, exec, 0);
                let mut kind = 0;
                let node = match cuGraphNodeGetType(params.error_node, &mut kind) {
                    0 => format!(" at kind {kind}"),
                    _ => String::new(),
                };
                (code, Some(format!("{}{node}", params.result)))
            }
            ["exec_flags", exec] => {
                let (code, flags) = out(|f| cuGraphExecGetFlags(self.handle(exec), f));
                (code, Some(flags.to_string()))
            }
            ["launch", exec, stream] => {
                let (exec, stream) = (self.handle(exec), self.handle(stream));
                (self.on(line.thread, move || cuGraphLaunch(exec, stream)), None)
            }
            ["upload_exec", exec, stream] => {
                let (exec, stream) = (self.handle(exec), self.handle(stream));
                (self.on(line.thread, move || cuGraphUpload(exec, stream)), None)
            }
            ["destroy_exec", exec] => {
                let exec = self.handle(exec);
                (self.on(line.thread, move || cuGraphExecDestroy(exec)), None)
            }
            ["update", exec, graph] => {
                let (exec, graph) = (self.handle(exec), self.handle(graph));
                let (code, info) = self.on(line.thread, move || {
                    let mut info = UpdateInfo { result: 99, ..UpdateInfo::default() };
                    (cuGraphExecUpdate_v2(exec, graph, &mut info), info)
                });
                let mut kind = 0;
                let node = match cuGraphNodeGetType(info.error_node, &mut kind) {
                    0 => format!(" at kind {kind}"),
                    _ => String::new(),
                };
                (code, Some(format!("{}{node}", info.result)))
            }
            ["set_params", exec, graph, at, function, word, value] => {
                let gpu = &self.gpus[0];
                let address = gpu.memory + 4 * word.parse::<u64>().expect("a word");
                let value: u64 = value.parse().expect("a value");
                let arguments = [&raw const address as u64, &raw const value as u64];
                let params = kernel_params(gpu.function(function), &arguments);
                let node = nodes(self.handle(graph))[at.parse::<usize>().expect("a place")];
                match exec {
                    "node" => (cuGraphKernelNodeSetParams_v2(node, &params), None),
                    exec => (cuGraphExecKernelNodeSetParams_v2(self.handle(exec), node, &params), None),
                }
            }
            ["set_params_grid_0", exec, graph, at] => {
                let params = KernelParams { grid: [0, 1, 1], ..kernel_params(self.gpus[0].function("inc"), &[]) };
                let node = nodes(self.handle(graph))[at.parse::<usize>().expect("a place")];
                (cuGraphExecKernelNodeSetParams_v2(self.handle(exec), node, &params), None)
            }
            ["keep_node", name, graph] => {
                let node = nodes(self.handle(graph))[0];
                self.name(name, node, 0);
                (0, None)
            }
            ["enable", exec, node, enabled] => {
                let enabled = u32::from(enabled == "on");
                (cuGraphNodeSetEnabled(self.handle(exec), self.handle(node), enabled), None)
            }
            ["enabled", exec, node] => {
                let mut enabled = 9;
                let code = cuGraphNodeGetEnabled(self.handle(exec), self.handle(node), &mut enabled);
                (code, Some(enabled.to_string()))
            }
            _ => return None,
        })
    }
}

fn kernel_params(function: u64, arguments: &[u64]) -> KernelParams {
    KernelParams {
        func: function,
        grid: [1; 3],
        block: [1; 3],
        params: arguments.as_ptr() as u64,
        ..KernelParams::default()
    }
}
