//! rule: what is updated is published

use dacapo::{Capturing, Error, Instantiated, Published, Stream, ThreadLocal};

fn renew(stream: Stream<Instantiated>) -> Result<Stream<Capturing<ThreadLocal, Published>>, Error> {
    Ok(stream.begin_update(ThreadLocal)?)
}

fn main() {}
