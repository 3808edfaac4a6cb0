//! cudarc, unchanged, on the simulated driver: its safe API from allocation to replay.

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUresult, CUstreamCaptureMode, CUstreamCaptureStatus};
use cudarc::driver::{CudaContext, DriverError, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use dacapo_sim::{SimDevice, Violation};

const BASIC: &str = include_str!("../../kernels/basic.ptx");
const THREAD_LOCAL: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
const ONE: LaunchConfig = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
const NO_FLAGS: CUgraphInstantiate_flags = CUgraphInstantiate_flags(0);

fn sim(ordinal: u32) -> SimDevice {
    dacapo_sim::install().expect("no other driver is here").device(ordinal)
}

#[test]
fn copies_and_kernels_compute() {
    let device = sim(0);
    let ctx = CudaContext::new(0).expect("device 0");
    let stream = ctx.new_stream().expect("a stream");
    let module = ctx.load_module(Ptx::from_src(BASIC)).expect("the module");
    let add = module.load_function("add_f32").expect("the kernel");
    let a = stream.clone_htod(&[1.0f32, 2.0, 3.0]).expect("upload");
    let b = stream.clone_htod(&[10.0f32, 20.0, 30.0]).expect("upload");
    let mut out = stream.alloc_zeros::<f32>(3).expect("memory");
    let n = 3u32;
    let mut launch = stream.launch_builder(&add);
    launch.arg(&a).arg(&b).arg(&mut out).arg(&n);
    // SAFETY: the kernel takes three arrays of `n` elements and `n`.
    unsafe { launch.launch(LaunchConfig::for_num_elems(n)) }.expect("launch");
    assert_eq!(stream.clone_dtoh(&out).expect("download"), [11.0, 22.0, 33.0]);
    drop((a, b, out, add, module));
    stream.synchronize().expect("drain");
    drop((stream, ctx));
    assert!(device.live().is_empty(), "left over:\n{}", device.live());
    assert_eq!(device.violations(), []);
}

#[test]
fn a_captured_graph_replays() {
    let device = sim(1);
    let ctx = CudaContext::new(1).expect("device 1");
    // SAFETY: one stream only, so nothing depends on cudarc's events.
    unsafe { ctx.disable_event_tracking() };
    let stream = ctx.new_stream().expect("a stream");
    let module = ctx.load_module(Ptx::from_src(BASIC)).expect("the module");
    let increment = module.load_function("increment_u32").expect("the kernel");
    let mut counter = stream.alloc_zeros::<u32>(1).expect("memory");
    stream.synchronize().expect("drain");

    stream.begin_capture(THREAD_LOCAL).expect("begin");
    assert_eq!(stream.capture_status(), Ok(CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE));
    for _ in 0..3 {
        let mut launch = stream.launch_builder(&increment);
        launch.arg(&mut counter);
        // SAFETY: the kernel takes one counter.
        unsafe { launch.launch(ONE) }.expect("captured");
    }
    let graph = stream.end_capture(NO_FLAGS).expect("end").expect("a graph");
    assert_eq!(stream.clone_dtoh(&counter).expect("download"), [0], "capturing runs nothing");
    graph.upload().expect("upload");
    for _ in 0..5 {
        graph.launch().expect("launch");
    }
    let raw = stream.cu_stream() as u64;
    assert_eq!(device.pending(raw), 6, "an upload and five launches");
    assert_eq!(stream.clone_dtoh(&counter).expect("download"), [15]);
    assert_eq!(device.pending(raw), 0);
    assert_eq!((device.live().graphs(), device.live().executables()), (1, 1));

    drop((graph, counter, increment, module));
    stream.synchronize().expect("drain");
    drop((stream, ctx));
    assert!(device.live().is_empty(), "left over:\n{}", device.live());
    assert_eq!(device.violations(), []);
}

#[test]
fn a_lost_capture_is_reported_and_the_stream_recovers() {
    let _device = sim(2);
    let ctx = CudaContext::new(2).expect("device 2");
    let stream = ctx.new_stream().expect("a stream");
    let failed = |code| Err(DriverError(code));
    stream.begin_capture(THREAD_LOCAL).expect("begin");
    assert_eq!(stream.synchronize(), failed(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
    let end = stream.end_capture(NO_FLAGS).map(|_| ());
    assert_eq!(end, failed(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));
    let again = stream.end_capture(NO_FLAGS).map(|_| ());
    assert_eq!(again, failed(CUresult::CUDA_ERROR_ILLEGAL_STATE));
    stream.synchronize().expect("the stream is free again");
    let default = ctx.default_stream().begin_capture(THREAD_LOCAL);
    assert_eq!(default, failed(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
}

#[test]
fn a_replay_after_its_buffer_is_gone_is_a_use_after_free() {
    let device = sim(3);
    let ctx = CudaContext::new(3).expect("device 3");
    // SAFETY: one stream only.
    unsafe { ctx.disable_event_tracking() };
    let stream = ctx.new_stream().expect("a stream");
    let mut buffer = stream.alloc_zeros::<u32>(16).expect("memory");
    stream.synchronize().expect("drain");
    stream.begin_capture(THREAD_LOCAL).expect("begin");
    stream.memset_zeros(&mut buffer).expect("captured");
    let graph = stream.end_capture(NO_FLAGS).expect("end").expect("a graph");
    drop(buffer);
    graph.launch().expect("the launch itself is fine");
    let fault = stream.synchronize();
    assert_eq!(fault, Err(DriverError(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS)));
    let violations = device.take_violations();
    let [Violation::UseAfterFree { freed, used, .. }] = violations.as_slice() else {
        panic!("one use after free, not {violations:?}");
    };
    assert_eq!((freed.name, used.name), ("cuMemFreeAsync", "cuGraphLaunch"));
    assert!(freed.call < used.call);
    assert_eq!(stream.synchronize(), Err(DriverError(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS)), "the fault sticks");
    device.reset();
    assert!(device.live().is_empty());
}

#[test]
fn an_unsupported_kernel_is_refused_when_it_is_loaded() {
    let device = sim(4);
    let ctx = CudaContext::new(4).expect("device 4");
    let text = ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\n    frobnicate.u32 1;\n}\n";
    let error = ctx.load_module(Ptx::from_src(text)).map(|_| ());
    assert_eq!(error, Err(DriverError(CUresult::CUDA_ERROR_INVALID_PTX)));
    let calls = device.calls();
    let load = calls.iter().find(|call| call.name == "cuModuleLoadData").expect("logged");
    let detail = load.detail.as_deref().expect("a reason");
    assert!(detail.contains("line 6") && detail.contains("frobnicate"), "{detail}");
}
