//! Captures and what other threads, or other code on this thread, do meanwhile.

mod common;

use std::thread;

use common::{on_device, on_device_alone};
use dacapo::{CaptureStatus, DriverCode, Enqueue, Global, Relaxed, ThreadLocal};

/// An allocation by code that is not ours, on the calling thread.
fn foreign_alloc(context: &dacapo::cudarc::driver::CudaContext) -> Result<(), dacapo::Error> {
    context.bind_to_thread()?;
    // SAFETY: freed right away, and used by nobody.
    unsafe {
        let address = dacapo::cudarc::driver::result::malloc_sync(64)?;
        dacapo::cudarc::driver::result::free_sync(address)?;
    }
    Ok(())
}

#[test]
fn our_allocations_on_other_threads_never_hurt_even_a_global_capture() {
    on_device_alone(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(1).unwrap();
        let mut capturing = stream.begin(Global).unwrap();
        capturing.fill(&buffer, 1).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut other = rig.stream();
                let scratch = other.alloc::<u32>(100).unwrap();
                assert_eq!(other.read(&scratch).unwrap(), [0; 100]);
                let mut published = other.capture(ThreadLocal, |c| c.fill(&scratch, 3)).unwrap().publish().unwrap();
                published.replay().unwrap();
                assert_eq!(published.read(&scratch).unwrap(), [3; 100]);
                drop((published.reset().unwrap(), scratch, rig.module()));
            });
        });
        assert_eq!(capturing.capture_status().unwrap(), CaptureStatus::Active);
        drop(capturing.end().unwrap());
    });
}

#[test]
fn foreign_allocations_break_a_global_capture_with_a_typed_error() {
    on_device_alone(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(1).unwrap();
        let mut capturing = stream.begin(Global).unwrap();
        capturing.fill(&buffer, 1).unwrap();
        let foreign = thread::scope(|scope| scope.spawn(|| foreign_alloc(rig.context())).join().unwrap());
        assert_eq!(foreign.unwrap_err().code(), Some(DriverCode::STREAM_CAPTURE_UNSUPPORTED));
        assert_eq!(capturing.capture_status().unwrap(), CaptureStatus::Invalidated);
        let (mut idle, error) = capturing.end().unwrap_err().into_parts();
        assert!(error.to_string().contains("on another"), "{error}");
        assert_eq!(idle.read(&buffer).unwrap(), [0]);
    });
}

#[test]
fn foreign_allocations_on_other_threads_leave_the_other_modes_alone() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(1).unwrap();
        let mut local = stream.begin(ThreadLocal).unwrap();
        local.fill(&buffer, 1).unwrap();
        let mut relaxed = rig.stream().begin(Relaxed).unwrap();
        relaxed.fill(&buffer, 2).unwrap();
        thread::scope(|scope| scope.spawn(|| foreign_alloc(rig.context())).join().unwrap()).unwrap();
        drop(local.end().unwrap());
        foreign_alloc(rig.context()).expect("a relaxed capture restrains nobody");
        drop(relaxed.end().unwrap());
    });
}

#[test]
fn two_captures_are_open_at_once_on_one_thread() {
    on_device(|rig| {
        let (mut a, mut b) = (rig.stream(), rig.stream());
        let (x, y) = (a.alloc::<u32>(1).unwrap(), b.alloc::<u32>(1).unwrap());
        let mut first = a.begin(ThreadLocal).unwrap();
        first.fill(&x, 1).unwrap();
        // Beginning drains the second stream while the first captures: a call that would break it, if it were not relaxed.
        let mut second = b.begin(ThreadLocal).unwrap();
        second.fill(&y, 2).unwrap();
        let mut first = first.end().unwrap().publish().unwrap();
        let mut second = second.end().unwrap().publish().unwrap();
        first.replay().unwrap();
        second.replay().unwrap();
        assert_eq!((first.read(&x).unwrap(), second.read(&y).unwrap()), (vec![1], vec![2]));
    });
}

#[test]
fn many_threads_capture_at_once() {
    on_device(|rig| {
        thread::scope(|scope| {
            for value in 1..=8u32 {
                scope.spawn(move || {
                    for round in 0..10 {
                        let mut stream = rig.stream();
                        let buffer = stream.alloc::<u32>(8).unwrap();
                        let mut published = if round % 2 == 0 {
                            stream.capture(ThreadLocal, |c| c.fill(&buffer, value)).unwrap().publish().unwrap()
                        } else {
                            stream.capture(Relaxed, |c| c.fill(&buffer, value)).unwrap().publish().unwrap()
                        };
                        published.replay().unwrap();
                        assert_eq!(published.read(&buffer).unwrap(), [value; 8]);
                    }
                });
            }
        });
    });
}

#[test]
fn a_replay_while_another_stream_captures_is_harmless() {
    on_device_alone(|rig| {
        let (mut a, b) = (rig.stream(), rig.stream());
        let buffer = a.alloc::<u32>(1).unwrap();
        let published = a.capture(ThreadLocal, |c| c.fill(&buffer, 1)).unwrap().publish().unwrap();
        let mut capturing = b.begin(Global).unwrap();
        capturing.fill(&buffer, 2).unwrap();
        published.replay().unwrap();
        let replayer = published.replayer();
        thread::scope(|scope| scope.spawn(|| replayer.replay()).join().unwrap()).unwrap();
        let idle = published.reset().expect("nor is a reset harmful");
        assert_eq!(capturing.capture_status().unwrap(), CaptureStatus::Active);
        drop((capturing.end().unwrap(), idle));
    });
}

#[test]
fn the_thread_s_context_is_left_as_it_was() {
    on_device(|rig| {
        let current = || dacapo::cudarc::driver::result::ctx::get_current().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(current(), None, "a new thread has none");
                let buffer = rig.device.pinned::<u32>(1).unwrap();
                let module = rig.module();
                let stream = rig.stream();
                assert_eq!(current(), None);
                drop((buffer, module));
                assert_eq!(current(), None);
                drop(stream);
            });
        });
    });
}

#[test]
fn a_replay_needs_no_current_context() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(1).unwrap();
        let published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 1)).unwrap().publish().unwrap();
        let replayer = published.replayer();
        thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(dacapo::cudarc::driver::result::ctx::get_current().unwrap(), None);
                replayer.replay().unwrap();
                assert_eq!(dacapo::cudarc::driver::result::ctx::get_current().unwrap(), None, "nor binds one");
            });
        });
        drop(published.reset().unwrap());
    });
}
