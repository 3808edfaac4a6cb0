//! Calls and work that are made to fail: which ones, with what left behind, and how a test knows that it happened.

mod common;

use std::ffi::CString;
use std::sync::LazyLock;
use std::thread;

use common::*;
use dacapo_sim::{Code, Fault, WorkFault};

static TEXT: LazyLock<CString> = LazyLock::new(|| CString::new(KERNELS).expect("no NUL"));

fn alloc(bytes: usize) -> (u32, u64) {
    out(|a| cuMemAlloc_v2(a, bytes))
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
fn a_fault_knows_how_often_it_has_struck() {
    let gpu = gpu();
    let id = gpu.sim.inject(Fault::on("cuMemAlloc").nth(2).every().code(2));
    assert_eq!(alloc(16).0, 0);
    assert_eq!(gpu.sim.struck(id), 0);
    assert_eq!((alloc(16), alloc(16)), ((2, 0), (2, 0)));
    assert_eq!(gpu.sim.struck(id), 2);
    assert!(gpu.sim.remove_fault(id));
    assert_eq!(alloc(16).0, 0);
    assert_eq!(gpu.sim.struck(id), 2, "a removed fault is remembered");
    let once = gpu.sim.inject(Fault::on("cuCtxSynchronize").code(999));
    let never = gpu.sim.inject(Fault::on("cuLinkCreate").code(999));
    assert_eq!((cuCtxSynchronize(), cuCtxSynchronize()), (999, 0));
    gpu.sim.clear_faults();
    assert_eq!((gpu.sim.struck(once), gpu.sim.struck(never)), (1, 0));
    assert!(!gpu.sim.remove_fault(once));
}

#[test]
#[should_panic(expected = "the fault was injected here since the last reset")]
fn a_fault_of_another_device_is_no_fault_of_this_one() {
    let [a, b] = gpus();
    let id = a.sim.inject(Fault::on("cuMemAlloc"));
    assert_eq!(a.sim.struck(id), 0);
    assert_eq!(b.sim.struck(id), 0);
}

#[test]
#[should_panic(expected = "no driver function that can be made to fail has the name \"cuGraphLunch\"")]
fn a_misspelt_name_is_refused_where_it_is_written() {
    gpu().sim.inject(Fault::on("cuGraphLunch"));
}

#[test]
fn a_call_that_concerns_no_device_is_the_simulators() {
    let sim = dacapo_sim::install().expect("no other driver is here");
    let me = sim.this_thread();
    let own = || thread::spawn(|| cuDriverGetVersion(&mut 0)).join().expect("a thread without a context");
    let id = sim.inject(Fault::on("cuDriverGetVersion").code(34));
    assert_eq!(own(), 34);
    assert_eq!((own(), sim.struck(id)), (0, 1));
    let mine = sim.inject(Fault::on("cuDriverGetVersion").on_thread(me).every().code(34));
    assert_eq!((own(), sim.struck(mine)), (0, 0));
    assert!(sim.remove_fault(mine));
}

#[test]
fn a_fault_may_be_bound_to_the_stream_that_a_call_names() {
    let gpu = gpu();
    let (s, t) = (stream(), stream());
    let (e, graph) = (event(), capture(|s| assert_eq!(gpu.inc(s, 0), 0)));
    let exec = instantiate(graph);
    let id = gpu.sim.inject(Fault::on_any().on_stream(s).every().code(46));
    let at = |stream: u64| {
        [
            gpu.inc(stream, 0),
            cuGraphLaunch(exec, stream),
            cuMemsetD32Async(gpu.memory, 1, 4, stream),
            cuMemcpyDtoDAsync_v2(gpu.memory + 64, gpu.memory, 4, stream),
            cuEventRecord(e, stream),
            cuStreamWaitEvent(stream, e, 0),
            cuStreamBeginCapture_v2(stream, RELAXED),
            end(stream).0,
            out(|a| cuMemAllocAsync(a, 16, stream)).0,
            launch_ex(gpu.function("inc"), stream, gpu.memory),
            cuStreamSynchronize(stream),
            cuStreamQuery(stream),
        ]
    };
    assert_eq!(at(t), [0; 12]);
    assert_eq!(gpu.sim.struck(id), 0);
    assert_eq!(at(s), [46; 12]);
    assert_eq!(gpu.sim.struck(id), 12);
    assert_eq!(at(0)[..6], [0; 6]);
    gpu.sim.clear_faults();
    assert_eq!(cuStreamDestroy_v2(s), 0, "nothing was begun on it");

    let id = gpu.sim.inject(Fault::on("cuMemsetD32Async").on_stream(1).nth(2).code(1));
    assert_eq!(cuMemsetD32Async(gpu.memory, 1, 4, t), 0);
    assert_eq!(cuMemsetD32Async(gpu.memory, 1, 4, 0), 0);
    assert_eq!(cuMemsetD32_v2(gpu.memory, 1, 4), 0, "names no stream");
    assert_eq!(cuMemsetD32Async(gpu.memory, 1, 4, 1), 1, "both handles mean the legacy stream");
    assert_eq!(gpu.sim.struck(id), 1);
}

/// `cuLaunchKernelEx` of one thread with one argument.
fn launch_ex(function: u64, stream: u64, argument: u64) -> u32 {
    #[repr(C)]
    struct Config {
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        stream: u64,
        attributes: u64,
        count: u32,
    }
    let config = Config { grid: [1; 3], block: [1; 3], shared: 0, stream, attributes: 0, count: 0 };
    let arguments = [&raw const argument as u64];
    cuLaunchKernelEx(&raw const config as u64, function, arguments.as_ptr(), std::ptr::null())
}

#[test]
fn a_call_that_fails_after_its_work_has_written_its_results() {
    let gpu = gpu();
    let graph = capture(|s| assert_eq!(gpu.inc(s, 0), 0));
    let live = gpu.sim.live().objects().len();
    let mut made = Vec::new();
    for (name, make) in [
        ("cuMemAlloc", (|_, _, p| cuMemAlloc_v2(p, 16)) as fn(&Gpu, u64, *mut u64) -> u32),
        ("cuMemHostAlloc", |_, _, p| cuMemHostAlloc(p, 16, 0)),
        ("cuStreamCreate", |_, _, p| cuStreamCreate(p, 1)),
        ("cuEventCreate", |_, _, p| cuEventCreate(p, 2)),
        ("cuGraphCreate", |_, _, p| cuGraphCreate(p, 0)),
        ("cuGraphInstantiateWithFlags", |_, graph, p| cuGraphInstantiateWithFlags(p, graph, 0)),
        ("cuModuleLoadData", |_, _, p| cuModuleLoadData(p, TEXT.as_ptr())),
    ] {
        let id = gpu.sim.inject(Fault::on(name).code(999).after());
        let (code, handle) = out(|p| make(&gpu, graph, p));
        assert_eq!((code, gpu.sim.struck(id)), (999, 1), "{name}");
        assert_ne!(handle, 0, "{name}");
        assert!(gpu.sim.live().objects().iter().any(|object| object.handle == handle), "{name}");
        made.push(handle);
    }
    assert_eq!(gpu.sim.live().objects().len(), live + made.len());
    let [memory, pinned, stream, event, empty, exec, module] = made[..] else { panic!("seven objects") };
    assert_eq!(gpu.inc(stream, 0), 0, "what was made can be used");
    assert_eq!(cuStreamSynchronize(stream), 0);
    assert_eq!(gpu.word(0), 1);
    let id = gpu.sim.inject(Fault::on("cuGraphExecDestroy").code(999).after());
    let codes = [
        cuMemFree_v2(memory),
        cuMemFreeHost(pinned),
        cuStreamDestroy_v2(stream),
        cuEventDestroy_v2(event),
        cuGraphDestroy(empty),
        cuGraphExecDestroy(exec),
        cuModuleUnload(module),
    ];
    assert_eq!((codes, gpu.sim.struck(id)), ([0, 0, 0, 0, 0, 999, 0], 1));
    assert_eq!(gpu.sim.live().objects().len(), live);
}

#[test]
fn a_fault_after_the_work_leaves_a_call_alone_that_fails_by_itself() {
    let gpu = gpu();
    let id = gpu.sim.inject(Fault::on("cuEventDestroy").every().after().code(999));
    assert_eq!(cuEventDestroy_v2(0xdead), 400);
    assert_eq!(gpu.sim.struck(id), 0);
    assert_eq!(cuEventDestroy_v2(event()), 999);
    assert_eq!(gpu.sim.struck(id), 1);
    let calls = gpu.sim.calls();
    let logged: Vec<Code> =
        calls.iter().filter(|call| call.name == "cuEventDestroy_v2").map(|call| call.result).collect();
    assert_eq!(logged, [Code::INVALID_HANDLE, Code::UNKNOWN], "the log has what the program got");
}

#[test]
fn the_nth_kernel_fails_the_device_when_it_runs() {
    let mut gpu = gpu();
    for code in [214, 220, 700, 714, 715, 716, 717, 718, 719, 721] {
        gpu.renew();
        let s = stream();
        let id = gpu.sim.inject_work(WorkFault::kernel().nth(2).code(code));
        for _ in 0..3 {
            assert_eq!(gpu.inc(s, 0), 0, "the launch is taken");
        }
        assert_eq!(gpu.sim.struck(id), 0);
        assert_eq!(cuStreamSynchronize(s), code);
        assert_eq!(gpu.sim.struck(id), 1);
        assert_eq!(gpu.sim.violations(), [], "not the program's fault");
        let later = [cuStreamSynchronize(s), gpu.inc(s, 0), cuStreamQuery(s), cuCtxSynchronize(), alloc(16).0];
        assert_eq!(later, [code; 5], "it sticks");
        assert_eq!(cuStreamBeginCapture_v2(s, THREAD_LOCAL), code);
        assert_eq!(out(|g| cuGraphCreate(g, 0)).0, 0, "graphs belong to no context");
        gpu.sim.clear_faults();
        assert_eq!(cuCtxSynchronize(), code, "taking the fault away heals nothing");
    }
    gpu.renew();
    assert_eq!(gpu.inc(0, 0), 0);
    assert_eq!(gpu.word(0), 1, "a reset does");
}

#[test]
fn work_fails_instead_of_or_after_what_it_does() {
    let mut gpu = gpu();
    for (fault, expected) in [(WorkFault::fill().code(700), 0), (WorkFault::fill().code_after(700), 7)] {
        gpu.renew();
        let s = stream();
        let pinned = ok(out(|p| cuMemHostAlloc(p, 4, 0)));
        let id = gpu.sim.inject_work(fault);
        assert_eq!(cuMemsetD32Async(pinned, 7, 1, s), 0);
        assert_eq!(cuStreamSynchronize(s), 700);
        // SAFETY: four bytes of the driver's that live until the reset, which nobody else touches now.
        assert_eq!(unsafe { (pinned as *const u32).read_volatile() }, expected);
        assert_eq!(gpu.sim.struck(id), 1);
    }
}

#[test]
fn work_is_counted_by_kind_as_it_runs() {
    unsafe extern "C" fn nothing(_: u64) {}
    let mut gpu = gpu();
    let all: [fn() -> WorkFault; 7] = [
        WorkFault::kernel,
        WorkFault::copy,
        WorkFault::fill,
        WorkFault::host_function,
        WorkFault::memory_operation,
        WorkFault::graph,
        WorkFault::any,
    ];
    // Two kernels, three copies, one fill, one host function, one write, and all but the write in a graph that is
    // launched twice.
    let per_graph = [2, 3, 1, 1, 0, 1, 7];
    for (kind, per_graph) in all.into_iter().zip(per_graph) {
        for nth in 1.. {
            gpu.renew();
            let (s, e) = (stream(), event());
            let graph = capture(|s| {
                assert_eq!(gpu.inc(s, 0), 0);
                assert_eq!(cuMemsetD32Async(gpu.memory, 1, 1, s), 0);
                assert_eq!(gpu.inc(s, 0), 0);
                for word in 1..4 {
                    assert_eq!(cuMemcpyDtoDAsync_v2(gpu.memory + 4 * word, gpu.memory, 4, s), 0);
                }
                assert_eq!(cuLaunchHostFunc(s, Some(nothing), 0), 0);
            });
            let exec = instantiate(graph);
            let id = gpu.sim.inject_work(kind().nth(nth).code(719));
            assert_eq!(cuStreamWriteValue32_v2(s, gpu.memory + 64, 5, 0), 0);
            assert_eq!(cuEventRecord(e, s), 0);
            assert_eq!(cuGraphLaunch(exec, s), 0);
            assert_eq!(cuGraphLaunch(exec, s), 0);
            let code = cuStreamSynchronize(s);
            let struck = gpu.sim.struck(id);
            let writes = u64::from(kind() == WorkFault::memory_operation() || kind() == WorkFault::any());
            let there_are = 2 * per_graph + writes;
            assert_eq!((code, struck), if nth <= there_are { (719, 1) } else { (0, 0) }, "{} of {nth}", kind());
            if nth > there_are {
                break;
            }
        }
    }
}

#[test]
fn a_fault_of_a_graph_launch_comes_before_its_nodes_or_after_them() {
    let mut gpu = gpu();
    for (fault, expected) in [(WorkFault::graph().nth(2).code(702), 1), (WorkFault::graph().nth(2).code_after(702), 2)]
    {
        gpu.renew();
        let s = stream();
        let pinned = ok(out(|p| cuMemHostAlloc(p, 4, 0)));
        // SAFETY: four bytes of the driver's that live until the reset; nothing runs meanwhile.
        let word = || unsafe { (pinned as *mut u32).read_volatile() };
        let exec = instantiate(capture(|s| assert_eq!(gpu.launch(s, "inc", &[pinned]), 0)));
        let id = gpu.sim.inject_work(fault);
        for _ in 0..3 {
            assert_eq!(cuGraphLaunch(exec, s), 0);
        }
        assert_eq!(cuStreamSynchronize(s), 702);
        assert_eq!((word(), gpu.sim.struck(id)), (expected, 1));
        assert_eq!(cuGraphLaunch(exec, s), 702);
        assert_eq!(cuGraphExecDestroy(exec), 0, "as on a real device");
    }
}

#[test]
fn work_of_one_stream_may_be_chosen() {
    let gpu = gpu();
    let (s, t) = (stream(), stream());
    let id = gpu.sim.inject_work(WorkFault::any().on_stream(s).code(700));
    assert_eq!((gpu.inc(t, 0), gpu.inc(t, 0)), (0, 0));
    assert_eq!(cuStreamSynchronize(t), 0);
    assert_eq!((gpu.sim.struck(id), gpu.word(0)), (0, 2));
    assert_eq!(gpu.inc(s, 0), 0);
    assert_eq!(cuStreamSynchronize(t), 0, "nobody has waited for the stream");
    assert_eq!(cuStreamSynchronize(s), 700);
    assert_eq!((cuStreamSynchronize(t), gpu.sim.struck(id)), (700, 1), "the device has failed, not the stream");
}

#[test]
#[should_panic(expected = "the handle names a stream of this device")]
fn work_of_a_stream_that_is_not_there_cannot_be_chosen() {
    gpu().sim.inject_work(WorkFault::any().on_stream(0xdead));
}

#[test]
fn coupled_devices_fail_with_the_work_of_one() {
    let [mut a, mut b] = gpus();
    let sim = dacapo_sim::install().expect("installed");
    sim.couple(&[a.sim.ordinal(), b.sim.ordinal()]);
    let id = b.sim.inject_work(WorkFault::copy().code(220));
    b.bind();
    let t = stream();
    assert_eq!(cuMemcpyDtoDAsync_v2(b.memory, b.memory + 64, 4, t), 0);
    assert_eq!(cuStreamSynchronize(t), 220);
    a.bind();
    assert_eq!((cuCtxSynchronize(), alloc(16).0), (220, 220));
    assert_eq!(b.sim.struck(id), 1);
    sim.uncouple();
    b.renew();
    a.renew();
    assert_eq!(a.word(0), 0);
}

#[test]
fn a_graph_over_two_devices_fails_both() {
    let [a, b] = gpus();
    let (s, e) = (stream(), event());
    b.bind();
    let (t, f) = (stream(), event());
    a.bind();
    assert_eq!(cuStreamBeginCapture_v2(s, RELAXED), 0);
    assert_eq!(a.inc(s, 0), 0);
    assert_eq!(cuEventRecord(e, s), 0);
    assert_eq!(cuStreamWaitEvent(t, e, 0), 0);
    assert_eq!(b.inc(t, 0), 0);
    assert_eq!(cuEventRecord(f, t), 0);
    assert_eq!(cuStreamWaitEvent(s, f, 0), 0);
    let exec = instantiate(ok(end(s)));
    let id = b.sim.inject_work(WorkFault::kernel().code(719));
    assert_eq!(cuGraphLaunch(exec, s), 0);
    assert_eq!(cuStreamSynchronize(s), 719, "the launch's own device");
    assert_eq!(b.sim.struck(id), 1);
    b.bind();
    assert_eq!(cuCtxSynchronize(), 719);
}
