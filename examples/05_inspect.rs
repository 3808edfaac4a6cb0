//! What is in the graph that I have captured, and is it what I meant to capture?
//!
//! `cargo run --example 05_inspect [FOLDER]` writes the graph of a small step as DOT (this crate's and the driver's), JSON and SVG into a
//! folder. With no GPU it runs on the simulated driver; `DACAPO_DRIVER=cuda` or `sim` decides for itself.

use std::path::PathBuf;
use std::{env, fs};

use dacapo::{
    Buffer, CapturePolicy, Census, Device, DriverDot, Enqueue, Error, Idle, Kernel, LaunchConfig, Stream, ThreadLocal,
};

mod common;

/// Kernels as PTX text: `scale_f32(data, factor, n)` and `add_f32(a, b, out, n)` are in there.
const PTX: &str = include_str!("../kernels/basic.ptx");
const N: u32 = 1024;

struct Step {
    scale: Kernel,
    add: Kernel,
    x: Buffer<f32>,
    sum: Buffer<f32>,
}

impl Step {
    fn enqueue(&self, stream: &mut impl Enqueue, other: &mut Stream<Idle>) -> Result<(), Error> {
        let shape = LaunchConfig::for_elements(N);
        // Neither needs the other, so they run side by side.
        stream.fork(other, |main, branch| {
            branch.fill(&self.sum, 0.0)?;
            // SAFETY: the arguments are those of the kernel, and the buffer holds N elements.
            unsafe { main.launch(&self.scale, shape, (&self.x, 2.0f32, N)) }
        })?;
        // SAFETY: as above.
        unsafe { stream.launch(&self.add, shape, (&self.x, &self.sum, &self.sum, N)) }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = env::args_os().nth(1).map_or_else(|| env::temp_dir().join("dacapo-inspect"), PathBuf::from);
    let driver = common::choose_driver(&common::choice_from_environment())?;
    let device = Device::open(0)?;
    println!("running on the {driver}: {}", device.name());

    let (mut stream, mut other) = (device.stream()?, device.stream()?);
    let module = device.load_ptx(PTX)?;
    let (scale, add) = (module.kernel("scale_f32")?, module.kernel("add_f32")?);
    let step = Step { scale, add, x: stream.alloc(N as usize)?, sum: stream.alloc(N as usize)? };

    // Captured once, looked at, printed.
    let captured = stream.capture(ThreadLocal, |c| step.enqueue(c, &mut other))?;
    let inspection = captured.inspect();
    print!("{}", inspection.table());

    fs::create_dir_all(&folder)?;
    fs::write(folder.join("step.dot"), inspection.dot().to_string())?;
    captured.write_driver_dot(0, folder.join("step.driver.dot"), DriverDot::Launches)?;
    fs::write(folder.join("step.json"), serde_json::to_string_pretty(&captured.census())?)?;
    fs::write(folder.join("step.svg"), inspection.svg().to_string())?;
    println!("wrote step.dot, step.driver.dot, step.json and step.svg to {}", folder.display());

    // The file is what a later capture is held to: in the engine's own tests, or whenever it captures anew.
    let recorded: Census = serde_json::from_slice(&fs::read(folder.join("step.json"))?)?;
    let policy = CapturePolicy::new().expect(&recorded).manifest(recorded.manifest());
    let stream = captured.discard()?.with_policy(policy);
    let stream = stream.capture(ThreadLocal, |c| step.enqueue(c, &mut other))?.discard()?;
    println!("captured again: the same");
    match stream.capture(ThreadLocal, |c| c.fill(&step.x, 1.0)) {
        Err(rejected) => println!("captured otherwise: {}", rejected.error()),
        Ok(_) => return Err("another capture was taken for the same".into()),
    }
    Ok(())
}
