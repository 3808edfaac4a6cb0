//! Captured work that does not finish: nothing is released, and nobody waits for longer than the policy says.

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Rig, on_device};
use dacapo::{CapturePolicy, DriverCode, Enqueue, Error, FailStop, Idle, Stream, ThreadLocal};

const LIMIT: Duration = Duration::from_millis(20);

/// A stream whose drains give up at the limit and leak, and its handle.
fn impatient_stream(rig: &Rig) -> (Stream<Idle>, u64) {
    let policy = CapturePolicy::new().drain_deadline(LIMIT).fail_stop(FailStop::Leak);
    let mut stream = rig.stream().with_policy(policy);
    // SAFETY: the body only asks for the handle.
    let handle = unsafe { stream.raw(|stream| Ok::<_, Error>(stream.cu_stream())) }.unwrap().addr() as u64;
    (stream, handle)
}

#[test]
fn a_reset_of_work_that_hangs_gives_up_at_the_deadline_and_releases_nothing() {
    on_device(|rig| {
        let Some(sim) = rig.sim("a stream that hangs") else { return };
        let (mut stream, handle) = impatient_stream(rig);
        let buffer = stream.alloc::<u32>(1).unwrap();
        let kept = Arc::new(());
        let captured = stream.capture(ThreadLocal, |c| {
            c.retain_shared(&kept);
            c.fill(&buffer, 1)
        });
        let published = captured.unwrap().publish().unwrap();
        sim.hang(handle);
        published.replay().unwrap();
        let start = Instant::now();
        let (idle, error) = published.reset().unwrap_err().into_parts();
        assert!(start.elapsed() >= LIMIT);
        let Error::Poisoned(poisoned) = &error else { panic!("{error}") };
        assert_eq!((poisoned.cause.call.name(), poisoned.cause.code), ("cuStreamQuery", DriverCode::NOT_READY));
        assert_eq!(Arc::strong_count(&kept), 2, "kept for good");
        let rejected = idle.begin(ThreadLocal).unwrap_err();
        assert!(matches!(rejected.error(), Error::Poisoned(_)));
        sim.release(handle);
        drop((rejected, buffer));
        sim.reset();
    });
}

#[test]
fn a_reset_of_work_that_finishes_in_time_is_as_without_a_deadline() {
    on_device(|rig| {
        let mut stream = rig.stream().with_policy(CapturePolicy::new().drain_deadline(Duration::from_secs(60)));
        let buffer = stream.alloc::<u32>(1).unwrap();
        let published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 1)).unwrap().publish().unwrap();
        for _ in 0..100 {
            published.replay().unwrap();
        }
        let mut idle = published.reset().unwrap();
        assert_eq!(idle.read(&buffer).unwrap(), [1]);
    });
}

#[test]
fn what_an_upload_before_a_hanging_replay_uses_is_kept_when_everything_is_dropped() {
    on_device(|rig| {
        let Some(sim) = rig.sim("a stream that hangs") else { return };
        let (mut stream, handle) = impatient_stream(rig);
        let buffer = stream.alloc::<u32>(1).unwrap();
        let kept = Arc::new(());
        let published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 1)).unwrap().publish().unwrap();
        sim.hang(handle);
        let uploaded = published.replay_with(|eager| {
            eager.retain_shared(&kept);
            eager.fill(&buffer, 2)
        });
        uploaded.unwrap();
        let (idle, error) = published.reset().unwrap_err().into_parts();
        assert!(matches!(error, Error::Poisoned(_)), "{error}");
        drop(idle);
        assert_eq!(Arc::strong_count(&kept), 2, "kept for good");
        drop(buffer);
        sim.reset();
    });
}

#[test]
fn what_is_enqueued_after_the_stream_was_dropped_in_a_replay_is_let_go_once_it_has_run() {
    on_device(|rig| {
        let Some(sim) = rig.sim("pending work") else { return };
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(1).unwrap();
        let kept = Arc::new(());
        let published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 1)).unwrap().publish().unwrap();
        let replayer = published.replayer();
        let refused = replayer.replay_with(|eager| {
            drop(published);
            eager.retain_shared(&kept);
            eager.fill(&buffer, 2)
        });
        assert!(matches!(refused.unwrap_err(), Error::Stale(_)), "the graph has gone");
        assert_eq!((sim.pending_total(), Arc::strong_count(&kept)), (1, 2));
        drop(replayer);
        assert_eq!((sim.pending_total(), Arc::strong_count(&kept)), (0, 1));
    });
}
