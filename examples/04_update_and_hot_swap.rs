//! How do I change a published graph while other threads replay it?
//!
//! `cargo run --example 04_update_and_hot_swap`. With no GPU it runs on the simulated driver; `DACAPO_DRIVER=cuda` or `sim`
//! decides for itself.

use dacapo::{Device, Enqueue, LaunchConfig, ThreadLocal, Update};

mod common;

const PTX: &str = include_str!("../kernels/basic.ptx");
const N: u32 = 8;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let driver = common::choose_driver(&common::choice_from_environment())?;
    let device = Device::open(0)?;
    println!("running on the {driver}: {}", device.name());
    let mut stream = device.stream()?;
    let scale = device.load_ptx(PTX)?.kernel("scale_f32")?;
    let (x, y) = (stream.buffer_from(&[1.0f32; N as usize])?, stream.alloc::<f32>(N as usize)?);
    let shape = LaunchConfig::for_elements(N);

    // SAFETY: scale_f32(data, factor, n), over N elements.
    let captured = stream.capture(ThreadLocal, |c| unsafe { c.launch(&scale, shape, (&x, 2.0f32, N)) })?;
    let published = captured.publish()?;
    let (replayer, follower) = (published.replayer(), published.follower());
    replayer.replay()?;

    // Another factor: the driver takes it within the executable, and every replayer goes on.
    // SAFETY: as above.
    let published = published.update(ThreadLocal, |c| unsafe { c.launch(&scale, shape, (&x, 5.0f32, N)) })?;
    println!("new parameters: {:?}", published.last_update());
    replayer.replay()?;

    // One node more: the driver refuses, so it becomes the next generation. The replayer of the old one is stale.
    let published = published.update(ThreadLocal, |c| {
        // SAFETY: as above.
        unsafe { c.launch(&scale, shape, (&x, 0.5f32, N)) }?;
        c.copy(&x, &y)
    })?;
    if let Some(Update::NewGeneration(refused)) = published.last_update() {
        println!("one node more: {refused}");
    }
    println!("the old replayer: {}", replayer.replay().err().ok_or("it was replaced")?);
    println!("a follower replays {}", follower.replay()?);

    // A graph that was captured elsewhere is swapped in while another thread replays: none is lost.
    let mut published = published;
    let elsewhere = device.stream()?.capture(ThreadLocal, |c| c.copy(&x, &y))?;
    std::thread::scope(|scope| {
        let replays = scope.spawn(|| (0..100).try_for_each(|_| follower.replay().map(drop)));
        let swapped = published.swap(elsewhere).map(drop);
        replays.join().expect("the thread does not panic")?;
        Ok::<(), dacapo::Error>(swapped?)
    })?;
    println!("a follower replays {}", follower.replay()?);
    // 1 * 2 * 5 * 0.5 by the time of the swap; how many of the hundred came before it is for the threads to decide.
    println!("y = x: {}", published.read(&x)? == published.read(&y)?);
    println!("{:?}", published.stats());
    Ok(())
}
