//! rule: one capture at a time on a stream

use dacapo::{Capturing, Error, Stream, ThreadLocal};

fn again(stream: Stream<Capturing>) -> Result<Stream<Capturing>, Error> {
    Ok(stream.begin(ThreadLocal)?)
}

fn main() {}
