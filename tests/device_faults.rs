//! Kernels that fault on the device: the error sticks to the context, nothing is released, nothing hangs. Each in a process
//! of its own, because on a real device the context is lost.

mod common;

use common::{Rig, in_a_child, on_device};
use dacapo::{Buffer, Device, DriverCode, Enqueue, Error, LaunchConfig, Published, Stream, ThreadLocal, Waiting};
use dacapo_sim::Fault;

#[test]
fn a_trap_in_a_graph_shows_at_the_drain_and_nothing_is_released() {
    in_a_child("a_trap_in_a_graph_shows_at_the_drain_and_nothing_is_released", || {
        on_device(|rig| {
            let shared = std::sync::Arc::new(());
            let mut stream = rig.stream();
            let buffer = stream.alloc::<u32>(1).unwrap();
            let trap = rig.kernel("trap");
            let captured = stream.capture(ThreadLocal, |c| {
                c.retain_shared(&shared);
                c.fill(&buffer, 1)?;
                // SAFETY: takes no arguments; the fault is what is tested.
                unsafe { c.launch(&trap, LaunchConfig::new(1, 1), ()) }
            });
            let published = captured.unwrap().publish().unwrap();
            published.replay().expect("the launch itself is taken");
            let (idle, error) = published.reset().unwrap_err().into_parts();
            assert!(matches!(&error, Error::Poisoned(_)), "{error}");
            assert_eq!(error.code(), Some(DriverCode::LAUNCH_FAILED));
            assert_eq!(std::sync::Arc::strong_count(&shared), 2, "captured storage is kept");
            drop((idle, buffer));
            let error = rig.device.stream().err().or_else(|| rig.device.stream().err()).expect("the context is lost");
            assert_eq!(error.code(), Some(DriverCode::LAUNCH_FAILED));
            if let Some(sim) = rig.sim("a reset of everything") {
                drop(sim.take_violations());
                sim.reset();
            }
        });
    });
}

#[test]
fn an_eager_fault_shows_at_the_next_synchronisation() {
    in_a_child("an_eager_fault_shows_at_the_next_synchronisation", || {
        on_device(|rig| {
            let mut stream = rig.stream();
            let buffer = stream.alloc::<u32>(1).unwrap();
            let store = rig.kernel("store_out_of_bounds");
            // SAFETY: far outside of what the buffer names: the fault is what is tested.
            unsafe { stream.launch(&store, LaunchConfig::new(1, 1), (&buffer, 1u64 << 40)) }.unwrap();
            assert_eq!(stream.synchronize().unwrap_err().code(), Some(DriverCode::ILLEGAL_ADDRESS));
            assert_eq!(stream.read(&buffer).unwrap_err().code(), Some(DriverCode::ILLEGAL_ADDRESS));
            let (stream, error) = stream.begin(ThreadLocal).unwrap_err().into_parts();
            assert_eq!(error.code(), Some(DriverCode::ILLEGAL_ADDRESS));
            drop((stream, buffer));
            if let Some(sim) = rig.sim("a reset of everything") {
                let violations = sim.take_violations();
                assert!(!violations.is_empty(), "and is a violation");
                sim.reset();
            }
        });
    });
}

#[test]
fn after_a_fault_everything_refuses_with_its_first_cause() {
    in_a_child("after_a_fault_everything_refuses_with_its_first_cause", || {
        on_device(|rig| {
            let (mut stream, mut other) = (rig.stream(), rig.stream());
            let buffer = stream.alloc::<u32>(1).unwrap();
            let published = stream.sibling().capture(ThreadLocal, |c| c.fill(&buffer, 1)).unwrap().publish().unwrap();
            let elsewhere = other.capture(ThreadLocal, |c| c.fill(&buffer, 1)).unwrap();
            let completion = stream.completion(Waiting::Spin).unwrap();
            other = rig.stream();
            let trap = rig.kernel("trap");
            // SAFETY: takes no arguments; the fault is what is tested.
            unsafe { stream.launch(&trap, LaunchConfig::new(1, 1), ()) }.unwrap();
            let first = stream.synchronize().unwrap_err();
            let Error::Driver(cause) = first else { panic!("{first}") };
            assert_eq!((cause.call.name(), cause.code), ("cuStreamSynchronize", DriverCode::LAUNCH_FAILED));
            assert_eq!(rig.device.fault(), Some(cause));

            let calls = calls(rig);
            let early = [
                stream.fill(&buffer, 1),
                stream.synchronize(),
                stream.alloc::<u32>(1).map(drop),
                stream.read(&buffer).map(drop),
                stream.write(&[1], &buffer),
                stream.fork(&mut other, |_, _| panic!("not called")),
                stream.completion(Waiting::Spin).map(drop),
                completion.wait(),
                published.replayer().measure(1).map(drop),
                published.replayer().replay_tracked(Waiting::Spin).map(drop),
                published.replay_with(|_| panic!("not called")),
                rig.device.stream().map(drop),
                rig.device.pinned::<u32>(1).map(drop),
                rig.device.load_ptx(common::BASIC_PTX).map(drop),
            ];
            let begun = stream.begin(ThreadLocal).expect_err("the device has faulted");
            if let Some(before) = calls {
                assert_eq!(self::calls(rig), Some(before), "refused before the driver is called");
            }
            // A replay takes nothing but the lane's lock, so it asks the driver, which refuses.
            let late = [published.replay(), published.replay_segment(0), published.follower().replay().map(drop)];
            let updated = published.update(ThreadLocal, |_| panic!("not called"));
            let refused =
                early.into_iter().chain(late).chain([Err(begun.into_error()), updated.map(drop).map_err(Into::into)]);
            for (number, refused) in refused.enumerate() {
                match refused.unwrap_err() {
                    Error::Faulted(faulted) => assert_eq!(faulted.cause, cause, "{number}"),
                    other => panic!("{number}: {other}"),
                }
            }
            let error = elsewhere.discard().unwrap_err().into_error();
            assert!(matches!(error, Error::Poisoned(_)), "what was captured is kept for good: {error}");
            assert!(Device::open(0).and_then(|again| again.stream()).is_err(), "a new context needs a new process");
            if let Some(sim) = rig.sim("a reset of everything") {
                drop((sim.take_violations(), other, buffer, completion));
                sim.reset();
            }
        });
    });
}

/// How many driver calls there have been, if somebody counts.
fn calls(rig: &Rig) -> Option<usize> {
    Some(rig.sim("a call log")?.calls().len())
}

/// Real faults show in whatever call comes next; here each call in turn is made to.
#[test]
fn whichever_call_a_fault_shows_in_first_is_its_cause() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults") else { return };
        type Operation = fn(&mut Stream<Published>, &Buffer<u32>) -> Result<(), Error>;
        let operations: [(&str, Operation); 9] = [
            ("cuMemsetD32Async", |stream, buffer| stream.fill(buffer, 0x01020304)),
            ("cuLaunchHostFunc", |stream, _| stream.host(|| ())),
            ("cuGraphLaunch", |stream, _| stream.replay()),
            ("cuGraphLaunch", |stream, _| stream.replay_with(|_| Ok(()))),
            ("cuMemHostAlloc", |stream, _| stream.device().pinned::<u32>(1).map(drop)),
            ("cuMemcpyHtoDAsync", |stream, buffer| stream.write(&[1], buffer)),
            ("cuEventRecord", |stream, _| stream.completion(Waiting::Spin).map(drop)),
            ("cuEventSynchronize", |stream, _| stream.completion(Waiting::Spin)?.wait()),
            ("cuEventElapsedTime", |stream, _| stream.replayer().measure(1).map(drop)),
        ];
        for (call, operation) in operations {
            // Each has not heard of what the others have.
            let device = Device::open(rig.device.ordinal()).unwrap();
            let mut stream = device.stream().unwrap();
            let buffer = stream.alloc::<u32>(1).unwrap();
            let mut published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 1)).unwrap().publish().unwrap();
            sim.inject(Fault::on(call).code(700));
            let first = operation(&mut published, &buffer).expect_err(call);
            let Error::Driver(cause) = first else { panic!("{call}: {first}") };
            assert_eq!((cause.call.name(), cause.code), (call, DriverCode::ILLEGAL_ADDRESS));
            assert_eq!(device.fault(), Some(cause), "{call}");
            sim.inject(Fault::on(call).code(719));
            let second = published.fill(&buffer, 1).expect_err(call);
            assert_eq!(second.to_string(), format!("the device has faulted, and its context is lost: {cause}"));
            sim.clear_faults();
            drop(published.reset().expect("the simulated device goes on"));
        }
    });
}
