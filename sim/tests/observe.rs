//! What a test can see and do: live objects, violations, the call log, faults, pending work, hanging streams, memory limits.

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use common::*;
use dacapo_sim::{Code, Fault, ObjectKind, Violation};

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
            Violation::DestroyedTwice { kind, first: Some(first), again, .. } => (kind, first.call + 1 == again.call),
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
fn faults_fail_a_call_before_or_after_its_work() {
    let gpu = gpu();
    let s = stream();
    gpu.sim.inject(Fault::on("cuMemAlloc").nth(2).code(2));
    let alloc = || out(|a| cuMemAlloc_v2(a, 16));
    assert_eq!(alloc().0, 0);
    let live = gpu.sim.live().allocations();
    assert_eq!(alloc(), (2, 0));
    assert_eq!(gpu.sim.live().allocations(), live, "nothing was allocated");
    assert_eq!(alloc().0, 0);

    assert_eq!(cuStreamBeginCapture_v2(s, THREAD_LOCAL), 0);
    gpu.sim.inject(Fault::on("cuStreamEndCapture").after().code(999));
    let (code, graph) = end(s);
    assert_eq!(code, 999);
    assert_ne!(graph, 0, "the capture did end");
    assert_eq!(status(s), 0);
    assert_eq!(cuGraphDestroy(graph), 0);

    let id = gpu.sim.inject(Fault::on_any().every().code(46));
    assert_eq!((alloc().0, cuStreamQuery(s)), (46, 46));
    assert!(gpu.sim.remove_fault(id));
    assert_eq!(cuStreamQuery(s), 0);

    let me = dacapo_sim::install().expect("installed").this_thread();
    gpu.sim.inject(Fault::on("cuStreamQuery").on_thread(me + 1000).every().code(1));
    assert_eq!(cuStreamQuery(s), 0, "the fault is another thread's");
    gpu.sim.clear_faults();
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
fn a_hanging_stream_blocks_whoever_waits_until_it_is_released() {
    static RELEASED: AtomicBool = AtomicBool::new(false);
    let gpu = gpu();
    let s = stream();
    gpu.sim.hang(s);
    assert_eq!(gpu.inc(s, 0), 0);
    for _ in 0..10 {
        assert_eq!(cuStreamQuery(s), 600, "it never gets ready");
    }
    assert_eq!(gpu.sim.pending(s), 1);
    let sim = gpu.sim;
    let releaser = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        // SeqCst: read by the waiting thread after the release below has let it go on.
        RELEASED.store(true, Ordering::SeqCst);
        sim.release(s);
    });
    assert_eq!(cuStreamSynchronize(s), 0);
    // SeqCst: pairs with the store of the releasing thread.
    assert!(RELEASED.load(Ordering::SeqCst), "the wait ended before the release");
    releaser.join().expect("the releasing thread");
    assert_eq!(gpu.word(0), 1);
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
