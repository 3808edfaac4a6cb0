//! rule: the closure form ends the capture itself

use dacapo::{Enqueue, Error, Idle, Instantiated, Stream, ThreadLocal};

fn capture(stream: Stream<Idle>) -> Result<Stream<Instantiated>, Error> {
    Ok(stream.capture(ThreadLocal, |capturing| {
        capturing.host(|| ())?;
        Ok(())
    })?)
}

fn main() {}
