//! rule: a kernel is changed in what has been captured, not in what is being recorded

use dacapo::{Buffer, Error, Kernel, LaunchConfig, Published, Stream};

fn change(stream: &mut Stream<Published>, kernel: &Kernel, data: &Buffer<f32>) -> Result<(), Error> {
    // SAFETY: a kernel of a buffer and its length, which stays inside the buffer.
    unsafe { stream.update_kernel("fill", kernel, LaunchConfig::new(1, 32), (data, 4u32)) }
}

fn main() {}
