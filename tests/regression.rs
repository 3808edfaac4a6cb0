//! Faults that were found in this crate, each turned into the test that would have found it.

mod common;

use std::sync::{Arc, Mutex};

use common::on_device;
use dacapo::cudarc::driver::{CudaSlice, DriverError, sys};
use dacapo::{CapturePolicy, CaptureStatus, DriverCode, Enqueue, Error, FailStop, Misuse, Relaxed, ThreadLocal};
use dacapo_sim::Fault;

/// A bag with a cudarc slice in it was dropped outside the relaxed thread mode where a graph was refused.
#[test]
fn a_refused_graph_s_bag_does_not_break_another_capture() {
    on_device(|rig| {
        let (mut outer, inner) = (rig.stream(), rig.stream());
        let buffer = outer.alloc::<u32>(4).unwrap();
        let own = rig.context().new_stream().unwrap();
        let slice = own.alloc_zeros::<u32>(4).unwrap();
        own.synchronize().unwrap();
        let captured = outer.capture(ThreadLocal, |c| {
            c.fill(&buffer, 1)?;
            let refused = inner.capture(Relaxed, |i| {
                i.retain(slice);
                Ok(())
            });
            assert!(matches!(refused.unwrap_err().error(), Error::Refused(_)));
            assert_eq!(c.capture_status()?, CaptureStatus::Active);
            Ok(())
        });
        assert_eq!(captured.unwrap().census().nodes(), 1);
        own.synchronize().unwrap();
    });
}

/// A drop whose drain fails said nothing.
#[test]
fn a_failed_drain_in_a_drop_is_reported_later() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults") else { return };
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(4).unwrap();
        let published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 1)).unwrap().publish().unwrap();
        let _ = sim.inject(Fault::on("cuStreamSynchronize").code(999));
        drop(published);
        let error = rig.device.stream().unwrap_err();
        assert_eq!(error.to_string(), "an earlier drop failed: cuStreamSynchronize: CUDA_ERROR_UNKNOWN (999)");
        drop(rig.stream());
        sim.reset();
    });
}

/// Of two parked errors one was cleared unseen.
#[test]
fn two_parked_errors_are_both_reported() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults") else { return };
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(4).unwrap();
        let _ = sim.inject(Fault::on("cuMemFree").code(999).after());
        drop(buffer);
        rig.context().record_err::<()>(Err(DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE)));
        let code = |error: Error| error.code().map(DriverCode::number);
        assert_eq!(code(rig.device.stream().unwrap_err()), Some(999));
        assert_eq!(code(rig.device.stream().unwrap_err()), Some(1));
        drop(rig.stream());
    });
}

/// What `begin` lets go of was blamed on the capture that it begins.
#[test]
fn an_error_parked_by_begin_itself_is_begin_s() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults") else { return };
        let mut stream = rig.stream();
        let (kept, lost) = (stream.alloc::<u32>(4).unwrap(), stream.alloc::<u32>(4).unwrap());
        stream.fill(&lost, 1).unwrap();
        drop(lost);
        let _ = sim.inject(Fault::on("cuMemFree").code(999).after());
        let (stream, error) = stream.begin(ThreadLocal).unwrap_err().into_parts();
        assert!(matches!(error, Error::Parked(_)), "{error}");
        drop(stream.capture(ThreadLocal, |c| c.fill(&kept, 1)).expect("and not the next capture's"));
    });
}

/// `retain` dropped its value when the crowded bag could not be drained, while raw work on it was pending.
#[test]
fn retain_keeps_its_value_whatever_happens() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults") else { return };
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(4).unwrap();
        for number in 0..2000u32 {
            stream.retain(number);
        }
        let _ = sim.inject(Fault::on("cuStreamSynchronize").code(999));
        let code = stream.fill(&buffer, 1).unwrap_err().code();
        assert_eq!(code.map(DriverCode::number), Some(999), "no room is made");
        let shared = Arc::new(());
        let _ = sim.inject(Fault::on("cuStreamSynchronize").code(999));
        stream.retain(shared.clone());
        assert_eq!(Arc::strong_count(&shared), 2);
        sim.clear_faults();
        stream.synchronize().unwrap();
        assert_eq!(Arc::strong_count(&shared), 1);
    });
}

/// Shared values were dropped before owned ones, whatever the order they came in.
#[test]
fn what_is_retained_goes_in_the_order_it_came() {
    struct Tell(u32, Arc<Mutex<Vec<u32>>>);
    impl Drop for Tell {
        fn drop(&mut self) {
            self.1.lock().unwrap().push(self.0);
        }
    }
    on_device(|rig| {
        let log = Arc::new(Mutex::new(Vec::new()));
        let mut stream = rig.stream();
        stream.retain(Tell(1, log.clone()));
        stream.retain_shared(&Arc::new(Tell(2, log.clone())));
        stream.retain(Tell(3, log.clone()));
        stream.synchronize().unwrap();
        assert_eq!(*log.lock().unwrap(), [1, 2, 3]);
    });
}

/// Text that begins like an ELF file was handed to a loader that takes it for one, and reads past its end.
#[test]
fn text_that_is_no_ptx_does_not_reach_the_driver() {
    on_device(|rig| {
        let elf = "\u{7f}ELF\u{2}\u{1}\u{1}A\u{7}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{be}";
        for text in [elf, "", "nonsense", "BC\u{40}"] {
            assert!(matches!(rig.device.load_ptx(text), Err(Error::Misuse(Misuse::NotPtx))), "{text:?}");
        }
    });
}

/// An adopted stream that was capturing already was taken for idle.
#[test]
fn a_stream_that_captures_already_is_not_adopted() {
    on_device(|rig| {
        let own = rig.context().new_stream().unwrap();
        own.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
        // SAFETY: refused.
        let rejected = unsafe { rig.device.adopt_stream(own.clone()) }.unwrap_err();
        assert!(matches!(rejected.error(), Error::Misuse(Misuse::AlreadyCapturing)), "{rejected}");
        drop(own.end_capture(sys::CUgraphInstantiate_flags(0)).unwrap());
        // SAFETY: nobody else uses it any more.
        drop(unsafe { rig.device.adopt_stream(own) }.expect("free again"));
    });
}

/// After a begin that another capture was in the way of (401), whatever capture was open was ended.
#[test]
fn a_begin_that_finds_another_capture_ends_none() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults and a call log") else { return };
        let stream = rig.stream();
        sim.clear_calls();
        let _ = sim.inject(Fault::on("cuStreamBeginCapture").code(401));
        let (stream, error) = stream.begin(ThreadLocal).unwrap_err().into_parts();
        assert_eq!(error.code(), Some(DriverCode::ILLEGAL_STATE));
        assert!(sim.calls().iter().all(|call| call.name != "cuStreamEndCapture"));
        drop(stream.begin(ThreadLocal).unwrap());
    });
}

/// A poisoned stream could be synchronised.
#[test]
fn a_poisoned_stream_refuses_to_be_synchronised() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults") else { return };
        let mut stream = rig.stream().with_policy(CapturePolicy::new().fail_stop(FailStop::Leak));
        let buffer = stream.alloc::<u32>(1).unwrap();
        let published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 1)).unwrap().publish().unwrap();
        let _ = sim.inject(Fault::on("cuStreamSynchronize").code(999));
        let mut poisoned = published.reset().unwrap_err().into_stream();
        assert!(matches!(poisoned.synchronize(), Err(Error::Poisoned(_))));
        drop((poisoned, buffer));
        sim.reset();
    });
}

/// A host call's panic took the place of a failed copy's error.
#[test]
fn a_panic_of_a_host_call_hides_no_other_error() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults") else { return };
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(1).unwrap();
        stream.host(|| panic!("first")).unwrap();
        let _ = sim.inject(Fault::on("cuMemcpyHtoDAsync").code(1));
        assert_eq!(stream.write(&[1], &buffer).unwrap_err().code(), Some(DriverCode::INVALID_VALUE));
        stream.write(&[2], &buffer).expect("a copy that succeeded is not reported as failed");
        assert!(matches!(stream.synchronize(), Err(Error::HostPanicked(_))));
        assert_eq!(stream.read(&buffer).unwrap(), [2]);
    });
}

/// A panic payload whose own drop panics crossed into the driver, and ended the process.
#[test]
fn a_payload_that_panics_when_it_is_dropped_is_caught() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                panic!("once more");
            }
        }
    }
    on_device(|rig| {
        let mut stream = rig.stream();
        stream.host(|| std::panic::panic_any(Bomb)).unwrap();
        let error = stream.synchronize().unwrap_err();
        assert_eq!(error.to_string(), "a host call panicked: with a payload that is no text");
    });
}

/// Reading into page-locked memory that a caller borrows returned before the copy was over, when the drain failed once.
#[test]
fn a_borrow_is_not_given_back_before_the_copy_is_over() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults") else { return };
        let mut stream = rig.stream();
        let buffer = stream.buffer_from(&[7u32; 4]).unwrap();
        let pinned = rig.device.pinned::<u32>(4).unwrap();
        // SAFETY: the only reference to the memory while it lives, and no other copy names it.
        let borrowed = unsafe { std::slice::from_raw_parts_mut(pinned.as_ptr(), 4) };
        let _ = sim.inject(Fault::on("cuStreamSynchronize").code(719));
        assert_eq!(stream.read_into(&buffer, borrowed).unwrap_err().code(), Some(DriverCode::LAUNCH_FAILED));
        assert_eq!((sim.pending_total(), borrowed[0]), (0, 7));
    });
}

/// `alloc` and `read` made one element on the stack.
#[test]
fn a_huge_element_does_not_overflow_the_stack() {
    type Huge = [[u8; 4096]; 4096];
    on_device(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<Huge>(1).unwrap();
        let back = stream.read(&buffer).unwrap();
        assert_eq!((back.len(), back[0][4095][4095]), (1, 0));
    });
}

/// `is_current` waited for the lane's lock, which is held while a launch waits for the driver's queue: called from a host call it
/// could wait for ever.
#[test]
fn is_current_may_be_asked_from_a_host_call() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(1).unwrap();
        let published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 1)).unwrap().publish().unwrap();
        let replayer = published.replayer();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut other = rig.stream();
        let (asked, answers) = (replayer.clone(), seen.clone());
        other.host(move || answers.lock().unwrap().push(asked.is_current())).unwrap();
        other.synchronize().unwrap();
        drop(published);
        assert_eq!((seen.lock().unwrap().as_slice(), replayer.is_current()), (&[true][..], false));
    });
}

/// Our own error families came back from a raw body as foreign errors.
#[test]
fn our_own_errors_come_back_from_a_raw_body_as_what_they_are() {
    on_device(|rig| {
        let mut stream = rig.stream();
        // SAFETY: nothing is enqueued.
        let raw = unsafe { stream.raw(|_| Err::<(), _>(Misuse::Overlap)) };
        assert!(matches!(raw, Err(Error::Misuse(Misuse::Overlap))));
        // SAFETY: nothing is enqueued.
        let raw = unsafe { stream.raw(|_| Err::<(), _>(std::io::Error::other("an engine's"))) };
        assert!(matches!(raw, Err(Error::Body(_))));
    });
}

/// A chain of errors said everything twice.
#[test]
fn an_error_s_sources_do_not_repeat_it() {
    on_device(|rig| {
        let rejected = rig.stream().capture(ThreadLocal, |_| Err(Error::from_body("no such layer"))).unwrap_err();
        assert_eq!(rejected.to_string(), "no such layer");
        assert!(std::error::Error::source(&rejected).is_none());
    });
}

/// Not a fault of ours, but a thing to rely on: a slice that goes with a graph is freed without hurting a capture elsewhere.
#[test]
fn a_graph_s_slices_are_freed_while_another_stream_captures() {
    on_device(|rig| {
        let (mut stream, other) = (rig.stream(), rig.stream());
        let buffer = stream.alloc::<u32>(4).unwrap();
        let own = rig.context().new_stream().unwrap();
        let slice: CudaSlice<u32> = own.alloc_zeros(4).unwrap();
        own.synchronize().unwrap();
        let captured = stream.capture(ThreadLocal, |c| {
            c.retain(slice);
            c.fill(&buffer, 1)
        });
        let captured = captured.unwrap();
        let mut capturing = other.begin(ThreadLocal).unwrap();
        capturing.fill(&buffer, 2).unwrap();
        drop(captured);
        assert_eq!(capturing.end().unwrap().census().nodes(), 1);
        own.synchronize().unwrap();
    });
}
