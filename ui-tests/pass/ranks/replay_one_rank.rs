//! rule: the ranks of a pair are replayed together

use dacapo::{Error, Pair, Published};

fn replay_the_first(pair: Pair<Published>) -> Result<(), Error> {
    pair.replay()
}

fn main() {}
