//! Models of what threads may do to each other, run by loom in every order: `.ci/run loom`. `docs/testing.md` lists them.
//!
//! They run the very code that replays, resets, captures and updates run, on the parts of it that know nothing of the driver.
//! A stand-in for the device counts what was launched on it.

use std::sync::atomic::{AtomicU64 as Plain, Ordering};

use loom::thread;

use crate::error::{Call, DriverCode, DriverError, Error, Misuse, Poisoned};
use crate::gate::{Kind, Room};
use crate::runtime::{Current, Order, Token};
use crate::sync::Arc;

const CAUSE: DriverError = DriverError::new(Call("cuStreamSynchronize"), DriverCode::NOT_READY, None);

/// A lane whose slots publish numbers, and that counts what was launched while it was not to be.
struct Bench {
    order: Order<[usize; 2], &'static str>,
    /// Launches, and those of something that had been retired. No model looks at these: they only tell what happened.
    launched: Plain,
    retired: Plain,
}

impl Bench {
    fn new() -> Arc<Self> {
        Arc::new(Self { order: Order::new(), launched: Plain::new(0), retired: Plain::new(0) })
    }

    fn publish(&self, program: usize) -> Token {
        self.order.slots().slots.publish(1, [program, 0]).expect("a generation")
    }

    /// What a replay does.
    fn replay(&self, token: Token) -> Result<(), Error> {
        let mut turn = self.order.turn_for(token)?;
        let live = turn.slots.admit(token)?;
        assert_eq!(live.program[1], 0, "launched after it was destroyed");
        live.replays += 1;
        self.launched.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// What a reset does; afterwards nothing may be launched any more.
    fn retire(&self, token: Token) {
        let mut turn = self.order.slots_at_rest();
        let replays = turn.slots.retire(token);
        self.retired.fetch_add(replays, Ordering::Relaxed);
    }
}

fn is_open(error: &Error) -> bool {
    matches!(error, Error::Misuse(Misuse::CaptureOpen))
}

#[test]
fn a_replay_is_admitted_before_a_reset_or_refused() {
    loom::model(|| {
        let bench = Bench::new();
        let token = bench.publish(1);
        let other = bench.clone();
        let replayer = thread::spawn(move || u64::from(other.replay(token).is_ok()));
        bench.retire(token);
        let at_reset = bench.launched.load(Ordering::Relaxed);
        let admitted = replayer.join().unwrap();
        assert_eq!(
            bench.launched.load(Ordering::Relaxed),
            at_reset,
            "nothing is launched after the reset has returned"
        );
        assert_eq!((admitted, bench.retired.load(Ordering::Relaxed)), (at_reset, at_reset));
    });
}

#[test]
fn a_capture_has_the_lane_to_itself() {
    loom::model(|| {
        let bench = Bench::new();
        let token = bench.publish(1);
        let other = bench.clone();
        let replayer = thread::spawn(move || match other.replay(token) {
            Ok(()) => {}
            Err(error) => assert!(is_open(&error), "{error}"),
        });
        if bench.order.begin_capture().is_ok() {
            let before = bench.launched.load(Ordering::Relaxed);
            thread::yield_now();
            assert_eq!(bench.launched.load(Ordering::Relaxed), before, "launched into a capture");
            assert!(bench.order.end_capture().is_empty());
        }
        replayer.join().unwrap();
        bench.replay(token).unwrap();
    });
}

#[test]
fn of_two_captures_on_one_lane_one_is_refused_or_they_follow_each_other() {
    loom::model(|| {
        let bench = Bench::new();
        let capture = |bench: &Bench| match bench.order.begin_capture() {
            Ok(()) => {
                let inside = bench.launched.fetch_add(1, Ordering::Relaxed);
                assert_eq!(inside, 0, "two captures at once");
                thread::yield_now();
                bench.launched.fetch_sub(1, Ordering::Relaxed);
                bench.order.end_capture();
            }
            Err(error) => assert!(is_open(&error), "{error}"),
        };
        let other = bench.clone();
        let second = thread::spawn(move || capture(&other));
        capture(&bench);
        second.join().unwrap();
    });
}

#[test]
fn a_drain_never_meets_a_capture() {
    loom::model(|| {
        let bench = Bench::new();
        let other = bench.clone();
        let drainer = thread::spawn(move || {
            if let Ok(draining) = other.order.drain() {
                other.launched.fetch_add(1, Ordering::Relaxed);
                thread::yield_now();
                other.launched.fetch_sub(1, Ordering::Relaxed);
                drop(draining);
            }
        });
        bench.order.begin_capture().unwrap();
        assert_eq!(bench.launched.load(Ordering::Relaxed), 0, "a drain goes on in a capture");
        bench.order.end_capture();
        drainer.join().unwrap();
    });
}

#[test]
fn a_closed_lane_gives_no_turn_whoever_held_it_meanwhile() {
    loom::model(|| {
        let bench = Bench::new();
        let token = bench.publish(1);
        let (pipeline, closer) = (bench.clone(), bench.clone());
        let pipeline = thread::spawn(move || {
            // Holds it, is waited for, or comes too late.
            if let Ok(turn) = pipeline.order.turn() {
                drop(pipeline.order.hold_exclusively(turn));
            }
        });
        let closer = thread::spawn(move || {
            closer.order.close(Poisoned { cause: CAUSE });
            assert!(matches!(closer.order.turn(), Err(Error::Poisoned(_))), "once whoever holds it is done");
        });
        let _ = bench.replay(token);
        pipeline.join().unwrap();
        closer.join().unwrap();
        assert!(matches!(bench.replay(token), Err(Error::Poisoned(_))));
        assert!(matches!(bench.order.begin_capture(), Err(Error::Poisoned(_))));
        bench.retire(token);
    });
}

#[test]
fn what_is_put_off_is_handed_to_who_ends_the_capture() {
    loom::model(|| {
        let bench = Bench::new();
        bench.order.begin_capture().unwrap();
        let other = bench.clone();
        let dropper = thread::spawn(move || other.order.defer("graph").is_ok());
        let handed_out = bench.order.end_capture();
        let put_off = dropper.join().unwrap();
        assert_eq!(handed_out.len(), usize::from(put_off), "neither lost nor kept for nobody");
        assert!(bench.order.end_capture().is_empty());
    });
}

#[test]
fn an_exclusive_holder_keeps_others_waiting_and_a_reset_waits_for_it() {
    loom::model(|| {
        let bench = Bench::new();
        let token = bench.publish(1);
        let other = bench.clone();
        let pipeline = thread::spawn(move || {
            let Ok(mut turn) = other.order.turn_for(token) else { return 0 };
            if turn.slots.admit(token).is_err() {
                return 0;
            }
            let exclusive = other.order.hold_exclusively(turn);
            other.launched.fetch_add(1, Ordering::Relaxed);
            assert!(matches!(other.order.turn(), Err(Error::Misuse(Misuse::OutOfTurn))), "its own thread is refused");
            // The second segment, after a seam.
            exclusive.turn().slots.admit(token).expect("a reset waits");
            other.launched.fetch_add(1, Ordering::Relaxed);
            2
        });
        bench.retire(token);
        let at_reset = bench.launched.load(Ordering::Relaxed);
        assert_eq!(pipeline.join().unwrap(), at_reset, "all of it before the reset, or nothing");
    });
}

#[test]
fn a_follower_finds_a_generation_through_every_replacement() {
    loom::model(|| {
        let bench = Bench::new();
        let first = bench.publish(1);
        let current = Arc::new(Current::new(first));
        let (other, followed) = (bench.clone(), current.clone());
        let follower = thread::spawn(move || {
            let token = followed.follow(first, |token| other.replay(token)).expect("never lost");
            token.generation()
        });
        let mut turn = bench.order.slots_at_rest();
        // What was published before is destroyed once it is replaced.
        turn.slots.admit(first).unwrap();
        let (second, _) = turn.slots.replace(first, [2, 0]).unwrap();
        current.set(Some(second));
        drop(turn);
        let generation = follower.join().unwrap();
        assert!(generation == 1 || generation == 2);
        assert!(matches!(bench.replay(first), Err(Error::Stale(_))));
        bench.replay(second).unwrap();
    });
}

#[test]
fn captures_and_synchronisers_are_never_in_the_room_together() {
    loom::model(|| {
        let room = Arc::new(Room::default());
        let (captures, synchronisers) = (Arc::new(Plain::new(0)), Arc::new(Plain::new(0)));
        let visit = {
            let (room, captures, synchronisers) = (room.clone(), captures.clone(), synchronisers.clone());
            move |kind: Kind| {
                let (own, other) = match kind {
                    Kind::Capture => (&captures, &synchronisers),
                    Kind::Synchroniser => (&synchronisers, &captures),
                };
                let visit = Room::enter(&room, kind).expect("not in it yet");
                own.fetch_add(1, Ordering::Relaxed);
                assert_eq!(other.load(Ordering::Relaxed), 0);
                thread::yield_now();
                own.fetch_sub(1, Ordering::Relaxed);
                drop(visit);
            }
        };
        let other = visit.clone();
        let synchroniser = thread::spawn(move || other(Kind::Synchroniser));
        visit(Kind::Capture);
        synchroniser.join().unwrap();
    });
}

#[test]
fn a_thread_with_a_capture_may_bring_another_past_a_waiting_synchroniser() {
    loom::model(|| {
        let room = Arc::new(Room::default());
        let first = Room::enter(&room, Kind::Capture).unwrap();
        let other = room.clone();
        let synchroniser = thread::spawn(move || drop(Room::enter(&other, Kind::Synchroniser).unwrap()));
        let second = Room::enter(&room, Kind::Capture).unwrap();
        assert!(matches!(Room::enter(&room, Kind::Synchroniser), Err(Misuse::GateHeld)));
        drop((first, second));
        synchroniser.join().unwrap();
    });
}
