//! The transitions, what each failure leaves in hand, and what dropping does in every state.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use common::{on_device, on_device_alone};
use dacapo::{
    CapturePolicy, CaptureStatus, Capturing, DriverCode, Enqueue, Error, Global, Idle, Misuse, Mode, NodeKind, Refusal,
    Relaxed, Stream, ThreadLocal,
};

/// Whether the stream can still do everything.
fn assert_usable(stream: Stream<Idle>) {
    assert_eq!(stream.capture_status().unwrap(), CaptureStatus::None);
    let mut stream = stream;
    let buffer = stream.alloc::<u32>(4).unwrap();
    let mut published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 9)).unwrap().publish().unwrap();
    published.replay().unwrap();
    assert_eq!(published.read(&buffer).unwrap(), [9; 4]);
}

/// Many programs' errors are boxed and `Send + Sync`, though no stream is `Sync`.
#[test]
fn a_rejection_becomes_whatever_error_a_program_has() {
    fn life(stream: Stream<Idle>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let captured = stream.begin(ThreadLocal)?.end()?;
        let published = captured.begin_segment(Relaxed)?.end()?.publish()?;
        drop(published.begin_update(ThreadLocal)?.end()?.reset()?);
        Ok(())
    }

    on_device(|rig| {
        let error = life(rig.stream()).unwrap_err();
        assert!(error.to_string().starts_with("the captured graph is empty"), "{error}");
        let rejected = error.downcast::<dacapo::Rejected<Stream<Idle>>>().expect("as it was");
        assert_usable(rejected.into_stream());
    });
}

fn capture_replay_reset<M: Mode>(mode: M) {
    on_device_alone(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(4).unwrap();
        let mut capturing = stream.begin(mode).unwrap();
        assert_eq!(capturing.capture_status().unwrap(), CaptureStatus::Active);
        capturing.fill(&buffer, 7).unwrap();
        let mut instantiated = capturing.end().unwrap();
        assert_eq!(instantiated.capture_status().unwrap(), CaptureStatus::None);
        assert_eq!(instantiated.read(&buffer).unwrap(), [0; 4], "recorded work does not run");
        let mut published = instantiated.publish().unwrap();
        published.replay().unwrap();
        assert_eq!(published.read(&buffer).unwrap(), [7; 4]);
        assert_eq!((published.token().generation(), published.replays()), (1, 1));
        assert_usable(published.reset().unwrap());
    });
}

#[test]
fn a_thread_local_capture_is_replayed_and_reset() {
    capture_replay_reset(ThreadLocal);
}

#[test]
fn a_global_capture_is_replayed_and_reset() {
    capture_replay_reset(Global);
}

#[test]
fn a_relaxed_capture_is_replayed_and_reset() {
    capture_replay_reset(Relaxed);
}

#[test]
fn a_relaxed_capture_ends_on_another_thread() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(1).unwrap();
        let mut capturing = stream.begin(Relaxed).unwrap();
        capturing.fill(&buffer, 1).unwrap();
        let instantiated = std::thread::scope(|scope| scope.spawn(|| capturing.end().unwrap()).join().unwrap());
        assert_eq!(instantiated.census().nodes(), 1);
    });
}

#[test]
fn abort_gives_the_stream_back_and_nothing_has_run() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(1).unwrap();
        let mut capturing = stream.begin(ThreadLocal).unwrap();
        capturing.fill(&buffer, 1).unwrap();
        let mut idle = capturing.abort();
        assert_eq!(idle.read(&buffer).unwrap(), [0]);
        assert_usable(idle);
    });
}

#[test]
fn discard_gives_the_stream_back() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(1).unwrap();
        let instantiated = stream.capture(ThreadLocal, |c| c.fill(&buffer, 1)).unwrap();
        assert_usable(instantiated.discard().unwrap());
    });
}

#[test]
fn a_stream_is_captured_again_and_again() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(1).unwrap();
        for round in 1..=20 {
            let mut published = stream.capture(ThreadLocal, |c| c.fill(&buffer, round)).unwrap().publish().unwrap();
            assert_eq!(published.token().generation(), u64::from(round));
            published.replay().unwrap();
            assert_eq!(published.read(&buffer).unwrap(), [round]);
            stream = published.reset().unwrap();
        }
    });
}

#[test]
fn dropping_a_capturing_stream_ends_the_capture() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(1).unwrap();
        let mut capturing = stream.begin(ThreadLocal).unwrap();
        capturing.fill(&buffer, 1).unwrap();
        drop(capturing);
        // An open capture on this thread would refuse the allocation in here.
        assert_usable(rig.stream());
    });
}

#[test]
fn dropping_an_instantiated_or_published_stream_releases_everything() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(1).unwrap();
        drop(stream.capture(ThreadLocal, |c| c.fill(&buffer, 1)).unwrap());
        let published = rig.stream().capture(ThreadLocal, |c| c.fill(&buffer, 2)).unwrap().publish().unwrap();
        let replayer = published.replayer();
        replayer.replay().unwrap();
        drop(published);
        assert!(matches!(replayer.replay(), Err(Error::Stale(_))));
    });
}

#[test]
fn dropping_an_idle_stream_waits_for_its_work() {
    on_device(|rig| {
        let mut other = rig.stream();
        let buffer = other.alloc::<u32>(1 << 16).unwrap();
        let mut stream = rig.stream();
        stream.fill(&buffer, 3).unwrap();
        drop(stream);
        assert!(other.read(&buffer).unwrap().iter().all(|&word| word == 3));
    });
}

#[test]
fn an_empty_capture_is_refused() {
    on_device(|rig| {
        let (stream, error) = rig.stream().capture(ThreadLocal, |_| Ok(())).unwrap_err().into_parts();
        assert!(matches!(error, Error::Refused(Refusal::Empty)), "{error}");
        assert_usable(stream);
    });
}

#[test]
fn an_empty_capture_is_taken_if_the_policy_says_so() {
    on_device(|rig| {
        let stream = rig.stream().with_policy(CapturePolicy::new().allow_empty(true));
        let published = stream.capture(ThreadLocal, |_| Ok(())).unwrap().publish().unwrap();
        assert_eq!(published.census().nodes(), 0);
        published.replay().unwrap();
        drop(published.reset().unwrap());
    });
}

#[test]
fn a_graph_that_is_not_uploaded_replays_too() {
    on_device(|rig| {
        let mut stream = rig.stream().with_policy(CapturePolicy::new().upload(false));
        let buffer = stream.alloc::<u32>(1).unwrap();
        let mut published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 5)).unwrap().publish().unwrap();
        published.replay().unwrap();
        assert_eq!(published.read(&buffer).unwrap(), [5]);
    });
}

#[test]
fn the_census_counts_nodes_by_kind() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (a, b) = (stream.alloc::<u32>(4).unwrap(), stream.alloc::<u32>(4).unwrap());
        let pinned = rig.device.pinned::<u32>(4).unwrap();
        let increment = rig.kernel("increment_u32");
        let captured = stream.capture(ThreadLocal, |c| {
            c.upload(&pinned, &a)?;
            c.copy(&a, &b)?;
            c.fill(&a, 1)?;
            c.host(|| ())?;
            // SAFETY: one pointer to a word.
            unsafe { c.launch(&increment, dacapo::LaunchConfig::new(1, 1), (&b,)) }?;
            c.download(&b, &pinned)
        });
        let captured = captured.unwrap();
        let census = captured.census();
        assert_eq!(census.to_string(), "kernel ×1, memcpy ×3, memset ×1, host ×1");
        assert_eq!((census.nodes(), census.count(NodeKind::Memcpy), census.count(NodeKind::MemAlloc)), (6, 3, 0));
    });
}

#[test]
fn an_error_in_the_body_ends_the_capture_and_is_returned_as_it_is() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (a, b) = (stream.alloc::<u32>(4).unwrap(), stream.alloc::<u32>(5).unwrap());
        let rejected = stream.capture(ThreadLocal, |c| {
            c.fill(&a, 1)?;
            c.copy(&a, &b)
        });
        let (stream, error) = rejected.unwrap_err().into_parts();
        let expected = Misuse::LengthMismatch { source_len: 4, destination_len: 5 };
        assert!(matches!(&error, Error::Misuse(misuse) if *misuse == expected), "{error}");
        assert_usable(stream);
    });
}

#[test]
fn an_engine_s_own_error_comes_out_of_the_body() {
    on_device(|rig| {
        let rejected = rig.stream().capture(ThreadLocal, |_| Err(Error::from_body("no such layer")));
        let (stream, error) = rejected.unwrap_err().into_parts();
        assert!(matches!(error, Error::Body(_)));
        assert_eq!(error.to_string(), "no such layer");
        assert_usable(stream);
    });
}

#[test]
fn a_panic_in_the_body_ends_the_capture_and_goes_on() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(4).unwrap();
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let _ = stream.capture(ThreadLocal, |c| {
                c.fill(&buffer, 1)?;
                panic!("an engine's own");
            });
        }));
        assert_eq!(unwound.unwrap_err().downcast_ref::<&str>(), Some(&"an engine's own"));
        assert_usable(rig.stream());
    });
}

/// Makes the driver invalidate the capture, as any code could that has got hold of the stream.
fn invalidate<M: Mode>(capturing: &mut Stream<Capturing<M>>) -> Error {
    // SAFETY: nothing is enqueued; the synchronisation costs the capture, as it is meant to.
    unsafe { capturing.raw(|stream| stream.synchronize()) }.unwrap_err()
}

#[test]
fn an_invalidated_capture_gives_idle_back() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(4).unwrap();
        let mut capturing = stream.begin(ThreadLocal).unwrap();
        capturing.fill(&buffer, 1).unwrap();
        assert_eq!(invalidate(&mut capturing).code(), Some(DriverCode::STREAM_CAPTURE_UNSUPPORTED));
        assert_eq!(capturing.capture_status().unwrap(), CaptureStatus::Invalidated);
        let after = capturing.fill(&buffer, 1).unwrap_err();
        assert_eq!(after.code(), Some(DriverCode::STREAM_CAPTURE_INVALIDATED));
        let (idle, error) = capturing.end().unwrap_err().into_parts();
        let Error::Capture(failure) = &error else { panic!("{error}") };
        assert_eq!(failure.end.unwrap().code, DriverCode::STREAM_CAPTURE_INVALIDATED);
        assert_eq!(failure.end.unwrap().call.name(), "cuStreamEndCapture");
        assert!(error.to_string().contains("a call that is not permitted during capture was made"), "{error}");
        assert_usable(idle);
    });
}

#[test]
fn the_body_s_error_is_reported_before_the_end_s() {
    on_device(|rig| {
        let rejected = rig.stream().capture(ThreadLocal, |c| Err(invalidate(c)));
        let (stream, error) = rejected.unwrap_err().into_parts();
        let Error::Capture(failure) = &error else { panic!("{error}") };
        assert_eq!(failure.body.as_ref().unwrap().code(), Some(DriverCode::STREAM_CAPTURE_UNSUPPORTED));
        assert_eq!(failure.end.unwrap().code, DriverCode::STREAM_CAPTURE_INVALIDATED);
        assert_eq!(error.code(), Some(DriverCode::STREAM_CAPTURE_UNSUPPORTED), "the body's comes first");
        assert_usable(stream);
    });
}

#[test]
fn aborting_or_dropping_an_invalidated_capture_is_harmless() {
    on_device(|rig| {
        let mut capturing = rig.stream().begin(ThreadLocal).unwrap();
        invalidate(&mut capturing);
        assert_usable(capturing.abort());
        let mut capturing = rig.stream().begin(Relaxed).unwrap();
        invalidate(&mut capturing);
        drop(capturing);
        assert_usable(rig.stream());
    });
}

#[test]
fn begin_waits_for_earlier_work() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(1 << 16).unwrap();
        let pinned = rig.device.pinned::<u32>(1 << 16).unwrap();
        stream.fill(&buffer, 4).unwrap();
        stream.download(&buffer, &pinned).unwrap();
        let capturing = stream.begin(ThreadLocal).unwrap();
        assert!(pinned.to_vec().iter().all(|&word| word == 4));
        drop(capturing.abort());
    });
}

#[test]
fn a_question_mark_keeps_the_error() {
    fn body(stream: Stream<Idle>) -> Result<(), Error> {
        drop(stream.capture(ThreadLocal, |_| Ok(()))?);
        Ok(())
    }
    on_device(|rig| assert!(matches!(body(rig.stream()), Err(Error::Refused(Refusal::Empty)))));
}

#[test]
fn debug_names_the_state() {
    on_device(|rig| {
        let idle = rig.stream();
        assert!(format!("{idle:?}").contains("Idle"));
        let capturing = idle.begin(ThreadLocal).unwrap();
        assert!(format!("{capturing:?}").contains("Capturing"));
        drop(capturing);
    });
}
