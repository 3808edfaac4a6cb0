//! rule: a capture ends once

use dacapo::{Capturing, Error, Instantiated, Stream};

fn finish(stream: Stream<Capturing>) -> Result<Stream<Instantiated>, Error> {
    Ok(stream.end()?)
}

fn main() {}
