//! `dacapo-sim-ptx-check`: see `README.md` beside this crate.

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use clap::{Args, Parser, Subcommand};
use dacapo_sim_ptx_check::{
    compare::compare,
    driver::Device,
    form::Form,
    forms, kernels,
    results::Results,
    run,
    text::{self, BLOCK},
};

/// Runs every PTX instruction form on a GPU or on the simulator, and compares the results.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run all forms and write their results to a file
    Run {
        /// The file
        #[arg(long)]
        out: PathBuf,
        /// Install the simulator instead of using the driver of the machine
        #[arg(long)]
        sim: bool,
        #[command(flatten)]
        choice: Choice,
    },
    /// Compare two files of results; exit status 1 when a form differs by more than it may
    Compare {
        /// The first file
        first: PathBuf,
        /// The second file
        second: PathBuf,
    },
    /// Run on the driver of the machine and on the simulator, then compare
    Both {
        /// The folder for the two files and the report
        #[arg(long)]
        out: PathBuf,
        #[command(flatten)]
        choice: Choice,
    },
    /// Print all forms with their bounds
    List,
    /// Print the PTX text of the forms, for an assembler
    Text {
        #[command(flatten)]
        choice: Choice,
    },
    /// Parse PTX files as the simulator does; exit status 1 when it refuses one
    Load {
        /// The files
        files: Vec<PathBuf>,
    },
}

/// What is run.
#[derive(Args)]
struct Choice {
    /// What operands are made from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Rows of operands for each form
    #[arg(long, default_value_t = 1024)]
    count: u32,
    /// Only forms whose names begin like this
    #[arg(long, default_value = "")]
    only: String,
}

impl Choice {
    fn forms(&self) -> Vec<Form> {
        forms::all().into_iter().filter(|form| form.name.starts_with(&self.only)).collect()
    }
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match perform(Cli::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn perform(task: Task) -> Outcome<bool> {
    match task {
        Task::Run { out, sim, choice } => run_all(&out, sim, &choice).map(|()| true),
        Task::Compare { first, second } => report(&first, &second),
        Task::Both { out, choice } => both(&out, &choice),
        Task::List => {
            for form in forms::all() {
                println!("{:44} {}", form.name, form.bound);
            }
            for (name, _, bound) in kernels::outputs() {
                println!("{name:44} {bound}");
            }
            Ok(true)
        }
        Task::Text { choice } => {
            print!("{}", text::module(&choice.forms()));
            Ok(true)
        }
        Task::Load { files } => load(&files),
    }
}

fn run_all(out: &Path, sim: bool, choice: &Choice) -> Outcome<()> {
    if sim {
        dacapo_sim::install()?;
    }
    let count = choice.count.max(1).next_multiple_of(BLOCK);
    let device = Device::open()?;
    let mut outcomes = run::forms(&device, &choice.forms(), choice.seed, count);
    outcomes.extend(kernels::run(&device, choice.seed, &choice.only));
    Results { seed: choice.seed, count, device: device.name().to_owned(), outcomes }.write(out)?;
    Ok(())
}

fn report(first: &Path, second: &Path) -> Outcome<bool> {
    let (first, second) = (Results::read(first)?, Results::read(second)?);
    if (first.seed, first.count) != (second.seed, second.count) {
        return Err("the two files have different seeds or numbers of rows".into());
    }
    println!("{} / {}: seed {}, {} rows", first.device, second.device, first.seed, first.count);
    let comparisons = compare(&forms::all(), &first, &second);
    for comparison in comparisons.iter().filter(|comparison| comparison.different > 0 || !comparison.holds()) {
        println!("{comparison}");
    }
    let same = comparisons.iter().filter(|comparison| comparison.holds() && comparison.different == 0).count();
    let bad = comparisons.iter().filter(|comparison| !comparison.holds()).count();
    println!(
        "{} forms: {same} the same to the bit, {} within their bounds, {bad} not",
        comparisons.len(),
        comparisons.len() - same - bad
    );
    Ok(bad == 0)
}

/// Each run is a process of its own: one process has one driver.
fn both(out: &Path, choice: &Choice) -> Outcome<bool> {
    std::fs::create_dir_all(out)?;
    let files = [out.join("gpu.bin"), out.join("sim.bin")];
    for (file, sim) in files.iter().zip([false, true]) {
        let start = std::time::Instant::now();
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("run").arg("--out").arg(file).args(["--seed", &choice.seed.to_string()]);
        command.args(["--count", &choice.count.to_string(), "--only", &choice.only]);
        if sim {
            command.arg("--sim");
        }
        if !command.status()?.success() {
            return Err(format!("the run for {} failed", file.display()).into());
        }
        println!("{}: {:.1} s", file.display(), start.elapsed().as_secs_f64());
    }
    let [first, second] = &files;
    report(first, second)
}

fn load(files: &[PathBuf]) -> Outcome<bool> {
    let mut refused = 0;
    for file in files {
        if let Err(error) = dacapo_sim::ptx::Module::parse(&std::fs::read_to_string(file)?) {
            println!("{}: {error}", file.display());
            refused += 1;
        }
    }
    println!("{} files, {refused} refused", files.len());
    Ok(refused == 0)
}
