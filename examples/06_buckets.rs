//! How do I keep a graph for each batch size, and use the smallest that fits?
//!
//! `cargo run --example 06_buckets`. With no GPU it runs on the simulated driver; `DACAPO_DRIVER=cuda` or `sim` decides for itself.

use std::num::NonZeroUsize;

use dacapo::{Buckets, Device, Enqueue, LaunchConfig, ThreadLocal};

mod common;

const PTX: &str = include_str!("../kernels/basic.ptx");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let driver = common::choose_driver(&common::choice_from_environment())?;
    let device = Device::open(0)?;
    println!("running on the {driver}: {}", device.name());
    let mut stream = device.stream()?;
    let scale = device.load_ptx(PTX)?.kernel("scale_f32")?;
    let batch = stream.buffer_from(&[1.0f32; 16])?;

    // No more than three graphs; each is on a sibling of the stream, so they share one CUDA stream.
    let mut buckets = Buckets::new(stream, NonZeroUsize::new(3).ok_or("three is not zero")?);
    for requests in [3, 1, 7, 2, 12] {
        let size = usize::next_power_of_two(requests);
        if buckets.fit(requests).is_none_or(|bucket| bucket.size != size) {
            let elements = u32::try_from(size)?;
            let part = batch.slice(..size)?;
            // SAFETY: scale_f32(data, factor, n), over as many elements as the part has.
            buckets.capture(size, ThreadLocal, |c| unsafe {
                c.launch(&scale, LaunchConfig::for_elements(elements), (&part, 2.0f32, elements))
            })?;
        }
        let bucket = buckets.fit(requests).ok_or("just captured")?;
        bucket.published.replay()?;
        println!("{requests} requests: the graph for {}", bucket.size);
    }
    println!("graphs for {:?}, {} evicted", buckets.sizes().collect::<Vec<_>>(), buckets.evictions());
    println!("the first element was scaled {} times", buckets.stream().read(&batch)?[0].log2());
    Ok(())
}
