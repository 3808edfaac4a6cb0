//! Branches: forked off and joined, eagerly and in captures, nested, over two devices, and when they fail.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use common::{Rig, on_device, on_devices};
use dacapo::{Buffer, CaptureStatus, Enqueue, Error, Idle, LaunchConfig, Misuse, Stream, ThreadLocal, Work};
use dacapo_sim::Fault;

/// Two fills side by side and then a copy of one over the other.
fn step(stream: &mut impl Enqueue, other: &mut Stream<Idle>, [a, b]: [&Buffer<u32>; 2]) -> Result<(), Error> {
    stream.fork(other, |branch| branch.fill(b, 5))?;
    stream.fill(a, 4)?;
    stream.copy(b, a)
}

fn two(rig: &Rig) -> (Stream<Idle>, Stream<Idle>, Buffer<u32>, Buffer<u32>) {
    let (mut stream, other) = (rig.stream(), rig.stream());
    let (a, b) = (stream.alloc(4).unwrap(), stream.alloc(4).unwrap());
    (stream, other, a, b)
}

#[test]
fn the_same_step_runs_eagerly_and_captured() {
    on_device(|rig| {
        let (mut stream, mut other, a, b) = two(rig);
        step(&mut stream, &mut other, [&a, &b]).unwrap();
        assert_eq!(stream.read(&a).unwrap(), [5; 4]);
        stream.fill(&a, 0).unwrap();
        stream.fill(&b, 0).unwrap();
        let captured = stream.capture(ThreadLocal, |c| step(c, &mut other, [&a, &b])).unwrap();
        assert_eq!(captured.census().to_string(), "memcpy ×1, memset ×2");
        let mut published = captured.publish().unwrap();
        published.replay().unwrap();
        assert_eq!(published.read(&a).unwrap(), [5; 4]);
        assert_eq!(other.capture_status().unwrap(), CaptureStatus::None);
        other.fill(&b, 7).unwrap();
        assert_eq!(other.read(&b).unwrap(), [7; 4]);
    });
}

#[test]
fn branches_fork_again_and_a_stream_may_be_forked_to_twice() {
    on_device(|rig| {
        let (stream, mut other, a, b) = two(rig);
        let mut third = rig.stream();
        let captured = stream.capture(ThreadLocal, |c| {
            c.fork(&mut other, |branch| {
                branch.fork(&mut third, |inner| inner.fill(&b.slice(..2)?, 1))?;
                branch.fill(&b.slice(2..)?, 2)
            })?;
            c.fork(&mut third, |branch| branch.fill(&a.slice(..1)?, 3))?;
            c.copy(&b, &a)
        });
        let mut published = captured.unwrap().publish().unwrap();
        published.replay().unwrap();
        assert_eq!(published.read(&a).unwrap(), [1, 1, 2, 2]);
        third.fill(&a, 9).unwrap();
        third.synchronize().unwrap();
    });
}

#[test]
fn a_branch_stream_belongs_to_the_capture_until_it_has_ended() {
    on_device(|rig| {
        let (stream, mut other, a, b) = two(rig);
        let sibling = other.sibling();
        let of_sibling = sibling.capture(ThreadLocal, |c| c.fill(&b, 6)).unwrap().publish().unwrap();
        let mut capturing = stream.begin(ThreadLocal).unwrap();
        capturing.fork(&mut other, |branch| branch.fill(&b, 1)).unwrap();
        let refused = |result: Result<(), Error>| assert!(matches!(result, Err(Error::Misuse(Misuse::CaptureOpen))));
        refused(other.fill(&a, 1));
        refused(other.synchronize());
        refused(of_sibling.replay());
        capturing.fork(&mut other, |branch| branch.fill(&a, 2)).unwrap();
        let captured = capturing.end().unwrap();
        assert_eq!(captured.census().to_string(), "memset ×2");
        of_sibling.replay().unwrap();
        assert_eq!(other.read(&b).unwrap(), [6; 4]);
    });
}

#[test]
fn a_branch_that_fails_or_panics_is_joined() {
    on_device(|rig| {
        let (stream, mut other, a, b) = two(rig);
        let captured = stream.capture(ThreadLocal, |c| {
            let failed = c.fork(&mut other, |branch| {
                branch.fill(&b, 1)?;
                Err(Misuse::Overlap.into())
            });
            assert!(matches!(failed, Err(Error::Misuse(Misuse::Overlap))));
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                c.fork(&mut other, |branch| {
                    branch.fill(&b, 2).unwrap();
                    panic!("in the branch")
                })
            }));
            assert!(panicked.is_err());
            c.copy(&b, &a)
        });
        let mut published = captured.unwrap().publish().unwrap();
        published.replay().unwrap();
        assert_eq!(published.read(&a).unwrap(), [2; 4]);
    });
}

#[test]
fn an_eager_branch_that_panics_is_joined() {
    on_device(|rig| {
        let (mut stream, mut other, a, b) = two(rig);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            stream.fork(&mut other, |branch| {
                branch.fill(&b, 2).unwrap();
                panic!("in the branch")
            })
        }));
        assert!(panicked.is_err());
        stream.copy(&b, &a).unwrap();
        assert_eq!(stream.read(&a).unwrap(), [2; 4]);
        other.synchronize().unwrap();
    });
}

#[test]
fn a_stream_is_not_forked_to_itself() {
    on_device(|rig| {
        let (mut stream, _, a, _) = two(rig);
        let mut sibling = stream.sibling();
        let refused = stream.fork(&mut sibling, |branch| branch.fill(&a, 1)).unwrap_err();
        assert!(matches!(refused, Error::Misuse(Misuse::ForkToItself)), "{refused}");
        let captured = stream.capture(ThreadLocal, |c| {
            assert!(matches!(c.fork(&mut sibling, |_| Ok(())), Err(Error::Misuse(Misuse::ForkToItself))));
            c.fill(&a, 3)
        });
        assert_eq!(captured.unwrap().census().to_string(), "memset ×1");
    });
}

#[test]
fn a_stream_that_captures_itself_is_not_drawn_in() {
    on_device(|rig| {
        let (stream, mut other, a, b) = two(rig);
        let mut own = other.sibling().begin(ThreadLocal).unwrap();
        own.fill(&b, 1).unwrap();
        let captured = stream.capture(ThreadLocal, |c| {
            assert!(matches!(c.fork(&mut other, |_| Ok(())), Err(Error::Misuse(Misuse::CaptureOpen))));
            c.fill(&a, 3)
        });
        assert_eq!(captured.unwrap().census().to_string(), "memset ×1");
        assert_eq!(own.end().unwrap().census().to_string(), "memset ×1");
    });
}

#[test]
fn one_graph_runs_on_two_devices() {
    on_devices(2, |rigs| {
        let (mut stream, mut other) = (rigs[0].stream(), rigs[1].stream());
        let (here, there) = (stream.alloc::<u64>(1).unwrap(), other.alloc::<u64>(1).unwrap());
        let (count_here, count_there) = (rigs[0].kernel("increment_u64"), rigs[1].kernel("increment_u64"));
        let one = LaunchConfig::new(1, 1);
        let captured = stream.capture(ThreadLocal, |c| {
            // SAFETY: one pointer to a 64-bit word, on the branch's device.
            c.fork(&mut other, |branch: &mut Work<'_>| unsafe { branch.launch(&count_there, one, (&there,)) })?;
            // SAFETY: the same, on the stream's.
            unsafe { c.launch(&count_here, one, (&here,)) }
        });
        let mut published = captured.unwrap().publish().unwrap();
        for _ in 0..5 {
            published.replay().unwrap();
        }
        assert_eq!(published.read(&here).unwrap(), [5]);
        assert_eq!(other.read(&there).unwrap(), [5]);
        // What is on the other device is kept by the graph.
        drop(there);
        published.replay().unwrap();
        published.synchronize().unwrap();
        let wrong = other.fork(&mut rigs[0].stream(), |branch| branch.fill(&there_again(rigs), 1));
        assert!(matches!(wrong, Err(Error::Misuse(Misuse::WrongContext { .. }))));
    });
}

fn there_again(rigs: &[Rig]) -> Buffer<u32> {
    rigs[1].stream().alloc(1).unwrap()
}

#[test]
fn a_driver_error_at_any_call_of_a_fork_leaves_both_streams_usable() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults") else { return };
        let calls = [("cuEventCreate", 2), ("cuEventRecord", 2), ("cuStreamWaitEvent", 2), ("cuMemsetD32Async", 2)];
        for (call, times) in calls {
            for nth in 1..=times {
                let (stream, mut other, a, b) = two(rig);
                sim.inject(Fault::on(call).nth(nth).code(999));
                let rejected = stream.capture(ThreadLocal, |c| step(c, &mut other, [&a, &b])).expect_err(call);
                sim.clear_faults();
                let mut stream = rejected.into_stream();
                assert_eq!(stream.capture_status().unwrap(), CaptureStatus::None);
                assert_eq!(other.capture_status().unwrap(), CaptureStatus::None);
                step(&mut stream, &mut other, [&a, &b]).unwrap();
                assert_eq!(stream.read(&a).unwrap(), [5; 4]);

                sim.inject(Fault::on(call).nth(nth).code(999));
                step(&mut stream, &mut other, [&a, &b]).expect_err(call);
                sim.clear_faults();
                step(&mut stream, &mut other, [&a, &b]).unwrap();
                assert_eq!(stream.read(&a).unwrap(), [5; 4]);
                other.synchronize().unwrap();
            }
        }
    });
}
