//! How do I split a decode step over two GPUs, and have both replay it in lock step?
//!
//! `cargo run --release --example 07_two_gpus`, or with `-- --tokens N --replays N`. Decodes with the model of `decode_loop`, first on
//! one GPU, then split over two ranks: submitted from one thread, with a thread for each rank, and as one graph over both devices;
//! and checks that all give the same tokens. Where there are not two GPUs it runs on two simulated devices; `DACAPO_DRIVER=cuda` or
//! `sim` decides for itself.

use std::error::Error;
use std::time::{Duration, Instant};

use clap::Parser;
use dacapo::{Device, DeviceCounter, Enqueue, Idle, Pair, Published, RankReplayer, ThreadLocal, Work, dump};

#[path = "../common/mod.rs"]
mod common;
#[path = "../decode_loop/model.rs"]
mod model;
mod split;

use model::Model;
use split::Split;

const SEED: u64 = 1;

/// Decode with one step over two GPUs.
#[derive(Parser)]
struct Options {
    /// The text to continue.
    #[arg(long, default_value = "Da capo: ")]
    prompt: String,

    /// How many tokens (bytes) to decode.
    #[arg(long, default_value_t = 8)]
    tokens: usize,

    /// Then replay a small pair so many times, and check the counts.
    #[arg(long, default_value_t = 0)]
    replays: u64,

    /// Write every rank's graphs into this folder.
    #[arg(long, value_name = "FOLDER")]
    dump: Option<std::path::PathBuf>,
}

/// The step in its variants: a missing one is a compile error.
struct Steps {
    ordinary: Pair<Published>,
    /// Does something more, as an engine's commit to its cache would: counts.
    every_fourth: Pair<Published>,
}

/// Which variant a position wants.
#[derive(Clone, Copy)]
enum Cadence {
    Ordinary,
    EveryFourth,
}

impl Cadence {
    fn at(position: usize) -> Self {
        if position % 4 == 3 { Self::EveryFourth } else { Self::Ordinary }
    }
}

impl Steps {
    fn capture(ranks: &Pair<Idle>, model: &Split, counters: &[DeviceCounter; 2]) -> Result<Self, dacapo::Error> {
        let ordinary = ranks.sibling().capture(ThreadLocal, |[first, second]| model.step(first, second))?;
        let every_fourth = ranks.sibling().capture(ThreadLocal, |[first, second]| {
            model.step(first, second)?;
            first.count(&counters[0])?;
            second.count(&counters[1])
        })?;
        Ok(Self { ordinary: ordinary.publish()?, every_fourth: every_fourth.publish()? })
    }

    fn of(&self, cadence: Cadence) -> &Pair<Published> {
        match cadence {
            Cadence::Ordinary => &self.ordinary,
            Cadence::EveryFourth => &self.every_fourth,
        }
    }
}

/// What is to be decoded.
#[derive(Clone, Copy)]
struct Task<'a> {
    prompt: &'a [u8],
    tokens: usize,
}

/// What was decoded, and how long that took: a step as a whole, and the call that submits it.
#[derive(Default)]
struct Run {
    tokens: Vec<u8>,
    whole: Duration,
    submitting: Duration,
    steps: u32,
    /// How far apart the ranks began, in nanoseconds of the devices' timers.
    skews: Vec<u64>,
}

impl Run {
    /// Feeds the prompt, then each token back; `step` submits, and `finish` waits and returns the next token.
    fn decode(
        Task { prompt, tokens }: Task<'_>,
        mut submit: impl FnMut(u8, usize) -> Result<Duration, dacapo::Error>,
        mut finish: impl FnMut() -> Result<(u8, u64), dacapo::Error>,
    ) -> Result<Self, dacapo::Error> {
        let mut run = Self::default();
        let mut token = prompt[0];
        for position in 0..prompt.len() + tokens - 1 {
            let start = Instant::now();
            run.submitting += submit(token, position)?;
            let (next, skew) = finish()?;
            run.whole += start.elapsed();
            run.skews.push(skew);
            run.steps += 1;
            token = prompt.get(position + 1).copied().unwrap_or(next);
            if position + 1 >= prompt.len() {
                run.tokens.push(next);
            }
        }
        Ok(run)
    }

    fn print(&mut self, label: &str) {
        let micros = |duration: Duration| duration.as_secs_f64() * 1e6 / f64::from(self.steps);
        let (whole, submitting) = (micros(self.whole), micros(self.submitting));
        self.skews.sort_unstable();
        let skew = self.skews[self.skews.len() / 2];
        let skew = if skew == 0 { String::new() } else { format!(", ranks {skew} ns apart (median)") };
        println!("{label:<26}{whole:9.1} µs per token, {submitting:6.1} µs to submit{skew}");
    }
}

fn timed(submit: impl FnOnce() -> Result<(), dacapo::Error>) -> Result<Duration, dacapo::Error> {
    let start = Instant::now();
    submit()?;
    Ok(start.elapsed())
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let driver = common::choose_driver_of(2, &common::choice_from_environment())?;
    let devices = [Device::open(0)?, Device::open(1)?];
    println!("running on the {driver}: {} and {}", devices[0].name(), devices[1].name());
    let task = Task { prompt: options.prompt.as_bytes(), tokens: options.tokens };
    let steps = task.prompt.len() + task.tokens;
    if task.prompt.is_empty() || task.tokens == 0 || steps > model::CONTEXT {
        return Err(
            format!("prompt and tokens together are to be 2 to {} bytes, each at least one", model::CONTEXT).into()
        );
    }

    let mut one = one_gpu(&devices[0], task)?;

    let mut ranks = Pair::new([devices[0].stream()?, devices[1].stream()?])?.with_peer_access()?;
    let model = Split::new(&mut ranks.eager(), SEED)?;
    let counters = ranks.counters()?;
    let steps = Steps::capture(&ranks, &model, &counters)?;
    println!("kernels of a step:        {} on each rank", steps.ordinary.census(0).count(dacapo::NodeKind::Kernel));
    if let Some(folder) = &options.dump {
        let files = dump(folder, &[("ordinary", &steps.ordinary), ("every_fourth", &steps.every_fourth)])?;
        println!("written:                  {} files in {}", files.len(), folder.display());
    }

    let from_one = |cadence| steps.of(cadence).replayer();
    let mut from_one = pair(&model, &mut ranks, task, [from_one(Cadence::Ordinary), from_one(Cadence::EveryFourth)])?;
    let from_many = [steps.ordinary.replayer().on_threads()?, steps.every_fourth.replayer().on_threads()?];
    let mut from_many = pair(&model, &mut ranks, task, from_many)?;
    let mut as_one = one_graph(&model, &devices, task)?;

    one.print("one GPU:");
    from_one.print("pair, one thread:");
    from_many.print("pair, a thread a rank:");
    as_one.print("one graph over both:");
    if driver == common::SIMULATED {
        println!("{:<26}(simulated: these times say nothing about a GPU)", "");
    }

    let expected = u64::from(2 * (from_one.steps / 4));
    let counted = ranks.read_counters(&counters)?;
    if counted != [expected; 2] || steps.every_fourth.replays() != expected {
        return Err(
            format!("every fourth position was replayed {expected} times, the devices counted {counted:?}").into()
        );
    }
    if options.replays > 0 {
        soak(&ranks, options.replays)?;
    }
    for (run, what) in [(&from_one, "pair from one thread"), (&from_many, "pair from two"), (&as_one, "one graph")] {
        if run.tokens != one.tokens {
            return Err(format!("{what}: {:?}, on one GPU {:?}", run.tokens, one.tokens).into());
        }
    }
    println!("decoded:                  {} (noise: the weights are made up)", one.tokens.escape_ascii());
    println!("ok: {} tokens, one GPU == pair == one graph", one.tokens.len());
    Ok(())
}

/// The whole model on one device.
fn one_gpu(device: &Device, task: Task<'_>) -> Result<Run, dacapo::Error> {
    let mut stream = device.stream()?;
    let model = Model::new(device, &mut stream, SEED)?;
    let mut published = stream.capture(ThreadLocal, |c| model.step(c))?.publish()?;
    let replayer = published.replayer();
    let submit = |token, position| {
        model.set_input(token, position)?;
        timed(|| replayer.replay())
    };
    Run::decode(task, submit, || {
        published.synchronize()?;
        Ok((model.next_token()?, 0))
    })
}

/// The split model, a graph on each device.
fn pair(
    model: &Split,
    ranks: &mut Pair<Idle>,
    task: Task<'_>,
    [ordinary, every_fourth]: [RankReplayer<2>; 2],
) -> Result<Run, dacapo::Error> {
    let submit = |token, position| {
        model.set_input(token, position)?;
        timed(|| match Cadence::at(position) {
            Cadence::Ordinary => ordinary.replay(),
            Cadence::EveryFourth => every_fourth.replay(),
        })
    };
    Run::decode(task, submit, || {
        ranks.synchronize()?;
        finished(model)
    })
}

/// The split model, one graph over both devices: the second device's stream is forked off the first's.
fn one_graph(model: &Split, devices: &[Device; 2], task: Task<'_>) -> Result<Run, dacapo::Error> {
    let (stream, mut other) = (devices[0].stream()?, devices[1].stream()?);
    let captured = stream.capture(ThreadLocal, |c| c.fork(&mut other, |first, second| model.step(first, second)))?;
    let mut published = captured.publish()?;
    let replayer = published.replayer();
    let submit = |token, position| {
        model.set_input(token, position)?;
        timed(|| replayer.replay())
    };
    Run::decode(task, submit, || {
        published.synchronize()?;
        finished(model)
    })
}

/// The token that both ranks have come to.
fn finished(model: &Split) -> Result<(u8, u64), dacapo::Error> {
    let [first, second] = model.next_tokens()?;
    assert_eq!(first, second, "the ranks disagree");
    Ok((first, model.skew()?))
}

/// Replays a small pair again and again, as a test of endurance: nothing is lost, and memory does not grow.
fn soak(ranks: &Pair<Idle>, replays: u64) -> Result<(), Box<dyn Error>> {
    let mut ranks = ranks.sibling();
    let counters = ranks.counters()?;
    let count = |[first, second]: &mut [Work<'_>; 2]| {
        first.count(&counters[0])?;
        second.count(&counters[1])
    };
    let mut published = ranks.capture(ThreadLocal, count)?.publish()?;
    let replayer = published.replayer();
    let (start, before) = (Instant::now(), resident_kib());
    for turn in 0..replays {
        replayer.replay()?;
        if turn % 256 == 255 {
            published.synchronize()?;
        }
    }
    let counted = published.read_counters(&counters)?;
    let (spent, after) = (start.elapsed().as_secs_f64(), resident_kib());
    println!(
        "endurance:                {replays} replays in {spent:.1} s, counted {counted:?}; {before} KiB before, {after} KiB after"
    );
    if counted != [replays; 2] || published.replays() != replays {
        return Err(format!("{replays} replays, the devices counted {counted:?}").into());
    }
    Ok(())
}

/// Memory of this process, where the system tells.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse().ok()).unwrap_or(0)
}
