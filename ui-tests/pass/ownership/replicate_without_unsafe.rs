//! rule: that what was recorded may run twice at once is for the caller to vouch for

use dacapo::{Error, Instantiated, Stream};

fn more(stream: &Stream<Instantiated>) -> Result<Vec<Stream<Instantiated>>, Error> {
    // SAFETY: it copies and fills, which nothing depends on for staying inside its memory.
    unsafe { stream.replicate(2) }
}

fn main() {}
