//! Ranks that cannot be drained end the process: the message names rank and call, and no destructor of what was captured runs. Each case
//! in a process of its own, on the error path and on the unwinding one, with either rank hanging.

mod common;

use std::env;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use common::{BASIC_PTX, Rig, on_devices};
use dacapo::{Enqueue, LaunchConfig, Pair, Published, RanksPolicy, ThreadLocal};

const CASE: &str = "DACAPO_FAIL_STOP";
const LIMIT: Duration = Duration::from_millis(100);

/// Says so when it is let go.
struct Witness;

impl Drop for Witness {
    fn drop(&mut self) {
        eprintln!("a destructor ran");
    }
}

/// A pair of which one rank's graph waits for a word that nobody writes, replayed once.
fn hanging(rigs: &[Rig], rank: usize) -> Pair<Published> {
    let policy = RanksPolicy::new().same_on_all(false).drain_deadline(Some(LIMIT));
    let mut ranks = Pair::new([rigs[0].stream(), rigs[1].stream()]).unwrap().with_policy(policy);
    let flags = ranks.eager().map(|mut rank| rank.alloc::<u32>(1).unwrap());
    let spin = rigs[rank].device.load_ptx(BASIC_PTX).unwrap().kernel("spin_until").unwrap();
    let captured = ranks.capture(ThreadLocal, |work| {
        for work in work.iter_mut() {
            work.retain(Witness);
        }
        work[1 - rank].fill(&flags[1 - rank], 1)?;
        // SAFETY: spin_until(flag), in one thread, on one word.
        unsafe { work[rank].launch(&spin, LaunchConfig::new(1, 1), (&flags[rank],)) }
    });
    let published = captured.unwrap().publish().unwrap();
    published.replay().unwrap();
    published
}

/// What a child does.
fn child(case: &str) {
    let (path, rank) = case.split_at(case.len() - 1);
    let rank = rank.parse().unwrap();
    on_devices(2, |rigs| {
        let mut published = hanging(rigs, rank);
        match path {
            "reset" => drop(published.reset()),
            "drop" => drop(published),
            "synchronize" => drop(published.synchronize()),
            "unwind" => {
                let _published = published;
                panic!("on the way out");
            }
            other => panic!("no such case: {other}"),
        }
        eprintln!("went on");
    });
}

fn run(case: &str) -> Output {
    Command::new(env::current_exe().unwrap())
        .args(["each_way_out_of_a_hanging_rank_ends_the_process", "--exact", "--test-threads=1", "--nocapture"])
        .env(CASE, case)
        .output()
        .expect("the child starts")
}

#[test]
fn each_way_out_of_a_hanging_rank_ends_the_process() {
    if let Ok(case) = env::var(CASE) {
        return child(&case);
    }
    if common::simulator().is_none() && dacapo::Device::count().expect("a driver") < 2 {
        eprintln!("skipped: needs 2 devices");
        return;
    }
    for path in ["reset", "drop", "synchronize", "unwind"] {
        for rank in [0, 1] {
            let case = format!("{path}{rank}");
            let start = Instant::now();
            let output = run(&case);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(start.elapsed() >= LIMIT && start.elapsed() < Duration::from_secs(60), "{case}: {said}");
            assert!(aborted(&output), "{case}: {:?}\n{said}", output.status);
            let message =
                format!("dacapo: completion is unproven on rank {rank}: cuStreamQuery: CUDA_ERROR_NOT_READY (600)");
            assert!(said.contains(&message), "{case}: {said}");
            assert!(!said.contains("a destructor ran"), "{case}: {said}");
            assert!(!said.contains("went on"), "{case}: {said}");
        }
    }
}

#[cfg(unix)]
fn aborted(output: &Output) -> bool {
    use std::os::unix::process::ExitStatusExt;
    const SIGABRT: i32 = 6;
    output.status.signal() == Some(SIGABRT)
}

#[cfg(not(unix))]
fn aborted(output: &Output) -> bool {
    !output.status.success()
}
