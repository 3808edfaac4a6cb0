//! What does a replay cost the host, over the bare driver call?
//!
//! `cargo bench --bench replay`, or with `-- --rounds N`. Launches a graph of one small kernel in three ways, side by side in one
//! run: `cuGraphLaunch` itself, cudarc's `CudaGraph::launch`, and `Replayer::replay`.
//!
//! To the driver it matters by tens of nanoseconds which stream and which executable it is, and when they were made. So each way
//! has many, made in an order that rotates; the ways take turns launch by launch, in an order that rotates too; and each launch is
//! timed by itself. Printed are the medians, and the median of each way's differences to the bare call of the same turn. (The
//! clock's own cost is in every figure alike.)

use std::any::Any;
use std::env;
use std::error::Error;
use std::ffi::{CString, c_void};
use std::sync::Arc;
use std::time::Instant;

use dacapo::cudarc::driver::sys::{self, CUgraphInstantiate_flags, CUstreamCaptureMode};
use dacapo::cudarc::driver::{CudaContext, CudaGraph, CudaStream, DriverError, result};
use dacapo::{Buffer, Device, Enqueue, Replayer, ThreadLocal};

#[path = "../examples/common/mod.rs"]
mod common;

const PTX: &str = include_str!("../kernels/basic.ptx");
/// Streams and executables of each way.
const EACH: usize = 18;
/// Turns between two drains: three launches each, well below the depth at which the driver blocks (about 1,000).
const TURNS: usize = 6 * EACH;
/// Rounds before the clock counts.
const WARM_UP: usize = 20;

const WAYS: [&str; 3] = ["cuGraphLaunch", "cudarc CudaGraph::launch", "dacapo Replayer::replay"];

/// One launch on a stream of its own, recorded and instantiated, to be launched in one of the ways.
enum Graph {
    Bare(sys::CUgraphExec, sys::CUstream),
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
    let (mut graphs, mut owners) = ([const { Vec::new() }; 3], Vec::new());
    for round in 0..EACH {
        for way in (0..3).map(|way| (way + round) % 3) {
            let (graph, owner) = Graph::new(way, &device, context, store, &word)?;
            graphs[way].push(graph);
            owners.push(owner);
        }
    }

    let mut nanos = [const { Vec::new() }; 3];
    for round in 0..rounds + WARM_UP {
        for turn in 0..TURNS {
            for way in (0..3).map(|way| (way + turn) % 3) {
                let spent = time(&graphs[way][turn / 3 % EACH])?;
                if round >= WARM_UP {
                    nanos[way].push(spent);
                }
            }
        }
        context.synchronize()?;
    }

    println!("host time per launch, medians of {} launches each:", rounds * TURNS);
    for (name, way) in WAYS.iter().zip(&nanos) {
        let differences = way.iter().zip(&nanos[0]).map(|(way, bare)| way - bare).collect();
        println!("{name:<26} {:7.0} ns  {:+5.0} ns", median(way.clone()), median(differences));
    }
    drop((graphs, owners));
    Ok(())
}

impl Graph {
    fn new(
        way: usize,
        device: &Device,
        context: &Arc<CudaContext>,
        store: sys::CUfunction,
        word: &Buffer<u32>,
    ) -> Result<(Self, Owner), Box<dyn Error>> {
        let record = |stream: &Arc<CudaStream>| launch(store, word, stream);
        if way == 2 {
            let captured = device.stream()?.capture(ThreadLocal, |c| {
                c.retain(word.clone());
                // SAFETY: the word is retained, and the module is never unloaded.
                unsafe { c.raw(record) }
            })?;
            let published = captured.publish()?;
            return Ok((Self::Dacapo(published.replayer()), Box::new(published)));
        }
        let stream = context.new_stream()?;
        let graph = captured_by_cudarc(&stream, record)?;
        if way == 1 {
            return Ok((Self::Cudarc(graph), Box::new(())));
        }
        Ok((Self::Bare(graph.cu_graph_exec(), stream.cu_stream()), Box::new((graph, stream))))
    }

    /// Launches once; `false` if the driver refuses.
    fn launch(&self) -> bool {
        match self {
            // SAFETY: the owner keeps both alive, and this is the only thread.
            Self::Bare(executable, stream) => unsafe { sys::cuGraphLaunch(*executable, *stream).result() }.is_ok(),
            Self::Cudarc(graph) => graph.launch().is_ok(),
            Self::Dacapo(replayer) => replayer.replay().is_ok(),
        }
    }
}

fn rounds() -> Result<usize, Box<dyn Error>> {
    let mut arguments = env::args().skip_while(|argument| argument != "--rounds").skip(1);
    Ok(arguments.next().map_or(Ok(500), |rounds| rounds.parse())?)
}

/// Nanoseconds of one launch.
fn time(graph: &Graph) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    let taken = graph.launch();
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

fn captured_by_cudarc(
    stream: &Arc<CudaStream>,
    record: impl Fn(&Arc<CudaStream>) -> Result<(), DriverError>,
) -> Result<CudaGraph, Box<dyn Error>> {
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    record(stream)?;
    let graph = stream.end_capture(CUgraphInstantiate_flags(0))?.ok_or("nothing was captured")?;
    // As dacapo does, so that the first launch is like the others.
    graph.upload()?;
    Ok(graph)
}
