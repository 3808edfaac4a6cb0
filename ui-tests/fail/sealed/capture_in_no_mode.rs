//! rule: a capture has one of the driver's modes

use dacapo::{Error, Idle, Stream};

fn begin(stream: Stream<Idle>) -> Result<(), Error> {
    stream.begin("thread local")?.abort();
    Ok(())
}

fn main() {}
