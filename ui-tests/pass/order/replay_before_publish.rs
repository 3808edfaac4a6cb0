//! rule: only a published graph can be replayed

use dacapo::{Published, Replayer, Stream};

fn share(stream: &Stream<Published>) -> Replayer {
    stream.replayer()
}

fn main() {}
