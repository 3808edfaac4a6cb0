//! Replayers, tokens and generations: from one thread and from many.

mod common;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use common::on_device;
use dacapo::{Buffer, Enqueue, Error, Kernel, LaunchConfig, Published, Stale, Stream, ThreadLocal};

fn count_graph(stream: dacapo::Stream<dacapo::Idle>, increment: &Kernel, counter: &Buffer<u64>) -> Stream<Published> {
    // SAFETY: one pointer to a 64-bit word.
    let captured = stream.capture(ThreadLocal, |c| unsafe { c.launch(increment, LaunchConfig::new(1, 1), (counter,)) });
    captured.unwrap().publish().unwrap()
}

#[test]
fn a_replayer_replays_from_another_thread() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let counter = stream.alloc::<u64>(1).unwrap();
        let mut published = count_graph(stream, &rig.kernel("increment_u64"), &counter);
        let replayer = published.replayer();
        thread::spawn(move || {
            for _ in 0..10 {
                replayer.replay().unwrap();
            }
        })
        .join()
        .unwrap();
        assert_eq!((published.read(&counter).unwrap(), published.replays()), (vec![10], 10));
    });
}

#[test]
fn eight_threads_lose_no_replay() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let counter = stream.alloc::<u64>(1).unwrap();
        let mut published = count_graph(stream, &rig.kernel("increment_u64"), &counter);
        let replayer = published.replayer();
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        replayer.replay().unwrap();
                    }
                });
            }
        });
        assert_eq!((published.read(&counter).unwrap(), published.replays()), (vec![800], 800));
    });
}

#[test]
fn a_stale_replayer_is_refused_and_launches_nothing() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let counter = stream.alloc::<u64>(1).unwrap();
        let increment = rig.kernel("increment_u64");
        let published = count_graph(stream, &increment, &counter);
        let first = published.replayer();
        let token = published.token();
        assert!(first.is_current());
        assert_eq!(first.token(), token);
        let stream = published.reset().unwrap();
        assert!(!first.is_current());
        let refused = |result: Result<(), Error>| match result {
            Err(Error::Stale(Stale { held, current, .. })) => (held, current),
            other => panic!("not refused: {other:?}"),
        };
        assert_eq!(refused(first.replay()), (1, None));

        let mut published = count_graph(stream, &increment, &counter);
        assert_ne!(published.token(), token);
        assert_eq!(refused(first.replay()), (1, Some(2)));
        let message = first.replay().unwrap_err().to_string();
        assert_eq!(
            message,
            "the graph of this replayer (generation 1) was reset or dropped: take a new replayer, of generation 2"
        );
        published.replay().unwrap();
        assert_eq!(published.read(&counter).unwrap(), [1]);
        drop(published);
        assert_eq!(refused(first.clone().replay()), (1, None));
    });
}

#[test]
fn tokens_of_two_streams_differ() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let counter = stream.alloc::<u64>(1).unwrap();
        let increment = rig.kernel("increment_u64");
        let one = count_graph(stream, &increment, &counter);
        let two = count_graph(rig.stream(), &increment, &counter);
        assert_ne!(one.token(), two.token());
        assert_eq!(one.token().generation(), two.token().generation());
    });
}

/// Threads replay while the owner resets and publishes anew: every replay is either counted on the device or refused.
#[test]
fn replays_race_with_resets_and_none_is_half_done() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let counter = stream.alloc::<u64>(1).unwrap();
        let increment = rig.kernel("increment_u64");
        let (taken, refused) = (AtomicU64::new(0), AtomicU64::new(0));
        let mut admitted = 0;
        for _ in 0..20 {
            let published = count_graph(stream, &increment, &counter);
            let replayer = published.replayer();
            let go_on = AtomicBool::new(true);
            stream = thread::scope(|scope| {
                for _ in 0..4 {
                    let replayer = replayer.clone();
                    let (taken, refused, go_on) = (&taken, &refused, &go_on);
                    scope.spawn(move || {
                        while go_on.load(Ordering::Relaxed) {
                            match replayer.replay() {
                                Ok(()) => taken.fetch_add(1, Ordering::Relaxed),
                                Err(Error::Stale(_)) => refused.fetch_add(1, Ordering::Relaxed),
                                Err(other) => panic!("{other}"),
                            };
                        }
                    });
                }
                while published.replays() < 20 {
                    thread::yield_now();
                }
                admitted += 20;
                let idle = published.reset().unwrap();
                go_on.store(false, Ordering::Relaxed);
                idle
            });
        }
        let counted = stream.read(&counter).unwrap()[0];
        assert_eq!(counted, taken.load(Ordering::Relaxed));
        assert!(counted >= admitted, "{counted} of at least {admitted}");
    });
}

#[test]
fn replays_and_eager_work_keep_their_order() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (cursor, log) = (stream.alloc::<u32>(1).unwrap(), stream.alloc::<u32>(8).unwrap());
        let append = rig.kernel("append_u32");
        let one = LaunchConfig::new(1, 1);
        // SAFETY: append_u32(cursor, log, capacity, value) with a log of 8 words.
        let captured = stream.capture(ThreadLocal, |c| unsafe { c.launch(&append, one, (&cursor, &log, 8u32, 1u32)) });
        let mut published = captured.unwrap().publish().unwrap();
        for value in 2..=4u32 {
            published.replay().unwrap();
            // SAFETY: as above.
            unsafe { published.launch(&append, one, (&cursor, &log, 8u32, value)) }.unwrap();
        }
        assert_eq!(published.read(&log).unwrap(), [1, 2, 1, 3, 1, 4, 0, 0]);
    });
}

#[test]
fn a_replayer_outlives_its_stream_and_is_harmless() {
    on_device(|rig| {
        let replayer = {
            let mut stream = rig.stream();
            let counter = stream.alloc::<u64>(1).unwrap();
            count_graph(stream, &rig.kernel("increment_u64"), &counter).replayer()
        };
        assert!(matches!(replayer.replay(), Err(Error::Stale(_))));
        assert!(format!("{replayer:?}").contains("generation: 1"));
    });
}

#[test]
fn hundreds_of_replays_may_be_in_flight_at_a_reset() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let counter = stream.alloc::<u64>(1).unwrap();
        let published = count_graph(stream, &rig.kernel("increment_u64"), &counter);
        for _ in 0..500 {
            published.replay().unwrap();
        }
        let mut stream = published.reset().unwrap();
        assert_eq!(stream.read(&counter).unwrap(), [500]);
    });
}
