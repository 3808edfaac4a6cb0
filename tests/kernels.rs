//! Modules, kernels, arguments and host calls, eager and captured.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::on_device;
use dacapo::{Arguments, DriverCode, Enqueue, Error, LaunchConfig, Misuse, ThreadLocal};

const ONE: LaunchConfig = LaunchConfig::new(1, 1);

#[test]
fn the_same_step_runs_eagerly_and_captured() {
    fn step(
        stream: &mut impl Enqueue,
        saxpy: &dacapo::Kernel,
        x: &dacapo::Buffer<f32>,
        y: &dacapo::Buffer<f32>,
    ) -> Result<(), Error> {
        // SAFETY: saxpy_f32(a, x, y, n) over buffers of 1000 elements.
        unsafe { stream.launch(saxpy, LaunchConfig::for_elements(1000), (0.5f32, x, y, 1000u32)) }
    }
    on_device(|rig| {
        let mut stream = rig.stream();
        let saxpy = rig.kernel("saxpy_f32");
        let values: Vec<f32> = (0..1000u16).map(f32::from).collect();
        let (x, y) = (stream.buffer_from(&values).unwrap(), stream.alloc(1000).unwrap());
        step(&mut stream, &saxpy, &x, &y).unwrap();
        let eager = stream.read(&y).unwrap();
        assert_eq!(eager[999], 499.5);
        stream.fill(&y, 0.0).unwrap();
        let mut published = stream.capture(ThreadLocal, |c| step(c, &saxpy, &x, &y)).unwrap().publish().unwrap();
        published.replay().unwrap();
        assert_eq!(published.read(&y).unwrap(), eager);
        published.replay().unwrap();
        assert_eq!(published.read(&y).unwrap()[999], 999.0);
    });
}

#[test]
fn ptx_that_does_not_compile_is_refused_with_the_driver_s_log() {
    on_device(|rig| {
        let error = rig.device.load_ptx(".version 8.0\n.target sm_70\n.address_size 64\nnonsense;\n").unwrap_err();
        assert!(matches!(&error, Error::Module(..)), "{error}");
        assert_eq!(error.code(), Some(DriverCode::INVALID_PTX));
        assert!(error.to_string().starts_with("cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (218): "), "{error}");
        assert!(matches!(rig.device.load_ptx(".version 8.0\0"), Err(Error::Misuse(Misuse::InteriorNul))));
    });
}

#[test]
fn a_kernel_that_is_not_there_is_named_as_not_found() {
    on_device(|rig| {
        let module = rig.module();
        let error = module.kernel("fil_f32").unwrap_err();
        assert!(
            error.to_string().starts_with("the module has no kernel fil_f32 (it has add_f32, append_u32, "),
            "{error}"
        );
        assert!(matches!(module.kernel("a\0b"), Err(Error::Misuse(Misuse::InteriorNul))));
    });
}

#[test]
fn a_kernel_outlives_its_module_and_a_graph_outlives_its_kernel() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let counter = stream.alloc::<u32>(1).unwrap();
        let increment = rig.kernel("increment_u32");
        // SAFETY: one pointer to a word.
        let captured = stream.capture(ThreadLocal, |c| unsafe { c.launch(&increment, ONE, (&counter,)) }).unwrap();
        drop(increment);
        let mut published = captured.publish().unwrap();
        published.replay().unwrap();
        assert_eq!(published.read(&counter).unwrap(), [1]);
    });
}

#[test]
fn arguments_of_the_wrong_number_or_size_are_refused_before_the_driver_sees_them() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<f32>(8).unwrap();
        let scale = rig.kernel("scale_f32");
        let mut refused = |arguments: Arguments| {
            // SAFETY: refused, so nothing is launched.
            match unsafe { stream.launch(&scale, LaunchConfig::new(1, 8), arguments) } {
                Err(Error::Misuse(misuse)) => misuse,
                other => panic!("not refused: {other:?}"),
            }
        };
        let kernel: Box<str> = "scale_f32".into();
        let count = |found| Misuse::ArgumentCount { kernel: kernel.clone(), expected: 3, found };
        assert_eq!(refused((&buffer, 2.0f32).into()), count(2));
        assert_eq!(refused(().into()), count(0));
        assert_eq!(refused((&buffer, 2.0f32, 8u32, 0u32).into()), count(4));
        let size = |index, expected, found| Misuse::ArgumentSize { kernel: kernel.clone(), index, expected, found };
        assert_eq!(refused((&buffer, 2.0f64, 8u32).into()), size(1, 4, 8));
        assert_eq!(refused((0u32, 2.0f32, 8u32).into()), size(0, 8, 4));
    });
}

#[test]
fn a_launch_of_nothing_is_refused() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let counter = stream.alloc::<u32>(1).unwrap();
        let increment = rig.kernel("increment_u32");
        for config in [LaunchConfig::for_elements(0), LaunchConfig::new(1, 0)] {
            // SAFETY: refused, so nothing is launched.
            let refused = unsafe { stream.launch(&increment, config, (&counter,)) };
            assert!(matches!(refused, Err(Error::Misuse(Misuse::EmptyLaunch { .. }))), "{refused:?}");
        }
        // SAFETY: the driver refuses a block of this size.
        let refused = unsafe { stream.launch(&increment, LaunchConfig::new(1, 4096), (&counter,)) };
        assert_eq!(refused.unwrap_err().code(), Some(DriverCode::INVALID_VALUE));
        assert_eq!(stream.read(&counter).unwrap(), [0]);
    });
}

#[test]
fn dynamic_shared_memory_is_passed_on() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let counter = stream.alloc::<u32>(1).unwrap();
        let increment = rig.kernel("increment_u32");
        // SAFETY: one pointer to a word.
        unsafe { stream.launch(&increment, ONE.shared(1024), (&counter,)) }.unwrap();
        // SAFETY: the driver refuses so much shared memory.
        let refused = unsafe { stream.launch(&increment, ONE.shared(1 << 24), (&counter,)) };
        assert_eq!(refused.unwrap_err().code(), Some(DriverCode::INVALID_VALUE));
        assert_eq!(stream.read(&counter).unwrap(), [1]);
    });
}

#[test]
fn a_host_call_runs_once_eagerly_and_at_every_replay() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let calls = Arc::new(AtomicUsize::new(0));
        let count = |calls: &Arc<AtomicUsize>| {
            let calls = calls.clone();
            move || {
                calls.fetch_add(1, Ordering::Relaxed);
            }
        };
        stream.host(count(&calls)).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        let captured = stream.capture(ThreadLocal, |c| c.host(count(&calls))).unwrap();
        assert_eq!(calls.load(Ordering::Relaxed), 1, "recording does not call");
        let mut published = captured.publish().unwrap();
        for _ in 0..3 {
            published.replay().unwrap();
        }
        published.synchronize().unwrap();
        assert_eq!(calls.load(Ordering::Relaxed), 4);
        drop(published);
        assert_eq!(Arc::strong_count(&calls), 1, "the closure is dropped with the graph");
    });
}

#[test]
fn a_host_call_sees_the_work_before_it() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let (buffer, pinned) = (stream.alloc::<u32>(1).unwrap(), rig.device.pinned::<u32>(1).unwrap());
        let seen = Arc::new(AtomicUsize::new(0));
        let captured = stream.capture(ThreadLocal, |c| {
            c.fill(&buffer, 41)?;
            c.download(&buffer, &pinned)?;
            let (seen, pinned) = (seen.clone(), pinned.clone());
            c.host(move || seen.store(pinned.to_vec()[0] as usize + 1, Ordering::Relaxed))
        });
        let mut published = captured.unwrap().publish().unwrap();
        published.replay().unwrap();
        published.synchronize().unwrap();
        assert_eq!(seen.load(Ordering::Relaxed), 42);
    });
}

#[test]
fn a_host_call_that_panics_is_reported_at_the_next_synchronisation() {
    on_device(|rig| {
        let mut stream = rig.stream();
        stream.host(|| panic!("the shelf is empty")).unwrap();
        let error = stream.synchronize().unwrap_err();
        assert_eq!(error.to_string(), "a host call panicked: the shelf is empty");
        stream.synchronize().expect("a report clears it");

        let published = stream.capture(ThreadLocal, |c| c.host(|| panic!("{} left", 0))).unwrap().publish().unwrap();
        published.replay().unwrap();
        let idle = published.reset().expect("the drain itself succeeds");
        let (idle, error) = idle.begin(ThreadLocal).unwrap_err().into_parts();
        assert_eq!(error.to_string(), "a host call panicked: 0 left");
        drop(idle.begin(ThreadLocal).expect("a report clears it"));
    });
}
