//! rule: only what has been captured can be looked at

use dacapo::{Capturing, Manifest, Stream};

fn record(stream: &Stream<Capturing>) -> Manifest {
    stream.manifest()
}

fn main() {}
