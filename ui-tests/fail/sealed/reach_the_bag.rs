//! rule: what keeps captured memory alive is out of everybody's reach

use dacapo::Enqueue;

fn take_over(stream: &mut impl Enqueue) {
    let _ = stream.site();
}

fn main() {}
