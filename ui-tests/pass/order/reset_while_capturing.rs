//! rule: a capture is aborted; only a published graph is reset

use dacapo::{Capturing, Error, Idle, Stream};

fn give_up(stream: Stream<Capturing>) -> Result<Stream<Idle>, Error> {
    Ok(stream.abort())
}

fn main() {}
