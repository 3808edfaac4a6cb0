//! rule: the captures of a pair are ended together

use dacapo::{Error, Idle, Instantiated, Pair, ThreadLocal};

fn capture(pair: Pair<Idle>) -> Result<Pair<Instantiated>, Error> {
    Ok(pair.capture(ThreadLocal, |[first, _]| first.end())?)
}

fn main() {}
