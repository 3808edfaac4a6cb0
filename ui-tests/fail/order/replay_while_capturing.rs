//! rule: only a published graph can be replayed

use dacapo::{Capturing, Error, Stream};

fn decode(stream: &Stream<Capturing>) -> Result<(), Error> {
    stream.replay()
}

fn main() {}
