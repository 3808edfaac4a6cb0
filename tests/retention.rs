//! What a graph keeps alive, until when, and in what order it lets go.

mod common;

use std::sync::{Arc, Mutex};

use common::{check_clean, on_device};
use dacapo::{CaptureStatus, Enqueue, Error, FailStop, LaunchConfig, ThreadLocal};
use dacapo_sim::Fault;

/// Says in a log when it is dropped.
struct Tell(&'static str, Arc<Mutex<Vec<String>>>);

impl Drop for Tell {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(self.0.into());
    }
}

#[test]
fn a_graph_keeps_its_buffers_pinned_memory_and_modules() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let output = stream.alloc::<f32>(64).unwrap();
        let captured = {
            let (x, staging) = (stream.alloc::<f32>(64).unwrap(), rig.device.pinned::<f32>(64).unwrap());
            staging.write(&[3.0; 64]).unwrap();
            let scale = rig.kernel("scale_f32");
            stream.capture(ThreadLocal, |c| {
                c.upload(&staging, &x)?;
                // SAFETY: scale_f32(data, factor, n) over 64 elements.
                unsafe { c.launch(&scale, LaunchConfig::new(2, 32), (&x, 2.0f32, 64u32)) }?;
                c.copy(&x, &output)
            })
        };
        let mut published = captured.unwrap().publish().unwrap();
        // New owners for the memory, if it were free.
        let mut other = rig.stream();
        let squatters: Vec<_> = (0..8).map(|_| other.buffer_from(&[-1.0f32; 64]).unwrap()).collect();
        for _ in 0..10 {
            published.replay().unwrap();
        }
        assert_eq!(published.read(&output).unwrap(), [6.0; 64]);
        for squatter in &squatters {
            assert_eq!(other.read(squatter).unwrap(), [-1.0; 64], "a replay wrote into somebody else's memory");
        }
    });
}

#[test]
fn eager_work_keeps_what_it_uses() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let output = stream.alloc::<u32>(1 << 16).unwrap();
        let staging = rig.device.pinned::<u32>(1 << 16).unwrap();
        {
            let scratch = stream.alloc::<u32>(1 << 16).unwrap();
            staging.write(&vec![8; 1 << 16]).unwrap();
            stream.upload(&staging, &scratch).unwrap();
            stream.copy(&scratch, &output).unwrap();
        }
        drop(staging);
        assert!(stream.read(&output).unwrap().iter().all(|&word| word == 8));
    });
}

#[test]
fn what_is_retained_is_dropped_in_order_after_the_graph() {
    on_device(|rig| {
        let sim = rig.sim("a call log");
        let log = Arc::new(Mutex::new(Vec::new()));
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(1).unwrap();
        let captured = stream.capture(ThreadLocal, |c| {
            c.fill(&buffer, 1)?;
            c.retain(Tell("first", log.clone()));
            c.retain(Tell("second", log.clone()));
            Ok(())
        });
        let published = captured.unwrap().publish().unwrap();
        published.replay().unwrap();
        assert!(log.lock().unwrap().is_empty());
        if let Some(sim) = sim {
            sim.clear_calls();
        }
        let idle = published.reset().unwrap();
        assert_eq!(*log.lock().unwrap(), ["first", "second"]);
        if let Some(sim) = sim {
            let calls: Vec<&str> = sim.calls().iter().map(|call| call.name).collect();
            let position = |name: &str| {
                calls.iter().position(|call| *call == name).unwrap_or_else(|| panic!("no {name}: {calls:?}"))
            };
            let order = ["cuStreamSynchronize", "cuGraphExecDestroy", "cuGraphDestroy"].map(position);
            assert!(order.is_sorted(), "{calls:?}");
        }
        drop(idle);
    });
}

#[test]
fn a_shared_object_is_retained_once_and_let_go() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (buffer, shared) = (stream.alloc::<u32>(1).unwrap(), Arc::new([1u8; 64]));
        let captured = stream.capture(ThreadLocal, |c| {
            for _ in 0..5 {
                c.fill(&buffer, 1)?;
                c.retain_shared(&shared);
            }
            Ok(())
        });
        let captured = captured.unwrap();
        assert_eq!(Arc::strong_count(&shared), 2);
        drop(captured);
        assert_eq!(Arc::strong_count(&shared), 1);
    });
}

#[test]
fn a_failed_capture_lets_go_of_what_it_kept() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (buffer, shared) = (stream.alloc::<u32>(1).unwrap(), Arc::new(()));
        let rejected = stream.capture(ThreadLocal, |c| {
            c.fill(&buffer, 1)?;
            c.retain_shared(&shared);
            assert_eq!(Arc::strong_count(&shared), 2);
            Err(Error::from_body("on second thought"))
        });
        assert_eq!(Arc::strong_count(&shared), 1);
        drop(rejected);
        let mut capturing = rig.stream().begin(ThreadLocal).unwrap();
        capturing.retain_shared(&shared);
        drop(capturing.abort());
        assert_eq!(Arc::strong_count(&shared), 1);
    });
}

#[test]
fn a_drain_that_fails_releases_nothing_and_poisons_the_stream() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults") else { return };
        let log = Arc::new(Mutex::new(Vec::new()));
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(1).unwrap();
        let captured = stream.capture(ThreadLocal, |c| {
            c.fill(&buffer, 1)?;
            c.retain(Tell("released", log.clone()));
            Ok(())
        });
        let published = captured.unwrap().publish().unwrap();
        let replayer = published.replayer();
        replayer.replay().unwrap();
        let sibling = published.sibling().capture(ThreadLocal, |c| c.fill(&buffer, 3)).unwrap().publish().unwrap();
        let _ = sim.inject(Fault::on("cuStreamSynchronize").code(999));
        let (mut idle, error) = published.reset().unwrap_err().into_parts();
        assert!(matches!(error, Error::Poisoned(_)), "{error}");
        assert!(error.to_string().contains("cuStreamSynchronize: CUDA_ERROR_UNKNOWN (999)"), "{error}");
        assert!(log.lock().unwrap().is_empty(), "nothing captured is released while work may be pending");
        assert_eq!((sim.live().graphs(), sim.live().executables()), (2, 2));
        assert_eq!(rig.device.fault(), None, "the context is not lost");
        rig.stream().fill(&buffer, 4).expect("so other streams go on");

        // Nothing more is put on the CUDA stream, not by siblings either.
        let refused = [
            sibling.replay(),
            sibling.follower().replay().map(drop),
            sibling.replay_segment(0),
            sibling.replay_with(|_| panic!("not called")),
            sibling.replayer().measure(1).map(drop),
        ];
        assert!(refused.iter().all(|refused| matches!(refused, Err(Error::Poisoned(_)))), "{refused:?}");
        assert_eq!(sibling.replays(), 0);
        drop(sibling.reset().expect("its own work has finished, as a drain shows that succeeds"));
        assert_eq!((sim.live().graphs(), sim.live().executables()), (1, 1));

        assert!(matches!(replayer.replay(), Err(Error::Stale(_))));
        assert!(matches!(idle.fill(&buffer, 2), Err(Error::Poisoned(_))));
        assert!(matches!(idle.alloc::<u32>(1), Err(Error::Poisoned(_))));
        assert!(matches!(idle.read(&buffer), Err(Error::Poisoned(_))));
        assert_eq!(idle.capture_status().unwrap(), CaptureStatus::None);
        let (idle, error) = idle.begin(ThreadLocal).unwrap_err().into_parts();
        assert!(matches!(error, Error::Poisoned(poisoned) if poisoned.cause.code.number() == 999));
        drop((idle, buffer));
        // What was kept for good is still there, by design; take the context down with all that is in it.
        assert_eq!(sim.live().allocations(), 1);
        sim.reset();
    });
}

#[test]
fn a_drop_whose_drain_fails_releases_nothing_either() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults") else { return };
        let shared = Arc::new(());
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(1).unwrap();
        let captured = stream.capture(ThreadLocal, |c| {
            c.retain_shared(&shared);
            c.fill(&buffer, 1)
        });
        let published = captured.unwrap().publish().unwrap();
        published.replay().unwrap();
        let _ = sim.inject(Fault::on("cuStreamSynchronize").code(719));
        drop(published);
        assert_eq!(Arc::strong_count(&shared), 2);
        assert_eq!(sim.live().executables(), 1);
        sim.reset();
    });
}

/// `FailStop::Abort` ends the process, so it is tried in one of its own.
#[test]
fn fail_stop_abort_ends_the_process_and_no_destructor_runs() {
    if std::env::var_os("DACAPO_TEST_ABORT").is_some() {
        let sim = common::simulator().expect("the parent has checked").device(0);
        let device = dacapo::Device::open(0).unwrap();
        let mut stream = device.stream().unwrap().with_policy(dacapo::CapturePolicy::new().fail_stop(FailStop::Abort));
        let buffer = stream.alloc::<u32>(1).unwrap();
        struct Loud;
        impl Drop for Loud {
            fn drop(&mut self) {
                println!("a destructor ran");
            }
        }
        let captured = stream.capture(ThreadLocal, |c| {
            c.retain(Loud);
            c.fill(&buffer, 1)
        });
        let published = captured.unwrap().publish().unwrap();
        let _ = sim.inject(Fault::on("cuStreamSynchronize").code(719));
        drop(published);
        println!("still here");
        return;
    }
    if common::simulator().is_none() {
        eprintln!("skipped: needs injected faults, which only the simulated driver has");
        return;
    }
    let name = "fail_stop_abort_ends_the_process_and_no_destructor_runs";
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env("DACAPO_TEST_ABORT", "1")
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    assert!(!child.status.success(), "{out}{err}");
    assert!(err.contains("dacapo: completion is unproven since cuStreamSynchronize"), "{out}{err}");
    assert!(!out.contains("a destructor ran") && !out.contains("still here"), "{out}{err}");
}

#[test]
fn buffers_freed_from_many_threads_leave_nothing() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let buffers: Vec<_> = (0..64).map(|_| stream.alloc::<u32>(16).unwrap()).collect();
        std::thread::scope(|scope| {
            for chunk in buffers.chunks(8) {
                let chunk = chunk.to_vec();
                scope.spawn(move || drop(chunk));
            }
        });
        drop(buffers);
        if let Some(sim) = rig.sim("a count of live objects") {
            assert_eq!(sim.live().allocations(), 0);
        }
    });
}

/// Not run on a device: shows that the helper of this file's neighbours does find what is left over.
#[test]
fn the_clean_check_can_fail() {
    let Some(sim) = common::simulator() else { return };
    let sim = sim.device(63);
    let device = dacapo::Device::open(63).unwrap();
    let mut stream = device.stream().unwrap();
    let buffer = stream.alloc::<u32>(1).unwrap();
    let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check_clean(sim)));
    assert!(found.is_err(), "a live buffer was not found");
    drop((buffer, stream, device));
    check_clean(sim);
}
