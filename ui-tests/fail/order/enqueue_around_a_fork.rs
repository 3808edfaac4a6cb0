//! rule: in a fork, work goes through the two sides that its body is given

use dacapo::{Buffer, Capturing, Enqueue, Error, Idle, Stream};

fn step(stream: &mut Stream<Capturing>, other: &mut Stream<Idle>, [a, b]: [&Buffer<u32>; 2]) -> Result<(), Error> {
    stream.fork(other, |_, branch| {
        branch.fill(b, 2)?;
        stream.fill(a, 1)
    })
}

fn main() {}
