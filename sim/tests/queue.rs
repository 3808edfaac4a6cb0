//! How much a stream takes before a call waits for room.

mod common;

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use common::*;
use dacapo_sim::{QueueDepth, WorkFault, WorkKind};

unsafe extern "C" fn count(counter: u64) {
    // SAFETY: the test passes the address of a counter that lives until the stream is drained.
    let counter = unsafe { AtomicU32::from_ptr(counter as *mut u32) };
    // SeqCst: read by the test's thread.
    counter.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn behind_one_kernel_1021_launches_are_taken_and_the_next_ones_run_the_oldest() {
    let gpu = gpu();
    let exec = instantiate(capture(|s| assert_eq!(gpu.inc(s, 0), 0)));
    for launch in [(&|s| cuGraphLaunch(exec, s)) as &dyn Fn(u64) -> u32, &|s| gpu.inc(s, 0)] {
        assert_eq!(cuMemsetD32_v2(gpu.memory, 0, 1), 0);
        let s = stream();
        assert_eq!(gpu.inc(s, 1), 0);
        for _ in 0..1021 {
            assert_eq!(launch(s), 0);
        }
        assert_eq!((gpu.sim.pending(s), gpu.word(0)), (1022, 0), "nothing has run");
        assert_eq!(launch(s), 0);
        assert_eq!((gpu.sim.pending(s), gpu.word(0)), (1022, 0), "the first kernel has made room");
        for _ in 0..10 {
            assert_eq!(launch(s), 0);
        }
        assert_eq!((gpu.sim.pending(s), gpu.word(0)), (1022, 10));
        assert_eq!(cuStreamSynchronize(s), 0);
        assert_eq!(gpu.word(0), 1032);
    }
    assert_eq!(gpu.word(1), 2);
}

#[test]
fn of_launches_with_a_host_function_57_are_taken() {
    let gpu = gpu();
    let counter = AtomicU32::new(0);
    let at = counter.as_ptr() as u64;
    // SeqCst: pairs with the host function's addition.
    let counted = || counter.load(Ordering::SeqCst);
    let exec = instantiate(capture(|s| {
        assert_eq!(gpu.inc(s, 0), 0);
        assert_eq!(cuLaunchHostFunc(s, Some(count), at), 0);
    }));
    let s = stream();
    assert_eq!(gpu.inc(s, 1), 0);
    for _ in 0..57 {
        assert_eq!(cuGraphLaunch(exec, s), 0);
    }
    assert_eq!((gpu.sim.pending(s), counted()), (58, 0));
    assert_eq!(gpu.inc(s, 1), 0, "there is room for other work");
    assert_eq!((gpu.sim.pending(s), counted()), (59, 0));
    assert_eq!(cuGraphLaunch(exec, s), 0);
    assert_eq!((gpu.sim.pending(s), counted()), (58, 1), "the kernel and the first launch have run");
    assert_eq!(cuLaunchHostFunc(s, Some(count), at), 0);
    assert_eq!(counted(), 2);
    assert_eq!(cuStreamSynchronize(s), 0);
    assert_eq!((counted(), gpu.word(0), gpu.word(1)), (59, 58, 2));
}

#[test]
fn each_stream_has_a_queue_of_its_own_and_its_depth_can_be_set() {
    let mut gpu = gpu();
    let (s, t) = (stream(), stream());
    gpu.sim.set_queue_depth(QueueDepth { items: 3, ..QueueDepth::default() });
    let u = stream();
    for stream in [s, t, u, 0] {
        for _ in 0..5 {
            assert_eq!(gpu.inc(stream, 0), 0);
        }
        assert_eq!(gpu.sim.pending(stream), 3);
    }
    assert_eq!(gpu.sim.pending_total(), 12);
    assert_eq!(cuCtxSynchronize(), 0);
    assert_eq!(gpu.word(0), 20);
    gpu.sim.set_queue_depth(QueueDepth::UNLIMITED);
    for _ in 0..3000 {
        assert_eq!(gpu.inc(s, 0), 0);
    }
    assert_eq!(gpu.sim.pending(s), 3000);
    assert_eq!(cuStreamSynchronize(s), 0);
    gpu.renew();
    assert_eq!(QueueDepth::default(), QueueDepth { items: 1022, host_functions: 57 });
    for _ in 0..1100 {
        assert_eq!(gpu.inc(0, 0), 0);
    }
    assert_eq!(gpu.sim.pending(0), 1022, "a reset brings the default back");
}

#[test]
fn making_room_runs_what_the_oldest_work_depends_on() {
    let gpu = gpu();
    gpu.sim.set_queue_depth(QueueDepth { items: 2, ..QueueDepth::default() });
    let (s, t, e) = (stream(), stream(), event());
    assert_eq!(gpu.launch(t, "set", &[gpu.memory, 9]), 0);
    assert_eq!(cuEventRecord(e, t), 0);
    assert_eq!(cuStreamWaitEvent(s, e, 0), 0);
    assert_eq!(gpu.launch(s, "copy", &[gpu.memory + 4, gpu.memory]), 0);
    assert_eq!(gpu.sim.pending_total(), 4);
    assert_eq!(gpu.inc(s, 2), 0);
    assert_eq!((gpu.sim.pending(s), gpu.sim.pending(t)), (2, 0), "the wait for the other stream has run");
    let kinds: Vec<WorkKind> = gpu.sim.pending_work(s).into_iter().map(|pending| pending.kind).collect();
    assert_eq!(kinds, [WorkKind::Kernel, WorkKind::Kernel]);
    assert_eq!((gpu.word(0), gpu.word(1)), (9, 0));
}

#[test]
fn a_call_into_a_full_queue_that_hangs_blocks_until_it_is_released() {
    let gpu = gpu();
    gpu.sim.set_queue_depth(QueueDepth { items: 2, ..QueueDepth::default() });
    let exec = instantiate(capture(|s| assert_eq!(gpu.inc(s, 0), 0)));
    let (s, t) = (stream(), stream());
    gpu.sim.hang(s);
    assert_eq!((cuGraphLaunch(exec, s), cuGraphLaunch(exec, s)), (0, 0));
    let launching = thread::spawn(move || cuGraphLaunch(exec, s));
    thread::sleep(Duration::from_millis(50));
    assert!(!launching.is_finished());
    assert_eq!(gpu.inc(t, 1), 0);
    assert_eq!((cuStreamSynchronize(t), gpu.word(1)), (0, 1), "other streams go on");
    assert_eq!((cuStreamQuery(s), gpu.word(0)), (600, 0));
    gpu.sim.release(s);
    assert_eq!(launching.join().expect("the launching thread"), 0);
    assert_eq!((gpu.sim.pending(s), gpu.word(0)), (2, 1));
    assert_eq!(cuStreamSynchronize(s), 0);
    assert_eq!(gpu.word(0), 3);
}

#[test]
fn a_copy_that_waits_in_a_full_queue_holds_up_its_own_thread_only() {
    let gpu = gpu();
    gpu.sim.set_queue_depth(QueueDepth { items: 1, ..QueueDepth::default() });
    let s = stream();
    gpu.sim.hang(s);
    assert_eq!(gpu.inc(s, 0), 0);
    let memory = gpu.memory;
    let copying = thread::spawn(move || {
        let mut word = 0u32;
        let code = cuMemcpyDtoHAsync_v2(&raw mut word as u64, memory, 4, s);
        (code, word)
    });
    while gpu.sim.pending(s) < 2 {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(cuStreamQuery(s), 600, "a call of this thread returns");
    assert!(!copying.is_finished());
    gpu.sim.release(s);
    assert_eq!(copying.join().expect("the copying thread"), (0, 1));
}

#[test]
fn a_call_that_makes_room_reports_the_device_fault_that_it_meets() {
    let gpu = gpu();
    gpu.sim.set_queue_depth(QueueDepth { items: 1, ..QueueDepth::default() });
    let s = stream();
    let id = gpu.sim.inject_work(WorkFault::kernel().nth(2).code(719));
    assert_eq!((gpu.inc(s, 0), gpu.inc(s, 0)), (0, 0));
    assert_eq!(gpu.inc(s, 0), 719);
    assert_eq!((gpu.sim.struck(id), gpu.sim.pending(s)), (1, 0));
}
