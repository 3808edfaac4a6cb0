//! rule: what was not begun cannot be ended

use dacapo::{Error, Idle, Instantiated, Stream};

fn finish(stream: Stream<Idle>) -> Result<Stream<Instantiated>, Error> {
    Ok(stream.end()?)
}

fn main() {}
