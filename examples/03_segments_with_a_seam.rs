//! How do I run something on the host in the middle of a captured step?
//!
//! `cargo run --example 03_segments_with_a_seam`. With no GPU it runs on the simulated driver; `DACAPO_DRIVER=cuda` or `sim`
//! decides for itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use dacapo::{Device, Enqueue, LaunchConfig, ThreadLocal};

mod common;

const PTX: &str = include_str!("../kernels/basic.ptx");
const N: u32 = 8;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let driver = common::choose_driver(&common::choice_from_environment())?;
    let device = Device::open(0)?;
    println!("running on the {driver}: {}", device.name());
    let mut stream = device.stream()?;
    let scale = device.load_ptx(PTX)?.kernel("scale_f32")?;
    let x = stream.buffer_from(&[1.0f32; N as usize])?;
    let shape = LaunchConfig::for_elements(N);

    // Device, host, device: the seam is part of what is replayed. It has the stream to itself meanwhile.
    let (seam_x, largest) = (x.clone(), Arc::new(AtomicU32::new(0)));
    let seen = largest.clone();
    let captured = stream
        // SAFETY: scale_f32(data, factor, n), over N elements.
        .capture(ThreadLocal, |c| unsafe { c.launch(&scale, shape, (&x, 3.0f32, N)) })?
        .seam(move |eager| {
            let mut host = eager.read(&seam_x)?;
            seen.fetch_max(host[0] as u32, Ordering::Relaxed);
            host.iter_mut().for_each(|value| *value = value.min(20.0));
            eager.write(&host, &seam_x)
        })
        // SAFETY: as above.
        .capture_segment(ThreadLocal, |c| unsafe { c.launch(&scale, shape, (&x, 2.0f32, N)) })?;
    for (number, census) in captured.segments().iter().enumerate() {
        println!("segment {number}: {census}");
    }

    let mut published = captured.publish()?;
    for _ in 0..3 {
        published.replay()?;
    }
    // 1 -> 3 -> 6 -> 18 -> 36 -> 108, held at 20, -> 40.
    println!("x = {}, and the host has seen {}", published.read(&x)?[0], largest.load(Ordering::Relaxed));
    Ok(())
}
