//! The fuzzer on the simulated driver: it repeats itself, gets through, finds what is planted, and makes it short.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use dacapo_sim_fuzz::call::{Call, Sequence, expectations};
use dacapo_sim_fuzz::compare::{Difference, compare};
use dacapo_sim_fuzz::generate::{Shape, sequence};
use dacapo_sim_fuzz::runner::{Report, RunError, Runner, Setup, side_by_side};
use dacapo_sim_fuzz::shrink::{Both, shrink};
use dacapo_sim_fuzz::stats::Stats;

const SHAPE: Shape = Shape { steps: 30, devices: 2 };

fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_dacapo-sim-fuzz"))
}

fn simulated_with(devices: usize) -> Runner {
    Runner::new(Setup { program: program(), devices, sim: true })
}

fn simulated() -> Runner {
    simulated_with(2)
}

fn reports(seed: u64, count: usize, jobs: usize) -> Vec<(Sequence, Report)> {
    let work = |runner: &mut Runner, number: usize| {
        let sequence = sequence(seed, number as u64, SHAPE);
        let report = runner.run(&sequence)?;
        Ok::<_, RunError>((sequence, report))
    };
    side_by_side(count, jobs, simulated, work).expect("the simulated driver is there")
}

#[test]
fn what_is_written_can_be_read_back() {
    for number in 0..500 {
        let made = sequence(3, number, SHAPE);
        assert_eq!(made.0.len(), SHAPE.steps);
        assert_eq!(made.to_string().parse(), Ok(made));
    }
    let bad = "T0 StreamCreate s0\n".parse::<Sequence>().expect_err("an operand is missing");
    assert_eq!(bad.to_string(), "not a step: T0 StreamCreate s0");
    assert!("T3 CtxSynchronize".parse::<Sequence>().is_err());
    assert!("T0 CtxSynchronize s0".parse::<Sequence>().is_err());
}

#[test]
fn the_same_seed_does_the_same_and_nothing_goes_wrong() {
    let (once, again) = (reports(11, 150, 2), reports(11, 150, 1));
    let mut stats = Stats::default();
    for (number, ((sequence, report), (_, other))) in once.iter().zip(&again).enumerate() {
        assert_eq!(report, other, "sequence {number} differs from itself");
        assert_eq!(report.steps.len(), sequence.0.len() + 1, "sequence {number} did not come to its end: {report:?}");
        assert_eq!(report.violations, Vec::<String>::new(), "sequence {number}");
        assert!(!report.steps[sequence.0.len()].ends_with("unclean"), "sequence {number} left something behind");
        stats.add(sequence, report);
    }
    assert!(stats.percent_while_capturing() >= 20, "{stats}");
}

#[test]
fn every_call_is_made_and_most_succeed() {
    let mut stats = Stats::default();
    reports(5, 1500, 2).iter().for_each(|(sequence, report)| stats.add(sequence, report));
    let never: Vec<_> = Call::NAMES.iter().filter(|name| stats.made(name) == 0).collect();
    assert!(never.is_empty(), "{never:?} are never made");
    let useless: Vec<_> = Call::NAMES.iter().filter(|name| stats.succeeded(name) == 0).collect();
    assert!(useless.is_empty(), "{useless:?} never succeed\n{stats}");
}

#[test]
fn regressions_are_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions");
    let mut runners = [simulated_with(1), simulated_with(2)];
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("text");
        let sequence: Sequence = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let expected = expectations(&text);
        assert!(expected.iter().all(Option::is_some), "{}: a step without an expectation", path.display());
        let runner = &mut runners[sequence.devices() - 1];
        let report = runner.run(&sequence).expect("the simulated driver is there");
        for (step, expected) in expected.iter().flatten().enumerate() {
            assert_eq!(report.steps.get(step), Some(expected), "{}, step {step}", path.display());
        }
        count += 1;
    }
    assert!(count > 0, "there are no regressions");
}

/// The simulated driver twice, of which the second is wrong about one thing: a capture that is ended on the wrong thread.
struct Planted(Runner);

impl Both for Planted {
    fn both(&mut self, sequence: &Sequence) -> Result<(Report, Report), RunError> {
        let right = self.0.run(sequence)?;
        let mut wrong = right.clone();
        for (step, said) in sequence.0.iter().zip(&mut wrong.steps) {
            if step.call.name() == "StreamEndCapture" {
                *said = said.replace("908", "401");
            }
        }
        Ok((right, wrong))
    }
}

#[test]
fn a_planted_difference_is_found_and_made_short() {
    let mut planted = Planted(simulated());
    let (number, long, left, right) = (0..)
        .map(|number| (number, sequence(2, number, SHAPE)))
        .map(|(number, sequence)| {
            let (left, right) = planted.both(&sequence).expect("the simulated driver is there");
            (number, sequence, left, right)
        })
        .find(|(_, _, left, right)| left != right)
        .expect("some sequence ends a capture on the wrong thread");
    let groups = compare([(number, long.clone(), &left, &right)].into_iter());
    let (kind, numbers) = groups.first_key_value().expect("one kind");
    assert_eq!((kind.to_string(), numbers.as_slice()), ("StreamEndCapture: 908 / 401".to_owned(), &[number][..]));

    let until = Instant::now() + Duration::from_secs(20);
    let short = shrink(&mut planted, &long, kind, until).expect("the simulated driver is there");
    let names: Vec<_> = short.0.iter().map(|step| step.call.name()).collect();
    assert!(names.len() <= 3, "{short}");
    assert_eq!(names.last(), Some(&"StreamEndCapture"), "{short}");
    let (left, right) = planted.both(&short).expect("the simulated driver is there");
    assert_eq!(Difference::find(&left, &right).map(|difference| difference.step), Some(short.0.len() - 1));
}

#[test]
fn a_process_that_dies_is_a_result() {
    // What reads the sequence and ends is no driver.
    let mut runner = Runner::new(Setup { program: PathBuf::from("/bin/true"), devices: 1, sim: true });
    assert!(matches!(runner.run(&sequence(1, 0, SHAPE)), Err(RunError::NoDriver)));
    let mut nothing = Runner::new(Setup { program: PathBuf::from("/nothing/is/here"), devices: 1, sim: true });
    assert!(matches!(nothing.run(&sequence(1, 0, SHAPE)), Err(RunError::Start(_))));
}

#[test]
fn a_crash_is_the_last_line_of_a_report() {
    use std::os::unix::fs::PermissionsExt;
    let script = Path::new(env!("CARGO_TARGET_TMPDIR")).join("crashes.sh");
    std::fs::write(&script, "#!/bin/sh\necho ready 1\necho 0\necho 401\nkill -KILL $$\n").expect("it can be written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let mut runner = Runner::new(Setup { program: script, devices: 1, sim: true });
    for _ in 0..2 {
        // Another test may be starting a process while this file is open for writing, and hold it open for a moment.
        let report = loop {
            match runner.run(&sequence(1, 0, SHAPE)) {
                Err(RunError::Start(error)) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                run => break run.expect("it starts"),
            }
        };
        assert!(report.died());
        assert_eq!(report.steps, ["0", "401", "crashed: signal: 9 (SIGKILL)"]);
    }
}

#[test]
fn the_command_line_compares_two_files() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (left, right) = (folder.join("left.jsonl"), folder.join("right.jsonl"));
    let run = |out: &Path| {
        let mut command = Command::new(program());
        command.args(["run", "--sim", "--seed", "4", "--sequences", "20", "--out"]).arg(out);
        assert!(command.output().expect("it starts").status.success());
    };
    let compare = || Command::new(program()).arg("compare").args([&left, &right]).output().expect("it starts");
    run(&left);
    run(&right);
    assert!(compare().status.success());

    let text = std::fs::read_to_string(&right).expect("it was written");
    std::fs::write(&right, text.replacen("\"0\"", "\"999\"", 1)).expect("it can be written");
    let output = compare();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(said.contains("1 of 20 sequences differ, in 1 ways"), "{said}");
    assert!(said.contains("StreamCreate: 0 / 999"), "{said}");
}
