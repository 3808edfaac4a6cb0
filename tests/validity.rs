//! Checks of the engine's own before a replay: a refusal launches nothing, whichever way the replay is asked for.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use common::{Rig, on_device};
use dacapo::{
    Buffer, DriverCode, Enqueue, Error, Instantiated, LaunchConfig, Misuse, Published, Stream, ThreadLocal, Waiting,
};
use dacapo_sim::Fault;

/// A check that can be switched off, and counts how often it is asked.
#[derive(Clone)]
struct Switch {
    on: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
}

impl Switch {
    fn new() -> Self {
        Self { on: Arc::new(AtomicBool::new(true)), asked: Arc::default() }
    }

    fn set(&self, on: bool) {
        self.on.store(on, Ordering::Relaxed);
    }

    fn asked(&self) -> usize {
        self.asked.swap(0, Ordering::Relaxed)
    }

    /// Guards a graph.
    fn guard(&self, captured: Stream<Instantiated>) -> Stream<Instantiated> {
        let own = self.clone();
        captured.valid_while(move || {
            own.asked.fetch_add(1, Ordering::Relaxed);
            if own.on.load(Ordering::Relaxed) { Ok(()) } else { Err("another mode") }
        })
    }
}

/// A graph that adds one to a word.
fn counting(rig: &Rig) -> (Stream<Instantiated>, Buffer<u32>) {
    let (mut stream, increment) = (rig.stream(), rig.kernel("increment_u32"));
    let word = stream.alloc::<u32>(1).unwrap();
    // SAFETY: one pointer to a word, one thread.
    let captured = stream.capture(ThreadLocal, |c| unsafe { c.launch(&increment, LaunchConfig::new(1, 1), (&word,)) });
    (captured.unwrap(), word)
}

/// Every way to replay once.
fn ways(published: &Stream<Published>) -> [Result<(), Error>; 8] {
    let replayer = published.replayer();
    [
        published.replay(),
        replayer.replay(),
        published.follower().replay().map(drop),
        published.replay_segment(0),
        published.replay_with(|_| Ok(())),
        replayer.replay_around(|_| Ok(()), |_| Ok(())),
        replayer.replay_tracked(Waiting::Sleep).map(drop),
        replayer.measure(1).map(drop),
    ]
}

fn assert_refused(refused: Error) {
    assert_eq!(refused.to_string(), "the captured work is not valid now, and was not launched: another mode");
    assert!(matches!(refused, Error::NotValid(_)));
}

#[test]
fn a_replay_that_the_check_refuses_launches_nothing() {
    on_device(|rig| {
        let (captured, word) = counting(rig);
        let switch = Switch::new();
        let captured = switch.guard(captured);
        assert!(captured.is_single_segment());
        let mut published = captured.publish().unwrap();
        assert!(ways(&published).iter().all(Result::is_ok));
        assert_eq!((published.read(&word).unwrap(), switch.asked()), (vec![8], 8));
        switch.set(false);
        ways(&published).into_iter().for_each(|way| assert_refused(way.unwrap_err()));
        assert_refused(published.replay_with(|_| panic!("nothing is enqueued either")).unwrap_err());
        assert_eq!((published.read(&word).unwrap(), switch.asked()), (vec![8], 9));
        assert_eq!(published.replays(), 7, "a segment alone does not count");
        switch.set(true);
        published.replay().unwrap();
        assert_eq!(published.read(&word).unwrap(), [9]);
        let replayer = published.replayer();
        drop(published.reset().unwrap());
        switch.asked();
        assert!(matches!(replayer.replay(), Err(Error::Stale(_))));
        assert_eq!((switch.asked(), Arc::strong_count(&switch.on)), (0, 1), "it is let go with the graph");
    });
}

#[test]
fn a_graph_of_segments_and_seams_is_asked_for_once_and_first() {
    on_device(|rig| {
        let (captured, word) = counting(rig);
        let (switch, ran) = (Switch::new(), Arc::new(AtomicUsize::new(0)));
        let seam = ran.clone();
        let captured = switch.guard(captured).seam(move |_| {
            seam.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        let captured = captured.capture_segment(ThreadLocal, |c| c.copy(&word, &rig.stream().alloc(1)?));
        let mut published = captured.unwrap_or_else(|rejected| panic!("{rejected}")).publish().unwrap();
        published.replay().unwrap();
        assert_eq!((published.read(&word).unwrap(), switch.asked(), ran.load(Ordering::Relaxed)), (vec![1], 1, 1));
        switch.set(false);
        assert_refused(published.replay().unwrap_err());
        assert_refused(published.replay_segment(1).unwrap_err());
        switch.set(true);
        assert!(matches!(published.replay_segment(1), Err(Error::Misuse(Misuse::HasSeams))));
        assert_eq!((published.read(&word).unwrap(), ran.load(Ordering::Relaxed)), (vec![1], 1));
    });
}

#[test]
fn of_several_checks_all_are_asked_in_order() {
    on_device(|rig| {
        let (captured, _) = counting(rig);
        let (first, second) = (Switch::new(), Switch::new());
        let published = second.guard(first.guard(captured)).publish().unwrap();
        published.replay().unwrap();
        assert_eq!((first.asked(), second.asked()), (1, 1));
        second.set(false);
        assert_refused(published.replay().unwrap_err());
        assert_eq!((first.asked(), second.asked()), (1, 1));
        first.set(false);
        assert_refused(published.replay().unwrap_err());
        assert_eq!((first.asked(), second.asked()), (1, 0));
    });
}

#[test]
fn a_check_goes_where_the_graph_goes() {
    on_device(|rig| {
        let (captured, word) = counting(rig);
        let (switch, other) = (Switch::new(), Switch::new());
        let published = switch.guard(captured).publish().unwrap();
        let follower = published.follower();
        let published = published.update(ThreadLocal, |c| c.fill(&word, 2)).unwrap();
        follower.replay().unwrap();
        assert_eq!(switch.asked(), 1, "a new generation of the same plan");
        let mut published = published;
        let elsewhere = rig.stream().capture(ThreadLocal, |c| c.fill(&word, 3)).unwrap();
        drop(published.swap(other.guard(elsewhere)).unwrap());
        switch.set(false);
        follower.replay().unwrap();
        assert_eq!((switch.asked(), other.asked()), (0, 1), "another plan");
        assert_eq!(Arc::strong_count(&switch.on), 1);
        assert_eq!(published.read(&word).unwrap(), [3]);
    });
}

#[test]
fn a_check_is_asked_in_nobody_s_turn() {
    on_device(|rig| {
        let (captured, word) = counting(rig);
        let inside: Arc<Mutex<Option<Stream<Published>>>> = Arc::default();
        let taken = inside.clone();
        // What another thread might do while the check is asked.
        let captured = captured.valid_while(move || match taken.lock().unwrap().take() {
            Some(published) => published.reset().map(drop),
            None => Ok(()),
        });
        let published = captured.publish().unwrap();
        let replayer = published.replayer();
        replayer.replay().unwrap();
        *inside.lock().unwrap() = Some(published);
        assert!(matches!(replayer.replay(), Err(Error::Stale(_))), "reset meanwhile, and so not launched");
        assert_eq!(rig.stream().read(&word).unwrap(), [1]);
    });
}

#[test]
fn a_check_that_panics_or_a_launch_that_fails_leaves_the_graph_published() {
    on_device(|rig| {
        let (captured, word) = counting(rig);
        let panics = Arc::new(AtomicBool::new(true));
        let own = panics.clone();
        let captured = captured.valid_while(move || {
            assert!(!own.load(Ordering::Relaxed), "in the check");
            Ok::<(), Error>(())
        });
        let mut published = captured.publish().unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| published.replay())).is_err());
        panics.store(false, Ordering::Relaxed);
        if let Some(sim) = rig.sim("injected faults") {
            sim.inject(Fault::on("cuGraphLaunch").code(1));
            assert_eq!(published.replay().unwrap_err().code(), Some(DriverCode::INVALID_VALUE));
            sim.inject(Fault::on("cuGraphLaunch").code(1));
            assert_eq!(published.replay_with(|_| Ok(())).unwrap_err().code(), Some(DriverCode::INVALID_VALUE));
        }
        published.replay().unwrap();
        assert_eq!((published.read(&word).unwrap(), published.replays()), (vec![1], 1));
    });
}

#[test]
fn an_error_of_ours_or_the_driver_s_stays_what_it_is() {
    on_device(|rig| {
        let (captured, _) = counting(rig);
        let published = captured.valid_while(|| Err::<(), _>(Misuse::ZeroLength)).publish().unwrap();
        let Error::NotValid(not_valid) = published.replay().unwrap_err() else { panic!("it refuses") };
        assert!(matches!(not_valid.why, Error::Misuse(Misuse::ZeroLength)));
    });
}

#[test]
fn a_replica_asks_what_the_original_asks() {
    on_device(|rig| {
        let (captured, _) = counting(rig);
        let switch = Switch::new();
        let captured = switch.guard(captured);
        // SAFETY: neither is replayed beside the other.
        let replica = unsafe { captured.replicate(1) }.unwrap().remove(0).publish().unwrap();
        switch.set(false);
        assert_refused(replica.replay().unwrap_err());
        switch.set(true);
        replica.replay().unwrap();
        assert_eq!((switch.asked(), replica.replays()), (2, 1));
    });
}
