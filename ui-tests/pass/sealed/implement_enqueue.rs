//! rule: work is enqueued on streams

use dacapo::{Enqueue, Error};

fn step(stream: &mut impl Enqueue) -> Result<(), Error> {
    stream.host(|| ())
}

fn main() {}
