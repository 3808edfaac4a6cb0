//! What does a seam cost: two segments with eager work in between, over one graph that does the same?
//!
//! `cargo bench --bench seam`, or with `-- --rounds N`. The same chain of small kernels, cut in different ways, is replayed turn and turn
//! about on one stream. Timed are the call of `replay` alone (the host goes on) and the call with the wait for its end. Printed are
//! medians, and how many times as long as the one graph each takes.

use std::env;
use std::error::Error;
use std::time::{Duration, Instant};

use dacapo::{Buffer, Device, Enqueue, Idle, Instantiated, Kernel, LaunchConfig, Published, Stream, ThreadLocal};

#[path = "../examples/common/mod.rs"]
mod common;

const PTX: &str = include_str!("../kernels/basic.ptx");
/// Kernels before the cut, and after it; one more is in the middle.
const HALF: usize = 16;
/// Rounds before the clock counts.
const WARM_UP: usize = 20;

/// Kernels that each raise a word by one.
#[derive(Clone)]
struct Chain {
    increment: Kernel,
    word: Buffer<u32>,
}

impl Chain {
    fn enqueue(&self, stream: &mut impl Enqueue, kernels: usize) -> Result<(), dacapo::Error> {
        // SAFETY: increment_u32(counter), with one thread; the word is a buffer among the arguments.
        (0..kernels).try_for_each(|_| unsafe { stream.launch(&self.increment, LaunchConfig::new(1, 1), (&self.word,)) })
    }

    fn capture(&self, stream: &Stream<Idle>, kernels: usize) -> Result<Stream<Instantiated>, dacapo::Error> {
        Ok(stream.sibling().capture(ThreadLocal, |c| self.enqueue(c, kernels))?)
    }

    fn then(&self, captured: Stream<Instantiated>, kernels: usize) -> Result<Stream<Instantiated>, dacapo::Error> {
        Ok(captured.capture_segment(ThreadLocal, |c| self.enqueue(c, kernels))?)
    }
}

/// One way to do the work, and how long it took each time.
struct Way {
    name: &'static str,
    published: Stream<Published>,
    calls: Vec<f64>,
    wholes: Vec<f64>,
}

impl Way {
    fn new(name: &'static str, captured: Stream<Instantiated>) -> Result<Self, dacapo::Error> {
        Ok(Self { name, published: captured.publish()?, calls: Vec::new(), wholes: Vec::new() })
    }

    fn replay(&mut self, is_timed: bool) -> Result<(), dacapo::Error> {
        let start = Instant::now();
        self.published.replay()?;
        let call = start.elapsed();
        self.published.synchronize()?;
        let whole = start.elapsed();
        if is_timed {
            self.calls.push(micros(call));
            self.wholes.push(micros(whole));
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = rounds()?;
    let driver = common::choose_driver(&common::choice_from_environment())?;
    let device = Device::open(0)?;
    println!("{driver} on {}, CUDA {}", device.name(), device.driver_version()?);

    let mut stream = device.stream()?;
    let increment = device.load_ptx(PTX)?.kernel("increment_u32")?;
    let chain = Chain { increment, word: stream.alloc(1)? };
    let mut ways = ways(&stream, &chain)?;
    for round in 0..rounds + WARM_UP {
        ways.iter_mut().try_for_each(|way| way.replay(round >= WARM_UP))?;
    }
    let replayed = (rounds + WARM_UP) * ways.len() * (2 * HALF + 1);
    assert_eq!(stream.read(&chain.word)?[0] as usize, replayed, "each way does the same");

    println!("{} kernels; medians of {rounds} replays each, and over one graph:", 2 * HALF + 1);
    println!("{:<48} {:>10} {:>6} {:>12} {:>6}", "", "call, µs", "", "with end, µs", "");
    let mut one: Option<(f64, f64)> = None;
    for Way { name, calls, wholes, .. } in ways {
        let (call, whole) = (median(calls), median(wholes));
        let (of_call, of_whole) = *one.get_or_insert((call, whole));
        println!("{name:<48} {call:>10.2} {:>5.2}x {whole:>12.2} {:>5.2}x", call / of_call, whole / of_whole);
    }
    Ok(())
}

fn ways(stream: &Stream<Idle>, chain: &Chain) -> Result<Vec<Way>, dacapo::Error> {
    let one = chain.capture(stream, 2 * HALF + 1)?;
    let segments = chain.then(chain.capture(stream, HALF)?, HALF + 1)?;
    let empty = chain.then(chain.capture(stream, HALF)?.seam(|_| Ok(())), HALF + 1)?;
    let in_the_seam = chain.clone();
    let kernel = chain.capture(stream, HALF)?.seam(move |eager| in_the_seam.enqueue(eager, 1));
    let kernel = chain.then(kernel, HALF)?;
    let word = chain.word.clone();
    let round_trip = chain.capture(stream, HALF)?.seam(move |eager| {
        // What a host would decide on: it comes down, and goes up again.
        let read = eager.read(&word)?;
        eager.write(&[read[0] + 1], &word)
    });
    let round_trip = chain.then(round_trip, HALF)?;
    Ok(vec![
        Way::new("one graph", one)?,
        Way::new("two segments", segments)?,
        Way::new("two segments, a seam that does nothing", empty)?,
        Way::new("two segments, a seam with one kernel", kernel)?,
        Way::new("two segments, a seam device -> host -> device", round_trip)?,
    ])
}

fn rounds() -> Result<usize, Box<dyn Error>> {
    let mut arguments = env::args().skip_while(|argument| argument != "--rounds").skip(1);
    Ok(arguments.next().map_or(Ok(500), |rounds| rounds.parse())?.max(1))
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
