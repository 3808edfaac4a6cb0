//! rule: a `ThreadLocal` capture ends on the thread that began it

use dacapo::{Capturing, Stream, ThreadLocal};

fn on_a_worker<R>(work: impl FnOnce() -> R + Send) {
    drop(work);
}

fn finish(stream: Stream<Capturing<ThreadLocal>>) {
    on_a_worker(move || stream.abort());
}

fn main() {}
