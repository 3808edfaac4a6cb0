//! rule: only a published graph can be replayed

use dacapo::{Error, Published, Stream};

fn decode(stream: &Stream<Published>) -> Result<(), Error> {
    stream.replay()
}

fn main() {}
