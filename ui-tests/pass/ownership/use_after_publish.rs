//! rule: a transition takes the stream; go on with what it returns

use dacapo::{Error, Instantiated, Published, Stream};

fn publish(stream: Stream<Instantiated>) -> Result<Stream<Published>, Error> {
    let published = stream.publish()?;
    println!("captured {}", published.census());
    Ok(published)
}

fn main() {}
