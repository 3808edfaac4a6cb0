//! The memory that a device has set aside for graphs with allocations of their own.
//!
//! *Where it sits.* Beside `device`: two driver calls that need nothing but the device.

use crate::device::Device;
use crate::driver::GraphMemAttribute;
use crate::error::Error;

/// What [`Device::graph_memory`] has found, in bytes, over all graphs of this process on the device.
///
/// An H200 counts in steps of 32 MiB, and what is reserved as used until it is trimmed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct GraphMemory {
    /// In use by graphs.
    pub used: u64,
    /// The most that was in use at any time.
    pub used_high: u64,
    /// Set aside for graphs: taken at a launch, kept when the graph is destroyed, given back by
    /// [`Device::trim_graph_memory`].
    pub reserved: u64,
    /// The most that was set aside at any time.
    pub reserved_high: u64,
}

impl Device {
    /// How much memory graphs with allocations of their own ([`MemoryNodes`](crate::MemoryNodes)) take.
    ///
    /// # Errors
    /// [`DriverError`](crate::DriverError).
    ///
    /// # References
    /// [cuDeviceGetGraphMemAttribute](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html)
    #[doc(alias = "cuDeviceGetGraphMemAttribute")]
    pub fn graph_memory(&self) -> Result<GraphMemory, Error> {
        let ask = |attribute| self.driver().device_get_graph_mem_attribute(attribute, self.cuda_context().cu_device());
        Ok(GraphMemory {
            used: ask(GraphMemAttribute::Used)?,
            used_high: ask(GraphMemAttribute::UsedHigh)?,
            reserved: ask(GraphMemAttribute::Reserved)?,
            reserved_high: ask(GraphMemAttribute::ReservedHigh)?,
        })
    }

    /// Gives memory that is reserved for graphs, and that none of them holds, back to the operating system. Graphs that are still
    /// there take it again at their next launch, which then takes longer. Does no capture any harm.
    ///
    /// # Errors
    /// [`DriverError`](crate::DriverError).
    ///
    /// # References
    /// [cuDeviceGraphMemTrim](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html)
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{CapturePolicy, Device, Enqueue, MemoryNodes, ThreadLocal};
    ///
    /// let device = Device::open(0)?;
    /// let stream = device.stream()?.with_policy(CapturePolicy::new().memory_nodes(MemoryNodes::Allow));
    /// let captured = stream.capture(ThreadLocal, |c| {
    ///     // SAFETY: the slice is used by nothing, and its drop is recorded too: the graph frees what it allocates.
    ///     unsafe { c.raw(|stream| stream.alloc_zeros::<u8>(1 << 20).map(drop)) }
    /// })?;
    /// let published = captured.publish()?;
    /// published.replay()?;
    /// drop(published.reset()?);
    /// assert!(device.graph_memory()?.reserved >= 1 << 20);
    /// device.trim_graph_memory()?;
    /// assert_eq!(device.graph_memory()?.reserved, 0);
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[doc(alias = "cuDeviceGraphMemTrim")]
    pub fn trim_graph_memory(&self) -> Result<(), Error> {
        Ok(self.driver().device_graph_mem_trim(self.cuda_context().cu_device())?)
    }
}
