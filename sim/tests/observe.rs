//! What a test can see and do: live objects, violations, the call log, pending work, memory limits.

mod common;

use std::thread;

use common::*;
use dacapo_sim::{Code, ObjectKind, Site, Violation, WorkKind};

#[test]
fn live_objects_are_counted_and_named_with_the_call_that_made_them() {
    let gpu = gpu();
    let device = gpu.sim;
    let before = device.live();
    assert_eq!((before.contexts(), before.modules(), before.allocations()), (1, 1, 1));
    assert_eq!(before.allocated_bytes(), 4096);

    let (s, e) = (stream(), event());
    let pinned = ok(out(|p| cuMemHostAlloc(p, 100, 0)));
    let graph = capture(|s| assert_eq!(gpu.inc(s, 0), 0));
    let exec = instantiate(graph);
    let live = device.live();
    assert_eq!((live.streams(), live.events(), live.pinned(), live.graphs(), live.executables()), (1, 1, 1, 1, 1));
    let made = live.objects().iter().find(|object| object.kind == ObjectKind::Executable).expect("listed").made;
    assert_eq!(made.name, "cuGraphInstantiateWithFlags");
    assert!(live.to_string().contains("Stream") && live.to_string().contains("cuMemHostAlloc"), "{live}");

    assert_eq!(cuGraphExecDestroy(exec), 0);
    assert_eq!(cuGraphDestroy(graph), 0);
    assert_eq!(cuMemFreeHost(pinned), 0);
    assert_eq!(cuEventDestroy_v2(e), 0);
    assert_eq!(cuStreamDestroy_v2(s), 0);
    assert_eq!(cuMemFree_v2(gpu.memory), 0);
    assert_eq!(cuModuleUnload(gpu.module), 0);
    assert_eq!(device.live().objects().len(), 1, "the context is left:\n{}", device.live());
    assert_eq!(cuDevicePrimaryCtxRelease_v2(gpu.ordinal), 0);
    assert!(device.live().is_empty());
    assert_eq!(device.violations(), []);
}

#[test]
fn touching_freed_memory_names_who_freed_it_and_who_uses_it() {
    let mut gpu = gpu();
    for use_it in [
        (|gpu: &Gpu, s, p| gpu.launch(s, "inc", &[p])) as fn(&Gpu, u64, u64) -> u32,
        |_, s, p| cuMemsetD32Async(p, 1, 4, s),
        |gpu, s, p| cuMemcpyDtoDAsync_v2(gpu.memory, p, 4, s),
    ] {
        gpu.renew();
        let s = stream();
        let p = ok(out(|a| cuMemAlloc_v2(a, 64)));
        let graph = capture(|s| assert_eq!(use_it(&gpu, s, p), 0));
        let exec = instantiate(graph);
        assert_eq!(cuGraphLaunch(exec, s), 0);
        assert_eq!(cuStreamSynchronize(s), 0);
        assert_eq!(cuMemFree_v2(p), 0);
        assert_eq!(gpu.sim.violations(), [], "nothing wrong so far");
        assert_eq!(cuGraphLaunch(exec, s), 0);
        assert_eq!(cuStreamSynchronize(s), 700);
        let violations = gpu.sim.take_violations();
        let [Violation::UseAfterFree { block, freed, used, .. }] = violations.as_slice() else {
            panic!("{violations:?}");
        };
        assert_eq!((block.address, block.bytes), (p, 64));
        assert_eq!((freed.name, used.name), ("cuMemFree_v2", "cuGraphLaunch"));
        assert!(violations[0].to_string().starts_with("use after free: call "), "{}", violations[0]);
    }
}

#[test]
fn freeing_memory_that_pending_work_names_is_a_violation_unless_the_free_comes_after_it() {
    let gpu = gpu();
    let (s, t, e) = (stream(), stream(), event());
    let p = ok(out(|a| cuMemAllocAsync(a, 64, s)));
    assert_eq!(gpu.launch(s, "inc", &[p]), 0);
    assert_eq!(cuMemFreeAsync(p, s), 0);
    assert_eq!(cuStreamSynchronize(s), 0);
    assert_eq!(gpu.sim.violations(), [], "freed in stream order");

    let p = ok(out(|a| cuMemAllocAsync(a, 64, s)));
    assert_eq!(gpu.launch(s, "inc", &[p]), 0);
    assert_eq!(cuEventRecord(e, s), 0);
    assert_eq!(cuStreamWaitEvent(t, e, 0), 0);
    assert_eq!(cuMemFreeAsync(p, t), 0);
    assert_eq!(cuStreamSynchronize(t), 0);
    assert_eq!(gpu.sim.violations(), [], "ordered by an event");

    let p = ok(out(|a| cuMemAllocAsync(a, 64, s)));
    assert_eq!(gpu.launch(s, "inc", &[p]), 0);
    assert_eq!(cuMemFreeAsync(p, t), 0);
    let violations = gpu.sim.take_violations();
    let [Violation::FreedWhileInUse { block, freed, used }] = violations.as_slice() else { panic!("{violations:?}") };
    assert_eq!((block.address, freed.name, used.name), (p, "cuMemFreeAsync", "cuLaunchKernel"));
    assert_eq!(cuStreamSynchronize(s), 0, "the kernel was first in line");

    let p = ok(out(|a| cuMemAlloc_v2(a, 64)));
    assert_eq!(cuMemsetD8Async(p, 1, 64, s), 0);
    assert_eq!(cuMemFree_v2(p), 0);
    assert!(matches!(gpu.sim.take_violations()[..], [Violation::FreedWhileInUse { .. }]));
}

#[test]
fn accesses_beside_a_block_are_out_of_bounds_and_crooked_ones_misaligned() {
    let mut gpu = gpu();
    let s = stream();
    assert_eq!(gpu.launch(s, "inc", &[gpu.memory + 4096]), 0);
    assert_eq!(cuStreamSynchronize(s), 700);
    let violations = gpu.sim.take_violations();
    let [Violation::OutOfBounds { block, made, .. }] = violations.as_slice() else { panic!("{violations:?}") };
    assert_eq!((block.address, block.bytes, made.name), (gpu.memory, 4096, "cuMemAlloc_v2"));

    gpu.renew();
    let s = stream();
    assert_eq!(gpu.launch(s, "crooked", &[gpu.memory]), 0);
    assert_eq!(cuStreamSynchronize(s), 716);
    assert!(matches!(gpu.sim.take_violations()[..], [Violation::Misaligned { .. }]));

    gpu.renew();
    let s = stream();
    assert_eq!(gpu.launch(s, "fail", &[]), 0);
    assert_eq!(cuStreamSynchronize(s), 719);
    let violations = gpu.sim.take_violations();
    let [Violation::KernelFailed { reason, .. }] = violations.as_slice() else { panic!("{violations:?}") };
    assert!(reason.contains("fail") && reason.contains("trap"), "{reason}");

    gpu.renew();
    let s = stream();
    assert_eq!(gpu.launch(s, "inc", &[0x1000]), 0);
    assert_eq!(cuStreamSynchronize(s), 700);
    assert!(matches!(gpu.sim.take_violations()[..], [Violation::UnmappedAddress { .. }]));
}

#[test]
fn a_page_locked_source_must_not_change_while_its_copy_is_pending() {
    let gpu = gpu();
    let s = stream();
    let pinned = ok(out(|p| cuMemHostAlloc(p, 4, 0)));
    // SAFETY: the driver gave four bytes at this address, which only this test touches.
    let write = |value: u32| unsafe { (pinned as *mut u32).write_volatile(value) };
    write(1);
    assert_eq!(cuMemcpyHtoDAsync_v2(gpu.memory, pinned, 4, s), 0);
    assert_eq!(cuStreamSynchronize(s), 0);
    write(2);
    assert_eq!(gpu.sim.violations(), [], "the copy was done");
    assert_eq!(cuMemcpyHtoDAsync_v2(gpu.memory, pinned, 4, s), 0);
    write(3);
    assert_eq!(cuStreamSynchronize(s), 0);
    let violations = gpu.sim.take_violations();
    let [Violation::SourceOverwritten { source, used }] = violations.as_slice() else { panic!("{violations:?}") };
    assert_eq!((source.address, source.bytes, used.name), (pinned, 4, "cuMemcpyHtoDAsync_v2"));
    assert_eq!(gpu.word(0), 3, "the copy reads when it runs");

    let graph = capture(|s| assert_eq!(cuMemcpyHtoDAsync_v2(gpu.memory, pinned, 4, s), 0));
    let exec = instantiate(graph);
    for value in 4..6 {
        write(value);
        assert_eq!(cuGraphLaunch(exec, s), 0);
        assert_eq!(cuStreamSynchronize(s), 0);
    }
    assert_eq!(gpu.sim.violations(), [], "changing it between replays is what it is for");
    assert_eq!(cuGraphLaunch(exec, s), 0);
    write(9);
    assert_eq!(cuStreamSynchronize(s), 0);
    assert!(matches!(gpu.sim.take_violations()[..], [Violation::SourceOverwritten { .. }]));

    assert_eq!(gpu.launch(s, "set", &[pinned, 77]), 0);
    assert_eq!(cuMemcpyHtoDAsync_v2(gpu.memory, pinned, 4, s), 0);
    assert_eq!(cuStreamSynchronize(s), 0);
    assert_eq!(gpu.word(0), 77);
    assert_eq!(gpu.sim.violations(), [], "device work may write it in stream order");
}

#[test]
fn destroying_twice_is_recorded_with_the_first_time() {
    let gpu = gpu();
    let graph = capture(|s| assert_eq!(gpu.inc(s, 0), 0));
    assert_eq!(cuGraphDestroy(graph), 0);
    assert_eq!(cuGraphDestroy(graph), 1);
    let p = ok(out(|a| cuMemAlloc_v2(a, 8)));
    assert_eq!(cuMemFree_v2(p), 0);
    assert_eq!(cuMemFree_v2(p), 1);
    let e = event();
    assert_eq!(cuEventDestroy_v2(e), 0);
    assert_eq!(cuEventDestroy_v2(e), 400);
    let s = stream();
    assert_eq!(cuStreamDestroy_v2(s), 0);
    assert_eq!(cuStreamDestroy_v2(s), 709);
    let kinds: Vec<_> = gpu
        .sim
        .take_violations()
        .into_iter()
        .map(|violation| match violation {
            Violation::DestroyedTwice { kind, first: Some(first), again, .. } => (kind, first.call < again.call),
            other => panic!("{other}"),
        })
        .collect();
    let expected = [ObjectKind::Graph, ObjectKind::Allocation, ObjectKind::Event, ObjectKind::Stream];
    assert_eq!(kinds, expected.map(|kind| (kind, true)));
}

#[test]
fn work_of_an_unloaded_module_is_recorded() {
    let gpu = gpu();
    let s = stream();
    let module = load(KERNELS).expect("the kernels");
    let inc = function(module, "inc");
    let graph = capture(|s| assert_eq!(launch(inc, s, &[gpu.memory]), 0));
    let exec = instantiate(graph);
    assert_eq!(cuGraphLaunch(exec, s), 0);
    assert_eq!(cuModuleUnload(module), 0);
    let violations = gpu.sim.take_violations();
    let [Violation::ModuleUnloaded { function, unloaded, used }] = violations.as_slice() else {
        panic!("{violations:?}");
    };
    assert_eq!((function.as_str(), unloaded.name, used.name), ("inc", "cuModuleUnload", "cuGraphLaunch"));
    assert_eq!(cuStreamSynchronize(s), 0);
    assert!(matches!(gpu.sim.take_violations()[..], [Violation::ModuleUnloaded { .. }]), "it ran after all");
    assert_eq!(launch(inc, s, &[gpu.memory]), 400);
}

#[test]
fn calls_are_logged_with_thread_device_and_result() {
    let gpu = gpu();
    gpu.sim.clear_calls();
    assert_eq!(cuStreamSynchronize(0xdead), 400);
    let s = stream();
    let context = gpu.context;
    let other = thread::spawn(move || {
        assert_eq!(cuCtxSetCurrent(context), 0);
        assert_eq!(cuStreamQuery(s), 0);
    });
    other.join().expect("the other thread");
    let calls = gpu.sim.calls();
    let names: Vec<_> = calls.iter().map(|call| call.name).collect();
    assert_eq!(names, ["cuStreamSynchronize", "cuStreamCreate", "cuCtxSetCurrent", "cuStreamQuery"]);
    assert_eq!(calls[0].result, Code::INVALID_HANDLE);
    assert_eq!(calls[1].thread, calls[0].thread);
    assert_ne!(calls[3].thread, calls[0].thread);
    assert!(calls.iter().all(|call| call.device == Some(gpu.sim.ordinal())));
    assert!(calls.windows(2).all(|pair| pair[0].number < pair[1].number));
    assert!(calls[0].to_string().contains("cuStreamSynchronize on thread"), "{}", calls[0]);
    gpu.sim.clear_calls();
    assert!(gpu.sim.calls().is_empty());
}

#[test]
fn streams_are_lazy_and_step_one_item_at_a_time() {
    let gpu = gpu();
    let s = stream();
    for _ in 0..3 {
        assert_eq!(gpu.inc(s, 0), 0);
    }
    assert_eq!(gpu.sim.pending(s), 3);
    assert_eq!(gpu.word(0), 0, "reading on the legacy stream does not wait for a non-blocking stream");
    assert!(gpu.sim.step(s));
    assert_eq!((gpu.sim.pending(s), gpu.word(0)), (2, 1));
    assert_eq!(cuStreamQuery(s), 600, "not ready, and one step further");
    assert_eq!((gpu.sim.pending(s), gpu.word(0)), (1, 2));
    assert_eq!(cuStreamQuery(s), 600);
    assert_eq!(cuStreamQuery(s), 0);
    assert_eq!((gpu.word(0), gpu.sim.pending_total()), (3, 0));
    assert!(!gpu.sim.step(s));
}

#[test]
fn a_step_moves_what_the_stream_waits_for_and_ends_a_host_function() {
    unsafe extern "C" fn set(word: u64) {
        // SAFETY: the test passes the address of a word that lives until the stream is drained.
        unsafe { (word as *mut u32).write(5) };
    }
    let gpu = gpu();
    let (s, t, e) = (stream(), stream(), event());
    let mut word = 0u32;
    let at = &raw mut word as u64;
    assert_eq!(gpu.inc(t, 0), 0);
    assert_eq!(cuLaunchHostFunc(t, Some(set), at), 0);
    assert_eq!(cuEventRecord(e, t), 0);
    assert_eq!(cuStreamWaitEvent(s, e, 0), 0);
    assert_eq!(gpu.inc(s, 0), 0);
    let mut seen = Vec::new();
    while gpu.sim.step(s) {
        // SAFETY: no host function runs between two steps.
        let word = unsafe { (at as *const u32).read() };
        seen.push((gpu.sim.pending(t), gpu.sim.pending(s), word));
    }
    assert_eq!(seen, [(2, 2, 0), (1, 2, 5), (0, 2, 5), (0, 1, 5), (0, 0, 5)]);
    assert_eq!(gpu.word(0), 2);
}

#[test]
fn pending_work_is_listed_with_the_calls_that_submitted_it() {
    unsafe extern "C" fn nothing(_: u64) {}
    let gpu = gpu();
    let (s, e) = (stream(), event());
    let pinned = ok(out(|p| cuMemHostAlloc(p, 4, 0)));
    let exec = instantiate(capture(|s| assert_eq!(gpu.inc(s, 0), 0)));
    gpu.sim.clear_calls();
    assert_eq!(gpu.inc(s, 0), 0);
    assert_eq!(cuMemcpyHtoDAsync_v2(gpu.memory, pinned, 4, s), 0);
    assert_eq!(cuMemsetD8Async(gpu.memory, 0, 4, s), 0);
    assert_eq!(cuLaunchHostFunc(s, Some(nothing), 0), 0);
    assert_eq!(cuStreamWriteValue32_v2(s, gpu.memory, 1, 0), 0);
    assert_eq!(cuGraphLaunch(exec, s), 0);
    assert_eq!(cuEventRecord(e, s), 0);
    let pending = gpu.sim.pending_work(s);
    let kinds: Vec<WorkKind> = pending.iter().map(|pending| pending.kind).collect();
    let expected = [
        WorkKind::Kernel,
        WorkKind::Copy,
        WorkKind::Fill,
        WorkKind::HostFunction,
        WorkKind::MemoryOperation,
        WorkKind::Graph,
        WorkKind::Event,
    ];
    assert_eq!(kinds, expected);
    let names: Vec<Option<&str>> = pending.iter().map(|pending| pending.name.as_deref()).collect();
    assert_eq!(names, [Some("inc"), None, None, None, None, None, None]);
    let logged: Vec<Site> = gpu.sim.calls().iter().map(site).collect();
    assert_eq!(pending.iter().map(|pending| pending.by).collect::<Vec<_>>(), logged);
    assert_eq!(pending[0].to_string(), format!("kernel inc of {}", logged[0]));
    assert_eq!((gpu.sim.pending(0xdead), gpu.sim.pending_work(0xdead)), (0, Vec::new()));
    assert_eq!(cuStreamSynchronize(s), 0);
    assert_eq!(gpu.sim.pending_work(s), []);
}

fn site(call: &dacapo_sim::CallRecord) -> Site {
    Site { call: call.number, name: call.name, thread: call.thread }
}

#[test]
fn every_live_object_names_its_call_and_thread() {
    unsafe extern "C" fn nothing(_: u64) {}
    let gpu = gpu();
    gpu.sim.clear_calls();
    let known: Vec<u64> = gpu.sim.live().objects().iter().map(|object| object.handle).collect();
    let (context, text) = (gpu.context, std::ffi::CString::new(KERNELS).expect("no NUL"));
    let maker = thread::spawn(move || {
        assert_eq!(cuCtxSetCurrent(context), 0);
        let graph = ok(out(|g| cuGraphCreate(g, 0)));
        let exec = instantiate(graph);
        let object = ok(out(|o| cuUserObjectCreate(o, 0, Some(nothing), 1, 1)));
        let (stream, event) = (stream(), event());
        let pinned = ok(out(|p| cuMemHostAlloc(p, 8, 0)));
        let module = ok(out(|m| cuModuleLoadData(m, text.as_ptr())));
        let memory = [ok(out(|a| cuMemAlloc_v2(a, 8))), ok(out(|a| cuMemAllocAsync(a, 24, stream)))];
        (
            dacapo_sim::install().expect("installed").this_thread(),
            [graph, exec, object, stream, event, pinned, module],
            memory,
        )
    });
    let (thread, handles, memory) = maker.join().expect("the thread that makes them");
    let live = gpu.sim.live();
    let made: Vec<_> = live.objects().iter().filter(|object| !known.contains(&object.handle)).collect();
    let expected = [
        (ObjectKind::Stream, handles[3], 0, "cuStreamCreate"),
        (ObjectKind::Event, handles[4], 0, "cuEventCreate"),
        (ObjectKind::Allocation, memory[0], 8, "cuMemAlloc_v2"),
        (ObjectKind::Allocation, memory[1], 24, "cuMemAllocAsync"),
        (ObjectKind::Pinned, handles[5], 8, "cuMemHostAlloc"),
        (ObjectKind::Module, handles[6], 0, "cuModuleLoadData"),
        (ObjectKind::Graph, handles[0], 0, "cuGraphCreate"),
        (ObjectKind::Executable, handles[1], 0, "cuGraphInstantiateWithFlags"),
        (ObjectKind::UserObject, handles[2], 0, "cuUserObjectCreate"),
    ];
    let got: Vec<_> = made.iter().map(|object| (object.kind, object.handle, object.bytes, object.made.name)).collect();
    assert_eq!(got, expected);
    let calls: Vec<Site> = gpu.sim.calls().iter().map(site).collect();
    assert!(made.iter().all(|object| object.made.thread == thread && calls.contains(&object.made)), "{live}");
}

#[test]
fn a_call_that_names_freed_memory_is_refused_and_recorded() {
    let gpu = gpu();
    let p = ok(out(|a| cuMemAlloc_v2(a, 64)));
    assert_eq!(cuMemFree_v2(p), 0);
    assert_eq!(cuMemsetD8Async(p + 8, 1, 4, 0), 1);
    assert_eq!(cuMemsetD8Async(gpu.memory + 4000, 1, 97, 0), 1);
    let violations = gpu.sim.take_violations();
    let [Violation::UseAfterFree { touched, freed, used, .. }, Violation::OutOfBounds { block, used: over, .. }] =
        violations.as_slice()
    else {
        panic!("{violations:?}");
    };
    assert_eq!((touched.address, touched.bytes), (p + 8, 4));
    assert_eq!((freed.name, used.name), ("cuMemFree_v2", "cuMemsetD8Async"));
    assert!(freed.call < used.call && used.call < over.call, "{violations:?}");
    assert_eq!(block.address, gpu.memory);
    assert_eq!(cuCtxSynchronize(), 0, "no device fault");
}

#[test]
fn what_an_unsupported_call_says_is_logged_once() {
    let gpu = gpu();
    gpu.sim.clear_calls();
    let sim = dacapo_sim::install().expect("installed");
    assert_eq!((cuArrayDestroy(1), cuArrayDestroy(1), cuArrayDestroy(2)), (801, 801, 801));
    let calls = gpu.sim.calls();
    let [call] = calls.as_slice() else { panic!("{calls:?}") };
    assert_eq!((call.name, call.result), ("cuArrayDestroy", Code::NOT_SUPPORTED));
    assert_eq!((call.thread, call.detail.as_deref()), (sim.this_thread(), Some("not implemented")));
    assert!(call.to_string().ends_with("CUDA_ERROR_NOT_SUPPORTED (801): not implemented"), "{call}");
    gpu.sim.clear_calls();
    assert_eq!(cuArrayDestroy(1), 801);
    assert_eq!(gpu.sim.calls().len(), 1, "a cleared log names it again");
}

#[test]
fn memory_of_every_kind_but_the_hosts_counts_against_the_limit() {
    let gpu = gpu();
    let s = stream();
    let used = 4096;
    let free = || {
        let (mut free, mut total) = (0, 0);
        assert_eq!(cuMemGetInfo_v2(&mut free, &mut total), 0);
        free
    };
    gpu.sim.set_memory_limit(Some(used + 1000));
    let pinned = ok(out(|p| cuMemHostAlloc(p, 1 << 20, 0)));
    assert_eq!(free(), 1000, "page-locked memory is the host's");
    assert_eq!(cuMemFreeHost(pinned), 0);

    let text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 4 .b8 table[800];\n";
    let module = load(text).expect("a module with a variable");
    assert_eq!(free(), 200);
    assert_eq!(load(text), Err(2), "a second one has no room");
    assert_eq!(free(), 200);
    assert_eq!(cuModuleUnload(module), 0);
    assert_eq!(free(), 1000);

    let graph = capture(|s| {
        let (a, b) = (ok(out(|a| cuMemAllocAsync(a, 400, s))), ok(out(|a| cuMemAllocAsync(a, 500, s))));
        assert_eq!((cuMemFreeAsync(a, s), cuMemFreeAsync(b, s)), (0, 0));
    });
    let exec = instantiate(graph);
    assert_eq!(free(), 1000, "an executable takes nothing until it is launched");
    assert_eq!((cuGraphLaunch(exec, s), free()), (0, 1000), "what it frees itself is free again");
    let p = ok(out(|a| cuMemAllocAsync(a, 101, s)));
    assert_eq!((cuGraphLaunch(exec, s), free()), (2, 899), "a launch that does not fit changes nothing");
    assert_eq!(cuMemFreeAsync(p, s), 0);
    assert_eq!((cuGraphLaunch(exec, s), cuStreamSynchronize(s)), (0, 0));

    let keep = instantiate(capture(|s| assert_eq!(out(|a| cuMemAllocAsync(a, 1000, s)).0, 0)));
    assert_eq!((cuGraphLaunch(keep, s), free()), (0, 0), "what it does not free stays taken");
    assert_eq!(out(|a| cuMemAlloc_v2(a, 1)).0, 2);
    gpu.sim.set_memory_limit(Some(0));
    let other = ok(out(|c| cuCtxCreate_v4(c, std::ptr::null(), 0, gpu.ordinal)));
    assert_eq!(free(), 0, "a context takes nothing, and a limit below what is taken leaves nothing");
    assert_eq!(cuCtxDestroy_v2(other), 0);
    assert_eq!(gpu.sim.violations(), []);
}

#[test]
fn a_primary_context_is_made_even_when_there_is_no_memory_left() {
    let gpu = gpu();
    assert_eq!(cuDevicePrimaryCtxRelease_v2(gpu.ordinal), 0);
    gpu.sim.set_memory_limit(Some(0));
    let context = ok(out(|c| cuDevicePrimaryCtxRetain(c, gpu.ordinal)));
    assert_eq!(cuCtxSetCurrent(context), 0);
    assert_eq!(out(|a| cuMemAlloc_v2(a, 1)).0, 2);
    assert_eq!(load(KERNELS).map(|_| ()), Ok(()), "code takes none");
}

#[test]
fn memory_runs_out_at_the_limit() {
    let gpu = gpu();
    let s = stream();
    gpu.sim.set_memory_limit(Some(4096 + 1000));
    let (mut free, mut total) = (0, 0);
    assert_eq!(cuMemGetInfo_v2(&mut free, &mut total), 0);
    assert_eq!((free, total), (1000, 16 << 30));
    assert_eq!(out(|a| cuMemAlloc_v2(a, 1001)), (2, 0));
    let p = ok(out(|a| cuMemAllocAsync(a, 1000, s)));
    assert_eq!(out(|a| cuMemAllocAsync(a, 1, s)), (2, 0));
    assert_eq!(cuMemFreeAsync(p, s), 0);
    let q = ok(out(|a| cuMemAllocAsync(a, 1000, s)));
    assert_ne!(p, q, "addresses are not reused");
    gpu.sim.set_memory_limit(None);
    assert_eq!(out(|a| cuMemAlloc_v2(a, 1 << 20)).0, 0);
}

#[test]
fn stale_handles_are_refused_by_every_kind_of_call() {
    let gpu = gpu();
    let (s, e) = (stream(), event());
    let graph = capture(|s| assert_eq!(gpu.inc(s, 0), 0));
    let exec = instantiate(graph);
    let node = nodes(graph)[0];
    assert_eq!(cuGraphExecDestroy(exec), 0);
    assert_eq!(cuGraphDestroy(graph), 0);
    assert_eq!(cuEventDestroy_v2(e), 0);
    assert_eq!(cuStreamDestroy_v2(s), 0);
    assert_eq!(cuStreamSynchronize(s), 709);
    assert_eq!(cuStreamBeginCapture_v2(s, 0), 709);
    assert_eq!(end(s).0, 709);
    assert_eq!(gpu.inc(s, 0), 709);
    assert_eq!(cuEventRecord(e, 0), 400);
    assert_eq!(cuGraphLaunch(exec, 0), 1);
    assert_eq!(out(|x| cuGraphInstantiateWithFlags(x, graph, 0)).0, 1);
    let mut kind = 0;
    assert_eq!(cuGraphNodeGetType(node, &mut kind), 1);
    assert_eq!(cuModuleUnload(gpu.module), 0);
    assert_eq!(cuModuleUnload(gpu.module), 400);
    assert_eq!(cuDevicePrimaryCtxRelease_v2(gpu.ordinal), 0);
    assert_eq!(cuCtxSetCurrent(gpu.context), 709);
    assert_eq!(cuCtxSynchronize(), 709, "the context is gone but still on top of the stack");
}
