//! Forks whose bodies fail or panic, that are refused or fail in the driver; and what threads and siblings do to them.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use common::{Rig, on_device, on_device_alone};
use dacapo::{
    Buffer, CaptureGate, CaptureStatus, CapturedOrEager, Enqueue, Error, Idle, Misuse, Relaxed, Stream, ThreadLocal,
    Work,
};
use dacapo_sim::Fault;

/// Two fills beside each other and then a copy of one over the other.
fn step(stream: &mut impl Enqueue, other: &mut Stream<Idle>, [a, b]: [&Buffer<u32>; 2]) -> Result<(), Error> {
    stream.fork(other, |main, branch| {
        branch.fill(b, 5)?;
        main.fill(a, 4)
    })?;
    stream.copy(b, a)
}

fn two(rig: &Rig) -> (Stream<Idle>, Stream<Idle>, Buffer<u32>, Buffer<u32>) {
    let (mut stream, other) = (rig.stream(), rig.stream());
    let (a, b) = (stream.alloc(4).unwrap(), stream.alloc(4).unwrap());
    (stream, other, a, b)
}

#[test]
fn a_branch_stream_belongs_to_the_capture_until_it_has_ended() {
    on_device(|rig| {
        let (stream, mut other, a, b) = two(rig);
        let sibling = other.sibling();
        let of_sibling = sibling.capture(ThreadLocal, |c| c.fill(&b, 6)).unwrap().publish().unwrap();
        let mut capturing = stream.begin(ThreadLocal).unwrap();
        capturing.fork(&mut other, |_, branch| branch.fill(&b, 1)).unwrap();
        let refused = |result: Result<(), Error>| assert!(matches!(result, Err(Error::Misuse(Misuse::CaptureOpen))));
        refused(other.fill(&a, 1));
        refused(other.synchronize());
        refused(of_sibling.replay());
        capturing.fork(&mut other, |_, branch| branch.fill(&a, 2)).unwrap();
        let captured = capturing.end().unwrap();
        assert_eq!(captured.census().to_string(), "memset ×2");
        of_sibling.replay().unwrap();
        assert_eq!(other.read(&b).unwrap(), [6; 4]);
    });
}

#[test]
fn a_fork_that_fails_or_panics_is_joined() {
    on_device(|rig| {
        let (stream, mut other, a, b) = two(rig);
        let mut third = rig.stream();
        let captured = stream.capture(ThreadLocal, |c| {
            let failed = c.fork(&mut other, |main, branch| {
                branch.fork(&mut third, |_, inner| inner.fill(&b.slice(..1)?, 1))?;
                main.fill(&a, 1)?;
                Err::<(), _>(Misuse::Overlap.into())
            });
            assert!(matches!(failed, Err(Error::Misuse(Misuse::Overlap))));
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                c.fork_many([&mut other, &mut third], |main, [branch, inner]| {
                    branch.fill(&b.slice(..2)?, 2)?;
                    inner.fill(&b.slice(2..)?, 3)?;
                    main.fork(&mut rig.stream(), |_, innermost| -> Result<(), Error> {
                        innermost.fill(&a, 9)?;
                        panic!("in the innermost branch")
                    })
                })
            }));
            assert!(panicked.is_err());
            c.copy(&b, &a)
        });
        let mut published = captured.unwrap().publish().unwrap();
        published.replay().unwrap();
        assert_eq!(published.read(&a).unwrap(), [2, 2, 3, 3]);
        third.synchronize().unwrap();
    });
}

#[test]
fn an_eager_fork_that_fails_or_panics_is_joined() {
    on_device(|rig| {
        let (mut stream, mut other, a, b) = two(rig);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            stream.fork(&mut other, |_, branch| -> Result<(), Error> {
                branch.fill(&b, 2)?;
                panic!("in the branch")
            })
        }));
        assert!(panicked.is_err());
        stream.copy(&b, &a).unwrap();
        assert_eq!(stream.read(&a).unwrap(), [2; 4]);
        let failed = stream.fork(&mut other, |_, branch| {
            branch.fill(&b, 3)?;
            Err::<(), _>(Misuse::Overlap.into())
        });
        assert!(matches!(failed, Err(Error::Misuse(Misuse::Overlap))));
        stream.copy(&b, &a).unwrap();
        assert_eq!(stream.read(&a).unwrap(), [3; 4]);
        other.synchronize().unwrap();
    });
}

#[test]
fn what_both_sides_hand_in_is_kept_in_that_order() {
    struct Tell(&'static str, Arc<std::sync::Mutex<Vec<&'static str>>>);

    impl Drop for Tell {
        fn drop(&mut self) {
            self.1.lock().unwrap().push(self.0);
        }
    }

    on_device(|rig| {
        let (stream, mut other, a, b) = two(rig);
        let told = Arc::default();
        let tell = |name| Tell(name, Arc::clone(&told));
        let captured = stream.capture(ThreadLocal, |c| {
            c.retain(tell("first"));
            c.fork(&mut other, |main, branch| {
                branch.retain(tell("branch"));
                main.retain(tell("main"));
                branch.retain(tell("branch again"));
                branch.fill(&b, 1)?;
                main.fill(&a, 1)
            })?;
            c.retain(tell("last"));
            Ok(())
        });
        let captured = captured.unwrap();
        drop((a, b));
        assert!(told.lock().unwrap().is_empty());
        let mut published = captured.publish().unwrap();
        published.replay().unwrap();
        published.synchronize().unwrap();
        drop(published);
        assert_eq!(*told.lock().unwrap(), ["first", "branch", "main", "branch again", "last"]);
    });
}

#[test]
fn a_stream_is_not_forked_to_itself() {
    on_device(|rig| {
        let (mut stream, _, a, _) = two(rig);
        let mut sibling = stream.sibling();
        let refused = stream.fork(&mut sibling, |_, branch| branch.fill(&a, 1)).unwrap_err();
        assert!(matches!(refused, Error::Misuse(Misuse::ForkToItself)), "{refused}");
        let captured = stream.capture(ThreadLocal, |c| {
            assert!(matches!(c.fork(&mut sibling, |_, _| Ok(())), Err(Error::Misuse(Misuse::ForkToItself))));
            c.fill(&a, 3)
        });
        assert_eq!(captured.unwrap().census().to_string(), "memset ×1");
    });
}

#[test]
fn a_stream_that_captures_itself_is_not_drawn_in() {
    on_device(|rig| {
        let (stream, mut other, a, b) = two(rig);
        let mut third = rig.stream();
        let mut own = other.sibling().begin(ThreadLocal).unwrap();
        own.fill(&b, 1).unwrap();
        let captured = stream.capture(ThreadLocal, |c| {
            let refused = c.fork_many([&mut third, &mut other], |_, _| Ok(()));
            assert!(matches!(refused, Err(Error::Misuse(Misuse::CaptureOpen))));
            c.fork(&mut third, |main, _| main.fill(&a, 3))
        });
        assert_eq!(captured.unwrap().census().to_string(), "memset ×1");
        assert_eq!(own.end().unwrap().census().to_string(), "memset ×1");
    });
}

#[test]
fn threads_that_fork_to_each_other_s_streams_do_not_wait_for_each_other() {
    on_device(|rig| {
        let (mut one, mut two, a, b) = two(rig);
        let (mut one_s, mut two_s) = (one.sibling(), two.sibling());
        thread::scope(|scope| {
            scope.spawn(|| (0..200).for_each(|_| step(&mut one, &mut two_s, [&a, &b]).unwrap()));
            scope.spawn(|| (0..200).for_each(|_| step(&mut two, &mut one_s, [&b, &a]).unwrap()));
        });
        one.synchronize().unwrap();
        two.synchronize().unwrap();
    });
}

#[test]
fn a_capture_that_has_moved_forks_past_a_waiting_synchroniser() {
    on_device_alone(|rig| {
        let (stream, mut other, a, b) = two(rig);
        let mut capturing = stream.begin(Relaxed).unwrap();
        let let_in = AtomicBool::new(false);
        let captured = thread::scope(|scope| {
            scope.spawn(|| {
                let _room = CaptureGate::synchronising().unwrap();
                let_in.store(true, Ordering::Relaxed);
            });
            // Long enough for it to be waiting; if it is not yet, there is nothing to get past.
            thread::sleep(Duration::from_millis(30));
            let forking = scope.spawn(|| {
                step(&mut capturing, &mut other, [&a, &b]).unwrap();
                assert!(!let_in.load(Ordering::Relaxed), "a capture is open");
                capturing.end().unwrap()
            });
            forking.join().unwrap()
        });
        assert!(let_in.load(Ordering::Relaxed));
        assert_eq!(captured.census().to_string(), "memcpy ×1, memset ×2");
    });
}

#[test]
fn a_driver_error_at_any_call_of_a_fork_leaves_the_streams_usable() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults") else { return };
        // How often each is called between the fork and the join, for two branches and captured; eagerly no more often.
        let calls = [("cuEventCreate", 3), ("cuEventRecord", 3), ("cuStreamWaitEvent", 4), ("cuMemsetD32Async", 3)];
        let in_captures = [("cuStreamIsCapturing", 3), ("cuStreamSynchronize", 3)];
        let step = |work: &mut Work<'_>, others: [&mut Stream<Idle>; 2], [a, b]: [&Buffer<u32>; 2]| {
            work.fork_many(others, |main, [left, right]| {
                right.fill(&b.slice(2..)?, 6)?;
                left.fill(&b.slice(..2)?, 5)?;
                main.fill(a, 4)
            })?;
            work.copy(b, a)
        };
        for (call, times) in calls.into_iter().chain(in_captures) {
            for nth in 1..=times {
                let (stream, mut other, a, b) = two(rig);
                let mut third = rig.stream();
                let after = sim.calls().len();
                sim.inject(Fault::on(call).nth(nth).code(999));
                let tried = stream.capture_or_eager(ThreadLocal, |work| {
                    if work.is_captured() { step(work, [&mut other, &mut third], [&a, &b]) } else { Ok(()) }
                });
                sim.clear_faults();
                let stream = match tried {
                    Ok(CapturedOrEager::Eager(stream, error)) => {
                        assert!(error.to_string().contains(call), "{call} {nth}: {error}");
                        stream
                    }
                    other => panic!("{call} {nth}: {other:?}, after {:?}", &sim.calls()[after..]),
                };
                for stream in [&stream, &other, &third] {
                    assert_eq!(stream.capture_status().unwrap(), CaptureStatus::None, "{call} {nth}");
                }
                let mut body = |work: &mut Work<'_>| step(work, [&mut other, &mut third], [&a, &b]);
                let stream = stream.warm_up(1, &mut body).unwrap();
                let is_eager = calls.contains(&(call, times));
                sim.inject(Fault::on(call).nth(nth).code(999));
                let failed = stream.warm_up(1, &mut body);
                sim.clear_faults();
                let stream = match failed {
                    Err(rejected) => rejected.into_stream(),
                    Ok(stream) if !is_eager => stream,
                    Ok(_) => panic!("{call} {nth} is not called"),
                };
                let mut stream = stream.warm_up(1, &mut body).unwrap();
                assert_eq!(stream.read(&a).unwrap(), [5, 5, 6, 6]);
                other.synchronize().unwrap();
                third.synchronize().unwrap();
            }
        }
    });
}
