//! rule: what a body puts work on stays in the body

use dacapo::{Error, Idle, Pair, ThreadLocal};

fn capture(pair: Pair<Idle>) -> Result<(), Error> {
    drop(pair.capture(ThreadLocal, |[first, _]| {
        let _here = first;
        Ok(())
    })?);
    Ok(())
}

fn main() {}
