//! rule: ranks that capture stay on the thread that began, unless relaxed

use dacapo::{Capturing, Pair, Relaxed};

fn end_elsewhere(pair: Pair<Capturing<Relaxed>>) {
    std::thread::spawn(move || drop(pair.end()));
}

fn main() {}
