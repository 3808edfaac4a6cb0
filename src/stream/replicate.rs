//! More executables of one captured graph, for replays that overlap.

#![allow(unsafe_code)]

use super::Stream;
use super::transition::HasGraph;
use crate::error::{Error, Misuse};
use crate::seal::OnlyForDacapo;
use crate::state::{Instantiated, State};
use crate::trace::tell;

impl<S: State> Stream<S> {
    /// Makes so many replicas: streams of states of their own, each with a new CUDA stream and an executable of the same graph. With
    /// this one, `replicas + 1` replays run at once, where those of one executable wait for each other
    /// (trace `launch.same_exec_two_streams_serialises`: 100 ms against 50).
    ///
    /// Each replica is published, replayed, updated and reset by itself, and has its own generations. They share the graph, and what
    /// its nodes use. The replicas have this stream's policy, and the changes that [`update_kernel`](Stream::update_kernel) has made so
    /// far; with it, each is given arguments of its own.
    ///
    /// Waits for the stream's earlier work, so that what the graph uses is complete. This stream stays as it is, whatever
    /// happens.
    ///
    /// # Dropping
    /// Dropping or resetting one of them, or this one, drains its own CUDA stream and destroys its own executable; in any order. What the
    /// last one leaves is destroyed with it: the graph first, then what its nodes use. So what was captured is kept until the last
    /// replica is gone.
    ///
    /// # Errors
    /// No replica is left, with: [`Misuse::NoReplicas`] for none; [`Misuse::OneExecutable`] for a graph with memory or conditional nodes,
    /// of which the driver takes one executable at a time; [`Misuse::SeamsInReplicas`]; [`Misuse::CaptureOpen`] while a sibling
    /// captures; [`Parked`](crate::Parked); [`DriverError`](crate::DriverError).
    ///
    /// # Safety
    /// 1. What was recorded may run several times at once, as far as it is given the same memory: no kernel, and nothing that
    ///    [`raw`](crate::Enqueue::raw) has recorded, stays inside what it names only because it is alone with it. (What they compute is
    ///    another matter: two replays that write the same buffer leave a mixture.)
    ///
    /// # References
    /// [cuGraphInstantiateWithFlags](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html)
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, LaunchConfig, ThreadLocal};
    ///
    /// let device = Device::open(0)?;
    /// let mut stream = device.stream()?;
    /// let scale = device.load_ptx(include_str!("../../kernels/basic.ptx"))?.kernel("scale_f32")?;
    /// let (x, y) = (stream.buffer_from(&[1.0f32; 256])?, stream.buffer_from(&[3.0f32; 256])?);
    /// let shape = LaunchConfig::for_elements(256);
    /// // SAFETY: scale_f32(data, factor, n), over as many elements as the buffer holds.
    /// let captured = stream.capture(ThreadLocal, |c| unsafe { c.launch(&scale, shape, (&x, 2.0f32, 256u32)) })?;
    /// // SAFETY: each element is read and written by one thread of a launch, inside the buffer whoever else writes it.
    /// let mut replica = unsafe { captured.replicate(1) }?.remove(0);
    /// // SAFETY: as for the launch. This replica has a buffer of its own.
    /// unsafe { replica.update_kernel("scale_f32", &scale, shape, (&y, 2.0f32, 256u32)) }?;
    /// let (mut one, mut other) = (captured.publish()?, replica.publish()?);
    /// one.replay()?;
    /// other.replay()?; // beside the first
    /// assert_eq!((one.read(&x)?[0], other.read(&y)?[0]), (2.0, 6.0));
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[doc(alias = "cuGraphInstantiateWithFlags")]
    pub unsafe fn replicate(&self, replicas: usize) -> Result<Vec<Stream<Instantiated>>, Error>
    where
        S: HasGraph,
    {
        if replicas == 0 {
            return Err(Misuse::NoReplicas.into());
        }
        let captured = S::captured(&self.data, OnlyForDacapo::new());
        captured.check_replicable()?;
        self.core.lane.check()?;
        self.core.lane.drain()?;
        let made = (0..replicas)
            .map(|_| {
                let Stream { core, .. } = self.device().stream()?;
                let data = captured.replicate(&core.lane, &self.core.policy)?;
                let mut replica = Stream::<Instantiated> { data, core };
                replica.core.policy = self.core.policy.clone();
                Ok(replica)
            })
            .collect::<Result<_, Error>>()?;
        tell!(DEBUG, stream = self.core.lane.id(), replicas, "replicated");
        Ok(made)
    }
}
