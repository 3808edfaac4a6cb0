//! A count that the device keeps.

use std::fmt;

use super::eager::Eager;
use crate::buffer::Buffer;
use crate::error::Error;
use crate::kernel::{Kernel, LaunchConfig};

/// A 64-bit count in device memory, which each run of a [`count`](crate::Enqueue::count) raises by one: recorded in a graph it is
/// proof, on the device, of how often the graph ran. Cloning adds an owner.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::{Device, DeviceCounter, Enqueue, ThreadLocal};
///
/// let mut stream = Device::open(0)?.stream()?;
/// let counter = DeviceCounter::new(&mut stream.eager())?;
/// let mut published = stream.capture(ThreadLocal, |c| c.count(&counter))?.publish()?;
/// for _ in 0..3 {
///     published.replay()?;
/// }
/// assert_eq!(counter.read(&mut published.eager())?, 3);
/// # Ok::<(), dacapo::Error>(())
/// ```
#[derive(Clone)]
pub struct DeviceCounter {
    count: Buffer<u64>,
    kernel: Kernel,
}

impl DeviceCounter {
    /// A count of zero on the stream's device. Loads a module.
    ///
    /// # Errors
    /// As [`Device::load_ptx`](crate::Device::load_ptx) and [`Stream::alloc`](crate::Stream::alloc).
    pub fn new(eager: &mut Eager<'_>) -> Result<Self, Error> {
        let kernel = eager.device().load_ptx(include_str!("../../kernels/counter.ptx"))?.kernel("dacapo_count")?;
        Ok(Self { count: eager.alloc(1)?, kernel })
    }

    /// The count, after everything enqueued so far on this stream. Waits for that.
    ///
    /// # Errors
    /// As [`Stream::read`](crate::Stream::read).
    pub fn read(&self, eager: &mut Eager<'_>) -> Result<u64, Error> {
        let mut count = [0];
        eager.read_into(&self.count, &mut count)?;
        Ok(count[0])
    }

    /// What counting launches.
    pub(crate) fn launch(&self) -> (&Kernel, LaunchConfig, &Buffer<u64>) {
        (&self.kernel, LaunchConfig::new(1, 1), &self.count)
    }
}

impl fmt::Debug for DeviceCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceCounter").field("count", &self.count).finish_non_exhaustive()
    }
}
