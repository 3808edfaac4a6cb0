//! rule: only a published graph can be replayed

use dacapo::{Capturing, Error, Published, Stream};

fn decode(stream: Stream<Capturing>) -> Result<Stream<Published>, Error> {
    let published = stream.end()?.publish()?;
    published.replay()?;
    Ok(published)
}

fn main() {}
