//! Eight threads replay while one resets and publishes anew and one updates: every replay runs whole, on one generation, or is
//! refused, and the device has counted as many as were admitted.
//!
//! `DACAPO_STRESS_SECONDS` says for how long; a moment, if it is not set.

mod common;

use std::env;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use common::on_device;
use dacapo::{DeviceCounter, Enqueue, Error, Misuse, Published, Replayer, Stream, ThreadLocal};

fn seconds() -> Duration {
    let seconds = env::var("DACAPO_STRESS_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    seconds.map_or(Duration::from_millis(300), Duration::from_secs_f64)
}

/// A graph that counts twice on one counter, so that half a replay would leave it odd.
fn counting(stream: &mut impl Enqueue, counter: &DeviceCounter) -> Result<(), Error> {
    stream.count(counter)?;
    stream.count(counter)
}

#[test]
fn every_replay_is_admitted_or_refused_and_none_is_lost() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let counter = DeviceCounter::new(&mut stream.eager()).unwrap();
        let published = stream.capture(ThreadLocal, |c| counting(c, &counter)).unwrap().publish().unwrap();
        // What the threads replay: exchanged at every reset.
        let current: Mutex<Replayer> = Mutex::new(published.replayer());
        let owner: Mutex<Option<Stream<Published>>> = Mutex::new(Some(published));
        let (stop, admitted, refused) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        let lock =
            |owner: &Mutex<Option<Stream<Published>>>| owner.lock().unwrap_or_else(PoisonError::into_inner).take();
        let give_back = |published: Stream<Published>| {
            *current.lock().unwrap_or_else(PoisonError::into_inner) = published.replayer();
            *owner.lock().unwrap_or_else(PoisonError::into_inner) = Some(published);
        };
        let until = Instant::now() + seconds();
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let replayer = current.lock().unwrap_or_else(PoisonError::into_inner).clone();
                        for _ in 0..16 {
                            match replayer.replay() {
                                Ok(()) => admitted.fetch_add(1, Ordering::Relaxed),
                                Err(Error::Stale(_) | Error::Misuse(Misuse::CaptureOpen)) => {
                                    refused.fetch_add(1, Ordering::Relaxed)
                                }
                                Err(error) => panic!("{error}"),
                            };
                        }
                        thread::yield_now();
                    }
                });
            }
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let Some(published) = lock(&owner) else { continue };
                    let idle = published.reset().unwrap();
                    give_back(idle.capture(ThreadLocal, |c| counting(c, &counter)).unwrap().publish().unwrap());
                    thread::sleep(Duration::from_millis(1));
                }
            });
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let Some(published) = lock(&owner) else { continue };
                    give_back(published.update(ThreadLocal, |c| counting(c, &counter)).unwrap());
                    thread::sleep(Duration::from_millis(1));
                }
            });
            while Instant::now() < until {
                thread::sleep(Duration::from_millis(5));
            }
            stop.store(true, Ordering::Relaxed);
        });
        let mut published = lock(&owner).expect("given back");
        let counted = counter.read(&mut published.eager()).unwrap();
        let (admitted, refused, stats) = (admitted.into_inner(), refused.into_inner(), published.stats());
        println!("{admitted} admitted, {refused} refused; {stats:?}");
        assert_eq!(counted, 2 * admitted);
        assert_eq!(stats.replays, admitted);
        assert!(admitted > 0 && stats.captures > 2 && stats.updates > 0);
    });
}
