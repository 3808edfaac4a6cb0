//! rule: the driver has three capture modes

use dacapo::{Error, Idle, Mode, Stream};

fn takes_any_mode<M: Mode>(stream: Stream<Idle>, mode: M) -> Result<(), Error> {
    drop(stream.begin(mode)?.abort());
    Ok(())
}

fn main() {}
