//! rule: a published stream comes from `publish` alone

use dacapo::{Instantiated, Published, Stream};

fn publish(stream: Stream<Instantiated>) -> Stream<Published> {
    Stream { ..stream }
}

fn main() {}
