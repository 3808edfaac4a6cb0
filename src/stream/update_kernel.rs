//! Changing one kernel of a captured graph, without capturing anew.

#![allow(unsafe_code)]

use super::Stream;
use super::transition::HasGraph;
use crate::error::Error;
use crate::kernel::{Arguments, Kernel, KernelChange, LaunchConfig};
use crate::kernel_at::KernelAt;
use crate::seal::OnlyForDacapo;
use crate::state::State;

impl<S: State> Stream<S> {
    /// Changes arguments, grid and block of one kernel of the captured graph, from the next replay on, without capturing anew: one
    /// driver call of less than a microsecond, where a graph of 100 kernels is updated in 58.
    ///
    /// Takes what [`launch`](crate::Enqueue::launch) takes, of the same kernel; shared memory and attributes are those of the capture.
    /// Generation and executable stay, and with them every replayer. Each replay runs whole, with the old launch or with the new one, and
    /// those in flight keep the old one. What the new arguments name is kept from now on; what those of the *last such change* named is
    /// let go when the stream has drained, and what was captured is kept as before.
    ///
    /// An [`update`](Stream::update) that captures anew does away with such changes. After one that was made in place, the driver
    /// knows the executable by nodes that are gone, and it takes an update of the whole again.
    ///
    /// # Errors
    /// Everything is as it was, with: [`KernelMismatch`](crate::KernelMismatch) if the kernel is not found or not the same, or differs in
    /// what cannot be changed; [`Misuse::ArgumentCount`], [`ArgumentSize`], [`EmptyLaunch`] as for a launch, and
    /// [`Misuse::WrongContext`]; [`UpdateRefused`](crate::UpdateRefused) if it is launched in clusters, which are never updated in
    /// place; [`Misuse::CaptureOpen`] while a sibling captures, [`Misuse::OutOfTurn`] in a seam of the same stream;
    /// [`DriverError`](crate::DriverError).
    ///
    /// [`Misuse::ArgumentCount`]: crate::Misuse::ArgumentCount
    /// [`ArgumentSize`]: crate::Misuse::ArgumentSize
    /// [`EmptyLaunch`]: crate::Misuse::EmptyLaunch
    /// [`Misuse::WrongContext`]: crate::Misuse::WrongContext
    /// [`Misuse::CaptureOpen`]: crate::Misuse::CaptureOpen
    /// [`Misuse::OutOfTurn`]: crate::Misuse::OutOfTurn
    ///
    /// # Safety
    /// As for [`launch`](crate::Enqueue::launch).
    ///
    /// # References
    /// [cuGraphExecKernelNodeSetParams](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html), trace
    /// `update.kernel_node_set_params`
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, LaunchConfig, ThreadLocal};
    ///
    /// let device = Device::open(0)?;
    /// let mut stream = device.stream()?;
    /// let scale = device.load_ptx(include_str!("../../kernels/basic.ptx"))?.kernel("scale_f32")?;
    /// let x = stream.buffer_from(&[1.0f32; 256])?;
    /// let shape = LaunchConfig::for_elements(256);
    /// // SAFETY: scale_f32(data, factor, n), over as many elements as the buffer holds.
    /// let captured = stream.capture(ThreadLocal, |c| unsafe { c.launch(&scale, shape, (&x, 2.0f32, 256u32)) })?;
    /// let mut published = captured.publish()?;
    /// published.replay()?;
    /// // SAFETY: as above.
    /// unsafe { published.update_kernel("scale_f32", &scale, shape, (&x, 5.0f32, 256u32)) }?;
    /// published.replay()?;
    /// assert_eq!(published.read(&x)?[0], 10.0);
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[doc(alias = "cuGraphExecKernelNodeSetParams")]
    pub unsafe fn update_kernel<'a>(
        &mut self,
        at: impl Into<KernelAt<'a>>,
        kernel: &Kernel,
        config: LaunchConfig,
        arguments: impl Into<Arguments>,
    ) -> Result<(), Error>
    where
        S: HasGraph,
    {
        let change = KernelChange::new(kernel, config, arguments.into())?;
        let captured = S::captured_mut(&mut self.data, OnlyForDacapo::new());
        // SAFETY: (1) of the caller.
        unsafe { captured.update_kernel(at.into(), change) }?;
        self.core.lane.counts().updated();
        Ok(())
    }
}
