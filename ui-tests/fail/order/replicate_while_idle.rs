//! rule: there are replicas of a graph, so there is a graph first

use dacapo::{Error, Idle, Instantiated, Stream};

fn more(stream: &Stream<Idle>) -> Result<Vec<Stream<Instantiated>>, Error> {
    // SAFETY: nothing that was recorded counts on being alone.
    unsafe { stream.replicate(2) }
}

fn main() {}
