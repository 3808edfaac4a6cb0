//! What goes into a graph and comes out of it, and how to know when: inputs, outputs, completions, counters, measurements.

mod common;

use std::thread;
use std::time::Duration;

use common::on_device;
use dacapo::{DeviceCounter, Enqueue, Error, Input, Misuse, Output, Published, Stream, ThreadLocal, Waiting};
use dacapo_sim::Fault;

struct Echo {
    input: Input<u32>,
    output: Output<u32>,
    published: Stream<Published>,
}

/// A graph that copies its input to its output.
fn echo(rig: &common::Rig, slots: usize) -> Echo {
    let mut stream = rig.stream();
    let input = Input::new(&mut stream.eager(), 4, slots).unwrap();
    let output = Output::new(&mut stream.eager(), 4, slots).unwrap();
    let captured = stream.capture(ThreadLocal, |c| c.copy(input.buffer(), output.buffer())).unwrap();
    Echo { input, output, published: captured.publish().unwrap() }
}

#[test]
fn each_replay_answers_its_own_input_whatever_the_thread() {
    on_device(|rig| {
        let Echo { input, output, published } = echo(rig, 16);
        let replayer = published.replayer();
        thread::scope(|scope| {
            for thread in 0..4u32 {
                let (replayer, input, output) = (&replayer, &input, &output);
                scope.spawn(move || {
                    for step in 0..50 {
                        let asked = [thread, step, 7, thread + step];
                        let answer =
                            replayer.replay_around(|eager| input.write(eager, &asked), |eager| output.read(eager));
                        assert_eq!(answer.unwrap().wait().unwrap(), asked);
                    }
                });
            }
        });
        assert_eq!(published.replays(), 200);
    });
}

#[test]
fn a_slot_is_never_rewritten_while_a_copy_still_reads_it() {
    on_device(|rig| {
        // One slot for many uploads, none of which is waited for: on the simulated driver a rewritten source is a violation.
        let Echo { input, output, mut published } = echo(rig, 1);
        for step in 0..20 {
            published.replay_with(|eager| input.write(eager, &[step; 4])).unwrap();
        }
        assert_eq!(published.read(output.buffer()).unwrap(), [19; 4]);
    });
}

#[test]
fn an_output_has_as_many_answers_as_slots() {
    on_device(|rig| {
        let Echo { input, output, mut published } = echo(rig, 2);
        let answer = |published: &mut Stream<Published>, value| {
            published.replay_with(|eager| input.write(eager, &[value; 4])).unwrap();
            output.read(&mut published.eager())
        };
        let first = answer(&mut published, 1).unwrap();
        let second = answer(&mut published, 2).unwrap();
        let refused = answer(&mut published, 3).unwrap_err();
        assert!(matches!(refused, Error::Misuse(Misuse::RingFull { slots: 2 })), "{refused}");
        assert_eq!(first.wait().unwrap(), [1; 4]);
        let third = answer(&mut published, 4).unwrap();
        drop(second);
        assert_eq!(third.wait().unwrap(), [4; 4]);
    });
}

#[test]
fn lengths_slots_and_streams_are_checked() {
    on_device(|rig| {
        let Echo { input, output, published } = echo(rig, 1);
        let refused = published.replay_with(|eager| input.write(eager, &[1; 5])).unwrap_err();
        assert!(matches!(refused, Error::Misuse(Misuse::LengthMismatch { source_len: 5, destination_len: 4 })));
        assert_eq!(published.replays(), 0);
        let mut other = rig.stream();
        assert!(matches!(input.write(&mut other.eager(), &[1; 4]), Err(Error::Misuse(Misuse::OtherStream))));
        assert!(matches!(output.read(&mut other.eager()), Err(Error::Misuse(Misuse::OtherStream))));
        assert!(matches!(Input::<u32>::new(&mut other.eager(), 0, 1), Err(Error::Misuse(Misuse::ZeroLength))));
        assert!(matches!(Output::<u32>::new(&mut other.eager(), 1, 0), Err(Error::Misuse(Misuse::ZeroLength))));
    });
}

#[test]
fn a_refused_copy_gives_its_slot_back() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults") else { return };
        let Echo { input, output, mut published } = echo(rig, 1);
        for call in ["cuMemcpyHtoDAsync", "cuEventRecord", "cuEventSynchronize"] {
            sim.inject(Fault::on(call).code(999));
            published.replay_with(|eager| input.write(eager, &[1; 4])).expect_err(call);
            sim.clear_faults();
            published.replay_with(|eager| input.write(eager, &[2; 4])).expect(call);
        }
        for call in ["cuMemcpyDtoHAsync", "cuEventRecord", "cuEventSynchronize"] {
            sim.inject(Fault::on(call).code(999));
            output.read(&mut published.eager()).expect_err(call);
            sim.clear_faults();
            assert_eq!(output.read(&mut published.eager()).expect(call).wait().unwrap(), [2; 4]);
        }
    });
}

#[test]
fn a_completion_tells_when_its_own_replay_has_finished() {
    on_device(|rig| {
        let Echo { published, .. } = echo(rig, 1);
        for waiting in [Waiting::Spin, Waiting::Sleep] {
            let completion = published.replayer().replay_tracked(waiting).unwrap();
            completion.wait().unwrap();
            assert!(completion.is_done().unwrap());
            assert!(completion.wait_for(Duration::ZERO).unwrap());
        }
        assert_eq!(published.replays(), 2);
        let replayer = published.replayer();
        drop(published);
        assert!(matches!(replayer.replay_tracked(Waiting::Spin), Err(Error::Stale(_))));
    });
}

#[test]
fn a_completion_of_work_that_hangs_is_waited_for_no_longer_than_asked() {
    on_device(|rig| {
        let Some(sim) = rig.sim("a stream that hangs") else { return };
        let mut stream = rig.stream();
        // SAFETY: the body only asks for the handle.
        let handle = unsafe { stream.raw(|stream| Ok::<_, Error>(stream.cu_stream())) }.unwrap();
        let buffer = stream.alloc::<u32>(1).unwrap();
        sim.hang(handle.addr() as u64);
        stream.fill(&buffer, 1).unwrap();
        let completion = stream.completion(Waiting::Sleep).unwrap();
        assert!(!completion.is_done().unwrap());
        assert!(!completion.wait_for(Duration::from_millis(5)).unwrap());
        sim.release(handle.addr() as u64);
        assert!(completion.wait_for(Duration::from_secs(5)).unwrap());
    });
}

#[test]
fn a_counter_counts_every_run_of_its_graph() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (counter, eager) = (DeviceCounter::new(&mut stream.eager()), DeviceCounter::new(&mut stream.eager()));
        let (counter, eager) = (counter.unwrap(), eager.unwrap());
        stream.count(&eager).unwrap();
        assert_eq!((eager.read(&mut stream.eager()).unwrap(), counter.read(&mut stream.eager()).unwrap()), (1, 0));
        let captured = stream.capture(ThreadLocal, |c| {
            c.count(&counter)?;
            c.count(&counter)
        });
        let mut published = captured.unwrap().publish().unwrap();
        (0..5).for_each(|_| published.replay().unwrap());
        assert_eq!(counter.read(&mut published.eager()).unwrap(), 10);
    });
}

#[test]
fn a_measurement_replays_as_often_as_asked() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let counter = DeviceCounter::new(&mut stream.eager()).unwrap();
        let mut published = stream.capture(ThreadLocal, |c| c.count(&counter)).unwrap().publish().unwrap();
        let measured = published.replayer().measure(10).unwrap();
        assert_eq!(measured.iterations, 10);
        assert!(measured.total > Duration::ZERO);
        assert_eq!(measured.per_replay(), measured.total / 10);
        assert_eq!(counter.read(&mut published.eager()).unwrap(), 10);
        assert!(matches!(published.replayer().measure(0), Err(Error::Misuse(Misuse::NoIterations))));
        let Some(sim) = rig.sim("injected faults") else { return };
        for (call, nth) in [
            ("cuEventCreate", 1),
            ("cuEventCreate", 2),
            ("cuEventRecord", 1),
            ("cuGraphLaunch", 3),
            ("cuEventRecord", 2),
        ] {
            sim.inject(Fault::on(call).nth(nth).code(999));
            published.replayer().measure(5).expect_err(call);
            sim.clear_faults();
            published.replay().unwrap();
        }
    });
}
