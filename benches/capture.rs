//! What does the end of a capture cost, over the driver's own part of it?
//!
//! `cargo bench --bench capture`, or with `-- --rounds N`. Captures chains of one small kernel, and ends them turn and turn about: with
//! `cuStreamEndCapture`, `cuGraphInstantiateWithFlags` and `cuGraphUpload` alone, and with `Stream::end`, which makes the same calls,
//! looks at every node for the census in between, and compares it with a manifest. Printed are the median of the bare calls, and the
//! median of what `end` takes longer.

use std::env;
use std::error::Error;
use std::time::{Duration, Instant};

use dacapo::cudarc::driver::sys::{self, CUresult, CUstreamCaptureMode};
use dacapo::cudarc::driver::{CudaStream, result};
use dacapo::{Buffer, CapturePolicy, Device, Enqueue, Idle, Kernel, LaunchConfig, Manifest, Stream, ThreadLocal};

#[path = "../examples/common/mod.rs"]
mod common;

const PTX: &str = include_str!("../kernels/basic.ptx");
/// Rounds before the clock counts.
const WARM_UP: usize = 3;

/// What is captured again and again.
struct Chain {
    kernel: Kernel,
    word: Buffer<u32>,
    kernels: usize,
}

impl Chain {
    fn enqueue(&self, stream: &mut impl Enqueue) -> Result<(), dacapo::Error> {
        // SAFETY: increment_u32(counter), with one thread; the word is a buffer among the arguments.
        (0..self.kernels)
            .try_for_each(|_| unsafe { stream.launch(&self.kernel, LaunchConfig::new(1, 1), (&self.word,)) })
    }

    fn manifest(&self) -> Manifest {
        (0..self.kernels).fold(Manifest::new(), |whole, _| whole.kernel("increment_u32", LaunchConfig::new(1, 1)))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = rounds()?;
    let driver = common::choose_driver(&common::choice_from_environment())?;
    let device = Device::open(0)?;
    println!("{driver} on {}, CUDA {}", device.name(), device.driver_version()?);
    // SAFETY: no slice is made in it.
    unsafe { device.context() }.bind_to_thread()?;
    let kernel = device.load_ptx(PTX)?.kernel("increment_u32")?;
    let mut stream = device.stream()?;
    let word = stream.alloc::<u32>(1)?;
    println!("{:>8} {:>12} {:>12} {:>12}", "kernels", "bare, µs", "more, µs", "ns a kernel");
    for kernels in [1, 10, 100, 1000] {
        let chain = Chain { kernel: kernel.clone(), word: word.clone(), kernels };
        stream = stream.with_policy(CapturePolicy::new().manifest(chain.manifest()));
        let (mut bare, mut more) = (Vec::new(), Vec::new());
        for round in 0..rounds + WARM_UP {
            let without = end_bare(&mut stream, &chain)?;
            let (with, idle) = end_typed(stream, &chain)?;
            stream = idle;
            if round >= WARM_UP {
                bare.push(micros(without));
                more.push(micros(with) - micros(without));
            }
        }
        let (bare, more) = (median(bare), median(more));
        println!("{kernels:>8} {bare:>12.1} {more:>12.1} {:>12.0}", more * 1e3 / kernels as f64);
    }
    Ok(())
}

/// How long the driver's own calls take.
fn end_bare(stream: &mut Stream<Idle>, chain: &Chain) -> Result<Duration, dacapo::Error> {
    stream.synchronize()?;
    // SAFETY: the capture is begun and ended here, and its graph is gone before the buffer is.
    let begin = unsafe {
        stream.raw(|stream| {
            result::stream::begin_capture(stream.cu_stream(), CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
        })
    };
    begin?;
    chain.enqueue(stream)?;
    // SAFETY: as above.
    unsafe { stream.raw(|stream| timed_end(stream)) }
}

fn timed_end(stream: &CudaStream) -> Result<Duration, dacapo::cudarc::driver::DriverError> {
    let start = Instant::now();
    // SAFETY: the capture was begun on this stream and thread.
    let graph = unsafe { result::stream::end_capture(stream.cu_stream()) }?;
    let mut executable = std::ptr::null_mut();
    // SAFETY: a live out-pointer; the graph is alive.
    let instantiated = unsafe { sys::cuGraphInstantiateWithFlags(&raw mut executable, graph, 0) };
    // SAFETY: both are alive, and the capture has ended.
    let uploaded = unsafe { sys::cuGraphUpload(executable, stream.cu_stream()) };
    let spent = start.elapsed();
    assert_eq!((instantiated, uploaded), (CUresult::CUDA_SUCCESS, CUresult::CUDA_SUCCESS));
    stream.synchronize()?;
    // SAFETY: neither is used after this.
    unsafe { result::graph::exec_destroy(executable) }?;
    // SAFETY: as above.
    unsafe { result::graph::destroy(graph) }?;
    Ok(spent)
}

/// How long `end` takes.
fn end_typed(stream: Stream<Idle>, chain: &Chain) -> Result<(Duration, Stream<Idle>), dacapo::Error> {
    let mut capturing = stream.begin(ThreadLocal)?;
    chain.enqueue(&mut capturing)?;
    let start = Instant::now();
    let captured = capturing.end()?;
    let spent = start.elapsed();
    Ok((spent, captured.discard()?))
}

fn rounds() -> Result<usize, Box<dyn Error>> {
    let mut arguments = env::args().skip(1).filter(|argument| argument != "--bench");
    match (arguments.next().as_deref(), arguments.next()) {
        (None, _) => Ok(50),
        (Some("--rounds"), Some(rounds)) => Ok(rounds.parse::<usize>()?.max(1)),
        _ => Err("usage: [--rounds N]".into()),
    }
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
