//! What do I hold when a capture fails, and how do I go on?
//!
//! `cargo run --example 02_recover_from_failure`. With no GPU it runs on the simulated driver; `DACAPO_DRIVER=cuda` or `sim`
//! decides for itself.

use dacapo::{Buffer, CapturedOrEager, Device, Enqueue, Error, ThreadLocal, Work};

mod common;

/// An engine's own error.
#[derive(Debug)]
struct OutOfPages;

impl std::fmt::Display for OutOfPages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the cache is out of pages")
    }
}

impl std::error::Error for OutOfPages {}

/// A step that fails for as long as there are no pages.
fn step(work: &mut impl Enqueue, cache: &Buffer<u32>, pages: usize) -> Result<(), Error> {
    work.fill(cache, 1)?;
    if pages == 0 {
        return Err(Error::from_body(OutOfPages));
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let driver = common::choose_driver(&common::choice_from_environment())?;
    let device = Device::open(0)?;
    println!("running on the {driver}: {}", device.name());
    let mut stream = device.stream()?;
    let cache = stream.alloc::<u32>(16)?;

    // The body fails. The capture has been ended, what was recorded is gone, and the stream is back in the state it was in.
    let rejected = match stream.capture(ThreadLocal, |c| step(c, &cache, 0)) {
        Ok(_) => return Err("captured without pages".into()),
        Err(rejected) => rejected,
    };
    println!("capture: {rejected}");
    let stream = rejected.into_stream();

    // The graph is empty, because the work went elsewhere: refused by the policy, and the stream is back again.
    let rejected = stream.capture(ThreadLocal, |_| Ok(())).err().ok_or("captured nothing")?;
    println!("policy: {rejected}");

    // Captured if it can be, run eagerly if not: the same body.
    let mut pages = 0;
    let mut body = |work: &mut Work<'_>| {
        pages = usize::from(!work.is_captured());
        step(work, &cache, pages)
    };
    let mut stream = match rejected.into_stream().capture_or_eager(ThreadLocal, &mut body)? {
        CapturedOrEager::Eager(stream, why) => {
            println!("ran eagerly: {why}");
            stream
        }
        _ => return Err("captured without pages".into()),
    };
    println!("cache = {:?}", &stream.read(&cache)?[..4]);

    // And now it works.
    let mut published = stream.capture(ThreadLocal, |c| step(c, &cache, 1))?.publish()?;
    published.replay()?;
    published.synchronize()?;
    println!("captured in the end: {} captures, {} lost", published.stats().captures, published.stats().captures_lost);
    Ok(())
}
