//! Managed memory: one address for host and device.

use std::sync::Arc;

use cudarc::driver::sys::{CUdevice_attribute, CUmemAttach_flags as Attach, CUpointer_attribute, CUresult};
use cudarc::driver::{CudaContext, CudaStream, DriverError, LaunchConfig, PushKernelArg, UnifiedSlice, result, sys};
use cudarc::nvrtc::Ptx;
use dacapo_sim::{SimDevice, Violation};

const BASIC: &str = include_str!("../../kernels/basic.ptx");
const INVALID: Result<(), DriverError> = Err(DriverError(CUresult::CUDA_ERROR_INVALID_VALUE));

fn start(ordinal: u32) -> (SimDevice, Arc<CudaContext>, Arc<CudaStream>) {
    let device = dacapo_sim::install().expect("no other driver is here").device(ordinal);
    let ctx = CudaContext::new(ordinal as usize).expect("the device");
    // SAFETY: these tests order their work themselves.
    unsafe { ctx.disable_event_tracking() };
    let stream = ctx.new_stream().expect("a stream");
    (device, ctx, stream)
}

fn managed(ctx: &Arc<CudaContext>, len: usize) -> UnifiedSlice<u32> {
    // SAFETY: any bits are a `u32`.
    unsafe { ctx.alloc_unified::<u32>(len, true) }.expect("managed memory")
}

/// The device address.
fn address(slice: &UnifiedSlice<u32>) -> u64 {
    slice.as_slice().expect("nobody works on it").as_ptr() as u64
}

#[test]
fn host_and_kernels_see_the_same_bytes() {
    let (device, ctx, stream) = start(0);
    let module = ctx.load_module(Ptx::from_src(BASIC)).expect("the module");
    let increment = module.load_function("increment_u32").expect("the kernel");
    let mut counter = managed(&ctx, 1);
    assert_eq!((device.live().allocations(), device.live().pinned()), (1, 0));
    counter.as_mut_slice().expect("idle")[0] = 40;
    counter.attach(&stream, Attach::CU_MEM_ATTACH_SINGLE).expect("attached");
    for _ in 0..2 {
        let mut launch = stream.launch_builder(&increment);
        launch.arg(&mut counter);
        // SAFETY: the kernel takes one counter.
        unsafe { launch.launch(LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 }) }
            .expect("launch");
    }
    stream.synchronize().expect("drained");
    assert_eq!(counter.as_slice().expect("idle"), [42]);
    assert_eq!(stream.clone_dtoh(&counter).expect("download"), [42]);
    stream.memset_zeros(&mut counter).expect("a fill");
    stream.synchronize().expect("drained");
    assert_eq!(counter.as_slice().expect("idle"), [0]);
    drop((counter, increment, module, stream, ctx));
    assert!(device.live().is_empty(), "left over:\n{}", device.live());
    assert_eq!(device.violations(), []);
}

#[test]
fn its_pointer_is_known_as_managed_and_freed_as_device_memory() {
    let (_device, ctx, _stream) = start(1);
    let supported = ctx.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
    assert_eq!(supported, Ok(1));
    let slice = managed(&ctx, 4);
    let ask = |attribute| {
        let mut word = 0u64;
        // SAFETY: a word has room for every attribute that is asked for.
        unsafe { sys::cuPointerGetAttribute((&raw mut word).cast(), attribute, address(&slice) + 4) }
            .result()
            .map(|()| word)
    };
    assert_eq!(ask(CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED), Ok(1));
    assert_eq!(ask(CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE), Ok(2));
    assert_eq!(ask(CUpointer_attribute::CU_POINTER_ATTRIBUTE_HOST_POINTER), Ok(address(&slice) + 4));
    // SAFETY: the call is refused; managed memory is not freed as host memory is.
    assert_eq!(unsafe { result::free_host(address(&slice) as *mut _) }, INVALID);
    let plain = address(&slice);
    drop(slice);
    // SAFETY: the call is refused; nothing is there any more.
    assert_eq!(unsafe { result::free_sync(plain) }, INVALID);
}

#[test]
fn attaching_and_prefetching_are_checked_and_lose_a_capture() {
    use cudarc::driver::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    let (_device, ctx, stream) = start(2);
    let slice = managed(&ctx, 16);
    let at = address(&slice);
    let attach = |stream: &CudaStream, bytes, flags: u32| {
        // SAFETY: the memory lives as long as the stream has work.
        unsafe { sys::cuStreamAttachMemAsync(stream.cu_stream(), at, bytes, flags) }.result()
    };
    let prefetch = |bytes, device| {
        // SAFETY: as above.
        unsafe { sys::cuMemPrefetchAsync(at, bytes, device, stream.cu_stream()) }.result()
    };
    assert_eq!(attach(&stream, 0, 1), Ok(()));
    assert_eq!(attach(&stream, 64, 4), Ok(()));
    assert_eq!(attach(&stream, 60, 1), INVALID, "part of an allocation");
    assert_eq!(attach(&stream, 0, 3), INVALID, "two places at once");
    assert_eq!(attach(&ctx.default_stream(), 0, 4), INVALID, "the default stream is no single stream");
    assert_eq!(prefetch(32, 2), Ok(()));
    assert_eq!(prefetch(64, -1), Ok(()));
    assert_eq!(prefetch(65, 2), INVALID);
    assert_eq!(prefetch(64, 99), Err(DriverError(CUresult::CUDA_ERROR_INVALID_DEVICE)));
    stream.synchronize().expect("drained");
    stream.begin_capture(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).expect("begin");
    let unsupported = Err(DriverError(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
    assert_eq!(prefetch(64, 2), unsupported);
    let end = stream.end_capture(cudarc::driver::sys::CUgraphInstantiate_flags(0)).map(|_| ());
    assert_eq!(end, Err(DriverError(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)));
    stream.begin_capture(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).expect("begin");
    // SAFETY: the call is refused.
    let alloc = unsafe { result::malloc_managed(64, Attach::CU_MEM_ATTACH_GLOBAL) };
    assert_eq!(alloc.map(|_| ()), unsupported);
    let end = stream.end_capture(cudarc::driver::sys::CUgraphInstantiate_flags(0)).map(|_| ());
    assert_eq!(end, Err(DriverError(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)));
}

#[test]
fn freeing_waits_for_its_users_and_says_so() {
    let (device, ctx, stream) = start(3);
    let slice = managed(&ctx, 4);
    let at = address(&slice);
    // SAFETY: the fill stays within the memory, which freeing keeps until it is done.
    unsafe { result::memset_d8_async(at, 1, 16, stream.cu_stream()) }.expect("a fill");
    assert_eq!(device.pending_total(), 1);
    drop(slice);
    assert_eq!(device.pending_total(), 0);
    stream.synchronize().expect("no fault");
    let violations = device.take_violations();
    let [Violation::FreedWhileInUse { block, freed, used }] = violations.as_slice() else { panic!("{violations:?}") };
    assert_eq!((block.address, freed.name, used.name), (at, "cuMemFree_v2", "cuMemsetD8Async"));
}
