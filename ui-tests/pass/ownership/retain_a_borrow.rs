//! rule: what is retained outlives the function, so it must be owned

use dacapo::{Capturing, Enqueue, Stream};

fn keep(stream: &mut Stream<Capturing>, weights: &[f32]) {
    stream.retain(weights.to_vec());
}

fn main() {}
