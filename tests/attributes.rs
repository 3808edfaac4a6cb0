//! Launches that ask for more than a shape.

mod common;

use common::on_device;
use dacapo::{Enqueue, Error, LaunchConfig, Misuse, ThreadLocal, Update, UpdateReason};

#[test]
fn attributes_are_taken_eagerly_and_captured() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let x = stream.buffer_from(&[1.0f32; 512]).unwrap();
        let scale = rig.kernel("scale_f32");
        let plain = LaunchConfig::for_elements(512);
        let shapes = [plain.cooperative(), plain.priority(-1), plain.programmatic(), plain.priority(0).cooperative()];
        for shape in shapes {
            // SAFETY: scale_f32(data, factor, n), over 512 elements; it needs nothing of the kernel in front of it, which has ended
            // (a kernel that says nothing lets the next begin when it ends).
            unsafe { stream.launch(&scale, shape, (&x, 2.0f32, 512u32)) }.unwrap();
        }
        assert_eq!(stream.read(&x).unwrap(), [16.0; 512]);
        let captured = stream.capture(ThreadLocal, |c| {
            // SAFETY: as above.
            shapes.into_iter().try_for_each(|shape| unsafe { c.launch(&scale, shape, (&x, 2.0f32, 512u32)) })
        });
        let mut published = captured.unwrap().publish().unwrap();
        assert_eq!(published.census().to_string(), "kernel ×4");
        published.replay().unwrap();
        assert_eq!(published.read(&x).unwrap(), [256.0; 512]);
    });
}

#[test]
fn a_grid_is_made_of_whole_clusters() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let x = stream.alloc::<f32>(512).unwrap();
        let scale = rig.kernel("scale_f32");
        // SAFETY: refused before it is launched.
        let refused =
            unsafe { stream.launch(&scale, LaunchConfig::new(3, 64).cluster([2, 1, 1]), (&x, 2.0f32, 512u32)) };
        let error = refused.unwrap_err();
        assert!(
            matches!(&error, Error::Misuse(Misuse::ClusterShape { grid: [3, 1, 1], cluster: [2, 1, 1], .. })),
            "{error}"
        );
        // SAFETY: as above.
        let zero = unsafe { stream.launch(&scale, LaunchConfig::new(2, 64).cluster([0, 1, 1]), (&x, 2.0f32, 512u32)) };
        assert!(matches!(zero, Err(Error::Misuse(Misuse::ClusterShape { .. }))));
    });
}

#[test]
fn a_graph_with_clusters_is_not_updated_in_place() {
    on_device(|rig| {
        if rig.device.compute_capability().unwrap().0 < 9 {
            eprintln!("skipped: needs clusters, which compute capability 9.0 has");
            return;
        }
        let mut stream = rig.stream();
        let x = stream.buffer_from(&[1.0f32; 512]).unwrap();
        let scale = rig.kernel("scale_f32");
        let shape = LaunchConfig::for_elements(512).cluster([2, 1, 1]);
        // SAFETY: scale_f32(data, factor, n), over 512 elements.
        let step = |c: &mut dacapo::Work<'_>, factor: f32| unsafe { c.launch(&scale, shape, (&x, factor, 512u32)) };
        struct By<F>(F, f32);
        impl<F: Fn(&mut dacapo::Work<'_>, f32) -> Result<(), Error>> dacapo::Operation for By<F> {
            fn name(&self) -> &str {
                "scale"
            }
            fn enqueue(&self, work: &mut dacapo::Work<'_>) -> Result<(), Error> {
                (self.0)(work, self.1)
            }
        }
        impl<F: Fn(&mut dacapo::Work<'_>, f32) -> Result<(), Error>> dacapo::Capturable for By<F> {}
        let published = stream.capture(ThreadLocal, |c| c.run_operation(&By(step, 2.0))).unwrap().publish().unwrap();
        let updated = published.update(ThreadLocal, |c| c.run_operation(&By(step, 4.0)));
        let mut published = updated.unwrap();
        let Some(Update::NewGeneration(refused)) = published.last_update() else { panic!("updated in place") };
        assert_eq!(refused.reason, UpdateReason::Cluster);
        assert_eq!(refused.node.as_ref().and_then(|node| node.kernel.as_deref()), Some("scale_f32"));
        published.replay().unwrap();
        assert_eq!(published.read(&x).unwrap(), [4.0; 512]);
    });
}
