//! What does a replay cost the host, over the bare driver call?
//!
//! `cargo bench --bench replay`, or with `-- --rounds N`. Launches a graph of one small kernel in three ways, side by side in one
//! run and on one stream: `cuGraphLaunch` itself, cudarc's `CudaGraph::launch`, and `Replayer::replay`. The ways take turns launch by
//! launch, in an order that rotates, and each launch is timed by itself; printed are the medians, and the median of each way's
//! differences to the bare call of the same turn. (The clock's own cost is in every figure alike.)

use std::env;
use std::error::Error;
use std::ffi::{CString, c_void};
use std::sync::Arc;
use std::time::Instant;

use dacapo::cudarc::driver::sys::{self, CUgraphInstantiate_flags, CUstreamCaptureMode};
use dacapo::cudarc::driver::{CudaGraph, CudaStream, result};
use dacapo::{Buffer, Device, Enqueue, LaunchConfig, Published, Stream, ThreadLocal};

#[path = "../examples/common/mod.rs"]
mod common;

const PTX: &str = include_str!("../kernels/basic.ptx");
/// Turns between two drains: three launches each, well below the depth at which the driver blocks (about 1,000).
const TURNS: usize = 100;
/// Rounds before the clock counts.
const WARM_UP: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = rounds()?;
    let driver = common::choose_driver(&common::choice_from_environment())?;
    let device = Device::open(0)?;
    println!("{driver} on {}, CUDA {}", device.name(), device.driver_version()?);

    let own = device.context().new_stream()?;
    let word = device.stream()?.alloc::<u32>(1)?;
    let graph = captured_by_cudarc(&own, &word)?;
    // SAFETY: used by this thread alone, and captured on by dacapo alone from here on.
    let stream = unsafe { device.adopt_stream(own.clone()) }?;
    let published = captured_by_dacapo(&device, stream, &word)?;

    let (executable, handle, replayer) = (graph.cu_graph_exec(), own.cu_stream(), published.replayer());
    let ways: [(&str, &dyn Fn() -> bool); 3] = [
        // SAFETY: both handles are alive, and this is the only thread.
        ("cuGraphLaunch", &|| unsafe { sys::cuGraphLaunch(executable, handle).result() }.is_ok()),
        ("cudarc CudaGraph::launch", &|| graph.launch().is_ok()),
        ("dacapo Replayer::replay", &|| replayer.replay().is_ok()),
    ];
    let mut nanos = [const { Vec::new() }; 3];
    for round in 0..rounds + WARM_UP {
        for turn in 0..TURNS {
            for way in (0..3).map(|way| (way + turn) % 3) {
                let spent = time(ways[way].1)?;
                if round >= WARM_UP {
                    nanos[way].push(spent);
                }
            }
        }
        own.synchronize()?;
    }

    println!("host time per launch, medians of {} launches each:", rounds * TURNS);
    for ((name, _), way) in ways.iter().zip(&nanos) {
        let differences = way.iter().zip(&nanos[0]).map(|(way, bare)| way - bare).collect();
        println!("{name:<26} {:7.0} ns  {:+5.0} ns", median(way.clone()), median(differences));
    }
    drop(graph);
    drop(published.reset()?);
    Ok(())
}

fn rounds() -> Result<usize, Box<dyn Error>> {
    let mut arguments = env::args().skip_while(|argument| argument != "--rounds").skip(1);
    Ok(arguments.next().map_or(Ok(500), |rounds| rounds.parse())?)
}

/// Nanoseconds of one launch.
fn time(launch: &dyn Fn() -> bool) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    let taken = launch();
    let spent = start.elapsed();
    if taken { Ok(spent.as_nanos() as f64) } else { Err("a launch was refused".into()) }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn captured_by_dacapo(
    device: &Device,
    stream: Stream<dacapo::Idle>,
    word: &Buffer<u32>,
) -> Result<Stream<Published>, dacapo::Error> {
    let store = device.load_ptx(PTX)?.kernel("store_u32")?;
    let captured = stream.capture(ThreadLocal, |c| {
        // SAFETY: store_u32(out, value).
        unsafe { c.launch(&store, LaunchConfig::new(1, 1), (word, 1u32)) }
    })?;
    Ok(captured.publish()?)
}

/// The same graph, through cudarc alone. Its module stays loaded: it is used until the process ends.
fn captured_by_cudarc(stream: &Arc<CudaStream>, word: &Buffer<u32>) -> Result<CudaGraph, Box<dyn Error>> {
    let ptx = CString::new(PTX)?;
    // SAFETY: PTX text that ends with a NUL; the context is current since the stream was made.
    let module = unsafe { result::module::load_data(ptx.as_ptr().cast()) }?;
    // SAFETY: the module is loaded.
    let store = unsafe { result::module::get_function(module, CString::new("store_u32")?) }?;
    let (mut address, mut value) = (word.device_ptr(), 1u32);
    let mut arguments: [*mut c_void; 2] = [(&raw mut address).cast(), (&raw mut value).cast()];
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    // SAFETY: store_u32(out, value), with live arguments of those types; the word outlives the graph.
    unsafe { result::launch_kernel(store, (1, 1, 1), (1, 1, 1), 0, stream.cu_stream(), &mut arguments) }?;
    let graph = stream.end_capture(CUgraphInstantiate_flags(0))?;
    Ok(graph.ok_or("nothing was captured")?)
}
