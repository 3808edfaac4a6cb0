//! What a program sees of its launches: time, host functions under a query, device assertions, occupancy.

mod common;

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use common::*;
use dacapo_sim::Violation;

fn timed_event() -> u64 {
    ok(out(|e| cuEventCreate(e, 0)))
}

fn elapsed(start: u64, end: u64) -> f32 {
    let mut ms = f32::NAN;
    assert_eq!(cuEventElapsedTime_v2(&mut ms, start, end), 0);
    ms
}

#[test]
fn streams_run_side_by_side_in_simulated_time() {
    let gpu = gpu();
    let (s, t) = (stream(), stream());
    let [start, middle, end] = [0; 3].map(|_| timed_event());
    let joined = event();
    assert_eq!(cuEventRecord(start, s), 0);
    assert_eq!(gpu.inc(s, 0), 0);
    assert_eq!(gpu.inc(s, 0), 0);
    assert_eq!(cuEventRecord(middle, s), 0);
    assert_eq!(cuStreamSynchronize(s), 0);
    let in_a_row = elapsed(start, middle);

    assert_eq!(cuEventRecord(start, s), 0);
    assert_eq!(gpu.inc(s, 0), 0);
    assert_eq!(gpu.inc(t, 1), 0);
    assert_eq!(cuEventRecord(joined, t), 0);
    assert_eq!(cuStreamWaitEvent(s, joined, 0), 0);
    assert_eq!(cuEventRecord(end, s), 0);
    assert_eq!(cuStreamSynchronize(s), 0);
    let beside = elapsed(start, end);
    assert!(beside * 2.0 >= in_a_row && beside * 2.0 < in_a_row * 1.1, "{beside} beside, {in_a_row} in a row");
    assert!(elapsed(middle, start) >= 0.0, "queued after the wait, so not earlier");
}

#[test]
fn work_comes_after_what_it_waits_for_in_simulated_time() {
    let gpu = gpu();
    let (s, t) = (stream(), stream());
    let [done, begun] = [0; 2].map(|_| timed_event());
    for _ in 0..5 {
        assert_eq!(gpu.inc(s, 0), 0);
    }
    assert_eq!(cuEventRecord(done, s), 0);
    assert_eq!(cuStreamWaitEvent(t, done, 0), 0);
    assert_eq!(cuEventRecord(begun, t), 0);
    assert_eq!(cuStreamSynchronize(t), 0);
    assert!(elapsed(done, begun) >= 0.0);
    // The host has waited for `done`, so a stream that has never had work begins later, too.
    let fresh = timed_event();
    let u = stream();
    assert_eq!(cuEventRecord(fresh, u), 0);
    assert_eq!(cuStreamSynchronize(u), 0);
    assert!(elapsed(done, fresh) >= 0.0);
    assert_eq!(gpu.word(0), 5);
}

#[test]
fn what_another_device_does_takes_time_only_if_it_is_coupled() {
    let sim = dacapo_sim::install().expect("installed");
    let [a, b] = gpus();
    let (s, t) = (stream(), {
        b.bind();
        stream()
    });
    let time = |rounds: u32| {
        a.bind();
        let [start, end] = [0; 2].map(|_| timed_event());
        assert_eq!(cuEventRecord(start, s), 0);
        b.bind();
        for _ in 0..rounds {
            assert_eq!(b.inc(t, 0), 0);
        }
        assert_eq!(cuStreamSynchronize(t), 0);
        a.bind();
        assert_eq!(a.inc(s, 0), 0);
        assert_eq!(cuEventRecord(end, s), 0);
        assert_eq!(cuStreamSynchronize(s), 0);
        elapsed(start, end)
    };
    let alone = time(0);
    assert_eq!(time(100), alone);
    sim.couple(&[a.sim.ordinal(), b.sim.ordinal()]);
    assert!(time(100) > alone, "the host waits before it goes on");
    sim.uncouple();
}

/// Waits for a message that the test sends.
unsafe extern "C" fn wait_for_message(receiver: u64) {
    // SAFETY: the test hands over a boxed receiver, once.
    let receiver = unsafe { Box::from_raw(receiver as *mut Receiver<()>) };
    assert_eq!(receiver.recv_timeout(Duration::from_secs(60)), Ok(()));
}

#[test]
fn a_query_returns_although_a_host_function_waits_for_the_caller() {
    let gpu = gpu();
    let (s, e) = (stream(), event());
    let (send, receiver) = channel();
    let receiver = Box::into_raw(Box::new(receiver)) as u64;
    assert_eq!(cuLaunchHostFunc(s, Some(wait_for_message), receiver), 0);
    assert_eq!(cuEventRecord(e, s), 0);
    assert_eq!(gpu.inc(s, 0), 0);
    for _ in 0..3 {
        assert_eq!(cuEventQuery(e), 600);
        assert_eq!(cuStreamQuery(s), 600);
    }
    assert_eq!(gpu.sim.pending(s), 3, "nothing behind the host function has run");
    send.send(()).expect("the host function waits");
    assert_eq!(cuEventSynchronize(e), 0);
    assert_eq!(cuEventQuery(e), 0);
    assert_eq!(gpu.word(0), 0, "the legacy stream does not wait for a non-blocking one");
    assert_eq!(cuStreamSynchronize(s), 0);
    assert_eq!(gpu.word(0), 1);
}

unsafe extern "C" fn count(counter: u64) {
    // SAFETY: the test passes a word that outlives the stream's work, and looks at it when there is none.
    unsafe { *(counter as *mut u32) += 1 };
}

#[test]
fn a_query_is_one_step_for_a_host_function_that_returns() {
    let _gpu = gpu();
    let s = stream();
    let mut calls = 0u32;
    let counter = &raw mut calls as u64;
    assert_eq!(cuLaunchHostFunc(s, Some(count), counter), 0);
    assert_eq!(cuLaunchHostFunc(s, Some(count), counter), 0);
    assert_eq!([cuStreamQuery(s), cuStreamQuery(s), cuStreamQuery(s)], [600, 600, 0]);
    // SAFETY: the stream has no work left.
    assert_eq!(unsafe { (counter as *const u32).read() }, 2);
}

const ASSERTS: &str = ".version 8.0\n.target sm_70\n.address_size 64\n\
    .extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n\
    .global .align 1 .b8 $text[6] = {120, 32, 60, 32, 53, 0};\n\
    .visible .entry checks() { .reg .b64 %rd1; mov.u64 %rd1, $text;\n\
    { .param .b64 p0; st.param.b64 [p0], %rd1; .param .b64 p1; st.param.b64 [p1], %rd1; .param .b32 p2; st.param.b32 [p2], 7;\n\
      .param .b64 p3; st.param.b64 [p3], %rd1; .param .b64 p4; st.param.b64 [p4], 1;\n\
      call.uni __assertfail, (p0, p1, p2, p3, p4); } ret; }\n";

#[test]
fn a_device_assertion_is_a_fault_of_its_own_that_names_the_condition() {
    let gpu = gpu();
    let module = load(ASSERTS).expect("the kernel");
    assert_eq!(launch(function(module, "checks"), 0, &[]), 0);
    assert_eq!(cuCtxSynchronize(), 710);
    assert_eq!(cuCtxSynchronize(), 710, "it sticks");
    let violations = gpu.sim.take_violations();
    let [Violation::KernelFailed { reason, .. }] = violations.as_slice() else { panic!("{violations:?}") };
    assert!(reason.contains("assertion failed: `x < 5`"), "{reason}");
}

/// Shared memory by block size: too much for more than 64 threads. It calls the driver, which it may.
unsafe extern "C" fn shared_of(threads: i32) -> usize {
    let mut device = -1;
    assert_eq!(cuCtxGetDevice(&mut device), 0);
    if threads > 64 { 1 << 30 } else { 0 }
}

#[test]
fn the_callers_function_says_how_much_shared_memory_a_block_size_needs() {
    let gpu = gpu();
    let suggested = |of| {
        let (mut grid, mut block) = (0, 0);
        let code = cuOccupancyMaxPotentialBlockSize(&mut grid, &mut block, gpu.function("inc"), of, 0, 0);
        (code, block)
    };
    assert_eq!(suggested(None), (0, 1024));
    assert_eq!(suggested(Some(shared_of)), (0, 64));
}
