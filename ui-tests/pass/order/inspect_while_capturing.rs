//! rule: only what has been captured can be looked at

use dacapo::{Instantiated, Manifest, Stream};

fn record(stream: &Stream<Instantiated>) -> Manifest {
    stream.manifest()
}

fn main() {}
