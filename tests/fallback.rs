//! One body eagerly and under capture: warm-up, fallback, retries. And what is counted meanwhile.

mod common;

use std::thread;

use common::{on_device, on_device_alone};
use dacapo::{CapturePolicy, CapturedOrEager, Enqueue, Error, Global, Misuse, ThreadLocal, Work};

#[test]
fn a_warm_up_runs_and_a_capture_does_not() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (a, b) = (stream.buffer_from(&[3u32]).unwrap(), stream.alloc::<u32>(1).unwrap());
        let mut captured_calls = 0;
        let mut step = |work: &mut Work<'_>| {
            captured_calls += usize::from(work.is_captured());
            work.copy(&a, &b)
        };
        let mut stream = stream.warm_up(2, &mut step).unwrap();
        assert_eq!(stream.read(&b).unwrap(), [3]);
        stream.write(&[0], &b).unwrap();
        let CapturedOrEager::Captured(captured) = stream.capture_or_eager(ThreadLocal, &mut step).unwrap() else {
            panic!("not captured")
        };
        let mut published = captured.publish().unwrap();
        assert_eq!(published.read(&b).unwrap(), [0]);
        published.replay().unwrap();
        assert_eq!(published.read(&b).unwrap(), [3]);
        assert_eq!(captured_calls, 1);
    });
}

#[test]
fn what_cannot_be_captured_runs_eagerly() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let b = stream.alloc::<u32>(1).unwrap();
        let outcome = stream.capture_or_eager(ThreadLocal, |work| {
            if work.is_captured() {
                return Err(Misuse::Overlap.into());
            }
            work.fill(&b, 4)
        });
        let Ok(CapturedOrEager::Eager(mut stream, why)) = outcome else { panic!("{outcome:?}") };
        assert!(matches!(why, Error::Misuse(Misuse::Overlap)), "{why}");
        assert_eq!(stream.read(&b).unwrap(), [4]);
        let stats = stream.stats();
        assert_eq!((stats.captures, stats.captures_lost), (0, 1));
    });
}

#[test]
fn a_body_that_fails_both_ways_gives_the_stream_back() {
    on_device(|rig| {
        let mut calls = 0;
        let rejected = rig.stream().capture_or_eager(ThreadLocal, |_| {
            calls += 1;
            Err(Misuse::Overlap.into())
        });
        let rejected = rejected.unwrap_err();
        assert!(matches!(rejected.error(), Error::Misuse(Misuse::Overlap)));
        assert_eq!(calls, 2);
        let rejected = rejected.into_stream().warm_up(3, |_| Err(Misuse::ZeroLength.into())).unwrap_err();
        assert!(matches!(rejected.error(), Error::Misuse(Misuse::ZeroLength)));
        rejected.into_stream().synchronize().unwrap();
    });
}

#[test]
fn a_capture_that_others_invalidate_is_made_again() {
    on_device_alone(|rig| {
        let context = rig.context().clone();
        let elsewhere = context.new_stream().unwrap();
        for (retries, lost) in [(0, 1), (1, 1), (2, 2)] {
            let mut stream = rig.stream().with_policy(CapturePolicy::new().retries(retries));
            let b = stream.alloc::<u32>(1).unwrap();
            let mut calls = 0;
            let outcome = stream.capture_or_eager(Global, |work| {
                calls += 1;
                work.fill(&b, 4)?;
                if calls <= lost && work.is_captured() {
                    // An unsafe call of another thread: refused there, and the end of this capture that it is lost.
                    let refused =
                        thread::scope(|scope| scope.spawn(|| elsewhere.alloc_zeros::<u32>(1).is_err()).join());
                    assert!(refused.unwrap());
                }
                Ok(())
            });
            // What the other thread's failure has parked is not ours.
            let _ = context.check_err();
            match outcome.unwrap() {
                CapturedOrEager::Captured(_) => assert_eq!((calls, retries >= lost), (lost + 1, true)),
                CapturedOrEager::Eager(mut stream, why) => {
                    assert_eq!((calls, retries < lost), (2, true), "{why}");
                    assert_eq!(stream.read(&b).unwrap(), [4]);
                }
                other => panic!("{other:?}"),
            }
        }
    });
}

#[test]
fn a_stream_counts_what_happens_on_it() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let b = stream.alloc::<u32>(1).unwrap();
        let mut published = stream.capture(ThreadLocal, |c| c.fill(&b, 1)).unwrap().publish().unwrap();
        (0..3).for_each(|_| published.replay().unwrap());
        published = published.update(ThreadLocal, |c| c.fill(&b, 2)).unwrap();
        published.replay().unwrap();
        published = published.update(ThreadLocal, |c| c.fill(&b, 3).and_then(|()| c.fill(&b, 4))).unwrap();
        published.replay().unwrap();
        let stream = published.reset().unwrap();
        let stream = stream.begin(ThreadLocal).unwrap().abort();
        let stats = stream.stats();
        assert_eq!((stats.captures, stats.captures_lost, stats.replays), (3, 1, 5));
        assert_eq!((stats.updates, stats.new_generations, stats.deferred, stats.waits), (1, 1, 0, 0));
    });
}
