//! Published graphs by size.

mod common;

use std::num::NonZeroUsize;

use common::on_device;
use dacapo::{Buckets, CapturePolicy, Enqueue, Error, MemoryNodes, Misuse, ThreadLocal};
use dacapo_sim::Fault;

const fn limit(limit: usize) -> NonZeroUsize {
    NonZeroUsize::new(limit).expect("not zero")
}

#[test]
fn the_smallest_that_fits_is_found_and_the_least_recently_used_makes_room() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let batch = stream.alloc::<u32>(16).unwrap();
        let mut buckets = Buckets::new(stream, limit(3));
        assert!(buckets.is_empty());
        for size in [2, 4, 8] {
            let part = batch.slice(..size).unwrap();
            buckets.capture(size, ThreadLocal, |c| c.fill(&part, size as u32)).unwrap();
        }
        assert_eq!(buckets.sizes().collect::<Vec<_>>(), [2, 4, 8]);
        let of_four = buckets.fit(3).unwrap();
        assert_eq!(of_four.size, 4);
        of_four.published.replay().unwrap();
        let stale = buckets.fit(5).unwrap().published.replayer();
        assert!(buckets.fit(9).is_none());
        // 2 was not used since it was captured.
        buckets.capture(16, ThreadLocal, |c| c.fill(&batch, 16)).unwrap();
        assert_eq!((buckets.sizes().collect::<Vec<_>>(), buckets.evictions()), (vec![4, 8, 16], 1));
        assert_eq!(buckets.fit(1).unwrap().size, 4);
        stale.replay().unwrap();
        buckets.capture(8, ThreadLocal, |c| c.fill(&batch.slice(..8)?, 9)).unwrap();
        assert!(matches!(stale.replay(), Err(Error::Stale(_))), "replaced");
        buckets.fit(8).unwrap().published.replay().unwrap();
        assert_eq!(buckets.stream().read(&batch).unwrap()[..9], [9, 9, 9, 9, 9, 9, 9, 9, 0]);
        assert!(buckets.remove(16).unwrap());
        assert!(!buckets.remove(16).unwrap());
        assert_eq!(buckets.len(), 2);
    });
}

#[test]
fn the_old_graph_is_destroyed_before_the_new_one_is_captured() {
    on_device(|rig| {
        let Some(sim) = rig.sim("a count of live objects") else { return };
        let mut stream = rig.stream();
        let a = stream.alloc::<u32>(1).unwrap();
        let mut buckets = Buckets::new(stream, limit(1));
        buckets.capture(1, ThreadLocal, |c| c.fill(&a, 1)).unwrap();
        for size in [1, 2] {
            buckets
                .capture(size, ThreadLocal, |c| {
                    assert_eq!(sim.live().executables(), 0);
                    c.fill(&a, 1)
                })
                .unwrap();
            assert_eq!(sim.live().executables(), 1);
        }
    });
}

#[test]
fn a_capture_that_fails_leaves_the_other_sizes() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let a = stream.alloc::<u32>(1).unwrap();
        let mut buckets = Buckets::new(stream, limit(4));
        buckets.capture(1, ThreadLocal, |c| c.fill(&a, 1)).unwrap();
        buckets.capture(2, ThreadLocal, |c| c.fill(&a, 2)).unwrap();
        let error = buckets.capture(2, ThreadLocal, |_| Err(Misuse::Overlap.into())).unwrap_err();
        assert!(matches!(error, Error::Misuse(Misuse::Overlap)));
        assert_eq!(buckets.sizes().collect::<Vec<_>>(), [1]);
        buckets.fit(1).unwrap().published.replay().unwrap();
        assert_eq!(buckets.stream().read(&a).unwrap(), [1]);
    });
}

/// Buckets of one graph, on a stream that takes graphs with allocations of their own.
fn buckets_that_allocate(rig: &common::Rig) -> Buckets {
    let policy = CapturePolicy::new().memory_nodes(MemoryNodes::Allow);
    Buckets::new(rig.stream().with_policy(policy), limit(1))
}

/// Captures and replays a graph that allocates so many bytes and frees them again.
fn capture_allocating(buckets: &mut Buckets, bytes: usize) -> Result<(), Error> {
    // SAFETY: nothing uses the slice, and the graph frees it itself.
    let body = |c: &mut dacapo::Stream<dacapo::Capturing>| unsafe {
        c.raw(|stream| stream.alloc_zeros::<u8>(bytes).map(drop))
    };
    buckets.capture(bytes, ThreadLocal, body)?.published.replay()
}

#[test]
fn memory_of_an_evicted_graph_is_given_back() {
    on_device(|rig| {
        let mut buckets = buckets_that_allocate(rig);
        capture_allocating(&mut buckets, 80 << 20).unwrap();
        let with_the_large = rig.device.graph_memory().unwrap();
        assert!(with_the_large.reserved >= 80 << 20, "{with_the_large:?}");
        capture_allocating(&mut buckets, 1 << 20).unwrap();
        assert_eq!(buckets.evictions(), 1);
        let with_the_small = rig.device.graph_memory().unwrap();
        assert!((1 << 20..80 << 20).contains(&with_the_small.reserved), "{with_the_small:?}");
        assert!(with_the_small.reserved_high >= with_the_large.reserved, "{with_the_small:?}");
        assert!(buckets.remove(1 << 20).unwrap());
        assert_eq!(rig.device.graph_memory().unwrap().reserved, 0);
    });
}

#[test]
fn a_graph_that_allocates_nothing_is_evicted_without_a_trim() {
    on_device(|rig| {
        let Some(sim) = rig.sim("a call log") else { return };
        let mut stream = rig.stream();
        let a = stream.alloc::<u32>(1).unwrap();
        let mut buckets = Buckets::new(stream, limit(1));
        sim.clear_calls();
        for size in [1, 2] {
            buckets.capture(size, ThreadLocal, |c| c.fill(&a, 1)).unwrap();
        }
        assert_eq!(buckets.evictions(), 1);
        assert!(!sim.calls().iter().any(|call| call.name == "cuDeviceGraphMemTrim"));
    });
}

#[test]
fn a_trim_that_fails_is_reported_and_the_evicted_graph_is_gone() {
    on_device(|rig| {
        let Some(sim) = rig.sim("injected faults") else { return };
        let mut buckets = buckets_that_allocate(rig);
        capture_allocating(&mut buckets, 1 << 20).unwrap();
        sim.inject(Fault::on("cuDeviceGraphMemTrim").code(999));
        let error = capture_allocating(&mut buckets, 2 << 20).unwrap_err();
        assert_eq!(error.code().map(dacapo::DriverCode::number), Some(999), "{error}");
        assert!(buckets.is_empty());
        sim.inject(Fault::on("cuDeviceGetGraphMemAttribute").nth(3).code(999));
        assert_eq!(rig.device.graph_memory().unwrap_err().code().map(dacapo::DriverCode::number), Some(999));
        capture_allocating(&mut buckets, 2 << 20).unwrap();
    });
}
