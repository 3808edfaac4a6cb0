//! rule: work is enqueued on streams

use dacapo::Enqueue;

struct Log;

impl Enqueue for Log {}

fn main() {}
