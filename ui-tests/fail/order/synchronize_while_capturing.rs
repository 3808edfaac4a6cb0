//! rule: nothing has run yet while capturing, so there is nothing to wait for

use dacapo::{Capturing, Error, Stream};

fn wait(stream: &mut Stream<Capturing>) -> Result<(), Error> {
    stream.synchronize()
}

fn main() {}
