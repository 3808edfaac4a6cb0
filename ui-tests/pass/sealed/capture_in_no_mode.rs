//! rule: a capture has one of the driver's modes

use dacapo::{Error, Idle, Stream, ThreadLocal};

fn begin(stream: Stream<Idle>) -> Result<(), Error> {
    drop(stream.begin(ThreadLocal)?.abort());
    Ok(())
}

fn main() {}
