//! The calls of `matrix.txt`, and the run of the table.

use crate::common::*;
use crate::world::{Worker, callback, count_host};

/// What a call may use, made before the capture begins.
#[derive(Clone, Copy)]
struct Fixture {
    context: u64,
    memory: u64,
    inc: u64,
    /// The capturing stream, and another of its context.
    s: u64,
    n: u64,
    /// Recorded before the capture and complete; recorded in it; never recorded.
    event: u64,
    later: u64,
    captured: u64,
    fresh: u64,
    /// Memory to free, plain and from the pool; page-locked and pageable host memory.
    plain: u64,
    pooled: u64,
    pinned: u64,
    pageable: u64,
    module: u64,
    graph: u64,
    exec: u64,
    pool: u64,
    ordinal: i32,
}

impl Fixture {
    fn new(gpu: &Gpu, blocking: bool, pageable: &mut [u64]) -> Fixture {
        let n = stream();
        let (event, later) = (ok(out(|e| cuEventCreate(e, 0))), ok(out(|e| cuEventCreate(e, 0))));
        assert_eq!(cuEventRecord(event, n), 0);
        assert_eq!(gpu.inc(n, 100), 0);
        assert_eq!(cuEventRecord(later, n), 0);
        let graph = capture(|s| assert_eq!(gpu.inc(s, 100), 0));
        let fixture = Fixture {
            context: gpu.context,
            memory: gpu.memory,
            inc: gpu.function("inc"),
            s: ok(out(|s| cuStreamCreate(s, u32::from(!blocking)))),
            n,
            event,
            later,
            captured: crate::common::event(),
            fresh: crate::common::event(),
            plain: ok(out(|a| cuMemAlloc_v2(a, 4096))),
            pooled: ok(out(|a| cuMemAllocAsync(a, 4096, n))),
            pinned: ok(out(|p| cuMemHostAlloc(p, 4096, 0))),
            pageable: pageable.as_mut_ptr() as u64,
            module: load(KERNELS).expect("the kernels"),
            graph,
            exec: instantiate(graph),
            pool: ok(out(|p| cuDeviceGetDefaultMemPool(p, gpu.ordinal))),
            ordinal: gpu.ordinal,
        };
        assert_eq!(cuCtxSynchronize(), 0);
        fixture
    }

    fn inc(&self, stream: u64) -> u32 {
        launch(self.inc, stream, &[self.memory + 64])
    }

    fn batch(&self, stream: u64) -> u32 {
        let (to, from, size, index, attributes) = (self.memory + 256, self.memory + 512, 4, 0, [1u8; 24]);
        cuMemcpyBatchAsync_v2(&to, &from, &size, 1, attributes.as_ptr(), &index, 1, stream)
    }

    /// The call of a row.
    fn call(&self, name: &str) -> u32 {
        let f = self;
        let (a, b) = (f.memory + 256, f.memory + 512);
        let (mut word, mut int, mut time, mut wide) = (0u32, 0i32, 0f32, 0u64);
        let word_at = &raw mut word as u64;
        match name {
            "alloc" => out(|p| cuMemAlloc_v2(p, 4096)).0,
            "free" => cuMemFree_v2(f.plain),
            "host_alloc" => out(|p| cuMemHostAlloc(p, 4096, 0)).0,
            "host_free" => cuMemFreeHost(f.pinned),
            "host_register" => cuMemHostRegister_v2(f.pageable, 4096, 0),
            "alloc_async_other" => out(|p| cuMemAllocAsync(p, 4096, f.n)).0,
            "free_async_other" => cuMemFreeAsync(f.pooled, f.n),
            "alloc_async_captured" => out(|p| cuMemAllocAsync(p, 4096, f.s)).0,
            "free_async_captured" => cuMemFreeAsync(f.plain, f.s),
            "free_async_captured_pool" => cuMemFreeAsync(f.pooled, f.s),
            "mem_info" => cuMemGetInfo_v2(&mut wide, &mut { 0 }),
            "pointer_attribute" => cuPointerGetAttribute(&mut wide, 1, f.plain),
            "pool_trim" => cuMemPoolTrimTo(f.pool, 0),
            "graph_mem_trim" => cuDeviceGraphMemTrim(f.ordinal),
            "htod" => cuMemcpyHtoD_v2(a, word_at, 4),
            "dtoh" => cuMemcpyDtoH_v2(word_at, a, 4),
            "dtod" => cuMemcpyDtoD_v2(a, b, 4),
            "memset" => cuMemsetD32_v2(a, 0, 1),
            "launch_captured" => f.inc(f.s),
            "htod_captured_pinned" => cuMemcpyHtoDAsync_v2(a, f.pinned, 4, f.s),
            "htod_captured_pageable" => cuMemcpyHtoDAsync_v2(a, f.pageable, 4, f.s),
            "dtoh_captured_pinned" => cuMemcpyDtoHAsync_v2(f.pinned, a, 4, f.s),
            "dtoh_captured_pageable" => cuMemcpyDtoHAsync_v2(f.pageable, a, 4, f.s),
            "dtod_captured" => cuMemcpyDtoDAsync_v2(a, b, 4, f.s),
            "batch_captured" => f.batch(f.s),
            "memset32_captured" => cuMemsetD32Async(a, 0, 1, f.s),
            "memset8_captured" => cuMemsetD8Async(a, 0, 4, f.s),
            "host_function_captured" => cuLaunchHostFunc(f.s, Some(count_host), 0),
            "callback_captured" => cuStreamAddCallback(f.s, Some(callback), 0, 0),
            "write_value_captured" => cuStreamWriteValue32_v2(f.s, a, 1, 0),
            "wait_value_captured" => cuStreamWaitValue32_v2(f.s, a, 0, 0),
            "graph_launch_captured" => cuGraphLaunch(f.exec, f.s),
            "graph_upload_captured" => cuGraphUpload(f.exec, f.s),
            "cooperative_captured" => {
                let arguments = [&raw const a as u64];
                cuLaunchCooperativeKernel(f.inc, 1, 1, 1, 1, 1, 1, 0, f.s, arguments.as_ptr())
            }
            "launch_other" => f.inc(f.n),
            "launch_legacy" => f.inc(0),
            "htod_other_pinned" => cuMemcpyHtoDAsync_v2(a, f.pinned, 4, f.n),
            "htod_other_pageable" => cuMemcpyHtoDAsync_v2(a, f.pageable, 4, f.n),
            "dtoh_other_pinned" => cuMemcpyDtoHAsync_v2(f.pinned, a, 4, f.n),
            "dtoh_other_pageable" => cuMemcpyDtoHAsync_v2(f.pageable, a, 4, f.n),
            "memset_other" => cuMemsetD32Async(a, 0, 1, f.n),
            "batch_other" => f.batch(f.n),
            "host_function_other" => cuLaunchHostFunc(f.n, Some(count_host), 0),
            "callback_other" => cuStreamAddCallback(f.n, Some(callback), 0, 0),
            "graph_launch_other" => cuGraphLaunch(f.exec, f.n),
            "graph_upload_other" => cuGraphUpload(f.exec, f.n),
            "sync_context" => cuCtxSynchronize(),
            "sync_captured" => cuStreamSynchronize(f.s),
            "sync_other" => cuStreamSynchronize(f.n),
            "sync_legacy" => cuStreamSynchronize(0),
            "query_captured" => cuStreamQuery(f.s),
            "query_other" => cuStreamQuery(f.n),
            "query_legacy" => cuStreamQuery(0),
            "sync_captured_event" => cuEventSynchronize(f.captured),
            "sync_event" => cuEventSynchronize(f.event),
            "sync_fresh_event" => cuEventSynchronize(f.fresh),
            "query_captured_event" => cuEventQuery(f.captured),
            "query_event" => cuEventQuery(f.event),
            "query_fresh_event" => cuEventQuery(f.fresh),
            "elapsed" => cuEventElapsedTime_v2(&mut time, f.event, f.later),
            "record_context" => cuCtxRecordEvent(f.context, f.fresh),
            "wait_context" => cuCtxWaitEvent(f.context, f.event),
            "wait_context_captured" => cuCtxWaitEvent(f.context, f.captured),
            "create_stream" => out(|s| cuStreamCreate(s, 1)).0,
            "create_blocking_stream" => out(|s| cuStreamCreate(s, 0)).0,
            "destroy_stream" => cuStreamDestroy_v2(f.n),
            "create_event" => out(|e| cuEventCreate(e, 2)).0,
            "destroy_event" => cuEventDestroy_v2(f.later),
            "record_captured" => cuEventRecord(f.fresh, f.s),
            "record_other" => cuEventRecord(f.fresh, f.n),
            "record_external" => cuEventRecordWithFlags(f.fresh, f.s, 1),
            "wait_captured" => cuStreamWaitEvent(f.s, f.event, 0),
            "wait_external" => cuStreamWaitEvent(f.s, f.event, 1),
            "wait_fresh" => cuStreamWaitEvent(f.s, f.fresh, 0),
            "wait_other" => cuStreamWaitEvent(f.n, f.event, 0),
            "is_capturing" => cuStreamIsCapturing(f.s, &mut word),
            "is_capturing_legacy" => cuStreamIsCapturing(0, &mut word),
            "capture_info" => {
                let (mut nodes, mut data, mut count) = (std::ptr::null(), std::ptr::null(), 0);
                cuStreamGetCaptureInfo_v3(f.s, &mut word, &mut wide, &mut { 0 }, &mut nodes, &mut data, &mut count)
            }
            "stream_context" => cuStreamGetCtx(f.s, &mut wide),
            "stream_flags" => cuStreamGetFlags(f.s, &mut word),
            "stream_priority" => cuStreamGetPriority(f.s, &mut int),
            "begin_again" => cuStreamBeginCapture_v2(f.s, RELAXED),
            "load_module" => load(KERNELS).err().unwrap_or(0),
            "unload_module" => cuModuleUnload(f.module),
            "get_function" => out(|k| cuModuleGetFunction(k, f.module, c"copy".as_ptr())).0,
            "function_attribute" => cuFuncGetAttribute(&mut int, 4, f.inc),
            "set_function_attribute" => cuFuncSetAttribute(f.inc, 8, 1024),
            "load_function" => cuFuncLoad(f.inc),
            "occupancy" => cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut int, f.inc, 128, 0),
            "current_context" => cuCtxGetCurrent(&mut wide),
            "set_current_context" => cuCtxSetCurrent(f.context),
            "retain_primary" => out(|c| cuDevicePrimaryCtxRetain(c, f.ordinal)).0,
            "device_attribute" => cuDeviceGetAttribute(&mut int, 16, f.ordinal),
            "get_limit" => cuCtxGetLimit(&mut wide, 0),
            "set_limit" => cuCtxSetLimit(0, 2048),
            "exchange_mode" => {
                let code = cuThreadExchangeStreamCaptureMode(&mut word);
                cuThreadExchangeStreamCaptureMode(&mut word);
                code
            }
            "create_graph" => out(|g| cuGraphCreate(g, 0)).0,
            "instantiate" => out(|x| cuGraphInstantiateWithFlags(x, f.graph, 0)).0,
            "update_exec" => cuGraphExecUpdate_v2(f.exec, f.graph, &mut UpdateInfo::default()),
            "destroy_exec" => cuGraphExecDestroy(f.exec),
            "destroy_graph" => cuGraphDestroy(f.graph),
            "clone_graph" => out(|g| cuGraphClone(g, f.graph)).0,
            other => panic!("no such call: {other}"),
        }
    }
}

/// The columns of the table: mode, and whether another thread calls.
const COLUMNS: [(u32, bool); 6] =
    [(GLOBAL, false), (GLOBAL, true), (THREAD_LOCAL, false), (THREAD_LOCAL, true), (RELAXED, false), (RELAXED, true)];

/// Runs every cell of the table on a fresh device.
pub(crate) fn run(table: &str) {
    let mut gpu = gpu();
    let mut wrong = Vec::new();
    let mut cells = 0;
    for line in table.lines().map(|line| line.split('#').next().unwrap_or("").trim()).filter(|line| !line.is_empty()) {
        let (blocking, row) = line.strip_prefix("blocking ").map_or((false, line), |row| (true, row));
        let mut words = row.split_whitespace();
        let name = words.next().expect("a name");
        let expected: Vec<&str> = words.collect();
        assert_eq!(expected.len(), COLUMNS.len(), "{line}");
        for ((mode, other), expected) in COLUMNS.into_iter().zip(expected) {
            gpu.renew();
            let got = cell(&gpu, name, blocking, mode, other);
            cells += 1;
            if got != expected {
                wrong.push(format!("{line}: mode {mode}, other thread {other}: {got} instead of {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {cells} cells are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(cells > 600);
}

fn cell(gpu: &Gpu, name: &str, blocking: bool, mode: u32, other: bool) -> String {
    let mut pageable = vec![0u64; 1024];
    let f = Fixture::new(gpu, blocking, &mut pageable);
    assert_eq!(cuStreamBeginCapture_v2(f.s, mode), 0);
    assert_eq!(f.inc(f.s), 0);
    assert_eq!(cuEventRecord(f.captured, f.s), 0);
    let code = if other {
        let name = name.to_owned();
        Worker::new(f.context).run(move || f.call(&name))
    } else {
        f.call(name)
    };
    let status = ["N", "A", "I"][status(f.s) as usize];
    let more = f.inc(f.s);
    let (ended, _) = end(f.s);
    let expected = if status == "I" { (901, 901) } else { (0, 0) };
    if (more, ended) != expected {
        return format!("{code}{status}, then {more} and {ended}");
    }
    format!("{code}{status}")
}
