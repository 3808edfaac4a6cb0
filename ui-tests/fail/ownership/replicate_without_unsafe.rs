//! rule: that what was recorded may run twice at once is for the caller to vouch for

use dacapo::{Error, Instantiated, Stream};

fn more(stream: &Stream<Instantiated>) -> Result<Vec<Stream<Instantiated>>, Error> {
    stream.replicate(2)
}

fn main() {}
