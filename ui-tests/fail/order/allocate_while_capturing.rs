//! rule: memory is allocated before a capture

use dacapo::{Buffer, Capturing, Error, Stream};

fn scratch(stream: &mut Stream<Capturing>) -> Result<Buffer<f32>, Error> {
    stream.alloc(1024)
}

fn main() {}
