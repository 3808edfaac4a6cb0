//! rule: nothing has run yet while capturing, so there is nothing to read

use dacapo::{Buffer, Capturing, Enqueue, Error, Pinned, Stream};

fn result(stream: &mut Stream<Capturing>, out: &Buffer<f32>, host: &Pinned<f32>) -> Result<(), Error> {
    stream.download(out, host)
}

fn main() {}
