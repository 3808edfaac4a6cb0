//! Commands on streams, captures, events and memory.

use crate::common::*;
use crate::script::Line;
use crate::world::{Answer, World, callback, count_host};

impl World {
    /// Kernels, fills, copies and host functions.
    pub(crate) fn stream_work(&mut self, line: &Line<'_>) -> Option<Answer> {
        let number = |text: &str| text.parse::<u64>().expect("a number");
        let (stream, function, arguments): (&str, u64, Vec<u64>) = match line.words.as_slice() {
            ["inc", stream] => {
                let gpu = &self.gpus[self.find(stream).gpu];
                (stream, gpu.function("inc"), vec![gpu.memory])
            }
            ["inc", stream, word] => {
                let gpu = &self.gpus[self.find(stream).gpu];
                let address = self.address(word).unwrap_or_else(|| gpu.memory + 4 * number(word));
                (stream, gpu.function("inc"), vec![address])
            }
            ["inc_of", device, stream] => {
                let gpu = &self.gpus[number(device) as usize];
                (stream, gpu.function("inc"), vec![gpu.memory])
            }
            ["set", stream, word, value] => {
                let gpu = &self.gpus[self.find(stream).gpu];
                let address = self.address(word).unwrap_or_else(|| gpu.memory + 4 * number(word));
                (stream, gpu.function("set"), vec![address, number(value)])
            }
            ["copy", stream, to, from] => {
                let gpu = &self.gpus[self.find(stream).gpu];
                let at = |word: &str| self.address(word).unwrap_or_else(|| gpu.memory + 4 * number(word));
                (stream, gpu.function("copy"), vec![at(to), at(from)])
            }
            ["fail", stream] => {
                let gpu = &self.gpus[self.find(stream).gpu];
                (stream, gpu.function("fail"), vec![])
            }
            ["fill", stream, word, value, count] => {
                let at = self.gpus[self.find(stream).gpu].memory + 4 * number(word);
                let (stream, value, count) = (self.handle(stream), number(value) as u32, number(count) as usize);
                return Some((self.on(line.thread, move || cuMemsetD32Async(at, value, count, stream)), None));
            }
            ["move", stream, to, from, count] => {
                let memory = self.gpus[self.find(stream).gpu].memory;
                let (to, from) = (memory + 4 * number(to), memory + 4 * number(from));
                let (stream, bytes) = (self.handle(stream), 4 * number(count) as usize);
                return Some((self.on(line.thread, move || cuMemcpyDtoDAsync_v2(to, from, bytes, stream)), None));
            }
            ["host", stream] => {
                let stream = self.handle(stream);
                return Some((self.on(line.thread, move || cuLaunchHostFunc(stream, Some(count_host), 0)), None));
            }
            ["cooperative", stream] => {
                let gpu = &self.gpus[self.find(stream).gpu];
                let (function, memory, stream) = (gpu.function("inc"), gpu.memory, self.handle(stream));
                let arguments = [&raw const memory as u64];
                let code = cuLaunchCooperativeKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments.as_ptr());
                return Some((code, None));
            }
            ["grid", stream, blocks, threads] => {
                let gpu = &self.gpus[self.find(stream).gpu];
                let (function, memory, stream) = (gpu.function("inc"), gpu.memory, self.handle(stream));
                let (blocks, threads) = (number(blocks) as u32, number(threads) as u32);
                let arguments = [&raw const memory as u64];
                let none = std::ptr::null();
                let code = cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments.as_ptr(), none);
                return Some((code, None));
            }
            _ => return None,
        };
        let stream = self.handle(stream);
        Some((self.on(line.thread, move || launch(function, stream, &arguments)), None))
    }

    /// An address that a scenario has named, such as an allocation.
    fn address(&self, name: &str) -> Option<u64> {
        self.objects.get(name).map(|object| object.handle).filter(|handle| *handle > 2)
    }

    /// Beginning, ending and looking at captures.
    pub(crate) fn capture(&mut self, line: &Line<'_>) -> Option<Answer> {
        let mode = |name: &str| match name {
            "global" => GLOBAL,
            "thread-local" => THREAD_LOCAL,
            "relaxed" => RELAXED,
            number => number.parse().expect("a mode"),
        };
        Some(match line.words.as_slice() {
            ["begin", stream, name] => {
                let (stream, mode) = (self.handle(stream), mode(name));
                (self.on(line.thread, move || cuStreamBeginCapture_v2(stream, mode)), None)
            }
            ["begin_to", stream, graph] => {
                let (stream, graph) = (self.handle(stream), self.handle(graph));
                let none = std::ptr::null();
                (cuStreamBeginCaptureToGraph(stream, graph, none, std::ptr::null(), 0, THREAD_LOCAL), None)
            }
            ["end", stream] | ["end", stream, _] => {
                let found = self.find(stream);
                let untouched = 0xBAD;
                let (code, graph) = self.on(line.thread, move || {
                    let mut graph = untouched;
                    (cuStreamEndCapture(found.handle, &mut graph), graph)
                });
                if code != 0 {
                    assert_eq!(graph, 0, "a failed end gives no graph");
                }
                if let ["end", _, name] = line.words.as_slice() {
                    self.name(name, graph, found.gpu);
                }
                (code, None)
            }
            ["end_into_null", stream] => (cuStreamEndCapture(self.handle(stream), std::ptr::null_mut()), None),
            ["mode", name] => {
                let mode = mode(name);
                let (code, old) = self.on(line.thread, move || {
                    let mut mode = mode;
                    (cuThreadExchangeStreamCaptureMode(&mut mode), mode)
                });
                (code, Some(old.to_string()))
            }
            ["info", stream] => {
                let (mut status, mut id, mut graph) = (9, 0, 0);
                let (mut nodes, mut data, mut count) = (std::ptr::null(), std::ptr::null(), 99);
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
                let graph = if graph == 0 { "no graph" } else { "graph" };
                let count = if count == 99 { "untouched".to_owned() } else { count.to_string() };
                (code, Some(format!("{status}, {graph}, {count}")))
            }
            ["drop_deps", stream] => {
                let none = std::ptr::null();
                (cuStreamUpdateCaptureDependencies_v2(self.handle(stream), none, std::ptr::null(), 0, 1), None)
            }
            ["status", stream] => {
                let stream = self.handle(stream);
                let (code, status) = self.on(line.thread, move || {
                    let mut status = 9;
                    (cuStreamIsCapturing(stream, &mut status), status)
                });
                (code, Some(status.to_string()))
            }
            _ => return None,
        })
    }

    /// Recording, waiting, synchronising, destroying.
    pub(crate) fn events_and_waits(&mut self, line: &Line<'_>) -> Option<Answer> {
        let h = |name: &str| self.handle(name);
        let call: Box<dyn FnOnce() -> u32 + Send> = match *line.words.as_slice() {
            ["record", event, stream] => pair(h(event), h(stream), cuEventRecord),
            ["record", event, stream, "external"] => {
                pair(h(event), h(stream), |event, stream| cuEventRecordWithFlags(event, stream, 1))
            }
            ["wait", stream, event] => pair(h(stream), h(event), |stream, event| cuStreamWaitEvent(stream, event, 0)),
            ["wait", stream, event, "external"] => {
                pair(h(stream), h(event), |stream, event| cuStreamWaitEvent(stream, event, 1))
            }
            ["elapsed", start, end] => pair(h(start), h(end), |start, end| {
                let mut time = 0.0;
                cuEventElapsedTime_v2(&mut time, start, end)
            }),
            ["sync", stream] => pair(h(stream), 0, |stream, _| cuStreamSynchronize(stream)),
            ["query", stream] => pair(h(stream), 0, |stream, _| cuStreamQuery(stream)),
            ["flags", stream] => pair(h(stream), 0, |stream, _| {
                let mut flags = 0;
                cuStreamGetFlags(stream, &mut flags)
            }),
            ["query_event", event] => pair(h(event), 0, |event, _| cuEventQuery(event)),
            ["sync_event", event] => pair(h(event), 0, |event, _| cuEventSynchronize(event)),
            ["sync_context"] => Box::new(cuCtxSynchronize),
            ["destroy_stream", stream] => pair(h(stream), 0, |stream, _| cuStreamDestroy_v2(stream)),
            ["destroy_event", event] => pair(h(event), 0, |event, _| cuEventDestroy_v2(event)),
            ["callback", stream] => pair(h(stream), 0, |stream, _| cuStreamAddCallback(stream, Some(callback), 0, 0)),
            _ => return None,
        };
        Some((self.on(line.thread, call), None))
    }

    /// Allocating, freeing, reading and writing.
    pub(crate) fn memory(&mut self, line: &Line<'_>) -> Option<Answer> {
        let number = |text: &str| text.parse::<usize>().expect("a number");
        Some(match *line.words.as_slice() {
            ["alloc"] => (self.on(line.thread, || out(|a| cuMemAlloc_v2(a, 4096)).0), None),
            ["alloc", name] => {
                let (code, address) = self.on(line.thread, || out(|a| cuMemAlloc_v2(a, 4096)));
                self.name(name, address, 0);
                (code, None)
            }
            ["free", name] => {
                let address = self.handle(name);
                (self.on(line.thread, move || cuMemFree_v2(address)), None)
            }
            ["alloc_async", name, stream] => {
                let found = self.find(stream);
                let (code, address) = self.on(line.thread, move || out(|a| cuMemAllocAsync(a, 4096, found.handle)));
                self.name(name, address, found.gpu);
                (code, None)
            }
            ["free_async", name, stream] => {
                let (address, stream) =
                    (if name == "garbage" { 0x1234_5000 } else { self.handle(name) }, self.handle(stream));
                (self.on(line.thread, move || cuMemFreeAsync(address, stream)), None)
            }
            ["word", word] => {
                let answer = read(self.address(word).unwrap_or_else(|| self.gpus[0].memory + 4 * number(word) as u64));
                (answer.err().unwrap_or(0), answer.ok().map(|word| word.to_string()))
            }
            ["word", word, "of", device] => {
                let gpu = &self.gpus[device.parse().unwrap_or_else(|_| self.find(device).gpu)];
                gpu.bind();
                let answer = read(gpu.memory + 4 * number(word) as u64);
                self.gpus[0].bind();
                (answer.err().unwrap_or(0), answer.ok().map(|word| word.to_string()))
            }
            ["upload"] => {
                let memory = self.gpus[0].memory + 64;
                let upload = move || {
                    let word = 1u32;
                    cuMemcpyHtoD_v2(memory, &raw const word as u64, 4)
                };
                (self.on(line.thread, upload), None)
            }
            ["download"] => {
                let memory = self.gpus[0].memory + 64;
                (self.on(line.thread, move || read(memory).err().unwrap_or(0)), None)
            }
            ["fill_now"] => {
                let memory = self.gpus[0].memory + 64;
                (self.on(line.thread, move || cuMemsetD32_v2(memory, 0, 1)), None)
            }
            ["move_now"] => {
                let memory = self.gpus[0].memory;
                (self.on(line.thread, move || cuMemcpyDtoD_v2(memory + 64, memory + 128, 4)), None)
            }
            ["batch", stream] => {
                let (stream, memory) = (self.handle(stream), self.gpus[0].memory);
                let (to, from, size, index, attributes) = (memory + 64, memory + 128, 4, 0, [1u8; 24]);
                (cuMemcpyBatchAsync_v2(&to, &from, &size, 1, attributes.as_ptr(), &index, 1, stream), None)
            }
            ["peer_copy", stream] => {
                let (a, b) = (&self.gpus[0], &self.gpus[1]);
                let (to, from) = (a.memory + 64, b.memory + 64);
                (cuMemcpyPeerAsync(to, a.context, from, b.context, 4, self.handle(stream)), None)
            }
            _ => return None,
        })
    }
}

fn pair(a: u64, b: u64, call: fn(u64, u64) -> u32) -> Box<dyn FnOnce() -> u32 + Send> {
    Box::new(move || call(a, b))
}
