//! The command line: see [`dacapo_sim_fuzz`].

mod commands;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

/// Random sequences of driver calls, on a GPU's driver and on the simulated one.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Which sequences.
#[derive(Args, Clone, Copy)]
struct Which {
    /// What all sequences depend on.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Calls in a sequence, at most 500.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=500))]
    steps: u64,
    /// Devices that are used: 1 or 2.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=2))]
    devices: u64,
}

/// How many sequences.
#[derive(Args, Clone, Copy)]
struct Many {
    /// How many sequences.
    #[arg(long, default_value_t = 1000)]
    sequences: u64,
    /// Only the sequence with this number.
    #[arg(long)]
    only: Option<u64>,
    /// Processes side by side, for each driver.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
}

#[derive(Subcommand)]
enum Command {
    /// Runs sequences on one driver and writes what came of them.
    Run {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        many: Many,
        /// The simulated driver instead of the one that is there.
        #[arg(long)]
        sim: bool,
        /// Where to write: a JSON line for each sequence.
        #[arg(long)]
        out: Option<PathBuf>,
        /// Say how often each call was made, and how it ended.
        #[arg(long)]
        stats: bool,
    },
    /// Compares two files that `run` has written.
    Compare {
        /// The one.
        left: PathBuf,
        /// The other.
        right: PathBuf,
    },
    /// Runs sequences on the driver that is there and on the simulated one, compares, and shrinks what differs.
    Both {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        many: Many,
        /// Where to write: a folder.
        #[arg(long)]
        out: PathBuf,
        /// How many seconds shrinking may take.
        #[arg(long, default_value_t = 60)]
        shrink_seconds: u64,
        /// How many kinds of difference are shrunk.
        #[arg(long, default_value_t = 12)]
        kinds: usize,
        /// Compare the simulated driver with itself.
        #[arg(long)]
        sim_only: bool,
    },
    /// Prints a sequence.
    Show {
        #[command(flatten)]
        which: Which,
        /// Its number.
        #[arg(long)]
        sequence: u64,
    },
    /// Runs sequences from files, a step a line.
    Replay {
        /// The files.
        files: Vec<PathBuf>,
        /// Devices that are used, 1 or 2; as many as the sequence names if this is not given.
        #[arg(long)]
        devices: Option<u64>,
        /// The simulated driver instead of the one that is there.
        #[arg(long)]
        sim: bool,
        /// Both of them, side by side.
        #[arg(long, conflicts_with = "sim")]
        both: bool,
    },
    /// Shrinks a sequence from a file on which the driver that is there and the simulated one differ.
    Shrink {
        /// The file.
        file: PathBuf,
        /// Devices that are used, 1 or 2; as many as the sequence names if this is not given.
        #[arg(long)]
        devices: Option<u64>,
        /// How many seconds it may take.
        #[arg(long, default_value_t = 60)]
        shrink_seconds: u64,
    },
    /// Makes calls for another process of this program.
    #[command(hide = true)]
    Serve {
        #[arg(long)]
        devices: u64,
        #[arg(long)]
        sim: bool,
    },
}

fn main() -> ExitCode {
    match commands::run(Cli::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprint!("error: {error}");
            let mut cause = error.source();
            while let Some(error) = cause {
                eprint!(": {error}");
                cause = error.source();
            }
            eprintln!();
            ExitCode::from(2)
        }
    }
}
