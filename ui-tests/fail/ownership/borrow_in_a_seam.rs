//! rule: a seam runs at every replay, so it owns what it uses

use dacapo::{Buffer, Enqueue, Instantiated, Stream};

fn with_seam(stream: Stream<Instantiated>, buffer: &Buffer<u32>) -> Stream<Instantiated> {
    stream.seam(|eager| eager.fill(buffer, 1))
}

fn main() {}
