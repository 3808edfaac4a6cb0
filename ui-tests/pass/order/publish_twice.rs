//! rule: a graph is published once

use dacapo::{Error, Instantiated, Published, Stream};

fn publish(stream: Stream<Instantiated>) -> Result<Stream<Published>, Error> {
    Ok(stream.publish()?)
}

fn main() {}
