//! One kernel of a captured graph changed, without capturing anew.

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use common::{Rig, on_device, on_devices};
use dacapo::{
    Buffer, Enqueue, Error, Instantiated, Kernel, KernelAt, KernelLaunch, KernelMismatch, LaunchConfig, Misuse,
    NodeKind, Published, Stream, ThreadLocal, Update, UpdateReason,
};
use dacapo_sim::Fault;

const N: u32 = 8;

/// A stream that has captured `x *= factor` for each factor, with a copy to `y` behind the first.
struct Chain {
    scale: Kernel,
    x: Buffer<f32>,
    y: Buffer<f32>,
}

impl Chain {
    fn capture(rig: &Rig, factors: &[f32]) -> (Self, Stream<Instantiated>) {
        let mut stream = rig.stream();
        let (x, y) = (stream.buffer_from(&[1.0; N as usize]).unwrap(), stream.alloc(N as usize).unwrap());
        let chain = Self { scale: rig.kernel("scale_f32"), x, y };
        let captured = stream.capture(ThreadLocal, |c| {
            for (position, &factor) in factors.iter().enumerate() {
                // SAFETY: scale_f32(data, factor, n), over N elements.
                unsafe { c.launch(&chain.scale, Self::shape(), (&chain.x, factor, N)) }?;
                if position == 0 {
                    c.copy(&chain.x, &chain.y)?;
                }
            }
            Ok(())
        });
        (chain, captured.unwrap())
    }

    fn shape() -> LaunchConfig {
        LaunchConfig::for_elements(N)
    }

    fn set<'a>(
        &self,
        published: &mut Stream<Published>,
        at: impl Into<KernelAt<'a>>,
        factor: f32,
    ) -> Result<(), Error> {
        // SAFETY: scale_f32(data, factor, n), over N elements.
        unsafe { published.update_kernel(at, &self.scale, Self::shape(), (&self.x, factor, N)) }
    }
}

fn mismatch(result: Result<(), Error>) -> KernelMismatch {
    match result {
        Err(Error::Kernel(mismatch)) => *mismatch,
        other => panic!("{other:?}"),
    }
}

#[test]
fn arguments_grid_and_block_change_from_the_next_replay_on() {
    on_device(|rig| {
        let (chain, captured) = Chain::capture(rig, &[2.0]);
        let mut published = captured.publish().unwrap();
        let (replayer, token) = (published.replayer(), published.token());
        replayer.replay().unwrap();
        // Over the first two elements only, one a block.
        let shape = LaunchConfig::new(2, 1);
        // SAFETY: scale_f32(data, factor, n), over 2 of N elements.
        unsafe { published.update_kernel("scale_f32", &chain.scale, shape, (&chain.x, 5.0f32, 2u32)) }.unwrap();
        replayer.replay().unwrap();
        assert_eq!(published.read(&chain.x).unwrap(), [10.0, 10.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]);
        assert_eq!((published.token(), published.replays(), published.stats().updates), (token, 2, 1));
        let census = published.census();
        assert_eq!(census.kernels().next(), Some(&KernelLaunch::new("scale_f32", shape)));
        assert_eq!(census.to_string(), "kernel ×1, memcpy ×1");
    });
}

#[test]
fn replays_in_flight_keep_what_they_were_enqueued_with() {
    on_device(|rig| {
        let (chain, captured) = Chain::capture(rig, &[2.0]);
        let mut published = captured.publish().unwrap();
        published.replay().unwrap();
        let other = published.buffer_from(&[1.0f32; N as usize]).unwrap();
        published.replay().unwrap();
        // SAFETY: scale_f32(data, factor, n), over N elements.
        unsafe { published.update_kernel(0, &chain.scale, Chain::shape(), (&other, 3.0f32, N)) }.unwrap();
        published.replay().unwrap();
        assert_eq!(published.read(&chain.x).unwrap(), [4.0; 8]);
        assert_eq!(published.read(&other).unwrap(), [3.0; 8]);
    });
}

#[test]
fn a_kernel_is_named_by_name_number_or_position() {
    on_device(|rig| {
        let (chain, captured) = Chain::capture(rig, &[2.0, 3.0, 5.0]);
        let mut published = captured.publish().unwrap();
        chain.set(&mut published, ("scale_f32", 1), 7.0).unwrap();
        chain.set(&mut published, 3, 11.0).unwrap();
        published.replay().unwrap();
        assert_eq!(published.read(&chain.x).unwrap(), [2.0 * 7.0 * 11.0; 8]);
        assert_eq!(published.read(&chain.y).unwrap(), [2.0; 8]);
    });
}

#[test]
fn positions_and_numbers_go_on_over_the_segments() {
    on_device(|rig| {
        let (chain, captured) = Chain::capture(rig, &[2.0]);
        let captured = captured
            // SAFETY: scale_f32(data, factor, n), over N elements.
            .capture_segment(ThreadLocal, |c| unsafe { c.launch(&chain.scale, Chain::shape(), (&chain.x, 3.0f32, N)) });
        let mut published = captured.unwrap().publish().unwrap();
        assert!(matches!(
            mismatch(chain.set(&mut published, "scale_f32", 1.0)),
            KernelMismatch::Ambiguous { launches: 2, .. }
        ));
        chain.set(&mut published, ("scale_f32", 1), 5.0).unwrap();
        published.replay().unwrap();
        assert_eq!(published.read(&chain.x).unwrap(), [10.0; 8]);
        chain.set(&mut published, 2, 1.0).unwrap();
        chain.set(&mut published, 0, 7.0).unwrap();
        published.replay().unwrap();
        assert_eq!(published.read(&chain.x).unwrap(), [70.0; 8]);
        assert_eq!(mismatch(chain.set(&mut published, 3, 1.0)), KernelMismatch::NoSuchNode { position: 3, of: 3 });
    });
}

#[test]
fn it_may_be_changed_before_it_is_published() {
    on_device(|rig| {
        let (chain, mut captured) = Chain::capture(rig, &[2.0]);
        // SAFETY: scale_f32(data, factor, n), over N elements.
        unsafe { captured.update_kernel(0, &chain.scale, Chain::shape(), (&chain.x, 6.0f32, N)) }.unwrap();
        let mut published = captured.publish().unwrap();
        published.replay().unwrap();
        assert_eq!(published.read(&chain.x).unwrap(), [6.0; 8]);
    });
}

#[test]
fn what_does_not_fit_is_refused_with_what_was_expected_and_found() {
    on_device(|rig| {
        let (chain, captured) = Chain::capture(rig, &[2.0, 3.0]);
        let mut published = captured.publish().unwrap();
        let said = |result: Result<(), Error>| result.unwrap_err().to_string();
        assert_eq!(
            said(chain.set(&mut published, "scale", 1.0)),
            "the graph launches no kernel scale (it launches: scale_f32)"
        );
        assert_eq!(
            mismatch(chain.set(&mut published, ("scale_f32", 2), 1.0)),
            KernelMismatch::NoSuchLaunch { kernel: "scale_f32".into(), nth: 2, of: 2 }
        );
        assert_eq!(
            mismatch(chain.set(&mut published, 1, 1.0)),
            KernelMismatch::NotAKernel { position: 1, found: NodeKind::Memcpy }
        );
        let fill = rig.kernel("fill_f32");
        let shape = Chain::shape();
        // SAFETY: fill_f32(out, value, n), over N elements.
        let other = unsafe { published.update_kernel(0, &fill, shape, (&chain.x, 1.0f32, N)) };
        let (expected, found) = ("scale_f32".into(), "fill_f32".into());
        assert_eq!(mismatch(other), KernelMismatch::OtherKernel { position: 0, expected, found });
        for (config, difference) in [
            (shape.shared(64), "captured was scale_f32 <<<1, 256>>>, given was scale_f32 <<<1, 256, 64>>>"),
            (
                shape.cluster([1, 1, 1]),
                "captured was scale_f32 <<<1, 256>>>, given was scale_f32 <<<1, 256>>> cluster 1",
            ),
            (shape.cooperative(), "captured was scale_f32 <<<1, 256>>>, given was scale_f32 <<<1, 256>>> cooperative"),
            (shape.priority(-5), "captured was scale_f32 <<<1, 256>>>, given was scale_f32 <<<1, 256>>> priority -5"),
            (shape.programmatic(), "kernel scale_f32 was captured as not programmatic"),
        ] {
            // SAFETY: scale_f32(data, factor, n), over N elements.
            let refused = unsafe { published.update_kernel(2, &chain.scale, config, (&chain.x, 1.0f32, N)) };
            let text = said(refused);
            assert!(text.contains(difference), "{text}");
        }
        // SAFETY: refused before the driver is called.
        let three = unsafe { published.update_kernel(0, &chain.scale, shape, (&chain.x, 1.0f32)) };
        assert!(matches!(three, Err(Error::Misuse(Misuse::ArgumentCount { expected: 3, found: 2, .. }))));
        // SAFETY: as above.
        let wide = unsafe { published.update_kernel(0, &chain.scale, shape, (&chain.x, 1.0f64, N)) };
        let size = Misuse::ArgumentSize { kernel: "scale_f32".into(), index: 1, expected: 4, found: 8 };
        assert!(matches!(wide, Err(Error::Misuse(misuse)) if misuse == size));
        // SAFETY: as above.
        let empty = unsafe { published.update_kernel(0, &chain.scale, LaunchConfig::new(0, 1), (&chain.x, 1.0f32, N)) };
        assert!(matches!(empty, Err(Error::Misuse(Misuse::EmptyLaunch { .. }))));

        assert_eq!(published.stats().updates, 0);
        published.replay().unwrap();
        assert_eq!(published.read(&chain.x).unwrap(), [6.0; 8]);
    });
}

#[test]
fn a_kernel_of_another_device_is_refused() {
    on_devices(2, |rigs| {
        let (chain, captured) = Chain::capture(&rigs[0], &[2.0]);
        let mut published = captured.publish().unwrap();
        let elsewhere = rigs[1].kernel("scale_f32");
        // SAFETY: refused before the driver is called.
        let refused = unsafe { published.update_kernel(0, &elsewhere, Chain::shape(), (&chain.x, 1.0f32, N)) };
        assert!(matches!(refused, Err(Error::Misuse(Misuse::WrongContext { what: "kernel" }))), "{refused:?}");
    });
}

#[test]
fn a_kernel_in_clusters_is_never_updated_in_place() {
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
        let captured = stream.capture(ThreadLocal, |c| unsafe { c.launch(&scale, shape, (&x, 2.0f32, 512u32)) });
        let mut published = captured.unwrap().publish().unwrap();
        // SAFETY: as above.
        let refused = unsafe { published.update_kernel("scale_f32", &scale, shape, (&x, 4.0f32, 512u32)) };
        let Err(Error::UpdateRefused(refused)) = refused else { panic!("{refused:?}") };
        assert_eq!(refused.reason, UpdateReason::Cluster);
        published.replay().unwrap();
        assert_eq!(published.read(&x).unwrap(), [2.0; 512]);
    });
}

#[test]
fn new_arguments_are_kept_and_those_of_the_change_before_are_let_go_by_a_drain() {
    on_device(|rig| {
        let (chain, captured) = Chain::capture(rig, &[2.0]);
        let mut published = captured.publish().unwrap();
        let sim = rig.sim("a count of live objects");
        let live = || sim.map_or(0, |sim| sim.live().allocations());
        let others: Vec<_> = (0..3).map(|_| published.buffer_from(&[1.0f32; N as usize]).unwrap()).collect();
        let before = live();
        for other in others {
            // SAFETY: scale_f32(data, factor, n), over N elements.
            unsafe { published.update_kernel(0, &chain.scale, Chain::shape(), (&other, 3.0f32, N)) }.unwrap();
            drop(other);
            published.replay().unwrap();
        }
        assert_eq!(live(), before, "the replays with the first two may be in flight");
        published.synchronize().unwrap();
        if sim.is_some() {
            assert_eq!(live(), before - 2);
        }
        published.replay().unwrap();
        let shown = published.inspect();
        let dacapo::InspectedPart::Segment(segment) = &shown.parts()[0] else { panic!("{shown:?}") };
        assert_eq!(segment.memory.len(), 3, "x, y, and the changed argument");
    });
}

#[test]
fn a_graph_that_was_updated_in_place_is_changed_too() {
    on_device(|rig| {
        let (chain, captured) = Chain::capture(rig, &[2.0, 3.0]);
        let mut published = captured.publish().unwrap();
        chain.set(&mut published, 2, 100.0).unwrap();
        let updated = published.update(ThreadLocal, |c| {
            // SAFETY: scale_f32(data, factor, n), over N elements.
            unsafe { c.launch(&chain.scale, Chain::shape(), (&chain.x, 5.0f32, N)) }?;
            c.copy(&chain.x, &chain.y)?;
            // SAFETY: as above.
            unsafe { c.launch(&chain.scale, Chain::shape(), (&chain.x, 7.0f32, N)) }
        });
        let mut published = updated.unwrap();
        assert_eq!(published.last_update(), Some(&Update::InPlace));
        let token = published.token();
        published.replay().unwrap();
        assert_eq!(published.read(&chain.x).unwrap(), [35.0; 8], "a capture does away with changes");
        let other = published.buffer_from(&[1.0f32; N as usize]).unwrap();
        // SAFETY: as above.
        unsafe { published.update_kernel(0, &chain.scale, Chain::shape(), (&other, 2.0f32, N)) }.unwrap();
        drop(other);
        chain.set(&mut published, ("scale_f32", 1), 3.0).unwrap();
        published.write(&[1.0; N as usize], &chain.x).unwrap();
        published.replay().unwrap();
        assert_eq!(published.read(&chain.x).unwrap(), [3.0; 8], "both changes hold");
        assert_eq!(published.read(&chain.y).unwrap(), [1.0; 8], "the first is on another buffer");
        assert_eq!((published.token(), published.stats().updates), (token, 4));
    });
}

/// Fails each of `calls` once, before and after its effect; the graph is usable all along, and whole after the next change.
fn sweep(rig: &Rig, published: &mut Stream<Published>, chain: &Chain, calls: &[&str]) {
    let Some(sim) = rig.sim("injected faults") else { return };
    for call in calls {
        for after in [false, true] {
            let factor_of_a_replay = |published: &mut Stream<Published>| {
                published.write(&[1.0; N as usize], &chain.x).unwrap();
                published.replay().unwrap();
                published.read(&chain.x).unwrap()[0]
            };
            let before = factor_of_a_replay(published);
            let other = published.buffer_from(&[1.0f32; N as usize]).unwrap();
            let fault = Fault::on(call).code(999);
            sim.inject(if after { fault.after() } else { fault });
            // SAFETY: scale_f32(data, factor, n), over N elements.
            let failed = unsafe { published.update_kernel(0, &chain.scale, Chain::shape(), (&other, 9.0f32, N)) };
            let error = failed.expect_err(call);
            assert_eq!(error.code().map(dacapo::DriverCode::number), Some(999), "{call}: {error}");
            sim.clear_faults();
            // A call that says that it has failed may have done its work. What it was given is kept, to be on the safe side.
            drop(other);
            if after {
                published.replay().unwrap();
            } else {
                assert_eq!(factor_of_a_replay(published), before, "{call}");
            }
            chain.set(published, 0, before).unwrap();
            assert_eq!(factor_of_a_replay(published), before, "{call}");
        }
    }
}

#[test]
fn a_driver_error_at_any_call_leaves_the_graph_published() {
    on_device(|rig| {
        let (chain, captured) = Chain::capture(rig, &[2.0]);
        let mut published = captured.publish().unwrap();
        sweep(rig, &mut published, &chain, &["cuCtxPushCurrent", "cuGraphExecKernelNodeSetParams"]);
    });
}

#[test]
fn a_driver_error_at_any_call_after_an_update_leaves_the_graph_published() {
    on_device(|rig| {
        let (chain, captured) = Chain::capture(rig, &[2.0]);
        let updated = captured.publish().unwrap().update(ThreadLocal, |c| {
            // SAFETY: scale_f32(data, factor, n), over N elements.
            unsafe { c.launch(&chain.scale, Chain::shape(), (&chain.x, 5.0f32, N)) }?;
            c.copy(&chain.x, &chain.y)
        });
        let mut published = updated.unwrap();
        assert_eq!(published.last_update(), Some(&Update::InPlace));
        let calls = ["cuGraphNodeFindInClone", "cuGraphKernelNodeSetParams", "cuGraphExecUpdate"];
        sweep(rig, &mut published, &chain, &calls);
        let Some(sim) = rig.sim("injected faults") else { return };
        // A clone that is made and reported as a failure is nobody's: not asked for after its effect.
        sim.inject(Fault::on("cuGraphClone").code(999));
        assert!(matches!(chain.set(&mut published, 0, 1.0), Err(Error::Driver(_))));
        published.replay().unwrap();
    });
}

#[test]
fn it_is_refused_while_others_have_the_stream() {
    on_device(|rig| {
        let (chain, captured) = Chain::capture(rig, &[2.0]);
        let mut published = captured.publish().unwrap();
        let mut capturing = published.sibling().begin(ThreadLocal).unwrap();
        assert!(matches!(chain.set(&mut published, 0, 9.0), Err(Error::Misuse(Misuse::CaptureOpen))));
        capturing.fill(&chain.y, 0.0).unwrap();
        let captured = capturing.end().unwrap();
        assert_eq!(captured.census().to_string(), "memset ×1");
        let replayer = published.replayer();
        let inside = replayer.replay_with(|_| chain.set(&mut published, 0, 9.0));
        assert!(matches!(inside, Err(Error::Misuse(Misuse::OutOfTurn))));
        published.replay().unwrap();
        assert_eq!(published.read(&chain.x).unwrap(), [2.0; 8]);
    });
}

#[test]
fn replays_of_other_threads_are_whole_and_in_order() {
    on_device(|rig| {
        const REPLAYS: u32 = 200;
        const THREADS: u32 = 4;
        let mut stream = rig.stream();
        let cursor = stream.alloc::<u32>(1).unwrap();
        let log = stream.alloc::<u32>((THREADS * REPLAYS) as usize).unwrap();
        let (append, shape) = (rig.kernel("append_u32"), LaunchConfig::new(1, 1));
        let captured = stream.capture(ThreadLocal, |c| {
            // SAFETY: append_u32(cursor, log, capacity, value), in one thread; a log that is full drops the value.
            unsafe { c.launch(&append, shape, (&cursor, &log, THREADS * REPLAYS, 0u32)) }
        });
        let mut published = captured.unwrap().publish().unwrap();
        let (replayer, done) = (published.replayer(), AtomicBool::new(false));
        let mut last = 0;
        thread::scope(|scope| {
            let threads: Vec<_> =
                (0..THREADS).map(|_| scope.spawn(|| (0..REPLAYS).for_each(|_| replayer.replay().unwrap()))).collect();
            let waiter = scope.spawn(|| {
                threads.into_iter().for_each(|thread| thread.join().unwrap());
                done.store(true, Ordering::Relaxed);
            });
            while !done.load(Ordering::Relaxed) {
                last += 1;
                // SAFETY: as above.
                unsafe { published.update_kernel(0, &append, shape, (&cursor, &log, THREADS * REPLAYS, last)) }
                    .unwrap();
                thread::yield_now();
            }
            waiter.join().unwrap();
        });
        assert_eq!(published.read(&cursor).unwrap(), [THREADS * REPLAYS]);
        let log = published.read(&log).unwrap();
        assert!(log.is_sorted() && log.iter().all(|&value| value <= last), "{log:?}");
        assert!(last > 0);
    });
}
