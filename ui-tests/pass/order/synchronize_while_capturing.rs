//! rule: nothing has run yet while capturing, so there is nothing to wait for

use dacapo::{Capturing, Error, Instantiated, Stream};

fn wait(stream: Stream<Capturing>) -> Result<Stream<Instantiated>, Error> {
    let mut stream = stream.end()?;
    stream.synchronize()?;
    Ok(stream)
}

fn main() {}
