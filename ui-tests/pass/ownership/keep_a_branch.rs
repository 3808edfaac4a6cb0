//! rule: a branch is joined when the body of its fork is over, so nobody keeps it beyond that

use dacapo::{Buffer, Capturing, Enqueue, Error, Idle, Stream};

fn joined(stream: &mut Stream<Capturing>, other: &mut Stream<Idle>, buffer: &Buffer<u32>) -> Result<(), Error> {
    stream.fork(other, |_, branch| branch.fill(buffer, 1))
}

fn main() {}
