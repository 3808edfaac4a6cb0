//! Graphs of several segments, and what runs between them.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use common::{Rig, on_device};
use dacapo::{
    Buffer, CapturePolicy, Enqueue, Error, Idle, Instantiated, Kernel, LaunchConfig, Misuse, Refusal, Stream,
    ThreadLocal,
};
use dacapo_sim::Fault;

const N: u32 = 64;

/// Three steps over floats whose rounding depends on their order: scale, add to itself, scale.
struct Work {
    scale: Kernel,
    add: Kernel,
    x: Buffer<f32>,
}

impl Work {
    fn new(rig: &Rig, stream: &mut Stream<Idle>) -> Self {
        let start: Vec<f32> = (0..N).map(|i| 1.0 + i as f32 / 7.0).collect();
        Self { scale: rig.kernel("scale_f32"), add: rig.kernel("add_f32"), x: stream.buffer_from(&start).unwrap() }
    }

    fn scale(&self, stream: &mut impl Enqueue, factor: f32) -> Result<(), Error> {
        // SAFETY: scale_f32(data, factor, n), over N elements.
        unsafe { stream.launch(&self.scale, LaunchConfig::for_elements(N), (&self.x, factor, N)) }
    }

    fn double(&self, stream: &mut impl Enqueue) -> Result<(), Error> {
        // SAFETY: add_f32(a, b, sum, n), over N elements.
        unsafe { stream.launch(&self.add, LaunchConfig::for_elements(N), (&self.x, &self.x, &self.x, N)) }
    }
}

fn bits(values: Vec<f32>) -> Vec<u32> {
    values.into_iter().map(f32::to_bits).collect()
}

#[test]
fn segments_give_the_same_bits_as_one_graph() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let whole = Work::new(rig, &mut stream);
        let one = stream.capture(ThreadLocal, |c| {
            whole.scale(c, 0.3)?;
            whole.double(c)?;
            whole.scale(c, 0.7)
        });
        let mut one = one.unwrap().publish().unwrap();

        let mut stream = rig.stream();
        let parts = Work::new(rig, &mut stream);
        let segments = stream
            .capture(ThreadLocal, |c| parts.scale(c, 0.3))
            .unwrap()
            .capture_segment(ThreadLocal, |c| parts.double(c))
            .unwrap()
            .capture_segment(ThreadLocal, |c| parts.scale(c, 0.7))
            .unwrap();
        assert!(!segments.is_single_segment());
        assert_eq!(segments.census().to_string(), "kernel ×3");
        assert_eq!(segments.segments().iter().map(ToString::to_string).collect::<Vec<_>>(), ["kernel ×1"; 3]);
        let mut segments = segments.publish().unwrap();
        for _ in 0..3 {
            one.replay().unwrap();
            segments.replay().unwrap();
        }
        assert_eq!(bits(one.read(&whole.x).unwrap()), bits(segments.read(&parts.x).unwrap()));
        assert_eq!(segments.replays(), 3);
    });
}

#[test]
fn a_seam_runs_between_its_segments_at_every_replay() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let work = Work::new(rig, &mut stream);
        let (runs, x) = (Arc::new(AtomicUsize::new(0)), work.x.clone());
        let seen = runs.clone();
        let captured = stream
            .capture(ThreadLocal, |c| work.scale(c, 2.0))
            .unwrap()
            .seam(move |eager| {
                seen.fetch_add(1, Ordering::Relaxed);
                let host: Vec<f32> = eager.read(&x)?.iter().map(|value| value + 1.0).collect();
                eager.write(&host, &x)
            })
            .capture_segment(ThreadLocal, |c| work.scale(c, 10.0))
            .unwrap();
        let mut published = captured.publish().unwrap();
        assert_eq!(runs.load(Ordering::Relaxed), 0, "a capture runs nothing");
        let replayer = published.replayer();
        replayer.replay().unwrap();
        thread::spawn(move || replayer.replay().unwrap()).join().unwrap();
        // x -> (2x + 1) * 10, twice, from 1.
        assert_eq!(published.read(&work.x).unwrap()[0], 610.0);
        assert_eq!((runs.load(Ordering::Relaxed), published.replays()), (2, 2));
        assert!(matches!(published.replay_segment(0), Err(Error::Misuse(Misuse::HasSeams))));
    });
}

#[test]
fn one_segment_can_be_launched_alone() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let work = Work::new(rig, &mut stream);
        let captured = stream.capture(ThreadLocal, |c| work.scale(c, 3.0)).unwrap();
        let captured = captured.capture_segment(ThreadLocal, |c| work.scale(c, 5.0)).unwrap();
        let mut published = captured.publish().unwrap();
        published.replay_segment(1).unwrap();
        published.replay_segment(1).unwrap();
        published.replay_segment(0).unwrap();
        assert_eq!(published.read(&work.x).unwrap()[0], 75.0);
        let refused = published.replay_segment(2).unwrap_err();
        assert!(matches!(refused, Error::Misuse(Misuse::NoSuchSegment { index: 2, of: 2 })), "{refused}");
        let stale = published.replayer();
        drop(published.reset().unwrap());
        assert!(matches!(stale.replay_segment(0), Err(Error::Stale(_))));
    });
}

fn first(rig: &Rig) -> (Stream<Instantiated>, Work) {
    let mut stream = rig.stream();
    let work = Work::new(rig, &mut stream);
    (stream.capture(ThreadLocal, |c| work.scale(c, 2.0)).unwrap(), work)
}

#[test]
fn a_segment_that_fails_leaves_the_earlier_ones() {
    on_device(|rig| {
        let (captured, work) = first(rig);
        let rejected = captured.capture_segment(ThreadLocal, |_| Err(Error::from_body("not today"))).unwrap_err();
        assert_eq!(rejected.to_string(), "not today");
        let rejected = rejected.into_stream().capture_segment(ThreadLocal, |_| Ok(())).unwrap_err();
        assert!(matches!(rejected.error(), Error::Refused(Refusal::Empty)), "{rejected}");
        let captured = rejected.into_stream().begin_segment(ThreadLocal).unwrap().abort();
        drop(captured.begin_segment(ThreadLocal).map(|mut c| c.fill(&work.x, 0.0)));

        let (captured, work) = first(rig);
        assert!(captured.is_single_segment());
        let mut published = captured.publish().unwrap();
        published.replay().unwrap();
        assert_eq!(published.read(&work.x).unwrap()[0], 2.0);
    });
}

#[test]
fn a_panic_in_a_segment_ends_the_capture_and_goes_on() {
    on_device(|rig| {
        let (captured, _work) = first(rig);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = captured.capture_segment(ThreadLocal, |_| panic!("in the segment"));
        }));
        assert!(panicked.is_err());
    });
}

#[test]
fn a_seam_that_fails_stops_the_replay_there() {
    on_device(|rig| {
        let (captured, work) = first(rig);
        let captured = captured
            .seam(|_| Err(Misuse::ZeroLength.into()))
            .capture_segment(ThreadLocal, |c| work.scale(c, 100.0))
            .unwrap();
        let mut published = captured.publish().unwrap();
        let error = published.replay().unwrap_err();
        let Error::PartialReplay(partial) = &error else { panic!("{error}") };
        assert_eq!((partial.done, partial.of), (1, 3));
        assert!(matches!(partial.source, Error::Misuse(Misuse::ZeroLength)));
        assert_eq!(published.read(&work.x).unwrap()[0], 2.0, "the first segment has run, the second has not");
        assert_eq!(published.replays(), 0);
    });
}

#[test]
fn a_seam_that_panics_lets_others_at_the_stream_again() {
    on_device(|rig| {
        let (captured, work) = first(rig);
        let mut calls = 0;
        let captured = captured.seam(move |_| {
            calls += 1;
            assert!(calls > 1, "the first time");
            Ok(())
        });
        let mut published = captured.publish().unwrap();
        let replayer = published.replayer();
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| replayer.replay())).is_err());
        replayer.replay().unwrap();
        assert_eq!(published.read(&work.x).unwrap()[0], 4.0);
        assert_eq!(published.replays(), 1);
    });
}

#[test]
fn a_seam_cannot_replay_its_own_stream() {
    on_device(|rig| {
        let (captured, work) = first(rig);
        let own: Arc<std::sync::OnceLock<dacapo::Replayer>> = Arc::default();
        let (from_within, sibling) = (own.clone(), captured.sibling());
        let mut sibling = Some(sibling);
        let captured = captured.seam(move |_| {
            let replayer = from_within.get().expect("set before the first replay");
            assert!(matches!(replayer.replay(), Err(Error::Misuse(Misuse::OutOfTurn))));
            assert!(matches!(replayer.replay_with(|_| Ok(())), Err(Error::Misuse(Misuse::OutOfTurn))));
            if let Some(sibling) = sibling.take() {
                let rejected = sibling.begin(ThreadLocal).unwrap_err();
                assert!(matches!(rejected.error(), Error::Misuse(Misuse::OutOfTurn)), "{rejected}");
            }
            Ok(())
        });
        let mut published = captured.publish().unwrap();
        own.set(published.replayer()).unwrap();
        published.replay().unwrap();
        published.replay().unwrap();
        assert_eq!(published.read(&work.x).unwrap()[0], 4.0);
    });
}

#[test]
fn a_later_segment_that_is_refused_says_how_far_it_got() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults") else { return };
        let (captured, work) = first(rig);
        let captured = captured.capture_segment(ThreadLocal, |c| work.scale(c, 100.0)).unwrap();
        let mut published = captured.publish().unwrap();
        sim.inject(Fault::on("cuGraphLaunch").nth(2).code(2));
        let error = published.replay().unwrap_err();
        let Error::PartialReplay(partial) = &error else { panic!("{error}") };
        assert_eq!((partial.done, partial.of, error.code().map(dacapo::DriverCode::number)), (1, 2, Some(2)));
        published.replay().unwrap();
        assert_eq!(published.read(&work.x).unwrap()[0], 400.0);
        assert_eq!(published.replays(), 1);
    });
}

/// Appends values to a log on the device.
struct Append {
    append: Kernel,
    log: Buffer<u32>,
    length: Buffer<u32>,
}

impl Append {
    fn enqueue(&self, stream: &mut impl Enqueue, value: u32) -> Result<(), Error> {
        // SAFETY: append_u32(cursor, log, capacity, value), one thread.
        unsafe { stream.launch(&self.append, LaunchConfig::new(1, 1), (&self.length, &self.log, 1024u32, value)) }
    }
}

#[test]
fn threads_that_replay_segments_never_interleave_them() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (log, length) = (stream.alloc::<u32>(1024).unwrap(), stream.alloc::<u32>(1).unwrap());
        let append = rig.kernel("append_u32");
        let put = Append { append, log: log.clone(), length: length.clone() };
        let captured = stream.capture(ThreadLocal, |c| put.enqueue(c, 1)).unwrap();
        let captured = captured.capture_segment(ThreadLocal, |c| put.enqueue(c, 2)).unwrap();
        let captured = captured.seam(|_| {
            thread::yield_now();
            Ok(())
        });
        let captured = captured.capture_segment(ThreadLocal, |c| put.enqueue(c, 3)).unwrap();
        let mut published = captured.publish().unwrap();
        let replayer = published.replayer();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        replayer.replay().unwrap();
                    }
                });
            }
        });
        let (log, length) = (published.read(&log).unwrap(), published.read(&length).unwrap()[0] as usize);
        assert_eq!(length, 600);
        assert!(log[..length].chunks(3).all(|triple| triple == [1, 2, 3]), "{:?}", &log[..length]);
    });
}

#[test]
fn inputs_of_two_threads_are_never_mixed() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let input = stream.alloc::<u32>(2).unwrap();
        let output = stream.alloc::<u32>(2).unwrap();
        let published = stream.capture(ThreadLocal, |c| c.copy(&input, &output)).unwrap().publish().unwrap();
        let replayer = published.replayer();
        thread::scope(|scope| {
            for thread in 1..=4u32 {
                let (replayer, input) = (&replayer, &input);
                scope.spawn(move || {
                    for _ in 0..50 {
                        replayer
                            .replay_with(|eager| {
                                eager.fill(&input.slice(..1)?, thread)?;
                                thread::yield_now();
                                eager.fill(&input.slice(1..)?, thread)
                            })
                            .unwrap();
                    }
                });
            }
        });
        let mut published = published;
        let pair = published.read(&output).unwrap();
        assert_eq!(pair[0], pair[1]);
        assert_eq!(published.replays(), 200);
    });
}

#[test]
fn a_body_that_fails_before_a_replay_launches_nothing() {
    on_device(|rig| {
        let (captured, work) = first(rig);
        let mut published = captured.publish().unwrap();
        assert!(matches!(published.replay_with(|_| Err(Misuse::Overlap.into())), Err(Error::Misuse(Misuse::Overlap))));
        assert_eq!(published.read(&work.x).unwrap()[0], 1.0);
        published.replay_with(|eager| eager.fill(&work.x, 8.0)).unwrap();
        assert_eq!(published.read(&work.x).unwrap()[0], 16.0);
        assert_eq!(published.replays(), 1);
    });
}

#[test]
fn what_a_seam_uses_is_kept_until_a_drain() {
    on_device(|rig| {
        let (captured, work) = first(rig);
        let device = rig.device.clone();
        let x = work.x.clone();
        let captured = captured.seam(move |eager| {
            let staging = device.pinned::<f32>(N as usize)?;
            staging.write(&[5.0; N as usize])?;
            eager.upload(&staging, &x)
        });
        let captured = captured.with_policy(CapturePolicy::new());
        let mut published = captured.publish().unwrap();
        published.replay().unwrap();
        assert_eq!(published.read(&work.x).unwrap(), [5.0; N as usize]);
    });
}

#[test]
fn what_is_not_published_is_launched_by_its_owner() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (a, b) = (stream.alloc::<u32>(1).unwrap(), stream.alloc::<u32>(1).unwrap());
        let sibling = stream.sibling();
        let mut captured = stream.capture(ThreadLocal, |c| c.fill(&a, 7)).unwrap();
        captured.launch_all().unwrap();
        assert_eq!(captured.read(&a).unwrap(), [7]);
        let mut captured = captured.capture_segment(ThreadLocal, |c| c.copy(&a, &b)).unwrap();
        captured.launch_segment(1).unwrap();
        assert_eq!(captured.read(&b).unwrap(), [7]);
        let refused = captured.launch_segment(2);
        assert!(matches!(refused, Err(Error::Misuse(Misuse::NoSuchSegment { index: 2, of: 2 }))));
        let capturing = sibling.begin(ThreadLocal).unwrap();
        assert!(matches!(captured.launch_all(), Err(Error::Misuse(Misuse::CaptureOpen))));
        drop(capturing.abort());
        if let Some(sim) = rig.sim("injected faults") {
            sim.inject(Fault::on("cuGraphLaunch").nth(2).code(1));
            let partial = captured.launch_all().unwrap_err();
            assert!(
                partial.to_string().starts_with("the replay stopped after 1 of 2 steps: cuGraphLaunch"),
                "{partial}"
            );
        }
        captured.write(&[1], &a).unwrap();
        let seam = (a.clone(), Arc::new(AtomicUsize::new(0)));
        let ran = seam.1.clone();
        let mut captured = captured.seam(move |eager| {
            seam.1.fetch_add(1, Ordering::Relaxed);
            eager.fill(&seam.0, 9)
        });
        assert!(matches!(captured.launch_segment(0), Err(Error::Misuse(Misuse::HasSeams))));
        captured.launch_all().unwrap();
        assert_eq!((captured.read(&a).unwrap(), captured.read(&b).unwrap()), (vec![9], vec![7]));
        assert_eq!(ran.load(Ordering::Relaxed), 1);
        let published = captured.publish().unwrap();
        assert_eq!(published.replays(), 0, "those were no replays of this publication");
        published.replay().unwrap();
    });
}

#[test]
fn a_seam_that_panics_when_it_is_dropped_comes_after_the_graphs() {
    /// Panics when it is dropped.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in the destructor of a seam");
        }
    }

    on_device(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(1).unwrap();
        let kept = std::sync::Arc::new(());
        let captured = stream.capture(ThreadLocal, |c| {
            c.retain_shared(&kept);
            c.fill(&buffer, 1)
        });
        let bomb = Bomb;
        let captured = captured.unwrap().seam(move |_| {
            let _ = &bomb;
            Ok(())
        });
        let captured = captured.capture_segment(ThreadLocal, |c| c.fill(&buffer, 2)).unwrap();
        let published = captured.publish().unwrap();
        published.replay().unwrap();
        let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(published)));
        assert!(dropped.is_err());
        assert_eq!(std::sync::Arc::strong_count(&kept), 1, "released, after a drain");
        if let Some(sim) = rig.sim("pending work") {
            assert_eq!(sim.pending_total(), 0);
        }
    });
}
