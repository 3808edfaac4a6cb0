//! rule: a `ThreadLocal` capture ends on the thread that began it

use dacapo::{Capturing, Relaxed, Stream};

fn on_a_worker<R>(work: impl FnOnce() -> R + Send) {
    drop(work);
}

fn finish(stream: Stream<Capturing<Relaxed>>) {
    on_a_worker(move || stream.abort());
}

fn main() {}
