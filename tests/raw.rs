//! The raw path: an engine's step over cudarc, captured as it is.

mod common;

use std::sync::Arc;

use common::on_device;
use dacapo::cudarc::driver::{CudaSlice, CudaStream, DriverError, sys};
use dacapo::{CapturePolicy, CaptureStatus, DriverCode, Enqueue, Error, MemoryNodes, NodeKind, Refusal, ThreadLocal};

/// An engine: its slices, and its step as a function over its stream.
struct Engine {
    from: CudaSlice<u32>,
    to: CudaSlice<u32>,
}

impl Engine {
    fn new(stream: &Arc<CudaStream>) -> Self {
        let from = stream.clone_htod(&[1u32, 2, 3, 4]).unwrap();
        let to = stream.alloc_zeros(4).unwrap();
        stream.synchronize().unwrap();
        Self { from, to }
    }

    fn step(&mut self, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
        stream.memcpy_dtod(&self.from, &mut self.to)
    }
}

#[test]
fn an_engine_s_step_is_captured_as_it_is() {
    on_device(|rig| {
        let own = rig.context().new_stream().unwrap();
        let mut engine = Engine::new(&own);
        // SAFETY: nobody else uses the stream while it captures.
        let stream = unsafe { rig.device.adopt_stream(own.clone()) }.unwrap();
        // SAFETY: the engine outlives the graph.
        let captured = stream.capture(ThreadLocal, |c| unsafe { c.raw(|stream| engine.step(stream)) }).unwrap();
        let published = captured.publish().unwrap();
        published.replay().unwrap();
        drop(published.reset().unwrap());
        assert_eq!(own.clone_dtoh(&engine.to).unwrap(), [1, 2, 3, 4]);
        drop(engine);
        own.synchronize().unwrap();
    });
}

#[test]
fn retain_keeps_an_engine_s_slices() {
    on_device(|rig| {
        let own = rig.context().new_stream().unwrap();
        let mut engine = Engine::new(&own);
        let mut stream = rig.stream();
        let (output, address) = (stream.alloc::<u32>(4).unwrap(), engine.to.num_bytes());
        let captured = stream.capture(ThreadLocal, |c| {
            // SAFETY: the engine's slices are retained below.
            unsafe { c.raw(|stream| engine.step(stream)) }?;
            let to = dacapo::cudarc::driver::DevicePtr::device_ptr(&engine.to, &own).0;
            let from = output.device_ptr();
            c.retain(output.clone());
            c.retain(engine);
            // SAFETY: both are retained.
            unsafe {
                c.raw(|stream| dacapo::cudarc::driver::result::memcpy_dtod_async(from, to, address, stream.cu_stream()))
            }
        });
        let mut published = captured.unwrap().publish().unwrap();
        for _ in 0..10 {
            published.replay().unwrap();
        }
        assert_eq!(published.read(&output).unwrap(), [1, 2, 3, 4]);
        drop(published);
        own.synchronize().unwrap();
    });
}

#[test]
fn raw_work_runs_eagerly_too() {
    on_device(|rig| {
        let own = rig.context().new_stream().unwrap();
        let mut engine = Engine::new(&own);
        let mut stream = rig.stream();
        // SAFETY: the engine outlives the work, which is drained below.
        unsafe { stream.raw(|stream| engine.step(stream)) }.unwrap();
        stream.synchronize().unwrap();
        assert_eq!(own.clone_dtoh(&engine.to).unwrap(), [1, 2, 3, 4]);
        drop(engine);
        own.synchronize().unwrap();
    });
}

#[test]
fn a_slice_dropped_in_the_body_is_reported() {
    on_device(|rig| {
        let own = rig.context().new_stream().unwrap();
        // SAFETY: nobody else uses the stream while it captures.
        let mut stream = unsafe { rig.device.adopt_stream(own.clone()) }.unwrap();
        let buffer = stream.alloc::<u32>(4).unwrap();
        let slice = own.alloc_zeros::<u32>(4).unwrap();
        let address = slice.num_bytes();
        let leaked = dacapo::cudarc::driver::DevicePtr::device_ptr(&slice, &own).0;
        assert_eq!(address, 16);
        let rejected = stream.capture(ThreadLocal, |c| {
            c.fill(&buffer, 1)?;
            drop(slice); // cuMemFreeAsync on the capturing stream: refused, parked, and the memory leaks
            Ok(())
        });
        let (stream, error) = rejected.unwrap_err().into_parts();
        let Error::Capture(failure) = &error else { panic!("{error}") };
        assert_eq!(failure.parked.unwrap().error.code, DriverCode::INVALID_VALUE);
        assert!(failure.body.is_none() && failure.end.is_none());
        assert!(error.to_string().contains("an earlier drop failed"), "{error}");
        assert_eq!(stream.capture_status().unwrap(), CaptureStatus::None);
        // SAFETY: cudarc has given the memory up, so nobody frees it but this.
        unsafe { dacapo::cudarc::driver::result::free_async(leaked, own.cu_stream()) }.unwrap();
        drop(stream.capture(ThreadLocal, |c| c.fill(&buffer, 1)).expect("a report clears it"));
    });
}

#[test]
fn an_error_parked_before_a_capture_is_reported_once_and_the_stream_goes_on() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(4).unwrap();
        rig.context().record_err::<()>(Err(DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE)));
        let (stream, error) = stream.capture(ThreadLocal, |c| c.fill(&buffer, 1)).unwrap_err().into_parts();
        assert_eq!(error.to_string(), "an earlier drop failed: a call through cudarc: CUDA_ERROR_INVALID_VALUE (1)",);
        assert!(matches!(error, Error::Parked(_)));
        drop(stream.capture(ThreadLocal, |c| c.fill(&buffer, 1)).expect("a report clears it"));
    });
}

/// Allocates and frees in the body: one allocation node, one free node.
fn alloc_in_the_body(stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    let mut slice = stream.alloc_zeros::<u32>(4)?;
    stream.memset_zeros(&mut slice)
}

#[test]
fn memory_nodes_are_refused() {
    on_device(|rig| {
        let stream = rig.stream();
        // SAFETY: the slice is freed by the graph itself, after its last use.
        let rejected = stream.capture(ThreadLocal, |c| unsafe { c.raw(alloc_in_the_body) });
        let (stream, error) = rejected.unwrap_err().into_parts();
        assert!(matches!(error, Error::Refused(Refusal::MemoryNodes { allocations: 1, frees: 1 })), "{error}");
        assert_eq!(stream.capture_status().unwrap(), CaptureStatus::None);
    });
}

#[test]
fn memory_nodes_are_taken_if_the_policy_says_so() {
    on_device(|rig| {
        for memory_nodes in [MemoryNodes::Allow, MemoryNodes::AutoFree] {
            let stream = rig.stream().with_policy(CapturePolicy::new().memory_nodes(memory_nodes));
            // SAFETY: the slice is freed by the graph itself, after its last use.
            let captured = stream.capture(ThreadLocal, |c| unsafe { c.raw(alloc_in_the_body) }).unwrap();
            assert_eq!(captured.census().count(NodeKind::MemAlloc), 1);
            let published = captured.publish().unwrap();
            published.replay().unwrap();
            published.replay().unwrap();
            drop(published.reset().unwrap());
        }
    });
}

#[test]
fn an_unjoined_fork_is_named() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(4).unwrap();
        let other = rig.context().new_stream().unwrap();
        let rejected = stream.capture(ThreadLocal, |c| {
            c.fill(&buffer, 1)?;
            // SAFETY: what is enqueued on the fork is on a buffer that outlives the capture.
            unsafe {
                c.raw(|stream| {
                    other.join(stream)?;
                    dacapo::cudarc::driver::result::memset_d8_async(buffer.device_ptr(), 1, 4, other.cu_stream())
                })
            }
        });
        let (stream, error) = rejected.unwrap_err().into_parts();
        assert!(error.to_string().contains("drawn into the capture and not joined"), "{error}");
        let Error::Capture(failure) = &error else { panic!("{error}") };
        assert_eq!(failure.end.unwrap().code, DriverCode::STREAM_CAPTURE_UNJOINED);
        other.synchronize().expect("the fork is usable again");
        drop(stream.capture(ThreadLocal, |c| c.fill(&buffer, 1)).expect("and so is the stream"));
    });
}

#[test]
fn a_joined_fork_is_captured() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (a, b) = (stream.alloc::<u8>(4).unwrap(), stream.alloc::<u8>(4).unwrap());
        let other = rig.context().new_stream().unwrap();
        let captured = stream.capture(ThreadLocal, |c| {
            c.fill(&a, 1)?;
            c.retain(b.clone());
            // SAFETY: `b` is retained.
            unsafe {
                c.raw(|stream| {
                    other.join(stream)?;
                    dacapo::cudarc::driver::result::memset_d8_async(b.device_ptr(), 2, 4, other.cu_stream())?;
                    stream.join(&other)
                })
            }
        });
        let mut published = captured.unwrap().publish().unwrap();
        assert_eq!(published.census().to_string(), "memset ×2");
        published.replay().unwrap();
        assert_eq!((published.read(&a).unwrap(), published.read(&b).unwrap()), (vec![1; 4], vec![2; 4]));
    });
}

#[test]
fn other_code_that_ends_our_capture_is_found_out() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(4).unwrap();
        let rejected = stream.capture(ThreadLocal, |c| {
            c.fill(&buffer, 1)?;
            // SAFETY: against the rules, to see what happens: the graph is destroyed at once.
            unsafe {
                c.raw(|stream| {
                    let graph = dacapo::cudarc::driver::result::stream::end_capture(stream.cu_stream())?;
                    dacapo::cudarc::driver::result::graph::destroy(graph)
                })
            }
        });
        let (stream, error) = rejected.unwrap_err().into_parts();
        let Error::Capture(failure) = &error else { panic!("{error}") };
        assert_eq!(failure.end.unwrap().code, DriverCode::ILLEGAL_STATE);
        assert!(error.to_string().contains("other code ended it"), "{error}");
        drop(stream.capture(ThreadLocal, |c| c.fill(&buffer, 1)).expect("the stream is usable"));
    });
}
