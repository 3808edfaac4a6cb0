//! rule: what a graph reads at every replay must live as long as the graph

use dacapo::{Buffer, Capturing, Enqueue, Error, Stream};

fn input(stream: &mut Stream<Capturing>, token: [u32; 2], to: &Buffer<u32>) -> Result<(), Error> {
    stream.upload(&token, to)
}

fn main() {}
