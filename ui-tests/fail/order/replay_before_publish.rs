//! rule: only a published graph can be replayed

use dacapo::{Instantiated, Replayer, Stream};

fn share(stream: &Stream<Instantiated>) -> Replayer {
    stream.replayer()
}

fn main() {}
