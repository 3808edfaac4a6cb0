//! rule: a kernel argument is a plain value or a buffer

use dacapo::{Buffer, Enqueue, Error, Idle, Kernel, LaunchConfig, Stream};

fn launch(stream: &mut Stream<Idle>, kernel: &Kernel, data: &Buffer<f32>) -> Result<(), Error> {
    // SAFETY: a kernel of a buffer and its length, which stays inside the buffer.
    unsafe { stream.launch(kernel, LaunchConfig::new(1, 32), (data, 4u32)) }
}

fn main() {}
