//! rule: a branch is joined when the body of its fork is over, so nobody keeps it beyond that

use dacapo::{Buffer, Capturing, Enqueue, Error, Idle, Stream};

fn unjoined(stream: &mut Stream<Capturing>, other: &mut Stream<Idle>, buffer: &Buffer<u32>) -> Result<(), Error> {
    let mut kept = None;
    stream.fork(other, |_, branch| {
        kept = Some(branch);
        Ok(())
    })?;
    kept.map_or(Ok(()), |branch| branch.fill(buffer, 1))
}

fn main() {}
