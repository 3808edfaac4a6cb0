//! What the subcommands do. Each says whether all is well.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use dacapo_sim_fuzz::call::{Sequence, expectations};
use dacapo_sim_fuzz::compare::{Difference, Groups, compare, table};
use dacapo_sim_fuzz::generate::{Shape, sequence};
use dacapo_sim_fuzz::runner::{Report, RunError, Runner, Setup, side_by_side};
use dacapo_sim_fuzz::shrink::{Both, shrink};
use dacapo_sim_fuzz::stats::Stats;
use serde_json::{Value, json};

use crate::{Command, Many, Which};

type Answer = Result<bool, Box<dyn Error>>;

pub(crate) fn run(command: Command) -> Answer {
    match command {
        Command::Run { which, many, sim, out, stats } => run_one(which, many, sim, out.as_deref(), stats),
        Command::Compare { left, right } => compare_files(&left, &right),
        Command::Both { which, many, out, shrink_seconds, kinds, sim_only } => {
            run_both(which, many, &out, Duration::from_secs(shrink_seconds), kinds, sim_only)
        }
        Command::Show { which, sequence: number } => {
            print!("{}", sequence(which.seed, number, which.shape()));
            Ok(true)
        }
        Command::Replay { files, devices, sim, both } => replay(&files, devices, sim, both),
        Command::Shrink { file, devices, shrink_seconds } => {
            shrink_file(&file, devices, Duration::from_secs(shrink_seconds))
        }
        Command::Serve { devices, sim } => {
            dacapo_sim_fuzz::serve::serve(devices as usize, sim)?;
            Ok(true)
        }
    }
}

impl Which {
    fn shape(self) -> Shape {
        Shape { steps: self.steps as usize, devices: self.devices as usize }
    }

    fn to_json(self) -> Value {
        json!({ "seed": self.seed, "steps": self.steps, "devices": self.devices })
    }

    fn from_json(value: &Value) -> Option<Which> {
        let number = |key: &str| value.get(key)?.as_u64();
        Some(Which { seed: number("seed")?, steps: number("steps")?, devices: number("devices")? })
    }
}

impl Many {
    fn numbers(self) -> Vec<u64> {
        match self.only {
            Some(number) => vec![number],
            None => (0..self.sequences).collect(),
        }
    }
}

fn setup(devices: usize, sim: bool) -> Result<Setup, std::io::Error> {
    Ok(Setup { program: std::env::current_exe()?, devices, sim })
}

/// What came of sequences, by number.
struct Reports {
    /// The version of the driver.
    version: String,
    of: BTreeMap<u64, Report>,
}

/// Runs all sequences on one driver.
fn reports(which: Which, many: Many, sim: bool) -> Result<Reports, Box<dyn Error>> {
    let (setup, numbers) = (setup(which.devices as usize, sim)?, many.numbers());
    let work = |runner: &mut Runner, place: usize| {
        let number = numbers[place];
        runner
            .run(&sequence(which.seed, number, which.shape()))
            .map(|report| (runner.version().to_owned(), number, report))
    };
    let reports = side_by_side(numbers.len(), many.jobs, || Runner::new(setup.clone()), work)?;
    let version = reports.first().map(|(version, ..)| version.clone()).unwrap_or_default();
    Ok(Reports { version, of: reports.into_iter().map(|(_, number, report)| (number, report)).collect() })
}

/// Writes reports, a line each, after one that says what they are about.
fn write(path: &Path, which: Which, reports: &Reports) -> Result<(), std::io::Error> {
    let mut head = which.to_json();
    head["driver"] = reports.version.clone().into();
    let mut text = format!("{head}\n");
    for (number, report) in &reports.of {
        let _ = writeln!(text, "{}", report.to_json(*number));
    }
    fs::write(path, text)
}

/// A file of reports that cannot be read.
#[derive(Debug)]
struct BadFile;

impl std::fmt::Display for BadFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("not two files of the same sequences")
    }
}

impl Error for BadFile {}

fn read(path: &Path) -> Result<(Which, BTreeMap<u64, Report>), Box<dyn Error>> {
    let text = fs::read_to_string(path)?;
    let mut lines = text.lines();
    let which: Value = serde_json::from_str(lines.next().ok_or(BadFile)?)?;
    let mut reports = BTreeMap::new();
    for line in lines {
        let (number, report) = Report::from_json(&serde_json::from_str(line)?).ok_or(BadFile)?;
        reports.insert(number, report);
    }
    Ok((Which::from_json(&which).ok_or(BadFile)?, reports))
}

/// Says which sequences did what they should not, however the comparison ends. Whether there were none.
fn print_trouble(name: &str, reports: &BTreeMap<u64, Report>) -> bool {
    let mut fine = true;
    for (number, report) in reports {
        if report.died() {
            fine = false;
            println!("{name}: sequence {number}: {}", report.steps.last().map_or("", String::as_str));
        }
        if report.steps.last().is_some_and(|last| last.ends_with(" unclean")) {
            println!("{name}: sequence {number}: unclean");
        }
        for violation in &report.violations {
            fine = false;
            println!("{name}: sequence {number}: {violation}");
        }
    }
    fine
}

fn run_one(which: Which, many: Many, sim: bool, out: Option<&Path>, with_stats: bool) -> Answer {
    let start = Instant::now();
    let reports = reports(which, many, sim)?;
    if let Some(out) = out {
        write(out, which, &reports)?;
    }
    if with_stats {
        let mut stats = Stats::default();
        reports.of.iter().for_each(|(number, report)| stats.add(&sequence(which.seed, *number, which.shape()), report));
        println!("{stats}");
    }
    let fine = print_trouble(if sim { "simulated" } else { "driver" }, &reports.of);
    println!("driver {}: {} sequences in {:.1} s", reports.version, reports.of.len(), start.elapsed().as_secs_f64());
    Ok(fine)
}

fn groups(which: Which, left: &BTreeMap<u64, Report>, right: &BTreeMap<u64, Report>) -> Groups {
    compare(left.iter().filter_map(|(number, left)| {
        Some((*number, sequence(which.seed, *number, which.shape()), left, right.get(number)?))
    }))
}

fn summary(groups: &Groups, count: usize) -> String {
    let differing: usize = groups.values().map(Vec::len).sum();
    let mut text = format!("{differing} of {count} sequences differ, in {} ways\n", groups.len());
    let mut kinds: Vec<_> = groups.iter().collect();
    kinds.sort_by_key(|(_, numbers)| std::cmp::Reverse(numbers.len()));
    for (kind, numbers) in kinds {
        let some: Vec<String> = numbers.iter().take(6).map(u64::to_string).collect();
        let _ = writeln!(text, "{:>6}  {kind}  ({})", numbers.len(), some.join(", "));
    }
    text
}

fn compare_files(left: &Path, right: &Path) -> Answer {
    let ((which, left), (other, right)) = (read(left)?, read(right)?);
    if which.to_json() != other.to_json() {
        return Err(BadFile.into());
    }
    let groups = groups(which, &left, &right);
    for numbers in groups.values() {
        for number in numbers {
            let sequence = sequence(which.seed, *number, which.shape());
            if let Some(Difference { step, left, right }) = Difference::find(&left[number], &right[number]) {
                let call = sequence.0.get(step).map_or("the end".to_owned(), ToString::to_string);
                println!("sequence {number}, step {step}: {call}\n  < {left}\n  > {right}");
            }
        }
    }
    print!("{}", summary(&groups, left.len()));
    Ok(groups.is_empty() && left.len() == right.len())
}

/// The driver that is there, and the simulated one.
struct Pair(Runner, Runner);

impl Both for Pair {
    fn both(&mut self, sequence: &Sequence) -> Result<(Report, Report), RunError> {
        Ok((self.0.run(sequence)?, self.1.run(sequence)?))
    }
}

fn run_both(which: Which, many: Many, out: &Path, time: Duration, kinds: usize, sim_only: bool) -> Answer {
    let start = Instant::now();
    fs::create_dir_all(out)?;
    let (left, right) = std::thread::scope(|scope| {
        let run = |sim: bool| move || reports(which, many, sim).map_err(|error| error.to_string());
        let left = scope.spawn(run(sim_only));
        let right = scope.spawn(run(true));
        (left.join(), right.join())
    });
    let (left, right) = (left.map_err(|_| BadFile)??, right.map_err(|_| BadFile)??);
    write(&out.join("driver.jsonl"), which, &left)?;
    write(&out.join("simulated.jsonl"), which, &right)?;
    let fine = print_trouble("driver", &left.of) & print_trouble("simulated", &right.of);
    let groups = groups(which, &left.of, &right.of);
    let mut text = format!("driver {}, seed {}, {} calls each: ", left.version, which.seed, which.steps);
    text.push_str(&summary(&groups, left.of.len()));
    let _ = writeln!(text, "{:.1} s", start.elapsed().as_secs_f64());
    print!("{text}");

    // The most frequent kinds first.
    let mut chosen: Vec<_> = groups.iter().collect();
    chosen.sort_by_key(|(_, numbers)| std::cmp::Reverse(numbers.len()));
    chosen.truncate(kinds);
    let until = Instant::now() + time;
    let (driver, simulated) = (setup(which.devices as usize, sim_only)?, setup(which.devices as usize, true)?);
    let begin = || Pair(Runner::new(driver.clone()), Runner::new(simulated.clone()));
    let shrunk = side_by_side(chosen.len(), many.jobs, begin, |pair, place| {
        let (kind, numbers) = chosen[place];
        let sequence = sequence(which.seed, numbers[0], which.shape());
        let short = shrink(pair, &sequence, kind, until)?;
        let (left, right) = pair.both(&short)?;
        Ok::<_, RunError>(format!(
            "# {kind}\n# seed {}, sequence {}, devices {}; the driver says the one or the first, the simulated one the second\n{}",
            which.seed,
            numbers[0],
            which.devices,
            table(&short, &left, &right)
        ))
    })?;
    for (number, sequence) in shrunk.iter().enumerate() {
        fs::write(out.join(format!("difference-{number:02}.txt")), sequence)?;
        println!("\n{sequence}");
        let _ = writeln!(text, "\n{sequence}");
    }
    fs::write(out.join("summary.txt"), &text)?;
    println!("{:.1} s in all", start.elapsed().as_secs_f64());
    Ok(fine && groups.is_empty())
}

/// How many devices a sequence is run with.
fn devices_for(sequence: &Sequence, asked: Option<u64>) -> usize {
    asked.map_or_else(|| sequence.devices(), |devices| devices as usize)
}

fn replay(files: &[std::path::PathBuf], devices: Option<u64>, sim: bool, both: bool) -> Answer {
    let mut runners: BTreeMap<usize, Pair> = BTreeMap::new();
    let mut fine = true;
    for file in files {
        let text = fs::read_to_string(file)?;
        let sequence: Sequence = text.parse()?;
        let devices = devices_for(&sequence, devices);
        let Pair(left, right) = match runners.entry(devices) {
            Entry::Occupied(pair) => pair.into_mut(),
            Entry::Vacant(free) => {
                free.insert(Pair(Runner::new(setup(devices, sim)?), Runner::new(setup(devices, true)?)))
            }
        };
        let report = left.run(&sequence)?;
        for (step, (expected, said)) in expectations(&text).iter().zip(&report.steps).enumerate() {
            if let Some(expected) = expected.as_ref().filter(|expected| *expected != said) {
                println!("# step {step}: expected {expected}, found {said}");
                fine = false;
            }
        }
        let other = if both { right.run(&sequence)? } else { report.clone() };
        println!("# {}\n{}", file.display(), table(&sequence, &report, &other));
        other.violations.iter().for_each(|violation| println!("# {violation}"));
        fine &= report == other || (report.steps == other.steps && other.violations.is_empty());
    }
    Ok(fine)
}

fn shrink_file(file: &Path, devices: Option<u64>, time: Duration) -> Answer {
    let sequence: Sequence = fs::read_to_string(file)?.parse()?;
    let devices = devices_for(&sequence, devices);
    let mut pair = Pair(Runner::new(setup(devices, false)?), Runner::new(setup(devices, true)?));
    let (left, right) = pair.both(&sequence)?;
    let Some(difference) = Difference::find(&left, &right) else {
        println!("no difference");
        return Ok(true);
    };
    let kind = difference.kind(&sequence);
    let short = shrink(&mut pair, &sequence, &kind, Instant::now() + time)?;
    let (left, right) = pair.both(&short)?;
    print!("# {kind}\n{}", table(&short, &left, &right));
    Ok(false)
}
