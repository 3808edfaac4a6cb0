//! rule: ranks do not capture in a mode that restrains every thread

use dacapo::{Error, Global, Idle, Instantiated, Pair};

fn capture(pair: Pair<Idle>) -> Result<Pair<Instantiated>, Error> {
    Ok(pair.capture(Global, |_| Ok(()))?)
}

fn main() {}
