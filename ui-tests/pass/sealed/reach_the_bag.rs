//! rule: what keeps captured memory alive is out of everybody's reach

use dacapo::Enqueue;

fn take_over(stream: &mut impl Enqueue) {
    stream.retain("what is handed in is kept; what is kept is not handed out");
}

fn main() {}
