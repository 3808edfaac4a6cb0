//! The shape of a launch, and what else it asks for.

use smallvec::SmallVec;

use crate::driver::LaunchAttribute;

/// The shape of a launch.
///
/// # Examples
/// ```standalone_crate
/// # dacapo_sim::install().unwrap();
/// use dacapo::{Device, Enqueue, LaunchConfig, ThreadLocal};
///
/// let device = Device::open(0)?;
/// let mut stream = device.stream()?;
/// let scale = device.load_ptx(include_str!("../../kernels/basic.ptx"))?.kernel("scale_f32")?;
/// let x = stream.alloc::<f32>(512)?;
/// let shapes = [LaunchConfig::for_elements(512), LaunchConfig::new(2, 256).cooperative()];
/// let captured = stream.capture(ThreadLocal, |c| {
///     // SAFETY: scale_f32(data, factor, n), over as many elements as the buffer holds.
///     shapes.into_iter().try_for_each(|shape| unsafe { c.launch(&scale, shape, (&x, 2.0f32, 512u32)) })
/// })?;
/// let launches: Vec<_> = captured.census().kernels().map(ToString::to_string).collect();
/// assert_eq!(launches, ["scale_f32 <<<2, 256>>>", "scale_f32 <<<2, 256>>> cooperative"]);
/// # Ok::<(), dacapo::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchConfig {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory a block, in bytes.
    pub shared_bytes: u32,
    /// What else the launch asks for; nothing, unless one of the methods has put it there.
    pub attributes: LaunchAttributes,
}

/// What a launch asks for besides its shape. Kept by the node of a graph.
///
/// # References
/// [CUlaunchAttributeID](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html)
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct LaunchAttributes {
    /// All blocks run at once, and may wait for each other.
    pub cooperative: bool,
    /// Blocks of a cluster in x, y and z.
    pub cluster: Option<[u32; 3]>,
    /// The priority; lower numbers run first.
    pub priority: Option<i32>,
    /// It may begin before the kernel in front of it has finished.
    pub programmatic: bool,
}

impl LaunchAttributes {
    /// As the driver takes them.
    pub(crate) fn of_driver(self) -> SmallVec<[LaunchAttribute; 4]> {
        let mut attributes = SmallVec::new();
        if self.cooperative {
            attributes.push(LaunchAttribute::cooperative());
        }
        attributes.extend(self.cluster.map(LaunchAttribute::cluster));
        attributes.extend(self.priority.map(LaunchAttribute::priority));
        if self.programmatic {
            attributes.push(LaunchAttribute::programmatic());
        }
        attributes
    }
}

impl LaunchConfig {
    /// `blocks` blocks of `threads` threads, in one dimension, without dynamic shared memory.
    #[must_use]
    pub const fn new(blocks: u32, threads: u32) -> Self {
        Self {
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            shared_bytes: 0,
            attributes: LaunchAttributes { cooperative: false, cluster: None, priority: None, programmatic: false },
        }
    }

    /// At least one thread an element: blocks of 256 threads, as many as it takes.
    ///
    /// Zero elements give a grid of zero blocks, which a launch refuses.
    #[must_use]
    pub const fn for_elements(elements: u32) -> Self {
        Self::new(elements.div_ceil(256), 256)
    }

    /// The same with `bytes` bytes of dynamic shared memory a block.
    #[must_use]
    pub const fn shared(self, bytes: u32) -> Self {
        Self { shared_bytes: bytes, ..self }
    }

    /// The same with all blocks running at once, so that they may wait for each other. The driver refuses a grid that does not fit
    /// on the device (`CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE`).
    #[must_use]
    pub const fn cooperative(self) -> Self {
        Self { attributes: LaunchAttributes { cooperative: true, ..self.attributes }, ..self }
    }

    /// The same in clusters of so many blocks, which share their memories (compute capability 9.0). The grid is a multiple of it.
    ///
    /// A graph with such a kernel is not updated in place: see [`UpdateReason::Cluster`](crate::UpdateReason::Cluster).
    ///
    /// # Examples
    /// ```standalone_crate
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, Error, LaunchConfig, Misuse};
    ///
    /// let device = Device::open(0)?;
    /// let mut stream = device.stream()?;
    /// let scale = device.load_ptx(include_str!("../../kernels/basic.ptx"))?.kernel("scale_f32")?;
    /// let x = stream.alloc::<f32>(768)?;
    /// // SAFETY: scale_f32(data, factor, n), over as many elements as the buffer holds.
    /// let launched = unsafe { stream.launch(&scale, LaunchConfig::for_elements(768).cluster([2, 1, 1]), (&x, 2.0f32, 768u32)) };
    /// assert!(matches!(launched, Err(Error::Misuse(Misuse::ClusterShape { .. })))); // three blocks are no pairs
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[must_use]
    pub const fn cluster(self, blocks: [u32; 3]) -> Self {
        Self { attributes: LaunchAttributes { cluster: Some(blocks), ..self.attributes }, ..self }
    }

    /// The same with a priority of its own, between nodes of a graph and between streams; lower numbers run first.
    #[must_use]
    pub const fn priority(self, priority: i32) -> Self {
        Self { attributes: LaunchAttributes { priority: Some(priority), ..self.attributes }, ..self }
    }

    /// The same, but that it may begin before the kernel in front of it on the stream has finished: as soon as all of that
    /// kernel's blocks have said so (`griddepcontrol.launch_dependents`) or ended (compute capability 9.0). It waits for that kernel's
    /// results itself (`griddepcontrol.wait`). In a graph it is a programmatic edge: a chain of 100 small kernels took 66.8 µs that way
    /// instead of 81.4 on an H200.
    ///
    /// # Examples
    /// ```standalone_crate
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, LaunchConfig, ThreadLocal};
    ///
    /// let device = Device::open(0)?;
    /// let mut stream = device.stream()?;
    /// let scale = device.load_ptx(include_str!("../../kernels/basic.ptx"))?.kernel("scale_f32")?;
    /// let (x, y) = (stream.alloc::<f32>(256)?, stream.alloc::<f32>(256)?);
    /// let shape = LaunchConfig::for_elements(256);
    /// let captured = stream.capture(ThreadLocal, |c| {
    ///     // SAFETY: scale_f32(data, factor, n), over as many elements as each buffer holds; the second needs nothing of the first.
    ///     unsafe {
    ///         c.launch(&scale, shape, (&x, 2.0f32, 256u32))?;
    ///         c.launch(&scale, shape.programmatic(), (&y, 2.0f32, 256u32))
    ///     }
    /// })?;
    /// captured.publish()?.replay()?; // `Edge::programmatic` says that the second may begin before the first is done
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[must_use]
    pub const fn programmatic(self) -> Self {
        Self { attributes: LaunchAttributes { programmatic: true, ..self.attributes }, ..self }
    }
}

impl From<cudarc::driver::LaunchConfig> for LaunchConfig {
    fn from(config: cudarc::driver::LaunchConfig) -> Self {
        Self {
            grid: config.grid_dim.into(),
            block: config.block_dim.into(),
            ..Self::new(1, 1).shared(config.shared_mem_bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_for_elements_covers_every_element() {
        assert_eq!(LaunchConfig::for_elements(1).grid, [1, 1, 1]);
        assert_eq!(LaunchConfig::for_elements(256).grid, [1, 1, 1]);
        assert_eq!(LaunchConfig::for_elements(257).grid, [2, 1, 1]);
        assert_eq!(LaunchConfig::for_elements(u32::MAX).grid, [16_777_216, 1, 1]);
    }
}
