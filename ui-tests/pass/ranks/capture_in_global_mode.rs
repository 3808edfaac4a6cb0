//! rule: ranks do not capture in a mode that restrains every thread

use dacapo::{Error, Idle, Instantiated, Pair, ThreadLocal};

fn capture(pair: Pair<Idle>) -> Result<Pair<Instantiated>, Error> {
    Ok(pair.capture(ThreadLocal, |_| Ok(()))?)
}

fn main() {}
