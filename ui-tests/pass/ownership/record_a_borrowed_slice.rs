//! rule: what a graph reads at every replay must live as long as the graph

use dacapo::{Buffer, Capturing, Enqueue, Error, Pinned, Stream};

fn input(stream: &mut Stream<Capturing>, token: &Pinned<u32>, to: &Buffer<u32>) -> Result<(), Error> {
    stream.upload(token, to)
}

fn main() {}
