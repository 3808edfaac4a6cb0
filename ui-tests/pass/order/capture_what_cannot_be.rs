//! rule: what is recorded by name says by its type that it may be captured

use dacapo::{Capturable, Capturing, Error, Operation, Stream, Work};

struct Sample;

impl Operation for Sample {
    fn name(&self) -> &str {
        "sample"
    }
    fn enqueue(&self, _: &mut Work<'_>) -> Result<(), Error> {
        Ok(())
    }
}

impl Capturable for Sample {}

fn record(stream: &mut Stream<Capturing>) -> Result<(), Error> {
    stream.run_operation(&Sample)
}

fn main() {}
