//! Kernels that fault on the device: the error sticks to the context, nothing is released, nothing hangs. Each in a process
//! of its own, because on a real device the context is lost.

mod common;

use common::{in_a_child, on_device};
use dacapo::{DriverCode, Enqueue, Error, LaunchConfig, ThreadLocal};

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
