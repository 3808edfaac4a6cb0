//! How do I capture two kernels once and replay them many times?
//!
//! `cargo run --example 01_capture_and_replay`. With no GPU it runs on the simulated driver; `DACAPO_DRIVER=cuda` or `sim`
//! decides for itself.

use dacapo::{Buffer, Device, Enqueue, Error, Kernel, LaunchConfig, ThreadLocal};

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
    /// The work, written once: on an idle stream it runs, on a capturing one it is recorded.
    fn enqueue(&self, stream: &mut impl Enqueue) -> Result<(), Error> {
        let shape = LaunchConfig::for_elements(N);
        // SAFETY: the arguments are those of the kernels, and the buffers hold N elements each.
        unsafe {
            stream.launch(&self.scale, shape, (&self.x, 2.0f32, N))?;
            stream.launch(&self.add, shape, (&self.x, &self.sum, &self.sum, N))
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let driver = common::choose_driver(&common::choice_from_environment())?;
    let device = Device::open(0)?;
    println!("running on the {driver}: {}", device.name());

    let mut stream = device.stream()?;
    let module = device.load_ptx(PTX)?;
    let step = Step {
        scale: module.kernel("scale_f32")?,
        add: module.kernel("add_f32")?,
        x: stream.buffer_from(&[1.0; N as usize])?,
        sum: stream.alloc(N as usize)?,
    };

    // Capture once. The capture ends whatever happens in the closure; what it names stays alive with the graph.
    let captured = stream.capture(ThreadLocal, |capturing| step.enqueue(capturing))?;
    println!("captured {}", captured.census());

    // Publish, and replay from the beginning: from this thread, and from another.
    let mut published = captured.publish()?;
    let replayer = published.replayer();
    replayer.replay()?;
    std::thread::scope(|scope| scope.spawn(|| replayer.replay()).join().expect("the thread does not panic"))?;

    // x was doubled twice; the sum took it in after each doubling.
    println!("x = {}, sum = {}", published.read(&step.x)?[0], published.read(&step.sum)?[0]);

    // Take the graph back. A replayer that is still around is told so.
    let _idle = published.reset()?;
    match replayer.replay() {
        Err(stale @ Error::Stale(_)) => println!("after the reset: {stale}"),
        other => return Err(format!("expected a stale replay, got {other:?}").into()),
    }
    Ok(())
}
