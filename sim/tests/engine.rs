//! How queued work runs: order, dependencies, waiting kernels, host functions, device faults.

mod common;

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use common::*;

#[test]
fn a_wait_runs_only_what_it_needs() {
    let gpu = gpu();
    let (s, t, u, e) = (stream(), stream(), stream(), event());
    assert_eq!(gpu.launch(s, "set", &[gpu.memory, 5]), 0);
    assert_eq!(cuEventRecord(e, s), 0);
    assert_eq!(gpu.inc(s, 1), 0);
    assert_eq!(cuStreamWaitEvent(t, e, 0), 0);
    assert_eq!(gpu.launch(t, "copy", &[gpu.memory + 8, gpu.memory]), 0);
    assert_eq!(gpu.inc(u, 3), 0);
    assert_eq!(cuStreamSynchronize(t), 0);
    assert_eq!((gpu.word(0), gpu.word(2)), (5, 5));
    assert_eq!((gpu.word(1), gpu.word(3)), (0, 0), "not needed");
    assert_eq!((gpu.sim.pending(s), gpu.sim.pending(u)), (1, 1));
    assert_eq!(cuCtxSynchronize(), 0);
    assert_eq!((gpu.word(1), gpu.word(3)), (1, 1));
}

#[test]
fn the_legacy_stream_is_ordered_with_blocking_streams_only() {
    let gpu = gpu();
    let blocking = ok(out(|s| cuStreamCreate(s, 0)));
    let free = stream();
    assert_eq!(gpu.launch(blocking, "set", &[gpu.memory, 7]), 0);
    assert_eq!(gpu.launch(free, "set", &[gpu.memory + 4, 8]), 0);
    assert_eq!(gpu.launch(0, "copy", &[gpu.memory + 8, gpu.memory]), 0);
    assert_eq!(gpu.launch(0, "copy", &[gpu.memory + 12, gpu.memory + 4]), 0);
    assert_eq!(gpu.launch(blocking, "copy", &[gpu.memory + 16, gpu.memory + 8]), 0);
    assert_eq!(cuStreamSynchronize(blocking), 0);
    assert_eq!((gpu.word(2), gpu.word(4)), (7, 7), "legacy came after, and before, the blocking stream");
    assert_eq!(gpu.word(3), 0, "the non-blocking stream had not run");
    assert_eq!(gpu.sim.pending(free), 1);
}

#[test]
fn one_executable_never_overlaps_itself() {
    let gpu = gpu();
    let (s, t) = (stream(), stream());
    let graph = capture(|s| {
        assert_eq!(gpu.inc(s, 0), 0);
        assert_eq!(gpu.launch(s, "copy", &[gpu.memory + 4, gpu.memory]), 0);
    });
    let exec = instantiate(graph);
    gpu.sim.hang(s);
    assert_eq!(cuGraphLaunch(exec, s), 0);
    assert_eq!(cuGraphLaunch(exec, t), 0);
    assert_eq!(cuStreamQuery(t), 600);
    assert_eq!((gpu.sim.pending(t), gpu.word(0)), (1, 0), "it waits for the launch in the other stream");
    gpu.sim.release(s);
    assert_eq!(cuStreamSynchronize(t), 0);
    assert_eq!((gpu.word(0), gpu.word(1)), (2, 2));
}

#[test]
fn an_executable_destroyed_in_flight_still_runs_and_so_does_a_destroyed_streams_work() {
    let gpu = gpu();
    let (s, t) = (stream(), stream());
    let graph = capture(|s| assert_eq!(gpu.inc(s, 0), 0));
    let exec = instantiate(graph);
    assert_eq!(cuGraphLaunch(exec, s), 0);
    assert_eq!(cuGraphExecDestroy(exec), 0);
    assert_eq!(cuGraphDestroy(graph), 0);
    assert_eq!(gpu.inc(t, 0), 0);
    assert_eq!(cuStreamDestroy_v2(t), 0);
    assert_eq!(gpu.word(0), 0);
    assert_eq!(cuCtxSynchronize(), 0);
    assert_eq!(gpu.word(0), 2);
    assert_eq!(gpu.sim.violations(), []);
}

#[test]
fn a_kernel_that_waits_for_its_peer_device_completes() {
    let [a, b] = gpus();
    assert_eq!(cuCtxEnablePeerAccess(b.context, 0), 0);
    let s = stream();
    assert_eq!(a.launch(s, "await", &[b.memory]), 0);
    assert_eq!(a.inc(s, 1), 0);
    b.bind();
    let t = stream();
    assert_eq!(cuMemsetD32Async(b.memory + 64, 0, 4, t), 0);
    assert_eq!(b.launch(t, "set", &[b.memory, 1]), 0);
    a.bind();
    assert_eq!(cuStreamSynchronize(s), 0);
    assert_eq!(a.word(1), 1);
}

#[test]
fn a_kernel_without_peer_access_may_not_touch_the_other_device() {
    let [a, b] = gpus();
    a.bind();
    let s = stream();
    assert_eq!(a.launch(s, "inc", &[b.memory]), 0);
    assert_eq!(cuStreamSynchronize(s), 700);
    assert_eq!(a.sim.take_violations().len(), 1);
    b.bind();
    assert_eq!(b.word(0), 0, "the other device goes on");
    assert_eq!(cuCtxSynchronize(), 0);
    a.sim.reset();
}

#[test]
fn a_kernel_that_waits_for_the_host_leaves_the_driver_usable() {
    let gpu = gpu();
    let flag = ok(out(|p| cuMemHostAlloc(p, 4, 0)));
    let s = stream();
    assert_eq!(gpu.launch(s, "await", &[flag]), 0);
    assert_eq!(gpu.inc(s, 0), 0);
    let context = gpu.context;
    let host = thread::spawn(move || {
        assert_eq!(cuCtxSetCurrent(context), 0);
        thread::sleep(Duration::from_millis(20));
        let t = stream();
        assert_eq!(cuStreamDestroy_v2(t), 0, "other threads are not locked out");
        // SAFETY: the flag is page-locked memory of four bytes, aligned to a page, that lives until the end of the test.
        let flag = unsafe { AtomicU32::from_ptr(flag as *mut u32) };
        // SeqCst: what the kernel waits for.
        flag.store(1, Ordering::SeqCst);
    });
    assert_eq!(cuStreamSynchronize(s), 0);
    assert_eq!(gpu.word(0), 1);
    host.join().expect("the host thread");
}

#[test]
fn words_in_memory_are_written_and_waited_for_in_stream_order() {
    let gpu = gpu();
    let (s, t) = (stream(), stream());
    assert_eq!(cuStreamWaitValue32_v2(s, gpu.memory, 3, 1), 0);
    assert_eq!(gpu.inc(s, 1), 0);
    assert_eq!(cuStreamQuery(s), 600);
    assert_eq!(gpu.word(1), 0);
    assert_eq!(cuStreamWriteValue32_v2(t, gpu.memory, 3, 0), 0);
    assert_eq!(cuStreamSynchronize(s), 0, "the other stream gets its turn");
    assert_eq!(gpu.word(1), 1);
    assert_eq!(cuStreamWriteValue32_v2(t, gpu.memory + 2, 3, 0), 1, "crooked");
}

unsafe extern "C" fn call_the_driver(result: u64) {
    let (code, _) = out(|a| cuMemAlloc_v2(a, 64));
    // SAFETY: the test passes the address of a word that lives until the stream is drained.
    unsafe { *(result as *mut u32) = code };
}

#[test]
fn host_functions_run_in_order_and_may_not_call_the_driver() {
    let gpu = gpu();
    let s = stream();
    let mut result = 77u32;
    let result_at = &raw mut result as u64;
    assert_eq!(gpu.inc(s, 0), 0);
    assert_eq!(cuLaunchHostFunc(s, Some(call_the_driver), result_at), 0);
    assert_eq!(gpu.inc(s, 0), 0);
    assert_eq!(cuStreamSynchronize(s), 0);
    // SAFETY: the stream is drained; nobody else touches the word.
    assert_eq!(unsafe { (result_at as *const u32).read() }, 800);
    assert_eq!(gpu.word(0), 2);
}

#[test]
fn coupled_devices_fail_together_and_a_reset_heals() {
    let [mut a, mut b, c] = gpus();
    let sim = dacapo_sim::install().expect("installed");
    sim.couple(&[a.sim.ordinal(), b.sim.ordinal()]);
    b.bind();
    let t = stream();
    assert_eq!(b.launch(t, "fail", &[]), 0);
    assert_eq!(cuStreamSynchronize(t), 719);
    a.bind();
    assert_eq!(cuCtxSynchronize(), 719);
    assert_eq!(out(|m| cuMemAlloc_v2(m, 16)).0, 719);
    assert_eq!(out(|g| cuGraphCreate(g, 0)).0, 0, "graphs belong to no context");
    c.bind();
    assert_eq!(cuCtxSynchronize(), 0, "the third device is on its own");
    sim.uncouple();
    b.renew();
    a.renew();
    assert_eq!(a.word(0), 0);
}

#[test]
fn elapsed_time_is_counted_in_work_and_the_same_every_time() {
    let mut times = Vec::new();
    let mut gpu = gpu();
    for _ in 0..2 {
        gpu.renew();
        let s = stream();
        let (start, stop) = (ok(out(|e| cuEventCreate(e, 0))), ok(out(|e| cuEventCreate(e, 0))));
        assert_eq!(cuEventRecord(start, s), 0);
        assert_eq!(gpu.inc(s, 0), 0);
        assert_eq!(cuEventRecord(stop, s), 0);
        let mut ms = -1.0;
        assert_eq!(cuEventElapsedTime_v2(&mut ms, start, stop), 600);
        assert_eq!(cuEventSynchronize(stop), 0);
        assert_eq!(cuEventElapsedTime_v2(&mut ms, start, stop), 0);
        times.push(ms);
    }
    assert!(times[0] > 0.0);
    assert_eq!(times[0], times[1]);
}
