//! Several streams of states on one CUDA stream.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use common::on_device;
use dacapo::{Enqueue, Error, LaunchConfig, Misuse, Relaxed, ThreadLocal};

fn refused<T>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::Misuse(Misuse::CaptureOpen)))
}

#[test]
fn siblings_are_replayed_and_reset_independently() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (a, b) = (stream.alloc::<u32>(1).unwrap(), stream.alloc::<u32>(1).unwrap());
        let other = stream.sibling();
        let mut decode = stream.capture(ThreadLocal, |c| c.fill(&a, 1)).unwrap().publish().unwrap();
        let verify = other.capture(ThreadLocal, |c| c.fill(&b, 2)).unwrap().publish().unwrap();
        assert_ne!(decode.token(), verify.token());
        decode.replay().unwrap();
        verify.replay().unwrap();
        assert_eq!((decode.read(&a).unwrap(), decode.read(&b).unwrap()), (vec![1], vec![2]));
        let stale = verify.replayer();
        let other = verify.reset().unwrap();
        assert!(matches!(stale.replay(), Err(Error::Stale(_))));
        decode.replay().unwrap();
        // The slot is used again; the old token stays stale.
        let again = other.capture(ThreadLocal, |c| c.fill(&b, 3)).unwrap().publish().unwrap();
        assert!(matches!(stale.replay(), Err(Error::Stale(_))));
        again.replay().unwrap();
        drop(decode);
        let mut again = again;
        assert_eq!(again.read(&b).unwrap(), [3]);
    });
}

#[test]
fn while_one_captures_the_other_is_refused_before_the_driver_is_touched() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (a, b) = (stream.alloc::<u32>(1).unwrap(), stream.alloc::<u32>(1).unwrap());
        let (second, mut third) = (stream.sibling(), stream.sibling());
        let published = second.capture(ThreadLocal, |c| c.fill(&b, 2)).unwrap().publish().unwrap();
        let replayer = published.replayer();
        let mut capturing = stream.begin(ThreadLocal).unwrap();
        capturing.fill(&a, 1).unwrap();
        assert!(refused(replayer.replay()));
        assert!(refused(replayer.replay_with(|_| Ok(()))));
        assert!(refused(replayer.replay_segment(0)));
        assert!(refused(replayer.follower().replay()));
        assert!(refused(third.fill(&b, 9)));
        assert!(refused(third.synchronize()));
        assert!(refused(third.read(&b)));
        assert!(refused(third.write(&[1], &b)));
        assert!(refused(third.alloc::<u32>(1)));
        // SAFETY: the body does nothing.
        assert!(refused(unsafe { third.raw(|_| Ok::<(), Error>(())) }));
        let rejected = third.begin(Relaxed).unwrap_err();
        assert!(matches!(rejected.error(), Error::Misuse(Misuse::CaptureOpen)), "{rejected}");
        let mut third = rejected.into_stream();
        let captured = capturing.end().unwrap();
        assert_eq!(captured.census().to_string(), "memset ×1", "nothing else was recorded");
        replayer.replay().unwrap();
        assert_eq!(third.read(&b).unwrap(), [2]);
    });
}

#[test]
fn a_reset_while_a_sibling_captures_is_put_off_and_does_no_harm() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (a, b) = (stream.alloc::<u32>(1).unwrap(), stream.alloc::<u32>(1).unwrap());
        let kept = Arc::new(AtomicBool::new(true));
        struct Flag(Arc<AtomicBool>);
        impl Drop for Flag {
            fn drop(&mut self) {
                self.0.store(false, Ordering::Relaxed);
            }
        }
        let published = stream.sibling().capture(ThreadLocal, |c| {
            c.retain(Flag(kept.clone()));
            c.fill(&b, 2)
        });
        let published = published.unwrap().publish().unwrap();
        published.replay().unwrap();
        let mut eager = stream.sibling();
        eager.fill(&b, 3).unwrap();
        let replayer = published.replayer();
        let mut capturing = stream.begin(ThreadLocal).unwrap();
        let idle = published.reset().unwrap();
        assert!(matches!(replayer.replay(), Err(Error::Stale(_))), "the generation is retired at once");
        drop(idle);
        eager.retain(());
        drop(eager);
        assert!(kept.load(Ordering::Relaxed), "what it uses is released after the capture");
        capturing.fill(&a, 1).unwrap();
        let mut captured = capturing.end().unwrap();
        assert!(!kept.load(Ordering::Relaxed));
        assert_eq!(captured.census().to_string(), "memset ×1");
        assert_eq!(captured.read(&b).unwrap(), [3]);
    });
}

#[test]
fn eager_work_of_a_sibling_never_lands_in_a_capture() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (a, b) = (stream.alloc::<u32>(1).unwrap(), stream.alloc::<u32>(1).unwrap());
        let mut other = stream.sibling();
        let (stop, done) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    match other.fill(&b, 7) {
                        Ok(()) => done.store(true, Ordering::Relaxed),
                        Err(Error::Misuse(Misuse::CaptureOpen)) => {}
                        Err(error) => panic!("{error}"),
                    }
                    match other.read(&b) {
                        Ok(_) | Err(Error::Misuse(Misuse::CaptureOpen)) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
            let mut idle = stream;
            let mut captures = 0;
            while captures < 200 || !done.load(Ordering::Relaxed) {
                captures += 1;
                let captured = idle.capture(ThreadLocal, |c| c.fill(&a, 1)).unwrap();
                assert_eq!(captured.census().to_string(), "memset ×1");
                idle = captured.discard().unwrap();
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
}

#[test]
fn the_claim_is_given_up_by_the_last_sibling() {
    on_device(|rig| {
        let context = rig.context().clone();
        let own = context.new_stream().unwrap();
        // SAFETY: nobody else uses the stream.
        let first = unsafe { rig.device.adopt_stream(own.clone()) }.unwrap();
        let second = first.sibling();
        drop(first);
        // SAFETY: as above.
        let rejected = unsafe { rig.device.adopt_stream(own.clone()) }.unwrap_err();
        assert!(matches!(rejected.error(), Error::Misuse(Misuse::StreamInUse)));
        drop(second);
        // SAFETY: as above.
        drop(unsafe { rig.device.adopt_stream(own) }.unwrap());
        drop(rejected);
    });
}

#[test]
fn siblings_replay_in_one_order() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let counter = stream.alloc::<u64>(1).unwrap();
        let increment = rig.kernel("increment_u64");
        let graphs: Vec<_> = (0..3)
            .map(|_| {
                let sibling = stream.sibling();
                // SAFETY: one pointer to a 64-bit word.
                let captured = sibling
                    .capture(ThreadLocal, |c| unsafe { c.launch(&increment, LaunchConfig::new(1, 1), (&counter,)) });
                captured.unwrap().publish().unwrap()
            })
            .collect();
        thread::scope(|scope| {
            for graph in &graphs {
                let replayer = graph.replayer();
                scope.spawn(move || (0..100).for_each(|_| replayer.replay().unwrap()));
            }
        });
        // A read-modify-write without atomics: any two at once would lose counts.
        assert_eq!(stream.read(&counter).unwrap(), [300]);
    });
}
