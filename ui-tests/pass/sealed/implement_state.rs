//! rule: a stream has the states that the driver has

use dacapo::{Idle, State, Stream};

fn takes_any_state<S: State>(_: &Stream<S>) {}

fn use_it(stream: &Stream<Idle>) {
    takes_any_state(stream);
}

fn main() {}
