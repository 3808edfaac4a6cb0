//! A fault at every driver call of the life of two and of four ranks, on each device in turn, before and after its effect: no capture is
//! left open, nothing is released while pending, what is submitted is both or neither or said, and the devices are as good as new.

mod common;

use common::{BASIC_PTX, check_clean, in_a_child, on_devices, simulator};
use dacapo::{
    CaptureStatus, Device, Enqueue, Error, FailStop, LaunchConfig, RankResting, Ranks, RanksPolicy, Rejected,
    ThreadLocal, Work,
};
use dacapo_sim::{Fault, SimDevice};
use std::time::Duration;

/// The error of a transition that has failed, once it is certain that no rank is capturing.
fn not_capturing<S: RankResting, const N: usize>(rejected: Rejected<Ranks<S, N>>) -> Error {
    let (ranks, error) = rejected.into_parts();
    if let Ok(status) = ranks.capture_status() {
        assert_eq!(status, [CaptureStatus::None; N], "{error}");
    }
    error
}

/// A whole life: open, allocate, capture on one thread and on several, publish, replay, update, add a segment, reset, abort, drop.
/// `is_late` if a call may have had its effect though it failed.
fn life<const N: usize>(first: usize, is_late: bool) -> Result<(), Error> {
    let devices: Vec<Device> = (first..first + N).map(Device::open).collect::<Result<_, _>>()?;
    let streams: Vec<_> = devices.iter().map(Device::stream).collect::<Result<_, _>>()?;
    let streams = streams.try_into().expect("one a device");
    let policy = RanksPolicy::new().fail_stop(FailStop::Leak).drain_deadline(Some(Duration::from_secs(20)));
    let mut ranks = Ranks::<_, N>::new(streams)?.with_policy(policy).with_peer_access().map_err(not_capturing)?;
    let counters = ranks.counters()?;
    let eager = ranks.eager().into_iter();
    let buffers: Vec<_> =
        eager.map(|mut rank| Ok((rank.buffer_from(&[1.0f32; 32])?, rank.alloc(32)?))).collect::<Result<_, Error>>()?;
    let staging: Vec<_> = devices.iter().map(|device| device.pinned::<f32>(32)).collect::<Result<_, _>>()?;
    let load = |device: &Device| device.load_ptx(BASIC_PTX)?.kernel("scale_f32");
    let scale: Vec<_> = devices.iter().map(load).collect::<Result<_, _>>()?;
    let record = |rank: usize, work: &mut Work<'_>, factor: f32| {
        let (x, y) = &buffers[rank];
        work.upload(&staging[rank], y)?;
        // SAFETY: scale_f32(data, factor, n) over 32 elements.
        unsafe { work.launch(&scale[rank], LaunchConfig::new(1, 32), (x, factor, 32u32)) }?;
        work.copy(x, y)?;
        work.count(&counters[rank])
    };
    let all = |factor: f32| {
        move |ranks: &mut [Work<'_>; N]| (0..).zip(ranks).try_for_each(|(rank, work)| record(rank, work, factor))
    };
    let mut published =
        ranks.capture(ThreadLocal, all(2.0)).map_err(not_capturing)?.publish().map_err(not_capturing)?;
    let (mut outcome, mut expected, mut may_be_more) = (Ok(()), [0; N], [0; N]);
    for _ in 0..3 {
        match published.replay() {
            Ok(()) => expected.iter_mut().for_each(|count| *count += 1),
            Err(error) => {
                let refused_by = match &error {
                    Error::PartialSubmission(partial) => {
                        expected[..partial.submitted].iter_mut().for_each(|count| *count += 1);
                        partial.rank
                    }
                    Error::Ranks(failures) => failures.first().rank,
                    other => panic!("{other}"),
                };
                may_be_more[refused_by] = u64::from(is_late);
                outcome = outcome.and(Err(error));
            }
        }
    }
    if let Ok(counts) = published.read_counters(&counters) {
        for rank in 0..N {
            let (count, least) = (counts[rank], expected[rank]);
            assert!(count == least || count == least + may_be_more[rank], "rank {rank}: {counts:?}, not {expected:?}");
        }
    }
    outcome?;
    let published = published.update(ThreadLocal, all(3.0)).map_err(not_capturing)?;
    published.replay_with(|ranks| ranks.iter_mut().zip(&buffers).try_for_each(|(rank, (x, _))| rank.fill(x, 1.0)))?;
    let ranks = published.reset().map_err(not_capturing)?;
    let ranks = ranks.begin(ThreadLocal).map_err(not_capturing)?.abort();
    let bodies = std::array::from_fn(|rank| move |work: &mut Work<'_>| record(rank, work, 2.0));
    let captured = ranks.capture_on_threads(ThreadLocal, bodies).map_err(not_capturing)?;
    let captured = captured.capture_segment(ThreadLocal, all(2.0)).map_err(not_capturing)?;
    let mut published = captured.publish().map_err(not_capturing)?;
    published.replay()?;
    published.synchronize()?;
    published.replay()?;
    drop(published);
    Ok(())
}

fn check_all_clean(sims: &[SimDevice]) {
    sims.iter().for_each(|sim| check_clean(*sim));
}

fn sweep<const N: usize>(first: usize, is_late: bool) {
    let Some(simulator) = simulator() else {
        eprintln!("skipped: needs injected faults, which only the simulated driver has");
        return;
    };
    let sims: Vec<SimDevice> =
        (first..first + N).map(|ordinal| simulator.device(u32::try_from(ordinal).unwrap())).collect();
    life::<N>(first, is_late).expect("a life without faults");
    check_all_clean(&sims);
    let calls = |sim: &SimDevice| {
        sim.clear_calls();
        life::<N>(first, is_late).expect("a life without faults");
        sim.calls().iter().map(|call| call.name).collect::<Vec<_>>()
    };
    let (mut noticed, mut all) = (0, 0);
    for (rank, sim) in sims.iter().enumerate() {
        let calls = calls(sim);
        assert!(calls.len() > 120, "{calls:?}");
        for (position, name) in calls.iter().enumerate() {
            all += 1;
            let what = format!("rank {rank} of {N}, call {}, {name}, late: {is_late}", position + 1);
            let fault = Fault::on_any().nth(position as u64 + 1).code(999);
            let _ = sim.inject(if is_late { fault.after() } else { fault });
            let outcome = life::<N>(first, is_late);
            sim.clear_faults();
            if let Err(error) = outcome {
                noticed += 1;
                assert!(error.to_string().len() > 10, "{what}: {error}");
            }
            for sim in &sims {
                let violations = sim.take_violations();
                let lines: Vec<_> = violations.iter().map(ToString::to_string).collect();
                assert!(violations.is_empty(), "{what}:\n{}", lines.join("\n"));
                // A failed free or destroy leaks what it was to free, by nature; take the context down with it.
                sim.reset();
            }
            if all % 7 == 0 {
                life::<N>(first, is_late)
                    .unwrap_or_else(|error| panic!("{what}: the devices are not as good as new: {error}"));
                check_all_clean(&sims);
            }
        }
    }
    eprintln!("{N} ranks, late: {is_late}: {all} faults, {noticed} noticed");
    assert!(noticed > all / 4, "only {noticed} of {all} faults were noticed");
}

#[test]
fn a_call_of_two_ranks_fails_without_effect() {
    sweep::<2>(32, false);
}

#[test]
fn a_call_of_two_ranks_fails_after_its_effect() {
    sweep::<2>(34, true);
}

#[test]
fn a_call_of_four_ranks_fails_without_effect() {
    sweep::<4>(36, false);
}

#[test]
fn a_call_of_four_ranks_fails_after_its_effect() {
    sweep::<4>(40, true);
}

/// The contexts are lost for good on a real driver, so in a process of its own.
#[test]
fn a_device_fault_of_one_rank_poisons_all() {
    in_a_child("a_device_fault_of_one_rank_poisons_all", || {
        on_devices(2, |rigs| {
            let policy = RanksPolicy::new().fail_stop(FailStop::Leak);
            let mut ranks = Ranks::<_, 2>::new([rigs[0].stream(), rigs[1].stream()]).unwrap().with_policy(policy);
            let [mut a, mut b] = ranks.eager();
            let buffers = [a.alloc::<u32>(1).unwrap(), b.alloc::<u32>(1).unwrap()];
            let sibling = ranks.sibling();
            let trap = rigs[1].kernel("trap");
            let policy = ranks.policy().same_on_all(false);
            let captured = ranks.with_policy(policy).capture(ThreadLocal, |[a, b]| {
                a.fill(&buffers[0], 1)?;
                // SAFETY: trap() takes nothing, and faults.
                unsafe { b.launch(&trap, LaunchConfig::new(1, 1), ()) }
            });
            let mut published = captured.unwrap().publish().unwrap();
            published.replay().unwrap();
            let error = published.synchronize().unwrap_err();
            let cause = rigs[1].device.fault().expect("a trap loses the context");
            assert!(error.to_string().contains(&cause.to_string()), "{error}");
            // A real driver fails the other context too, so its fault may have been heard there first.
            let elsewhere = rigs[0].device.fault().expect("one rank's fault is all ranks'");
            assert!(common::simulator().is_none() || elsewhere == cause, "{elsewhere}");
            assert!(matches!(published.replay(), Err(Error::Poisoned(_))));
            assert!(sibling.begin(ThreadLocal).is_err());
            let (idle, error) = published.reset().unwrap_err().into_parts();
            let Error::Unproven(unproven) = &error else { panic!("{error}") };
            assert_eq!(unproven.iter().last().map(|drain| drain.rank), Some(1));
            assert!(idle.begin(ThreadLocal).is_err());
            for rig in rigs {
                if let Some(sim) = rig.sim("a reset of everything") {
                    drop(sim.take_violations());
                    sim.reset();
                }
            }
        });
    });
}
