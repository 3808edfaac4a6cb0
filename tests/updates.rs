//! Published graphs whose contents are changed: within the executable, as a new generation, by a graph from another stream.

mod common;

use std::thread;

use common::on_device;
use dacapo::{
    CapturePolicy, Enqueue, Error, LaunchConfig, Misuse, Refusal, ThreadLocal, Update, UpdatePolicy, UpdateReason,
};
use dacapo_sim::Fault;

#[test]
fn parameters_are_updated_within_the_executable() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let x = stream.buffer_from(&[1.0f32; 8]).unwrap();
        let scale = rig.kernel("scale_f32");
        // SAFETY: scale_f32(data, factor, n), over 8 elements.
        let captured = stream
            .capture(ThreadLocal, |c| unsafe { c.launch(&scale, LaunchConfig::for_elements(8), (&x, 2.0f32, 8u32)) });
        let published = captured.unwrap().publish().unwrap();
        let (replayer, token) = (published.replayer(), published.token());
        replayer.replay().unwrap();
        let updated = published
            // SAFETY: as above.
            .update(ThreadLocal, |c| unsafe { c.launch(&scale, LaunchConfig::for_elements(8), (&x, 5.0f32, 8u32)) });
        let mut published = updated.unwrap();
        assert_eq!(published.last_update(), Some(&Update::InPlace));
        assert_eq!(published.token(), token);
        replayer.replay().unwrap();
        assert_eq!(published.read(&x).unwrap(), [10.0; 8]);
        assert_eq!(published.replays(), 2);
    });
}

#[test]
fn what_the_old_contents_used_is_let_go_after_an_update() {
    on_device(|rig| {
        let Some(sim) = rig.sim("a count of live objects") else { return };
        let mut stream = rig.stream();
        let (a, b) = (stream.alloc::<u32>(4).unwrap(), stream.alloc::<u32>(4).unwrap());
        let published = stream.capture(ThreadLocal, |c| c.fill(&a, 1)).unwrap().publish().unwrap();
        published.replay().unwrap();
        drop(a);
        let before = sim.live().allocations();
        let mut published = published.update(ThreadLocal, |c| c.fill(&b, 2)).unwrap();
        assert_eq!(sim.live().allocations(), before - 1);
        published.replay().unwrap();
        assert_eq!(published.read(&b).unwrap(), [2; 4]);
    });
}

#[test]
fn what_cannot_be_updated_becomes_the_next_generation() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (a, b) = (stream.alloc::<u32>(1).unwrap(), stream.alloc::<u32>(1).unwrap());
        let published = stream.capture(ThreadLocal, |c| c.fill(&a, 1)).unwrap().publish().unwrap();
        let (replayer, follower) = (published.replayer(), published.follower());
        assert_eq!(follower.replay().unwrap(), published.token());
        let updated = published.update(ThreadLocal, |c| {
            c.fill(&a, 2)?;
            c.copy(&a, &b)
        });
        let mut published = updated.unwrap();
        let Some(Update::NewGeneration(refused)) = published.last_update() else { panic!("{published:?}") };
        assert_eq!(refused.reason, UpdateReason::Topology);
        assert_eq!(refused.to_string(), "the published graph cannot be updated in place: nodes or edges have changed");
        assert!(matches!(replayer.replay(), Err(Error::Stale(_))));
        assert_eq!(follower.replay().unwrap(), published.token());
        assert_eq!(published.token().generation(), 2);
        assert_eq!(published.read(&b).unwrap(), [2]);
    });
}

#[test]
fn the_old_graph_may_be_kept_when_it_cannot_be_updated() {
    on_device(|rig| {
        let mut stream = rig.stream().with_policy(CapturePolicy::new().update(UpdatePolicy::Keep));
        let (a, b) = (stream.alloc::<u32>(1).unwrap(), stream.alloc::<u32>(1).unwrap());
        let published = stream.capture(ThreadLocal, |c| c.fill(&a, 1)).unwrap().publish().unwrap();
        let replayer = published.replayer();
        let rejected = published.update(ThreadLocal, |c| c.copy(&b, &a)).unwrap_err();
        let Error::UpdateRefused(refused) = rejected.error() else { panic!("{rejected}") };
        assert_eq!(refused.reason, UpdateReason::Kind);
        let mut published = rejected.into_stream();
        assert_eq!(published.last_update(), None);
        replayer.replay().unwrap();
        assert_eq!(published.read(&a).unwrap(), [1]);
    });
}

#[test]
fn an_update_that_fails_leaves_the_graph_published() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let a = stream.alloc::<u32>(1).unwrap();
        let published = stream.capture(ThreadLocal, |c| c.fill(&a, 1)).unwrap().publish().unwrap();
        let (replayer, token) = (published.replayer(), published.token());
        let rejected = published.update(ThreadLocal, |_| Err(Misuse::Overlap.into())).unwrap_err();
        assert!(matches!(rejected.error(), Error::Misuse(Misuse::Overlap)));
        let rejected = rejected.into_stream().update(ThreadLocal, |_| Ok(())).unwrap_err();
        assert!(matches!(rejected.error(), Error::Refused(Refusal::Empty)));
        let capturing = rejected.into_stream().begin_update(ThreadLocal).unwrap();
        assert!(matches!(replayer.replay(), Err(Error::Misuse(Misuse::CaptureOpen))));
        let mut published = capturing.abort();
        assert_eq!(published.token(), token);
        replayer.replay().unwrap();
        assert_eq!(published.read(&a).unwrap(), [1]);
    });
}

#[test]
fn a_driver_error_at_any_call_of_an_update_leaves_the_graph_published() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults") else { return };
        let mut stream = rig.stream();
        let (a, b) = (stream.alloc::<u32>(1).unwrap(), stream.alloc::<u32>(1).unwrap());
        let mut published = stream.capture(ThreadLocal, |c| c.fill(&a, 1)).unwrap().publish().unwrap();
        let calls = [
            "cuStreamIsCapturing",
            "cuStreamSynchronize",
            "cuStreamBeginCapture",
            "cuMemcpyDtoDAsync",
            "cuStreamEndCapture",
            "cuGraphGetNodes",
            "cuGraphNodeGetType",
            "cuGraphExecUpdate",
            "cuGraphInstantiateWithFlags",
            "cuGraphUpload",
        ];
        for call in calls {
            let replayer = published.replayer();
            sim.inject(Fault::on(call).code(999));
            // Not to be updated in place, so that every call is made.
            let rejected = published.update(ThreadLocal, |c| c.copy(&b, &a)).expect_err(call);
            assert_eq!(rejected.error().code().map(dacapo::DriverCode::number), Some(999), "{call}: {rejected}");
            published = rejected.into_stream();
            sim.clear_faults();
            replayer.replay().unwrap_or_else(|error| panic!("{call}: {error}"));
        }
        assert_eq!(published.read(&a).unwrap(), [1]);
    });
}

#[test]
fn one_of_several_segments_is_updated_by_its_number() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (a, b) = (stream.alloc::<u32>(1).unwrap(), stream.alloc::<u32>(1).unwrap());
        let captured = stream.capture(ThreadLocal, |c| c.fill(&a, 1)).unwrap();
        let published = captured.capture_segment(ThreadLocal, |c| c.fill(&b, 2)).unwrap().publish().unwrap();
        let rejected = published.begin_update(ThreadLocal).unwrap_err();
        assert!(matches!(rejected.error(), Error::Misuse(Misuse::SeveralSegments { of: 2 })));
        let rejected = rejected.into_stream().begin_update_segment(2, ThreadLocal).unwrap_err();
        assert!(matches!(rejected.error(), Error::Misuse(Misuse::NoSuchSegment { index: 2, of: 2 })));
        let mut capturing = rejected.into_stream().begin_update_segment(1, ThreadLocal).unwrap();
        capturing.fill(&b, 3).unwrap();
        let mut published = capturing.end().unwrap();
        published.replay().unwrap();
        assert_eq!((published.read(&a).unwrap(), published.read(&b).unwrap()), (vec![1], vec![3]));
    });
}

#[test]
fn a_graph_from_another_stream_is_swapped_in_while_replays_go_on() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (old, new) = (stream.alloc::<u64>(1).unwrap(), stream.alloc::<u64>(1).unwrap());
        let increment = rig.kernel("increment_u64");
        let count = |counter: &dacapo::Buffer<u64>| {
            let (increment, counter) = (increment.clone(), counter.clone());
            // SAFETY: one pointer to a 64-bit word.
            move |c: &mut dacapo::Stream<dacapo::Capturing>| unsafe {
                c.launch(&increment, LaunchConfig::new(1, 1), (&counter,))
            }
        };
        let mut published = stream.capture(ThreadLocal, count(&old)).unwrap().publish().unwrap();
        let (pinned_to_old, follower) = (published.replayer(), published.follower());
        thread::scope(|scope| {
            for _ in 0..4 {
                let follower = follower.clone();
                scope.spawn(move || {
                    (0..500).for_each(|_| {
                        follower.replay().unwrap();
                    })
                });
            }
            for _ in 0..20 {
                let spare = rig.stream().capture(ThreadLocal, count(&new)).unwrap();
                drop(published.swap(spare).unwrap());
                thread::yield_now();
            }
        });
        assert_eq!(published.last_update(), Some(&Update::Swapped));
        assert!(matches!(pinned_to_old.replay(), Err(Error::Stale(_))));
        let ran = published.read(&old).unwrap()[0] + published.read(&new).unwrap()[0];
        assert_eq!(ran, 2000);
        assert_eq!(follower.current().unwrap().token(), published.token());
        drop(published.reset().unwrap());
        assert!(matches!(follower.replay(), Err(Error::Stale(_))));
        assert!(follower.current().is_none());
    });
}

#[test]
fn a_graph_of_another_device_is_not_swapped_in() {
    common::on_devices(2, |rigs| {
        let graph = |rig: &common::Rig| {
            let mut stream = rig.stream();
            let a = stream.alloc::<u32>(1).unwrap();
            stream.capture(ThreadLocal, |c| c.fill(&a, 1)).unwrap()
        };
        let mut published = graph(&rigs[0]).publish().unwrap();
        let rejected = published.swap(graph(&rigs[1])).unwrap_err();
        assert!(matches!(rejected.error(), Error::Misuse(Misuse::WrongContext { what: "graph" })));
        published.replay().unwrap();
    });
}
