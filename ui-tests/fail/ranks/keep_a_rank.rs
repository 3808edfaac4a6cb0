//! rule: what a body puts work on stays in the body

use dacapo::{Error, Idle, Pair, ThreadLocal};

fn capture(pair: Pair<Idle>) -> Result<(), Error> {
    let mut kept = None;
    drop(pair.capture(ThreadLocal, |[first, _]| {
        kept = Some(first);
        Ok(())
    })?);
    Ok(())
}

fn main() {}
