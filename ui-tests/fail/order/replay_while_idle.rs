//! rule: only a published graph can be replayed

use dacapo::{Error, Idle, Stream};

fn decode(stream: &Stream<Idle>) -> Result<(), Error> {
    stream.replay()
}

fn main() {}
