//! rule: a published stream comes from `publish` alone

use dacapo::{Instantiated, Published, Rejected, Stream};

fn publish(stream: Stream<Instantiated>) -> Result<Stream<Published>, Rejected<Stream<Instantiated>>> {
    stream.publish()
}

fn main() {}
