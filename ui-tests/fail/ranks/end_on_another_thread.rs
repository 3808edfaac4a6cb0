//! rule: ranks that capture stay on the thread that began, unless relaxed

use dacapo::{Capturing, Pair};

fn end_elsewhere(pair: Pair<Capturing>) {
    std::thread::spawn(move || drop(pair.end()));
}

fn main() {}
