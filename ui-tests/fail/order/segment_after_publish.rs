//! rule: segments are added before a graph is published

use dacapo::{Capturing, Error, Instantiated, Published, Stream, ThreadLocal};

fn one_more(stream: Stream<Published>) -> Result<Stream<Capturing<ThreadLocal, Instantiated>>, Error> {
    Ok(stream.begin_segment(ThreadLocal)?)
}

fn main() {}
