//! How much does replay save in a decode loop of many small kernels?
//!
//! `cargo run --release --example decode_loop`, or with `-- --prompt TEXT --tokens N --driver auto|cuda|sim --json --graph-svg FILE
//! --verify-width K`. Decodes with a small transformer (weights made up from a seed, so the text is noise), first eagerly, then by replaying one captured
//! step, and checks that both give the same tokens. With `--verify-width` a third time: a sibling graph verifies K drafted tokens
//! a replay.

use std::error::Error;
use std::fs;
use std::io::{self, IsTerminal, Read, Write, stderr, stdin, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use dacapo::{Device, Idle, NodeKind, Stream, ThreadLocal};
use indicatif::ProgressBar;

#[path = "../common/mod.rs"]
mod common;
mod model;
mod verify;

use model::{CONTEXT, Model};
use verify::Verified;

const DEFAULT_PROMPT: &str = "Da capo al fine: ";
const SEED: u64 = 1;

/// Decode with one captured step, replayed for every token.
#[derive(Parser)]
struct Options {
    /// The text to continue; `-` reads it from standard input. Without this option standard input is read if something comes
    /// in there within a second, and a built-in text is taken otherwise.
    #[arg(long)]
    prompt: Option<String>,

    /// How many tokens (bytes) to decode.
    #[arg(long, default_value_t = 64)]
    tokens: usize,

    /// The driver to run on: auto, cuda or sim.
    #[arg(long, default_value_t = common::choice_from_environment(), value_parser = ["auto", "cuda", "sim"])]
    driver: String,

    /// Print one line of JSON instead of text.
    #[arg(long)]
    json: bool,

    /// Write a picture of the captured step to this file.
    #[arg(long, value_name = "FILE")]
    graph_svg: Option<PathBuf>,

    /// Decode once more with a second graph, on the same stream, that verifies K drafted tokens a replay.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u8).range(1..=32))]
    verify_width: Option<u8>,
}

/// What was decoded, and how long each step took.
struct Run {
    tokens: Vec<u8>,
    steps: u64,
    per_step: Duration,
}

struct Report {
    driver: &'static str,
    device: String,
    nodes: String,
    kernels: usize,
    eager: Run,
    replayed: Run,
    replays: u64,
    counted: u64,
    verified: Option<Verified>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("decode_loop: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let prompt = prompt(options)?;
    check_lengths(&prompt, options.tokens)?;
    let driver = common::choose_driver(&options.driver)?;
    let device = Device::open(0)?;
    let report = decode(driver, &device, &prompt, options)?;
    if options.json {
        writeln!(stdout(), "{}", report.to_json(&prompt))?;
    } else {
        report.write(&mut stdout(), &prompt)?;
    }
    report.check()
}

fn prompt(options: &Options) -> Result<Vec<u8>, Box<dyn Error>> {
    match options.prompt.as_deref() {
        Some("-") => Ok(standard_input().recv()??),
        Some(prompt) => Ok(prompt.into()),
        None if stdin().is_terminal() => Ok(DEFAULT_PROMPT.into()),
        None => match standard_input().recv_timeout(Duration::from_secs(1)) {
            Ok(read) => Ok(Some(read?).filter(|prompt| !prompt.is_empty()).unwrap_or_else(|| DEFAULT_PROMPT.into())),
            Err(_) => {
                eprintln!("decode_loop: nothing came in on standard input; taking the built-in prompt");
                Ok(DEFAULT_PROMPT.into())
            }
        },
    }
}

/// Reads standard input to its end on another thread, so that whoever waits for it can stop waiting.
fn standard_input() -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut prompt = Vec::new();
        // One byte more than fits is enough to know that it does not.
        let read = stdin().take(CONTEXT as u64 + 1).read_to_end(&mut prompt);
        // Nobody listens any more if the wait is over.
        let _ = sender.send(read.map(|_| prompt));
    });
    receiver
}

fn check_lengths(prompt: &[u8], tokens: usize) -> Result<(), Box<dyn Error>> {
    if tokens == 0 {
        return Err("nothing to do: --tokens is 0".into());
    }
    if prompt.is_empty() {
        return Err("the prompt is empty: give it at least one byte".into());
    }
    match CONTEXT.checked_sub(prompt.len()) {
        Some(room) if tokens <= room => Ok(()),
        Some(room) => {
            Err(format!("{tokens} tokens after a prompt of {} bytes: the context has room for {room}", prompt.len())
                .into())
        }
        None => {
            let given =
                if prompt.len() == CONTEXT + 1 { format!("more than {CONTEXT}") } else { prompt.len().to_string() };
            Err(format!("the prompt is too long: the context holds {CONTEXT} bytes, this is {given}").into())
        }
    }
}

fn decode(driver: &'static str, device: &Device, prompt: &[u8], options: &Options) -> Result<Report, Box<dyn Error>> {
    let tokens = options.tokens;
    let mut stream: Stream<Idle> = device.stream()?;
    let model = Model::new(device, &mut stream, SEED)?;
    let bar = progress_bar(prompt.len() + tokens - 1);

    let eager = decode_with(&model, prompt, tokens, &bar, "eager", || {
        model.step(&mut stream)?;
        stream.synchronize()
    })?;

    let captured = stream.capture(ThreadLocal, |capturing| model.step(capturing))?;
    if let Some(path) = &options.graph_svg {
        let picture = captured.inspect().svg().to_string();
        fs::write(path, picture).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    let (nodes, kernels) = (captured.census().to_string(), captured.census().count(NodeKind::Kernel));
    let mut published = captured.publish()?;
    let replayer = published.replayer();
    let replayed = decode_with(&model, prompt, tokens, &bar, "replay", || {
        replayer.replay()?;
        published.synchronize()
    })?;
    bar.finish_and_clear();

    let (replays, counted) = (published.replays(), model.steps(&mut published)?);
    let verified = options.verify_width.map(|width| {
        let verified = verify::decode(&model, &mut published, prompt, tokens, usize::from(width))?;
        let (asked, ran) = (verified.steps(), model.steps(&mut published)? - counted);
        if ran == asked {
            Ok(verified)
        } else {
            Err(format!("verifying: {asked} steps, the device counted {ran}").into())
        }
    });
    let verified = verified.transpose().map_err(|error: Box<dyn Error>| error)?;
    drop(published.reset()?);
    Ok(Report { driver, device: device.name().into(), nodes, kernels, eager, replayed, replays, counted, verified })
}

/// Feeds the prompt, then each token back, one step at a time.
fn decode_with(
    model: &Model,
    prompt: &[u8],
    tokens: usize,
    bar: &ProgressBar,
    label: &'static str,
    mut step: impl FnMut() -> Result<(), dacapo::Error>,
) -> Result<Run, Box<dyn Error>> {
    bar.reset();
    bar.set_message(label);
    let mut decoded = Vec::with_capacity(tokens);
    let mut spent = Duration::ZERO;
    let mut token = prompt[0];
    let steps = prompt.len() + tokens - 1;
    for position in 0..steps {
        let start = Instant::now();
        model.set_input(token, position)?;
        step()?;
        token = model.next_token()?;
        spent += start.elapsed();
        bar.inc(1);
        match prompt.get(position + 1) {
            Some(&given) => token = given,
            None => decoded.push(token),
        }
    }
    Ok(Run { tokens: decoded, steps: steps as u64, per_step: spent / u32::try_from(steps)? })
}

/// A progress bar where somebody is looking.
fn progress_bar(steps: usize) -> ProgressBar {
    if stderr().is_terminal() { ProgressBar::new(steps as u64) } else { ProgressBar::hidden() }
}

impl Report {
    /// Whether both ways gave the same, and the device ran what was asked of it.
    fn check(&self) -> Result<(), Box<dyn Error>> {
        if self.eager.tokens != self.replayed.tokens {
            return Err(
                format!("tokens differ: eager {:?}, replayed {:?}", self.eager.tokens, self.replayed.tokens).into()
            );
        }
        if let Some(verified) = &self.verified
            && verified.tokens != self.replayed.tokens
        {
            let (replayed, verified) = (&self.replayed.tokens, &verified.tokens);
            return Err(format!("tokens differ: replayed {replayed:?}, verified {verified:?}").into());
        }
        if self.replays != self.replayed.steps || self.counted != self.eager.steps + self.replays {
            let (asked, replays, counted) = (self.eager.steps + self.replayed.steps, self.replays, self.counted);
            return Err(format!(
                "{asked} steps were asked for, the driver took {replays} replays, the device counted {counted}"
            )
            .into());
        }
        Ok(())
    }

    fn write(&self, out: &mut impl Write, prompt: &[u8]) -> io::Result<()> {
        let (eager, replayed) = (micros(self.eager.per_step), micros(self.replayed.per_step));
        let (given, decoded) = (prompt.len(), self.replayed.tokens.len());
        writeln!(out, "driver:            {} on {}", self.driver, self.device)?;
        writeln!(out, "prompt:            {}", prompt.escape_ascii())?;
        writeln!(out, "decoded:           {} (noise: the weights are made up)", self.replayed.tokens.escape_ascii())?;
        writeln!(out, "kernels per token: {} ({})", self.kernels, self.nodes)?;
        writeln!(out, "eager:             {eager:.1} µs per token")?;
        writeln!(out, "replayed:          {replayed:.1} µs per token ({:.2} times as fast)", eager / replayed)?;
        if self.driver == common::SIMULATED {
            writeln!(out, "                   (simulated: these times say nothing about a GPU)")?;
        }
        writeln!(out, "captures, replays: 1, {} ({given} prompt bytes and {decoded} - 1 decoded ones)", self.replays)?;
        let (counted, eager, replayed) = (self.counted, self.eager.steps, self.replayed.steps);
        writeln!(out, "device counter:    {counted} steps ({eager} eager, {replayed} replayed)")?;
        if let Some(Verified { width, tokens, replays, drafted, accepted, per_token, .. }) = &self.verified {
            let (count, percent) = (tokens.len(), 100.0 * *accepted as f64 / (*drafted).max(1) as f64);
            writeln!(
                out,
                "verified:          {:.1} µs per token, {count} tokens in {replays} replays of {width}",
                micros(*per_token)
            )?;
            writeln!(out, "                   ({accepted} of {drafted} drafted tokens accepted, {percent:.0} %)")?;
        }
        if self.check().is_ok() {
            writeln!(out, "ok: {decoded} tokens, eager == replay")?;
        }
        Ok(())
    }

    fn to_json(&self, prompt: &[u8]) -> serde_json::Value {
        serde_json::json!({
            "driver": self.driver,
            "device": self.device,
            "prompt": prompt.escape_ascii().to_string(),
            "decoded": self.replayed.tokens.escape_ascii().to_string(),
            "kernels_per_token": self.kernels,
            "eager_us_per_token": micros(self.eager.per_step),
            "replayed_us_per_token": micros(self.replayed.per_step),
            "captures": 1,
            "replays": self.replays,
            "device_steps": self.counted,
            "eager_steps": self.eager.steps,
            "tokens": self.replayed.tokens,
            "eager_equals_replay": self.check().is_ok(),
            "verified": self.verified.as_ref().map(|verified| serde_json::json!({
                "width": verified.width,
                "replays": verified.replays,
                "drafted": verified.drafted,
                "accepted": verified.accepted,
                "us_per_token": micros(verified.per_token),
                "tokens": verified.tokens,
            })),
        })
    }
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
