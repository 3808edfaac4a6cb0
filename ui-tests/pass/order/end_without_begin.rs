//! rule: what was not begun cannot be ended

use dacapo::{Error, Idle, Instantiated, Stream, ThreadLocal};

fn finish(stream: Stream<Idle>) -> Result<Stream<Instantiated>, Error> {
    Ok(stream.begin(ThreadLocal)?.end()?)
}

fn main() {}
