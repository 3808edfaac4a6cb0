//! rule: memory is allocated before a capture

use dacapo::{Buffer, Capturing, Error, Idle, Stream, ThreadLocal};

fn scratch(mut stream: Stream<Idle>) -> Result<(Buffer<f32>, Stream<Capturing>), Error> {
    let scratch = stream.alloc(1024)?;
    Ok((scratch, stream.begin(ThreadLocal)?))
}

fn main() {}
