//! rule: ranks are published once no rank is capturing

use dacapo::{Capturing, Error, Pair, Published};

fn publish(pair: Pair<Capturing>) -> Result<Pair<Published>, Error> {
    Ok(pair.end()?.publish()?)
}

fn main() {}
