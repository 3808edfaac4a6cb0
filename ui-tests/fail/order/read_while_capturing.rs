//! rule: nothing has run yet while capturing, so there is nothing to read

use dacapo::{Buffer, Capturing, Error, Stream};

fn result(stream: &mut Stream<Capturing>, out: &Buffer<f32>) -> Result<Vec<f32>, Error> {
    stream.read(out)
}

fn main() {}
