//! rule: which states rest is the driver's to say

use dacapo::{Idle, Resting, Stream};

fn takes_any_resting<S: Resting>(_: &Stream<S>) {}

fn use_it(stream: &Stream<Idle>) {
    takes_any_resting(stream);
}

fn main() {}
