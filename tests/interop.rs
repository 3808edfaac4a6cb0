//! cudarc's own objects, taken and lent.

mod common;

use common::{Rig, on_device, on_devices};
use dacapo::cudarc::driver::{CudaContext, CudaSlice};
use dacapo::{Buffer, Device, Enqueue, Error, Misuse, Rejected, ThreadLocal};

fn misuse<T>(result: Result<T, Error>) -> Misuse {
    match result {
        Err(Error::Misuse(misuse)) => misuse,
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("no error"),
    }
}

fn rejected<T, U>(result: Result<T, Rejected<U>>) -> (U, Misuse) {
    let Err(rejected) = result else { panic!("not rejected") };
    let (given, error) = rejected.into_parts();
    (given, misuse::<()>(Err(error)))
}

/// Adopts a slice that is idle.
fn adopt(rig: &Rig, slice: CudaSlice<u32>) -> Result<Buffer<u32>, Rejected<CudaSlice<u32>>> {
    // SAFETY: the tests enqueue nothing on it elsewhere, and no graph names it.
    unsafe { rig.device.adopt_slice(slice) }
}

#[test]
fn a_device_has_a_name_and_a_capability() {
    on_device(|rig| {
        assert!(!rig.device.name().is_empty());
        assert!(rig.device.driver_version().unwrap() >= 12000);
        assert!(rig.device.compute_capability().unwrap() >= (7, 0));
        assert!(Device::count().unwrap() > rig.device.ordinal());
        assert!(format!("{:?}", rig.device).contains(rig.device.name()));
    });
}

#[test]
fn tracking_is_refused_and_its_absence_taken() {
    on_device(|rig| {
        let context = CudaContext::new(rig.device.ordinal()).unwrap();
        assert!(context.is_event_tracking(), "on by default in cudarc");
        assert_eq!(misuse(Device::adopt(context.clone())), Misuse::EventTracking);
        // SAFETY: nothing has been allocated in this context object.
        unsafe { context.disable_event_tracking() };
        let device = Device::adopt(context.clone()).unwrap();
        // SAFETY: compared only.
        assert!(std::sync::Arc::ptr_eq(unsafe { device.context() }, &context));
        let mut stream = device.stream().unwrap();
        let buffer = stream.alloc::<u32>(1).unwrap();

        // SAFETY: the slices of this context object are all gone before they are used again.
        unsafe { context.enable_event_tracking() };
        assert_eq!(misuse(device.stream()), Misuse::EventTracking);
        let (stream, found) = rejected(stream.begin(ThreadLocal));
        assert_eq!(found, Misuse::EventTracking, "turned on behind our back");
        // SAFETY: as above.
        unsafe { context.disable_event_tracking() };
        drop(stream.capture(ThreadLocal, |c| c.fill(&buffer, 1)).unwrap());
    });
}

#[test]
fn default_streams_are_refused() {
    on_device(|rig| {
        for stream in [rig.context().default_stream(), rig.context().per_thread_stream()] {
            // SAFETY: refused.
            let (given, found) = rejected(unsafe { rig.device.adopt_stream(stream.clone()) });
            assert_eq!(found, Misuse::DefaultStream);
            assert!(std::sync::Arc::ptr_eq(&given, &stream), "the stream comes back");
        }
    });
}

#[test]
fn a_stream_is_adopted_once_at_a_time() {
    on_device(|rig| {
        let own = rig.context().new_stream().unwrap();
        // SAFETY: nobody captures or enqueues on it meanwhile.
        let adopt = || unsafe { rig.device.adopt_stream(own.clone()) };
        let first = adopt().unwrap();
        assert_eq!(rejected(adopt()).1, Misuse::StreamInUse);
        drop(first);
        let mut again = adopt().expect("free again");
        let buffer = again.alloc::<u32>(1).unwrap();
        let published = again.capture(ThreadLocal, |c| c.fill(&buffer, 1)).unwrap().publish().unwrap();
        let stale = published.replayer();
        drop(published);
        drop(adopt().expect("a stale replayer does not hold the stream"));
        assert!(stale.replay().is_err());
    });
}

#[test]
fn a_stream_of_another_context_object_is_refused() {
    on_device(|rig| {
        let context = CudaContext::new(rig.device.ordinal()).unwrap();
        let stream = context.new_stream().unwrap();
        // SAFETY: refused.
        let (_, found) = rejected(unsafe { rig.device.adopt_stream(stream) });
        assert!(matches!(found, Misuse::WrongContext { .. }), "{found}");
    });
}

#[test]
fn a_capture_of_the_engine_s_own_is_found_out() {
    on_device(|rig| {
        let own = rig.context().new_stream().unwrap();
        // SAFETY: against the rules, to see what happens.
        let stream = unsafe { rig.device.adopt_stream(own.clone()) }.unwrap();
        let relaxed = dacapo::cudarc::driver::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        own.begin_capture(relaxed).unwrap();
        let (stream, found) = rejected(stream.begin(ThreadLocal));
        assert_eq!(found, Misuse::AlreadyCapturing);
        let flags = dacapo::cudarc::driver::sys::CUgraphInstantiate_flags(0);
        drop(own.end_capture(flags).unwrap());
        drop(stream.begin(ThreadLocal).expect("free again"));
    });
}

#[test]
fn a_slice_is_adopted_without_copying() {
    on_device(|rig| {
        let own = rig.context().new_stream().unwrap();
        let slice = own.clone_htod(&[1u32, 2, 3]).unwrap();
        let address = dacapo::cudarc::driver::DevicePtr::device_ptr(&slice, &own).0;
        let buffer = adopt(rig, slice).unwrap();
        drop(own);
        assert_eq!((buffer.device_ptr(), buffer.len()), (address, 3));
        let mut stream = rig.stream();
        assert_eq!(stream.read(&buffer).unwrap(), [1, 2, 3]);
        let mut published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 5)).unwrap().publish().unwrap();
        published.replay().unwrap();
        assert_eq!(published.read(&buffer).unwrap(), [5, 5, 5]);
    });
}

#[test]
fn a_slice_that_cannot_be_adopted_comes_back() {
    on_device(|rig| {
        let own = rig.context().new_stream().unwrap();
        // SAFETY: no memory for no elements; leaked below, so nothing is freed.
        let empty = unsafe { own.upgrade_device_ptr::<u32>(0, 0) };
        let (empty, found) = rejected(adopt(rig, empty));
        assert_eq!((empty.len(), found), (0, Misuse::ZeroLength));
        empty.leak();

        let slice = own.alloc_zeros::<u32>(4).unwrap();
        own.synchronize().unwrap();
        let relaxed = dacapo::cudarc::driver::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        own.begin_capture(relaxed).unwrap();
        let (slice, found) = rejected(adopt(rig, slice));
        assert_eq!(found, Misuse::AlreadyCapturing);
        drop(own.end_capture(dacapo::cudarc::driver::sys::CUgraphInstantiate_flags(0)).unwrap());

        let tracking = CudaContext::new(rig.device.ordinal()).unwrap();
        let tracked = tracking.default_stream().alloc_zeros::<u32>(4).unwrap();
        assert_eq!(rejected(adopt(rig, tracked)).1, Misuse::EventTracking);
        assert_eq!(adopt(rig, slice).unwrap().len(), 4);
    });
}

#[test]
fn memory_and_kernels_of_another_device_are_refused() {
    on_devices(2, |rigs| {
        let (mut here, mut there) = (rigs[0].stream(), rigs[1].stream());
        let (ours, theirs) = (here.alloc::<u32>(1).unwrap(), there.alloc::<u32>(1).unwrap());
        let wrong = |result| matches!(misuse(result), Misuse::WrongContext { .. });
        assert!(wrong(here.copy(&ours, &theirs)));
        assert!(wrong(here.copy(&theirs, &ours)));
        assert!(wrong(here.fill(&theirs, 1)));
        assert!(wrong(here.write(&[1], &theirs)));
        assert!(wrong(here.read(&theirs).map(drop)));
        let pinned = rigs[0].device.pinned::<u32>(1).unwrap();
        assert!(wrong(here.upload(&pinned, &theirs)));
        assert!(wrong(here.download(&theirs, &pinned)));
        let kernel = rigs[1].kernel("increment_u32");
        // SAFETY: refused.
        assert!(wrong(unsafe { here.launch(&kernel, dacapo::LaunchConfig::new(1, 1), (&ours,)) }));
        there.upload(&pinned, &theirs).expect("pinned memory is for every device");
        there.synchronize().unwrap();
        let slice = rigs[1].context().default_stream().alloc_zeros::<u32>(1).unwrap();
        assert!(matches!(rejected(adopt(&rigs[0], slice)).1, Misuse::WrongContext { .. }));
    });
}
