//! Published graphs by size.

mod common;

use std::num::NonZeroUsize;

use common::on_device;
use dacapo::{Buckets, Enqueue, Error, Misuse, ThreadLocal};

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
