//! Ranks in lock step: two and four devices through every state, with changing inputs, updates, segments, threads.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{BASIC_PTX, Rig, on_devices};
use dacapo::cudarc::driver::result;
use dacapo::{
    Buffer, CapturePolicy, CaptureStatus, DeviceCounter, Enqueue, Error, FailStop, Idle, Kernel, LaunchConfig,
    MemoryNodes, Misuse, NodeKind, Pair, Published, Ranks, RanksPolicy, Refusal, Relaxed, SubmissionOrder, ThreadLocal,
    Update, UpdatePolicy, Work, dump,
};
use dacapo_sim::Fault;

/// Ranks on the devices of a test, that leak rather than abort.
fn ranks<const N: usize>(rigs: &[Rig]) -> Ranks<Idle, N> {
    let streams = std::array::from_fn(|rank| rigs[rank].stream());
    let policy = RanksPolicy::new().fail_stop(FailStop::Leak).drain_deadline(Some(Duration::from_secs(20)));
    Ranks::new(streams).unwrap().with_policy(policy)
}

fn buffers<const N: usize>(ranks: &mut Ranks<Idle, N>, len: usize) -> [Buffer<u32>; N] {
    ranks.eager().map(|mut rank| rank.alloc(len).unwrap())
}

fn read<S: dacapo::RankResting, const N: usize>(ranks: &mut Ranks<S, N>, buffers: &[Buffer<u32>; N]) -> Vec<Vec<u32>> {
    ranks.eager().into_iter().zip(buffers).map(|(mut rank, buffer)| rank.read(buffer).unwrap()).collect()
}

fn fill<const N: usize>(work: &mut [Work<'_>; N], buffers: &[Buffer<u32>; N], value: u32) -> Result<(), Error> {
    work.iter_mut().zip(buffers).try_for_each(|(rank, buffer)| rank.fill(buffer, value))
}

fn count<const N: usize>(work: &mut [Work<'_>; N], counters: &[DeviceCounter; N]) -> Result<(), Error> {
    work.iter_mut().zip(counters).try_for_each(|(rank, counter)| rank.count(counter))
}

fn kernels<const N: usize>(rigs: &[Rig], name: &str) -> [Kernel; N] {
    std::array::from_fn(|rank| rigs[rank].device.load_ptx(BASIC_PTX).unwrap().kernel(name).unwrap())
}

fn assert_not_capturing<S: dacapo::RankState, const N: usize>(ranks: &Ranks<S, N>) {
    assert_eq!(ranks.capture_status().unwrap(), [CaptureStatus::None; N]);
}

/// Captures, replays and reads back once more.
fn assert_usable<const N: usize>(mut ranks: Ranks<Idle, N>) {
    let buffers = buffers(&mut ranks, 1);
    let mut published = ranks.capture(ThreadLocal, |work| fill(work, &buffers, 7)).unwrap().publish().unwrap();
    published.replay().unwrap();
    assert_eq!(read(&mut published, &buffers), vec![vec![7]; N]);
}

/// Four variants with inputs that change and positions that go down; the counts of each variant, on each device, are exact.
fn four_variants<const N: usize>() {
    on_devices(N, |rigs| {
        let mut ranks = ranks::<N>(rigs);
        let (inputs, outputs) = (buffers(&mut ranks, 2), buffers(&mut ranks, 2));
        let variant = |ranks: &Ranks<Idle, N>| {
            let mut sibling = ranks.sibling();
            let counters = sibling.counters().unwrap();
            let captured = sibling.capture(ThreadLocal, |work| {
                for (rank, work) in work.iter_mut().enumerate() {
                    work.copy(&inputs[rank], &outputs[rank])?;
                }
                count(work, &counters)
            });
            (captured.unwrap().publish().unwrap(), counters)
        };
        let mut variants = [(); 4].map(|()| variant(&ranks));
        let choose = |position: u32| match position {
            _ if position.is_multiple_of(128) => 2,
            _ if position.is_multiple_of(4) => 1,
            _ if position % 7 == 3 => 3,
            _ => 0,
        };
        let mut expected = [0; 4];
        for position in (0..300u32).rev() {
            let which = choose(position);
            expected[which] += 1;
            let (published, _) = &mut variants[which];
            published
                .replay_with(|ranks| {
                    (0..).zip(ranks).zip(&inputs).try_for_each(|((k, rank), input)| rank.write(&[position, k], input))
                })
                .unwrap();
            let got = read(published, &outputs);
            let wanted: Vec<_> = (0..u32::try_from(N).unwrap()).map(|k| vec![position, k]).collect();
            assert_eq!(got, wanted);
        }
        for ((published, counters), expected) in variants.iter_mut().zip(expected) {
            assert_eq!(published.read_counters(counters).unwrap(), [expected; N]);
            assert_eq!(published.replays(), expected);
        }
        for (published, _) in variants {
            drop(published.reset().unwrap());
        }
    });
}

#[test]
fn four_variants_of_a_pair_count_exactly() {
    four_variants::<2>();
}

#[test]
fn four_variants_of_four_ranks_count_exactly() {
    four_variants::<4>();
}

#[test]
fn two_streams_of_one_device_are_refused_and_handed_back() {
    on_devices(2, |rigs| {
        let streams = [rigs[0].stream(), rigs[1].stream(), rigs[0].stream()];
        let (streams, error) = Ranks::new(streams).unwrap_err().into_parts();
        assert!(matches!(error, Error::Misuse(Misuse::SameDevice { first: 0, second: 2 })), "{error}");
        let [first, second, _] = streams;
        let ranks = Pair::new([first, second]).unwrap();
        let [first, _] = ranks.into_streams();
        drop(first.begin(ThreadLocal).unwrap());
    });
}

#[test]
fn an_abort_gives_all_ranks_back_and_again_is_harmless() {
    on_devices(2, |rigs| {
        let mut ranks = ranks::<2>(rigs);
        let buffers = buffers(&mut ranks, 1);
        let mut capturing = ranks.begin(Relaxed).unwrap();
        fill(&mut capturing.work(), &buffers, 1).unwrap();
        assert_eq!(capturing.capture_status().unwrap(), [CaptureStatus::Active; 2]);
        let ranks = capturing.abort();
        assert_not_capturing(&ranks);
        let mut ranks = ranks.begin(Relaxed).unwrap().abort();
        assert_eq!(read(&mut ranks, &buffers), [[0], [0]]);
        assert_usable(ranks);
    });
}

#[test]
fn a_failing_body_leaves_no_rank_capturing_and_comes_first() {
    on_devices(2, |rigs| {
        let ranks = ranks::<2>(rigs);
        let (ranks, error) = ranks.capture(ThreadLocal, |_| Err(Misuse::Overlap.into())).unwrap_err().into_parts();
        assert!(matches!(error, Error::Misuse(Misuse::Overlap)), "{error}");
        assert_not_capturing(&ranks);
        assert_usable(ranks);
    });
}

#[test]
fn a_panicking_body_leaves_no_rank_capturing() {
    on_devices(2, |rigs| {
        let ranks = ranks::<2>(rigs);
        let watch = ranks.sibling();
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            drop(ranks.capture(ThreadLocal, |_| panic!("in the body")));
        }));
        assert!(panic.is_err());
        assert_not_capturing(&watch);
        assert_usable(watch);
    });
}

/// A variant that cannot be captured takes nothing from those that were captured before.
#[test]
fn a_late_variant_that_fails_leaves_earlier_ones_replaying() {
    on_devices(2, |rigs| {
        let mut ranks = ranks::<2>(rigs);
        let (buffers, counters) = (buffers(&mut ranks, 1), ranks.counters().unwrap());
        let early = ranks.sibling().capture(ThreadLocal, |work| count(work, &counters)).unwrap().publish().unwrap();
        let late = ranks.sibling().capture(ThreadLocal, |work| {
            fill(work, &buffers, 1)?;
            let refused = early.replay().unwrap_err();
            assert!(matches!(refused, Error::Misuse(Misuse::CaptureOpen)), "{refused}");
            Err(Misuse::Overlap.into())
        });
        let late = late.unwrap_err().into_stream();
        assert_not_capturing(&late);
        early.replay().unwrap();
        assert_eq!(ranks.read_counters(&counters).unwrap(), [1, 1]);
    });
}

#[test]
fn ranks_that_capture_different_things_are_refused_with_rank_and_node() {
    on_devices(2, |rigs| {
        let mut ranks = ranks::<2>(rigs);
        let (a, b) = (buffers(&mut ranks, 2), buffers(&mut ranks, 2));
        let body = |[first, second]: &mut [Work<'_>; 2]| {
            first.fill(&a[0], 1)?;
            first.copy(&a[0], &b[0])?;
            second.fill(&a[1], 1)
        };
        let (ranks, error) = ranks.capture(ThreadLocal, body).unwrap_err().into_parts();
        assert_eq!(
            error.to_string(),
            "node 1 of rank 1 is not what rank 0 has there: nothing instead of memcpy (RanksPolicy::same_on_all)"
        );
        let Error::Refused(Refusal::RanksDiffer { difference }) = error else { panic!("{error}") };
        assert_eq!((difference.rank, difference.node.position), (1, 1));

        let policy = ranks.policy().same_on_all(false).rank(1, |policy| policy.expect([(NodeKind::Memset, 2)]));
        let rejected = ranks.with_policy(policy).capture(ThreadLocal, body).unwrap_err();
        assert_eq!(
            rejected.to_string(),
            "rank 1: the captured graph has 1 memset nodes, expected were 2 (CapturePolicy::expect)"
        );
        let ranks = rejected.into_stream();
        let policy = ranks.policy().rank(1, |policy| policy.expect([(NodeKind::Memset, 1)]));
        let captured = ranks.with_policy(policy).capture(ThreadLocal, body).unwrap();
        assert_eq!((captured.census(0).nodes(), captured.census(1).nodes()), (2, 1));
    });
}

#[test]
fn a_body_for_each_rank_runs_and_ends_on_its_own_thread() {
    on_devices(4, |rigs| {
        let mut ranks = ranks::<4>(rigs);
        let buffers = buffers(&mut ranks, 1);
        let begun = AtomicUsize::new(0);
        let bodies = buffers.each_ref().map(|buffer| {
            let begun = &begun;
            move |work: &mut Work<'_>| {
                begun.fetch_add(1, Ordering::SeqCst);
                assert!(work.is_captured());
                work.fill(buffer, 5)
            }
        });
        let captured = ranks.capture_on_threads(ThreadLocal, bodies).unwrap();
        assert_eq!(begun.into_inner(), 4);
        let mut published = captured.publish().unwrap();
        published.replay().unwrap();
        assert_eq!(read(&mut published, &buffers), vec![vec![5]; 4]);
    });
}

#[test]
fn one_failing_or_panicking_thread_leaves_no_rank_capturing() {
    on_devices(2, |rigs| {
        let mut ranks = ranks::<2>(rigs);
        let buffers = buffers(&mut ranks, 1);
        let bodies = [0, 1].map(|k: usize| {
            let buffer = &buffers[k];
            move |work: &mut Work<'_>| if k == 1 { Err(Misuse::Overlap.into()) } else { work.fill(buffer, 1) }
        });
        let rejected = ranks.capture_on_threads(ThreadLocal, bodies).unwrap_err();
        assert_eq!(rejected.to_string(), "rank 1: source and destination of the copy overlap");
        let ranks = rejected.into_stream();
        assert_not_capturing(&ranks);

        let watch = ranks.sibling();
        let bodies = [0, 1].map(|k| move |_: &mut Work<'_>| if k == 0 { panic!("in a body") } else { Ok(()) });
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            drop(ranks.capture_on_threads(ThreadLocal, bodies));
        }));
        assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"in a body"));
        assert_not_capturing(&watch);
        assert_usable(watch);
    });
}

#[test]
fn segments_and_a_seam_are_replayed_in_order_on_all_ranks() {
    on_devices(2, |rigs| {
        let mut ranks = ranks::<2>(rigs);
        let (a, b) = (buffers(&mut ranks, 1), buffers(&mut ranks, 1));
        let copy = |work: &mut [Work<'_>; 2]| {
            work.iter_mut().enumerate().try_for_each(|(rank, work)| work.copy(&a[rank], &b[rank]))
        };
        let seam = a.clone();
        let captured = ranks
            .capture(ThreadLocal, |work| fill(work, &a, 1))
            .unwrap()
            .seam(move |ranks| {
                let own: Vec<u32> = ranks
                    .iter_mut()
                    .zip(&seam)
                    .map(|(rank, buffer)| rank.read(buffer))
                    .collect::<Result<Vec<_>, _>>()?
                    .concat();
                (0..)
                    .zip(ranks)
                    .zip(&seam)
                    .try_for_each(|((k, rank), buffer)| rank.write(&[own.iter().sum::<u32>() + k], buffer))
            })
            .capture_segment(ThreadLocal, copy)
            .unwrap();
        let mut published = captured.publish().unwrap();
        published.replay().unwrap();
        assert_eq!(read(&mut published, &b), [[2], [3]]);
        assert!(matches!(published.replay_segment(0), Err(Error::Misuse(Misuse::HasSeams))));
        assert_eq!(published.replays(), 1);

        let sibling = published.sibling();
        let two =
            sibling.capture(ThreadLocal, |work| fill(work, &a, 8)).unwrap().capture_segment(ThreadLocal, copy).unwrap();
        let mut two = two.publish().unwrap();
        two.replay_segment(1).unwrap();
        assert_eq!(read(&mut two, &b), [[2], [3]]);
        two.replay().unwrap();
        assert_eq!(read(&mut two, &b), [[8], [8]]);
        assert!(matches!(two.replay_segment(2), Err(Error::Misuse(Misuse::NoSuchSegment { index: 2, of: 2 }))));
        let two = two.begin_update(ThreadLocal).map(drop).unwrap_err();
        assert!(matches!(two.error(), Error::Misuse(Misuse::SeveralSegments { of: 2 })));
        let mut two = two.into_stream().begin_update_segment(0, ThreadLocal).unwrap();
        fill(&mut two.work(), &a, 9).unwrap();
        let mut two = two.end().unwrap();
        two.replay().unwrap();
        assert_eq!(read(&mut two, &b), [[9], [9]]);
    });
}

#[test]
fn an_update_that_one_rank_refuses_is_a_new_generation_of_all_or_of_none() {
    on_devices(2, |rigs| {
        let mut ranks = ranks::<2>(rigs);
        let (a, b) = (buffers(&mut ranks, 1), buffers(&mut ranks, 1));
        let policy = ranks.policy().same_on_all(false);
        let published =
            ranks.with_policy(policy).capture(ThreadLocal, |work| fill(work, &a, 1)).unwrap().publish().unwrap();
        let replayer = published.replayer();
        // The first rank's can be updated in place, the second's has another node.
        let body = |value: u32| {
            let (a, b) = (&a, &b);
            move |[first, second]: &mut [Work<'_>; 2]| {
                first.fill(&a[0], value)?;
                second.fill(&a[1], value)?;
                second.copy(&a[1], &b[1])
            }
        };
        let keep = published.policy().each(|policy| policy.update(UpdatePolicy::Keep));
        let (mut published, error) = published.with_policy(keep).update(ThreadLocal, body(2)).unwrap_err().into_parts();
        assert!(error.to_string().starts_with("rank 1: the published graph cannot be updated in place"), "{error}");
        replayer.replay().unwrap();
        assert_eq!(read(&mut published, &a), [[1], [1]], "both as they were");

        let anew = published.policy().each(|policy| policy.update(UpdatePolicy::Reinstantiate));
        let mut published = published.with_policy(anew).update(ThreadLocal, body(3)).unwrap();
        assert!(matches!(published.last_update(), Some(Update::NewGeneration(_))));
        assert!(matches!(replayer.replay(), Err(Error::Stale(_))));
        published.replay().unwrap();
        assert_eq!(read(&mut published, &a), [[3], [3]]);
        assert_eq!(read(&mut published, &b), [[0], [3]]);
        let mut published = published.update(ThreadLocal, body(4)).unwrap();
        assert_eq!(published.last_update(), Some(&Update::InPlace));
        published.replay().unwrap();
        assert_eq!(read(&mut published, &a), [[4], [4]]);
    });
}

/// A driver error (no refusal) in the middle of an update, whatever it has done: both ranks are as they were, or nothing is replayed.
#[test]
fn an_update_that_breaks_off_on_one_rank_leaves_both_as_they_were() {
    on_devices(2, |rigs| {
        let Some(sim) = rigs[1].sim("injected faults") else { return };
        let mut ranks = ranks::<2>(rigs);
        let a = buffers(&mut ranks, 1);
        let mut published = ranks.capture(ThreadLocal, |work| fill(work, &a, 1)).unwrap().publish().unwrap();
        for is_late in [false, true] {
            let fault = Fault::on("cuGraphExecUpdate").code(999);
            let _ = sim.inject(if is_late { fault.after() } else { fault });
            let (back, error) = published.update(ThreadLocal, |work| fill(work, &a, 2)).unwrap_err().into_parts();
            assert_eq!(error.to_string(), "rank 1: cuGraphExecUpdate: CUDA_ERROR_UNKNOWN (999)");
            published = back;
            published.replay().unwrap();
            assert_eq!(read(&mut published, &a), [[1], [1]], "late: {is_late}");
        }
        let _ = sim.inject(Fault::on("cuGraphExecUpdate").every().code(999));
        let (back, _) = published.update(ThreadLocal, |work| fill(work, &a, 3)).unwrap_err().into_parts();
        sim.clear_faults();
        assert!(matches!(back.replay(), Err(Error::Poisoned(_))), "the ranks differ");
        drop(back.reset().expect("they can be drained"));
    });
}

#[test]
fn the_first_rank_submitted_and_the_second_refused() {
    on_devices(2, |rigs| {
        let Some(sim) = rigs[1].sim("a launch that is refused") else { return };
        let mut ranks = ranks::<2>(rigs);
        let counters = ranks.counters().unwrap();
        let mut published = ranks.capture(ThreadLocal, |work| count(work, &counters)).unwrap().publish().unwrap();
        let _ = sim.inject(Fault::on("cuGraphLaunch").code(2));
        let error = published.replay().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the replay was submitted on 1 rank and refused on rank 1: cuGraphLaunch: CUDA_ERROR_OUT_OF_MEMORY (2); \
             all ranks were drained"
        );
        let Error::PartialSubmission(partial) = error else { panic!("{error}") };
        assert_eq!((partial.submitted, partial.rank, partial.unproven.is_none()), (1, 1, true));
        assert!(rigs.iter().all(|rig| rig.sim("pending work").unwrap().pending_total() == 0), "drained");
        assert_eq!(published.read_counters(&counters).unwrap(), [1, 0]);
        published.replay().unwrap();
        assert_eq!(published.read_counters(&counters).unwrap(), [2, 1]);
        assert_eq!(published.replays(), 1);

        let _ = rigs[0].sim("a fault").unwrap().inject(Fault::on("cuGraphLaunch").code(2));
        let error = published.replay().unwrap_err();
        assert_eq!(error.to_string(), "rank 0: cuGraphLaunch: CUDA_ERROR_OUT_OF_MEMORY (2)");
        assert_eq!(published.read_counters(&counters).unwrap(), [2, 1], "nothing was enqueued");
    });
}

#[test]
fn a_rank_whose_graph_still_holds_its_memory_refuses_after_the_first_was_submitted() {
    on_devices(2, |rigs| {
        let policy = |policy: CapturePolicy| policy.memory_nodes(MemoryNodes::Allow);
        let mut ranks = ranks::<2>(rigs);
        let counters = ranks.counters().unwrap();
        let ranks = ranks.with_policy(
            RanksPolicy::new().rank(1, policy).same_on_all(false).drain_deadline(Some(Duration::from_secs(20))),
        );
        let mut block = 0;
        let captured = ranks.capture(ThreadLocal, |work| {
            count(work, &counters)?;
            // SAFETY: nothing uses the memory.
            block = unsafe { work[1].raw(|stream| result::malloc_async(stream.cu_stream(), 4)) }?;
            Ok(())
        });
        let mut published = captured.unwrap().publish().unwrap();
        published.replay().unwrap();
        // A graph whose allocation has not been freed cannot be launched again: here a real driver refuses one rank.
        let error = published.replay().unwrap_err();
        let Error::PartialSubmission(partial) = error else { panic!("{error}") };
        assert_eq!((partial.submitted, partial.rank, partial.unproven.is_none()), (1, 1, true));
        assert_eq!(published.read_counters(&counters).unwrap(), [2, 1], "one on the first rank, none on the second");
        let [_, mut second] = published.eager();
        // SAFETY: the memory of the last replay that ran, which nothing uses.
        unsafe { second.raw(|stream| result::free_async(block, stream.cu_stream())) }.unwrap();
        published.replay().unwrap();
        assert_eq!(published.read_counters(&counters).unwrap(), [3, 2], "the pair replays again");
        let [_, mut second] = published.eager();
        // SAFETY: as above.
        unsafe { second.raw(|stream| result::free_async(block, stream.cu_stream())) }.unwrap();
        drop(published.reset().unwrap());
    });
}

/// What each rank runs: raises its own flag, and spins until the other's is up. A barrier that is captured.
fn meet(
    work: &mut [Work<'_>; 2],
    flags: &[Buffer<u32>; 2],
    store: &[Kernel; 2],
    spin: &[Kernel; 2],
) -> Result<(), Error> {
    for (rank, work) in work.iter_mut().enumerate() {
        // SAFETY: store_u32(out, value) and spin_until(flag), in one thread, each on one word; the devices reach each other.
        unsafe {
            work.launch(&store[rank], LaunchConfig::new(1, 1), (&flags[rank], 1u32))?;
            work.launch(&spin[rank], LaunchConfig::new(1, 1), (&flags[1 - rank],))?;
        }
    }
    Ok(())
}

#[test]
fn a_captured_barrier_between_ranks_completes_when_both_are_submitted() {
    on_devices(2, |rigs| {
        let mut ranks = ranks::<2>(rigs).with_peer_access().unwrap().with_peer_access().unwrap();
        let (flags, counters) = (buffers(&mut ranks, 1), ranks.counters().unwrap());
        let (store, spin) = (kernels(rigs, "store_u32"), kernels(rigs, "spin_until"));
        let captured = ranks.capture(ThreadLocal, |work| {
            meet(work, &flags, &store, &spin)?;
            count(work, &counters)
        });
        let published = captured.unwrap().publish().unwrap();
        for _ in 0..10 {
            published.replay().unwrap();
        }
        let mut idle = published.reset().unwrap();
        assert_eq!(idle.read_counters(&counters).unwrap(), [10, 10]);
    });
}

#[test]
fn a_captured_barrier_of_which_one_side_was_submitted_hits_the_deadline_and_poisons() {
    on_devices(2, |rigs| {
        let Some(sim) = rigs[1].sim("a launch that is refused") else { return };
        let mut ranks = ranks::<2>(rigs).with_peer_access().unwrap();
        let policy = ranks.policy().drain_deadline(Some(Duration::from_millis(50)));
        let flags = buffers(&mut ranks, 1);
        let (store, spin) = (kernels(rigs, "store_u32"), kernels(rigs, "spin_until"));
        let captured = ranks.with_policy(policy).capture(ThreadLocal, |work| meet(work, &flags, &store, &spin));
        let published = captured.unwrap().publish().unwrap();
        let _ = sim.inject(Fault::on("cuGraphLaunch").code(2));
        let error = published.replay().unwrap_err();
        let Error::PartialSubmission(partial) = &error else { panic!("{error}") };
        let unproven = partial.unproven.as_ref().expect("rank 0 spins for ever");
        assert_eq!((unproven.first().rank, unproven.first().cause.call.name()), (0, "cuStreamQuery"));
        assert_eq!(unproven.iter().count(), 1, "rank 1 has nothing to do");
        assert!(matches!(published.replay(), Err(Error::Poisoned(_))), "refused before the driver is asked");
        let (idle, error) = published.reset().unwrap_err().into_parts();
        assert!(matches!(error, Error::Unproven(_)), "{error}");
        assert!(idle.begin(ThreadLocal).is_err());
        for rig in rigs {
            drop(rig.sim("a reset of everything").unwrap().take_violations());
        }
        drop((flags, store, spin));
        rigs.iter().for_each(|rig| rig.sim("a reset").unwrap().reset());
    });
}

#[test]
fn a_rank_that_hangs_is_waited_for_until_the_deadline_and_poisons_all() {
    on_devices(2, |rigs| {
        let Some(sim) = rigs[1].sim("a reset of everything") else { return };
        let limit = Duration::from_millis(50);
        let mut ranks = ranks::<2>(rigs);
        let policy = ranks.policy().same_on_all(false).drain_deadline(Some(limit));
        let (flags, spin) = (buffers(&mut ranks, 1), kernels::<2>(rigs, "spin_until"));
        let captured = ranks.with_policy(policy).capture(ThreadLocal, |[a, b]| {
            a.fill(&flags[0], 1)?;
            // SAFETY: spin_until(flag), in one thread, on one word.
            unsafe { b.launch(&spin[1], LaunchConfig::new(1, 1), (&flags[1],)) }
        });
        let mut published = captured.unwrap().publish().unwrap();
        let sibling = published.sibling();
        published.replay().unwrap();
        let start = std::time::Instant::now();
        let error = published.synchronize().unwrap_err();
        assert!(start.elapsed() >= limit);
        assert_eq!(
            error.to_string(),
            "completion is unproven on rank 1: cuStreamQuery: CUDA_ERROR_NOT_READY (600); \
             captured storage of all ranks is kept, they refuse everything"
        );
        assert!(matches!(published.replay(), Err(Error::Poisoned(_))));
        assert!(published.synchronize().unwrap_err().to_string().starts_with("rank 0: completion is unproven"));
        assert!(sibling.begin(ThreadLocal).is_err(), "theirs are the same streams");
        drop((published.reset(), flags, spin));
        drop(sim.take_violations());
        rigs.iter().for_each(|rig| rig.sim("a reset").unwrap().reset());
    });
}

/// Two pairs on the same streams, replayed from eight threads: each device has logged the same order.
#[test]
fn two_pairs_that_share_streams_never_interleave() {
    on_devices(2, |rigs| {
        const REPLAYS: usize = 60;
        let mut ranks = ranks::<2>(rigs);
        let (cursors, logs) = (buffers(&mut ranks, 1), buffers(&mut ranks, 8 * REPLAYS));
        let append = kernels::<2>(rigs, "append_u32");
        let pair = |value: u32| {
            let captured = ranks.sibling().capture(ThreadLocal, |work| {
                work.iter_mut().enumerate().try_for_each(|(rank, work)| {
                    let arguments = (&cursors[rank], &logs[rank], u32::try_from(8 * REPLAYS).unwrap(), value);
                    // SAFETY: append_u32(cursor, log, capacity, value), in one thread.
                    unsafe { work.launch(&append[rank], LaunchConfig::new(1, 1), arguments) }
                })
            });
            captured.unwrap().publish().unwrap()
        };
        let pairs = [pair(1), pair(2)];
        let replayers = pairs.each_ref().map(|pair| pair.replayer());
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let replayer = &replayers[thread % 2];
                scope.spawn(move || (0..REPLAYS).for_each(|_| replayer.replay().unwrap()));
            }
        });
        let logs = read(&mut ranks, &logs);
        assert_eq!(logs[0], logs[1], "another order on the other device");
        assert_eq!(logs[0].iter().filter(|&&value| value == 1).count(), 4 * REPLAYS);
        drop(pairs);
    });
}

#[test]
fn workers_submit_for_their_ranks_and_end_with_the_last_handle() {
    on_devices(4, |rigs| {
        let mut ranks = ranks::<4>(rigs);
        let counters = ranks.counters().unwrap();
        let mut published = ranks.capture(ThreadLocal, |work| count(work, &counters)).unwrap().publish().unwrap();
        let replayer = published.replayer().on_threads().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let replayer = replayer.clone();
                scope.spawn(move || {
                    for turn in 0..40 {
                        if turn == 20 {
                            // Long enough that the workers park.
                            std::thread::sleep(Duration::from_millis(5));
                        }
                        replayer.replay().unwrap();
                    }
                });
            }
        });
        assert_eq!(published.read_counters(&counters).unwrap(), [120; 4]);
        if let Some(sim) = rigs[0].sim("a launch that is refused") {
            let _ = sim.inject(Fault::on("cuGraphLaunch").code(2));
            let error = replayer.replay().unwrap_err();
            let Error::PartialSubmission(partial) = &error else { panic!("{error}") };
            assert_eq!((partial.submitted, partial.rank), (3, 0), "the others are not asked to wait");
            assert_eq!(published.read_counters(&counters).unwrap(), [120, 121, 121, 121]);
            replayer.replay().unwrap();
        }
        drop(replayer);
        drop(published.reset().unwrap());
    });
}

/// Two pairs on different streams of the same devices, with one order.
#[test]
fn pairs_with_one_order_replay_from_many_threads() {
    on_devices(2, |rigs| {
        let order = SubmissionOrder::new();
        let pair = || {
            let mut ranks = ranks::<2>(rigs).with_order(&order);
            let counters = ranks.counters().unwrap();
            (ranks.capture(ThreadLocal, |work| count(work, &counters)).unwrap().publish().unwrap(), counters)
        };
        let mut pairs = [pair(), pair()];
        let replayers = pairs.each_ref().map(|(pair, _)| pair.replayer());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let replayer = &replayers[thread % 2];
                scope.spawn(move || {
                    for turn in 0..50 {
                        if turn % 5 == 0 { replayer.replay_with(|_| Ok(())) } else { replayer.replay() }.unwrap();
                    }
                });
            }
        });
        for (pair, counters) in &mut pairs {
            assert_eq!(pair.read_counters(counters).unwrap(), [100, 100]);
        }
    });
}

#[test]
fn a_reset_against_replays_leaves_the_counts_of_all_ranks_equal() {
    on_devices(4, |rigs| {
        let mut ranks = ranks::<4>(rigs);
        for _ in 0..10 {
            let counters = ranks.counters().unwrap();
            let published = ranks.capture(ThreadLocal, |work| count(work, &counters)).unwrap().publish().unwrap();
            let replayer = published.replayer();
            ranks = std::thread::scope(|scope| {
                let threads = [(); 3].map(|()| {
                    scope.spawn(|| {
                        let mut taken = 0;
                        while taken < 40 && replayer.replay().is_ok() {
                            taken += 1;
                        }
                        taken
                    })
                });
                std::thread::sleep(Duration::from_millis(2));
                let mut idle = published.reset().unwrap();
                let taken: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
                assert_eq!(idle.read_counters(&counters).unwrap(), [taken; 4]);
                idle
            });
            assert!(!replayer.is_current());
        }
    });
}

#[test]
fn a_drop_while_a_sibling_captures_on_the_same_streams_is_put_off() {
    on_devices(2, |rigs| {
        let mut ranks = ranks::<2>(rigs);
        let (buffers, kept) = (buffers(&mut ranks, 1), std::sync::Arc::new(()));
        let first = ranks.sibling().capture(ThreadLocal, |work| {
            work.iter_mut().for_each(|rank| rank.retain_shared(&kept));
            fill(work, &buffers, 1)
        });
        let first = first.unwrap().publish().unwrap();
        first.replay().unwrap();
        let second = ranks.sibling().capture(ThreadLocal, |work| {
            drop(first);
            assert_eq!(std::sync::Arc::strong_count(&kept), 3, "put off");
            fill(work, &buffers, 2)
        });
        assert_eq!(std::sync::Arc::strong_count(&kept), 1, "released when the capture had ended");
        let mut second = second.unwrap().publish().unwrap();
        assert_eq!(read(&mut second, &buffers), [[1], [1]]);
        assert_eq!(second.stats().map(|stats| stats.deferred), [1, 1]);
    });
}

#[test]
fn a_graph_is_tried_out_before_it_is_published_and_asked_for_after() {
    on_devices(2, |rigs| {
        let mut ranks = ranks::<2>(rigs);
        let counters = ranks.counters().unwrap();
        let allowed = std::sync::Arc::new(AtomicUsize::new(3));
        let left = allowed.clone();
        let captured = ranks.capture(ThreadLocal, |work| count(work, &counters)).unwrap();
        let mut captured = captured.valid_while(move || {
            left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
                .map_err(|_| "no more")
                .map(drop)
        });
        captured.launch_all().unwrap();
        captured.launch_segment(0).unwrap();
        assert_eq!(captured.read_counters(&counters).unwrap(), [2, 2]);
        let mut published = captured.publish().unwrap();
        published.replay().unwrap();
        assert!(matches!(published.replay(), Err(Error::NotValid(_))));
        assert_eq!(published.read_counters(&counters).unwrap(), [3, 3]);
    });
}

#[test]
fn a_replay_in_a_seam_or_before_a_replay_is_out_of_turn() {
    on_devices(2, |rigs| {
        let mut ranks = ranks::<2>(rigs);
        let buffers = buffers(&mut ranks, 1);
        let published = ranks.capture(ThreadLocal, |work| fill(work, &buffers, 1)).unwrap().publish().unwrap();
        published
            .replay_with(|_| {
                let refused = published.replay().unwrap_err();
                assert!(matches!(refused, Error::Misuse(Misuse::OutOfTurn)), "{refused}");
                Ok(())
            })
            .unwrap();
        assert_eq!(published.replays(), 1);
    });
}

#[test]
fn everything_that_was_captured_is_dumped_in_one_call() {
    on_devices(2, |rigs| {
        let mut ranks = ranks::<2>(rigs);
        let buffers = buffers(&mut ranks, 1);
        let variant = |ranks: &Ranks<Idle, 2>, value| {
            ranks.sibling().capture(ThreadLocal, |work| fill(work, &buffers, value)).unwrap()
        };
        let ordinary: Pair<Published> = variant(&ranks, 1).publish().unwrap();
        let fourth = variant(&ranks, 2).capture_segment(ThreadLocal, |work| fill(work, &buffers, 3)).unwrap();
        let folder = std::env::temp_dir().join(format!("dacapo-ranks-{}", std::process::id()));
        let written = dump(&folder, &[("ordinary", &ordinary), ("fourth", &fourth)]).unwrap();
        let names: Vec<_> = written.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names.len(), 2 * (2 + 4), "{names:?}");
        assert_eq!(names[..2], ["ordinary.rank0.segment0.dot", "ordinary.rank0.segment0.json"]);
        assert_eq!(names[11], "fourth.rank1.segment1.json");
        for path in &written {
            let text = std::fs::read_to_string(path).unwrap();
            assert!(text.contains("memset"), "{}: {text}", path.display());
        }
        std::fs::remove_dir_all(folder).unwrap();
    });
}

#[test]
fn streams_that_are_handed_back_are_captured_alone_again() {
    on_devices(2, |rigs| {
        let [first, second] = ranks::<2>(rigs).into_streams();
        drop((first.begin(Relaxed).unwrap(), second.begin(ThreadLocal).unwrap()));
    });
}
