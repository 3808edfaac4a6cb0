//! Work that does not end: streams that a test has stopped, kernels that wait for what never comes, and how a wait is
//! given up.

mod common;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use common::*;
use dacapo_sim::{Violation, WorkFault, WorkKind};

/// Long enough that a thread which is going to do something has done it.
const A_WHILE: Duration = Duration::from_millis(50);

/// A wait on a thread of its own; what it returned, and the processor time that it took.
fn waiter(gpu: &Gpu, wait: impl FnOnce() -> u32 + Send + 'static) -> JoinHandle<(u32, Duration)> {
    timed_waiter(gpu, wait).0
}

/// The same, and the processor time of its thread, which may be read while it waits.
fn timed_waiter(gpu: &Gpu, wait: impl FnOnce() -> u32 + Send + 'static) -> (JoinHandle<(u32, Duration)>, CpuTime) {
    let context = gpu.context;
    let (tell, told) = mpsc::channel();
    let waiting = thread::spawn(move || {
        let cpu = CpuTime::of_this_thread();
        tell.send(cpu.clone()).expect("the test listens");
        assert_eq!(cuCtxSetCurrent(context), 0);
        let before = cpu.read();
        (wait(), cpu.read() - before)
    });
    (waiting, told.recv().expect("the thread has told"))
}

/// Where the kernel tells the processor time of a thread.
#[derive(Clone)]
struct CpuTime(PathBuf);

impl CpuTime {
    fn of_this_thread() -> CpuTime {
        let thread = std::fs::read_link("/proc/thread-self").expect("the kernel tells");
        CpuTime(Path::new("/proc").join(thread).join("schedstat"))
    }

    /// What the thread, which still lives, has taken so far.
    fn read(&self) -> Duration {
        let text = std::fs::read_to_string(&self.0).expect("the kernel counts");
        Duration::from_nanos(text.split(' ').next().and_then(|n| n.parse().ok()).expect("a number of nanoseconds"))
    }
}

#[test]
fn every_wait_for_a_hanging_stream_sleeps_until_it_is_released() {
    let gpu = gpu();
    let waits: [fn(u64, u64) -> u32; 4] = [
        |s, _| cuStreamSynchronize(s),
        |_, _| cuCtxSynchronize(),
        |_, e| cuEventSynchronize(e),
        |s, _| {
            // A copy into pageable memory waits.
            let mut word = 0u32;
            let memory = ok(out(|a| cuMemAlloc_v2(a, 4)));
            cuMemcpyDtoHAsync_v2(&raw mut word as u64, memory, 4, s)
        },
    ];
    for (round, wait) in (1..).zip(waits) {
        let (s, e) = (stream(), event());
        gpu.sim.hang(s);
        assert_eq!(gpu.inc(s, 0), 0);
        assert_eq!(cuEventRecord(e, s), 0);
        let waiting = waiter(&gpu, move || wait(s, e));
        thread::sleep(4 * A_WHILE);
        assert!(!waiting.is_finished());
        assert_eq!((cuStreamQuery(s), cuEventQuery(e)), (600, 600));
        assert_eq!(gpu.word(0), round - 1, "other streams go on");
        gpu.sim.release(s);
        let (code, cpu) = waiting.join().expect("the waiting thread");
        assert_eq!(code, 0);
        assert!(cpu < A_WHILE, "the wait took {cpu:?} of a processor");
        assert_eq!(gpu.word(0), round);
        assert_eq!(cuStreamQuery(s), 0);
    }
}

#[test]
fn other_devices_go_on_while_one_hangs() {
    let [a, b] = gpus();
    let s = stream();
    a.sim.hang(s);
    assert_eq!(a.inc(s, 0), 0);
    let waiting = waiter(&a, cuCtxSynchronize);
    b.bind();
    assert_eq!(b.inc(0, 0), 0);
    assert_eq!(cuCtxSynchronize(), 0);
    assert_eq!(b.word(0), 1);
    assert!(!waiting.is_finished());
    a.sim.release_all();
    assert_eq!(waiting.join().expect("the waiting thread").0, 0);
}

#[test]
fn a_wait_for_a_hanging_stream_ends_when_the_device_is_reset_or_its_context_destroyed() {
    let mut gpu = gpu();
    let s = stream();
    gpu.sim.hang(s);
    assert_eq!(gpu.inc(s, 0), 0);
    let waiting = waiter(&gpu, move || cuStreamSynchronize(s));
    thread::sleep(A_WHILE);
    gpu.sim.reset();
    assert_eq!(waiting.join().expect("the waiting thread").0, 0, "there is nothing left to wait for");

    gpu.renew();
    let s = stream();
    gpu.sim.hang(s);
    assert_eq!(gpu.inc(s, 0), 0);
    let waiting = waiter(&gpu, move || cuStreamSynchronize(s));
    thread::sleep(A_WHILE);
    assert_eq!(cuDevicePrimaryCtxRelease_v2(gpu.ordinal), 0, "hanging work is dropped, not waited for");
    assert_eq!(waiting.join().expect("the waiting thread").0, 0);
}

#[test]
fn the_default_streams_hang_by_their_handles() {
    const PER_THREAD: u64 = 2;
    let gpu = gpu();
    assert_eq!(gpu.inc(0, 0), 0);
    assert_eq!(gpu.inc(PER_THREAD, 0), 0);
    for handle in [0, 1, PER_THREAD] {
        assert_eq!(gpu.sim.pending(handle), 1, "{handle}");
        gpu.sim.hang(handle);
    }
    assert_eq!((cuStreamQuery(0), cuStreamQuery(PER_THREAD)), (600, 600));
    gpu.sim.release(1);
    gpu.sim.release(PER_THREAD);
    assert_eq!(cuStreamSynchronize(PER_THREAD), 0);
    assert_eq!(gpu.word(0), 2);
}

#[test]
fn the_nth_work_hangs_until_its_stream_is_released() {
    let gpu = gpu();
    let s = stream();
    let exec = instantiate(capture(|s| {
        assert_eq!(gpu.inc(s, 0), 0);
        assert_eq!(gpu.inc(s, 0), 0);
    }));
    let graph = gpu.sim.inject_work(WorkFault::graph().nth(2).hangs());
    let kernel = gpu.sim.inject_work(WorkFault::kernel().nth(6).hangs());
    for _ in 0..3 {
        assert_eq!(cuGraphLaunch(exec, s), 0);
    }
    let waiting = waiter(&gpu, move || cuStreamSynchronize(s));
    for (fault, pending, done) in [(graph, 2, 2), (kernel, 1, 5)] {
        while gpu.sim.struck(fault) == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(A_WHILE);
        assert!(!waiting.is_finished());
        assert_eq!(cuStreamQuery(s), 600);
        assert_eq!((gpu.sim.pending(s), gpu.word(0)), (pending, done));
        gpu.sim.release(s);
    }
    assert_eq!(waiting.join().expect("the waiting thread").0, 0);
    assert_eq!(gpu.word(0), 6);
}

#[test]
fn a_wait_for_a_kernel_that_spins_in_vain_costs_little_and_locks_nobody_out() {
    let gpu = gpu();
    let flag = ok(out(|p| cuMemHostAlloc(p, 4, 0)));
    let s = stream();
    assert_eq!(gpu.launch(s, "await", &[flag]), 0);
    assert_eq!(gpu.inc(s, 0), 0);
    let (waiting, cpu) = timed_waiter(&gpu, move || cuStreamSynchronize(s));
    thread::sleep(A_WHILE);
    let begin = Instant::now();
    for _ in 0..20 {
        assert_eq!(gpu.word(0), 0, "a blocking copy on another stream");
    }
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    // It takes the simulator some turns to see that the kernel spins, and those are slow where it is not optimised.
    let begin = Instant::now();
    loop {
        let before = cpu.read();
        thread::sleep(10 * A_WHILE);
        let taken = cpu.read() - before;
        if taken < 4 * A_WHILE {
            break;
        }
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "the wait takes {taken:?} of a processor in {:?}",
            10 * A_WHILE
        );
    }
    assert!(!waiting.is_finished());
    assert_eq!(cuStreamQuery(s), 600);
    // SAFETY: the flag is page-locked memory of four bytes, aligned to a page, that lives until the end of the test.
    let word = unsafe { AtomicU32::from_ptr(flag as *mut u32) };
    // SeqCst: what the kernel waits for.
    word.store(1, Ordering::SeqCst);
    let (code, _) = waiting.join().expect("the waiting thread");
    assert_eq!((code, gpu.word(0)), (0, 1));
}

#[test]
fn a_wait_for_a_word_that_nobody_writes_sleeps() {
    let gpu = gpu();
    let s = stream();
    assert_eq!(cuStreamWaitValue32_v2(s, gpu.memory, 3, 1), 0);
    let waiting = waiter(&gpu, move || cuStreamSynchronize(s));
    thread::sleep(6 * A_WHILE);
    assert!(!waiting.is_finished());
    assert_eq!(cuMemsetD32_v2(gpu.memory, 3, 1), 0);
    assert_eq!(cuCtxSynchronize(), 0);
    let (code, cpu) = waiting.join().expect("the waiting thread");
    assert_eq!(code, 0);
    assert!(cpu < 2 * A_WHILE, "the wait took {cpu:?} of a processor");
}

#[test]
fn patience_ends_a_wait_for_a_kernel_that_never_ends() {
    let gpu = gpu();
    let (s, t) = (stream(), stream());
    gpu.sim.set_patience(Some(2 * A_WHILE));
    assert_eq!(gpu.inc(t, 1), 0);
    assert_eq!(cuStreamSynchronize(t), 0, "what ends in time is not concerned");
    assert_eq!(gpu.launch(s, "await", &[gpu.memory]), 0);
    assert_eq!(cuStreamQuery(s), 600, "a query does not wait");
    let begin = Instant::now();
    assert_eq!(cuStreamSynchronize(s), 702);
    assert!(begin.elapsed() >= 2 * A_WHILE);
    assert_eq!((cuCtxSynchronize(), gpu.inc(t, 1)), (702, 702), "as after any device fault");
    let violations = gpu.sim.take_violations();
    let [violation @ Violation::TimedOut { work, waited }] = violations.as_slice() else { panic!("{violations:?}") };
    assert_eq!((work.kind, work.name.as_deref(), work.by.name), (WorkKind::Kernel, Some("await"), "cuLaunchKernel"));
    assert_eq!(waited.name, "cuStreamSynchronize");
    assert!(violation.to_string().starts_with("timed out: call "), "{violation}");
    assert!(violation.to_string().contains("waited in vain for kernel await of call "), "{violation}");
}

#[test]
fn patience_ends_a_wait_for_a_kernel_that_counts_for_ever() {
    let gpu = gpu();
    let text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry count()\n{\n.reg .b64 %a;\n\
                mov.u64 %a, 0;\nAGAIN:\nadd.u64 %a, %a, 1;\nbra AGAIN;\n}\n";
    let count = function(load(text).expect("a kernel"), "count");
    let s = stream();
    gpu.sim.set_patience(Some(2 * A_WHILE));
    assert_eq!(launch(count, s, &[]), 0);
    assert_eq!(cuStreamSynchronize(s), 702);
    let violations = gpu.sim.take_violations();
    assert!(matches!(&violations[..], [Violation::TimedOut { work, .. }] if work.name.as_deref() == Some("count")));
}

#[test]
fn patience_names_the_node_that_a_graph_is_stuck_at_and_the_stream_that_holds_up_another() {
    let mut gpu = gpu();
    let s = stream();
    let exec = instantiate(capture(|s| {
        assert_eq!(gpu.inc(s, 1), 0);
        assert_eq!(gpu.launch(s, "await", &[gpu.memory]), 0);
    }));
    gpu.sim.set_patience(Some(A_WHILE));
    assert_eq!(cuGraphLaunch(exec, s), 0);
    assert_eq!(cuCtxSynchronize(), 702);
    let violations = gpu.sim.take_violations();
    let [Violation::TimedOut { work, .. }] = violations.as_slice() else { panic!("{violations:?}") };
    assert_eq!((work.kind, work.name.as_deref(), work.by.name), (WorkKind::Kernel, Some("await"), "cuGraphLaunch"));

    gpu.renew();
    let (s, t, e) = (stream(), stream(), event());
    gpu.sim.set_patience(Some(A_WHILE));
    gpu.sim.hang(s);
    assert_eq!(cuMemsetD32Async(gpu.memory, 1, 4, s), 0);
    assert_eq!(cuEventRecord(e, s), 0);
    assert_eq!(cuStreamWaitEvent(t, e, 0), 0);
    assert_eq!(gpu.inc(t, 0), 0);
    assert_eq!(cuStreamSynchronize(t), 702);
    let violations = gpu.sim.take_violations();
    let [Violation::TimedOut { work, .. }] = violations.as_slice() else { panic!("{violations:?}") };
    assert_eq!((work.kind, work.by.name), (WorkKind::Fill, "cuMemsetD32Async"), "what hangs, not what waits behind it");
}

#[test]
fn patience_is_not_lost_over_work_that_takes_turns_with_what_gets_done() {
    let gpu = gpu();
    let s = stream();
    // More than a step takes, less than all four take together.
    gpu.sim.set_patience(Some(6 * A_WHILE));
    gpu.sim.hang(s);
    for _ in 0..4 {
        assert_eq!(gpu.inc(s, 0), 0);
    }
    let sim = gpu.sim;
    let (tell, told) = mpsc::channel();
    let stepper = thread::spawn(move || {
        for _ in 0..4 {
            thread::sleep(2 * A_WHILE);
            sim.release(s);
            assert!(sim.step(s) || sim.pending(s) == 0);
            sim.hang(s);
        }
        tell.send(()).expect("the test listens");
        sim.release(s);
    });
    assert_eq!(cuStreamSynchronize(s), 0, "something got done all the while");
    told.recv().expect("the stepping thread has told");
    stepper.join().expect("the stepping thread");
    assert_eq!(gpu.word(0), 4);
}

#[test]
fn a_reset_forgets_patience() {
    let mut gpu = gpu();
    gpu.sim.set_patience(Some(Duration::from_millis(1)));
    gpu.renew();
    let s = stream();
    gpu.sim.hang(s);
    assert_eq!(gpu.inc(s, 0), 0);
    let waiting = waiter(&gpu, move || cuStreamSynchronize(s));
    thread::sleep(A_WHILE);
    assert!(!waiting.is_finished());
    gpu.sim.release(s);
    assert_eq!(waiting.join().expect("the waiting thread").0, 0);
}
