//! What does a replay cost the host, over the bare driver call?
//!
//! `cargo bench --bench replay`, or with `-- --rounds N`. Launches graphs of one small kernel through cudarc's `CudaGraph::launch` and
//! through `Replayer::replay`, and each of them through `cuGraphLaunch` itself as well, side by side in one run.
//!
//! The same executable is launched both ways, turn and turn about, because which one it is matters to the driver by tens of
//! nanoseconds. Each launch is timed by itself; printed are the median of the bare call, and the median of what the wrapper adds
//! to it in the same turn: once over one graph again and again, and once over many in turn, so that the caches are cold. (The
//! clock's own cost is in both alike, so not in the difference.)

use std::any::Any;
use std::env;
use std::error::Error;
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::Arc;
use std::time::Instant;

use dacapo::cudarc::driver::sys::{self, CUgraphInstantiate_flags, CUstreamCaptureMode};
use dacapo::cudarc::driver::{CudaContext, CudaGraph, CudaStream, DriverError, result};
use dacapo::{Buffer, Device, Enqueue, Replayer, ThreadLocal};

#[path = "../examples/common/mod.rs"]
mod common;

const PTX: &str = include_str!("../kernels/basic.ptx");
/// Graphs of each kind, where there are many.
const MANY: usize = 24;
/// Turns between two drains: two launches each, well below the depth at which the driver blocks (about 1,000).
const TURNS: usize = 10 * MANY;
/// Rounds before the clock counts.
const WARM_UP: usize = 20;

/// One launch on a stream of its own, recorded and instantiated.
struct Graph {
    executable: sys::CUgraphExec,
    stream: sys::CUstream,
    wrapper: Wrapper,
}

enum Wrapper {
    Cudarc(CudaGraph),
    Dacapo(Replayer),
}

/// What a [`Graph`] names without owning it.
type Owner = Box<dyn Any>;

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = rounds()?;
    let driver = common::choose_driver(&common::choice_from_environment())?;
    let device = Device::open(0)?;
    println!("{driver} on {}, CUDA {}", device.name(), device.driver_version()?);

    let word = device.stream()?.alloc::<u32>(1)?;
    // SAFETY: no slice is made in it.
    let context = unsafe { device.context() };
    context.bind_to_thread()?;
    let store = load_store()?;
    let record = |stream: &Arc<CudaStream>| launch(store, &word, stream);
    let (mut cudarc, mut dacapo, mut owners) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..MANY {
        for (graphs, graph) in
            [(&mut cudarc, with_cudarc(context, record)?), (&mut dacapo, with_dacapo(&device, &word, record)?)]
        {
            graphs.push(graph.0);
            owners.push(graph.1);
        }
    }

    println!("host time per launch, medians of {} launches each:", rounds * TURNS);
    for (case, count) in [("one graph", 1), ("many graphs", MANY)] {
        for (name, graphs) in [("cudarc CudaGraph::launch", &cudarc), ("dacapo Replayer::replay", &dacapo)] {
            let (bare, added) = compare(&graphs[..count], rounds, || Ok(context.synchronize()?))?;
            println!("{case:<12} cuGraphLaunch {bare:6.0} ns   {name:<25} {added:+5.0} ns");
        }
    }
    drop((cudarc, dacapo, owners));
    Ok(())
}

/// The median of the bare call, and the median of what the wrapper adds to it.
fn compare(
    graphs: &[Graph],
    rounds: usize,
    drain: impl Fn() -> Result<(), Box<dyn Error>>,
) -> Result<(f64, f64), Box<dyn Error>> {
    let (mut bare, mut added) = (Vec::new(), Vec::new());
    for round in 0..rounds + WARM_UP {
        for turn in 0..TURNS {
            let graph = &graphs[turn % graphs.len()];
            // Who comes first alternates, from one pass over the graphs to the next.
            let (without, with) = if (turn / graphs.len()).is_multiple_of(2) {
                (time(|| graph.launch_bare())?, time(|| graph.launch_wrapped())?)
            } else {
                let with = time(|| graph.launch_wrapped())?;
                (time(|| graph.launch_bare())?, with)
            };
            if round >= WARM_UP {
                bare.push(without);
                added.push(with - without);
            }
        }
        drain()?;
    }
    Ok((median(bare), median(added)))
}

impl Graph {
    fn launch_bare(&self) -> bool {
        // SAFETY: the owner keeps both alive, and this is the only thread.
        unsafe { sys::cuGraphLaunch(self.executable, self.stream).result() }.is_ok()
    }

    fn launch_wrapped(&self) -> bool {
        match &self.wrapper {
            Wrapper::Cudarc(graph) => graph.launch().is_ok(),
            Wrapper::Dacapo(replayer) => replayer.replay().is_ok(),
        }
    }
}

fn with_cudarc(
    context: &Arc<CudaContext>,
    record: impl Fn(&Arc<CudaStream>) -> Result<(), DriverError>,
) -> Result<(Graph, Owner), Box<dyn Error>> {
    let stream = context.new_stream()?;
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    record(&stream)?;
    let graph = stream.end_capture(CUgraphInstantiate_flags(0))?.ok_or("nothing was captured")?;
    // As dacapo does, so that the first launch is like the others.
    graph.upload()?;
    let (executable, handle) = (graph.cu_graph_exec(), stream.cu_stream());
    Ok((Graph { executable, stream: handle, wrapper: Wrapper::Cudarc(graph) }, Box::new(stream)))
}

fn with_dacapo(
    device: &Device,
    word: &Buffer<u32>,
    record: impl Fn(&Arc<CudaStream>) -> Result<(), DriverError>,
) -> Result<(Graph, Owner), Box<dyn Error>> {
    let mut handle = ptr::null_mut();
    let captured = device.stream()?.capture(ThreadLocal, |c| {
        c.retain(word.clone());
        let record = |stream: &Arc<CudaStream>| {
            handle = stream.cu_stream();
            record(stream)
        };
        // SAFETY: the word is retained, and the module is never unloaded. The handle is used while the stream lives, to launch.
        unsafe { c.raw(record) }
    })?;
    let published = captured.publish()?;
    // SAFETY: launched only, by this thread alone, while the stream lives.
    let executable = unsafe { published.cu_graph_exec() };
    let wrapper = Wrapper::Dacapo(published.replayer());
    Ok((Graph { executable, stream: handle, wrapper }, Box::new(published)))
}

fn rounds() -> Result<usize, Box<dyn Error>> {
    let mut arguments = env::args().skip_while(|argument| argument != "--rounds").skip(1);
    Ok(arguments.next().map_or(Ok(500), |rounds| rounds.parse())?)
}

/// Nanoseconds of one launch.
fn time(launch: impl Fn() -> bool) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    let taken = launch();
    let spent = start.elapsed();
    if taken { Ok(spent.as_nanos() as f64) } else { Err("a launch was refused".into()) }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The kernel store_u32(out, value), from a module that stays loaded.
fn load_store() -> Result<sys::CUfunction, Box<dyn Error>> {
    let ptx = CString::new(PTX)?;
    // SAFETY: PTX text that ends with a NUL; the context is current.
    let module = unsafe { result::module::load_data(ptx.as_ptr().cast()) }?;
    // SAFETY: the module is loaded.
    Ok(unsafe { result::module::get_function(module, CString::new("store_u32")?) }?)
}

fn launch(store: sys::CUfunction, word: &Buffer<u32>, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    let (mut address, mut value) = (word.device_ptr(), 1u32);
    let mut arguments: [*mut c_void; 2] = [(&raw mut address).cast(), (&raw mut value).cast()];
    // SAFETY: live arguments of the kernel's types; the word outlives what is launched here.
    unsafe { result::launch_kernel(store, (1, 1, 1), (1, 1, 1), 0, stream.cu_stream(), &mut arguments) }
}
