//! rule: ranks are made of idle streams

use dacapo::{Error, Idle, Pair, Published, Stream};

fn pair(first: Stream<Idle>, second: Stream<Published>) -> Result<Pair<Idle>, Error> {
    Ok(Pair::new([first, second.reset()?])?)
}

fn main() {}
