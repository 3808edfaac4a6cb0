//! rule: a stream has the states that the driver has

use dacapo::State;

struct Paused;

impl State for Paused {}

fn main() {}
