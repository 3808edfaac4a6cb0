//! Work: what can be enqueued on a stream in any state.

#![allow(unsafe_code)]

use bytemuck::Pod;
use cudarc::driver::CudaStream;

use super::{Core, Stream};
use crate::buffer::Buffer;
use crate::driver::{FillValue, KernelShape};
use crate::error::{BoxError, Error, Misuse};
use crate::kernel::{Arguments, Kernel, LaunchConfig};
use crate::pinned::HostMemory;
use crate::runtime::{DeviceCounter, Eager, Freeze, HostCall, Place, Retained, Site, Turns, Work};
use crate::seal::OnlyForDacapo;
use crate::state::{Idle, State};
use crate::sync::Arc;

use sealed::Recorder;

/// The operations that are legal both eagerly and under capture, with the same arguments and the same meaning.
///
/// On a [`Capturing`](crate::Capturing) stream an operation is *recorded*: it becomes a node of the graph and runs at
/// every replay. On any other stream it is *enqueued*, and runs once, after what was enqueued before. So one function
/// over `&mut impl Enqueue` is both the eager step and the captured one.
///
/// Whatever an operation names is kept alive for as long as it may run: until the stream has drained, or until the graph
/// is destroyed. Enqueuing waits in two cases only: for the driver, when its queue is full (D18); and for a drain, when eager work
/// has used a thousand different things (buffers, modules, closures) since the stream was last drained.
///
/// Sealed: implemented for [`Stream`] in every state.
///
/// # Errors
/// Every operation can fail with [`DriverError`](crate::DriverError), and with [`Poisoned`](crate::Poisoned) once the
/// stream is; [`Misuse`] is named with each. A driver error under capture may have invalidated the capture: `end` tells.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::{Buffer, Device, Enqueue, Error, ThreadLocal};
///
/// fn step(stream: &mut impl Enqueue, a: &Buffer<f32>, b: &Buffer<f32>) -> Result<(), Error> {
///     stream.fill(a, 1.5)?;
///     stream.copy(a, b)
/// }
///
/// let mut stream = Device::open(0)?.stream()?;
/// let (a, b) = (stream.alloc(4)?, stream.alloc(4)?);
/// step(&mut stream, &a, &b)?;
/// let captured = stream.capture(ThreadLocal, |c| step(c, &a, &b))?;
/// assert_eq!(captured.census().to_string(), "memcpy ×1, memset ×1");
/// # Ok::<(), Error>(())
/// ```
pub trait Enqueue: Recorder {
    /// Copies between two buffers of one length. One memcpy node.
    ///
    /// # Errors
    /// [`Misuse::LengthMismatch`], [`Misuse::Overlap`], [`Misuse::WrongContext`].
    #[doc(alias = "cuMemcpyDtoDAsync")]
    fn copy<T: Pod>(&mut self, source: &Buffer<T>, destination: &Buffer<T>) -> Result<(), Error> {
        Misuse::check_lengths(source.len(), destination.len())?;
        if source.overlaps(destination) {
            return Err(Misuse::Overlap.into());
        }
        let Place { lane, retained, .. } = &self.site(OnlyForDacapo::new())?.enter()?;
        lane.check_context(source.device(), "source buffer")?;
        lane.check_context(destination.device(), "destination buffer")?;
        retained.share(source.allocation());
        retained.share(destination.allocation());
        let (from, to, bytes) = (source.device_ptr(), destination.device_ptr(), source.size_bytes());
        // SAFETY: (1) both buffers are of this length, do not overlap, and are retained. (2) The lane keeps its stream.
        lane.heard(unsafe { lane.driver().memcpy_dtod_async(from, to, bytes, lane.handle()) })
    }

    /// Sets every element to `value`. One memset node, where the bytes of `value` repeat after 1, 2 or 4 (any integer or
    /// float of up to 32 bits, and zero of any type); otherwise one a unit of `value` (two for an `f64`).
    ///
    /// # Errors
    /// [`Misuse::WrongContext`].
    #[doc(alias = "cuMemsetD32Async")]
    fn fill<T: Pod>(&mut self, destination: &Buffer<T>, value: T) -> Result<(), Error> {
        let Place { lane, retained, .. } = &self.site(OnlyForDacapo::new())?.enter()?;
        lane.check_context(destination.device(), "destination buffer")?;
        retained.share(destination.allocation());
        let (driver, stream, address) = (lane.driver(), lane.handle(), destination.device_ptr());
        match Fill::of(bytemuck::bytes_of(&value)) {
            Fill::Uniform(value) => {
                let count = destination.size_bytes() / unit_bytes(value);
                // SAFETY: (1) the buffer is retained and `count` units long; an address is aligned to the element, and
                // the unit divides the element's size. (2) The lane keeps its stream.
                lane.heard(unsafe { driver.memset_async(address, value, count, stream) })?;
            }
            Fill::Strided(values) => {
                let (pitch, rows) = (size_of::<T>(), destination.len());
                for (value, offset) in values.into_iter().zip((0u64..).step_by(pitch / units_of(pitch))) {
                    // SAFETY: (1) the buffer is retained; unit and offset lie inside an element, `pitch` is the
                    // element's size, `rows` their number. (2) The lane keeps its stream.
                    lane.heard(unsafe { driver.memset_strided_async(address + offset, pitch, value, rows, stream) })?;
                }
            }
        }
        Ok(())
    }

    /// Copies from pinned host memory to a buffer of the same length. One memcpy node, which reads the host memory at
    /// every replay.
    ///
    /// A borrowed slice cannot be recorded: it may be gone by the time of a replay.
    ///
    /// # Errors
    /// [`Misuse::LengthMismatch`], [`Misuse::WrongContext`].
    #[doc(alias = "cuMemcpyHtoDAsync")]
    fn upload<T: Pod>(&mut self, source: &(impl HostMemory<T> + ?Sized), destination: &Buffer<T>) -> Result<(), Error> {
        let source = source.pinned();
        Misuse::check_lengths(source.len(), destination.len())?;
        let Place { lane, retained, .. } = &self.site(OnlyForDacapo::new())?.enter()?;
        lane.check_context(destination.device(), "destination buffer")?;
        retained.share(source.block());
        retained.share(destination.allocation());
        let (from, to, bytes) = (source.as_ptr().cast(), destination.device_ptr(), source.size_bytes());
        // SAFETY: (1) both are of this length and retained. (2) The lane keeps its stream.
        lane.heard(unsafe { lane.driver().memcpy_htod_async(from, to, bytes, lane.handle()) })
    }

    /// Copies from a buffer to pinned host memory of the same length. One memcpy node, which writes the host memory at
    /// every replay. The bytes are there once the stream has been synchronised.
    ///
    /// # Errors
    /// [`Misuse::LengthMismatch`], [`Misuse::WrongContext`].
    #[doc(alias = "cuMemcpyDtoHAsync")]
    fn download<T: Pod>(
        &mut self,
        source: &Buffer<T>,
        destination: &(impl HostMemory<T> + ?Sized),
    ) -> Result<(), Error> {
        let destination = destination.pinned();
        Misuse::check_lengths(source.len(), destination.len())?;
        let Place { lane, retained, .. } = &self.site(OnlyForDacapo::new())?.enter()?;
        lane.check_context(source.device(), "source buffer")?;
        retained.share(source.allocation());
        retained.share(destination.block());
        let (from, to, bytes) = (source.device_ptr(), destination.as_ptr().cast(), source.size_bytes());
        // SAFETY: (1) both are of this length and retained. (2) Nobody has a plain reference to pinned memory: it is
        // read and written by atomic words only. (3) The lane keeps its stream.
        lane.heard(unsafe { lane.driver().memcpy_dtoh_async(from, to, bytes, lane.handle()) })
    }

    /// Launches a kernel. One kernel node; the arguments' values are copied now. Buffers among the arguments, and the
    /// kernel's module, are kept.
    ///
    /// For a kernel from PTX, number and sizes of the arguments are checked against its parameters. (A cubin does not say.)
    ///
    /// # Errors
    /// [`Misuse::EmptyLaunch`], [`Misuse::ClusterShape`], [`Misuse::ArgumentCount`], [`Misuse::ArgumentSize`],
    /// [`Misuse::WrongContext`].
    ///
    /// # Safety
    /// 1. The arguments are of the types that the kernel declares, in its order.
    /// 2. The kernel, launched in this shape, stays inside what its arguments name, whenever it runs: now, or at every
    ///    replay. Addresses that it takes from elsewhere (a number, device memory) outlive the graph: see
    ///    [`retain`](Self::retain).
    /// 3. Launched [`programmatic`](LaunchConfig::programmatic), it waits itself for what it needs of the kernel in front of it.
    #[doc(alias = "cuLaunchKernel")]
    unsafe fn launch(
        &mut self,
        kernel: &Kernel,
        config: LaunchConfig,
        arguments: impl Into<Arguments>,
    ) -> Result<(), Error> {
        let mut arguments = arguments.into();
        kernel.check(&config, &arguments)?;
        let Place { lane, retained, .. } = &self.site(OnlyForDacapo::new())?.enter()?;
        lane.check_context(kernel.device(), "kernel")?;
        retained.share(kernel.module());
        for allocation in arguments.allocations() {
            retained.share(allocation);
        }
        let LaunchConfig { grid, block, shared_bytes, attributes } = config;
        let (driver, function, stream) = (lane.driver(), kernel.function(), lane.handle());
        let shape = KernelShape { grid, block, shared_bytes };
        let (attributes, mut pointers) = (attributes.of_driver(), arguments.pointers());
        lane.heard(if attributes.is_empty() {
            // SAFETY: (1) the module is retained. (2) One pointer an argument, into `arguments`, which is alive; that they
            // are the kernel's parameters is the caller's (1). (3) The caller's (2). (4) The lane keeps its stream.
            unsafe { driver.launch_kernel(function, shape, stream, &mut pointers) }
        } else {
            // SAFETY: as above; (3) the caller's (3), too.
            unsafe { driver.launch_kernel_ex(function, shape, &attributes, stream, &mut pointers) }
        })
    }

    /// Raises a [`DeviceCounter`] by one. One kernel node.
    ///
    /// # Errors
    /// [`Misuse::WrongContext`].
    fn count(&mut self, counter: &DeviceCounter) -> Result<(), Error> {
        let (kernel, shape, count) = counter.launch();
        // SAFETY: (1), (2) dacapo_count(count), in one thread, on a word that it keeps.
        unsafe { self.launch(kernel, shape, (count,)) }
    }

    /// Calls a closure on a thread of the driver's. One host node; called at every replay.
    ///
    /// Work behind it waits for it, so it must not wait for anything that waits for the stream: no driver call, which the driver
    /// refuses or never returns from, and so no drop of the last owner of a [`Buffer`]; no replay, reset or drop of a stream, and no
    /// lock that somebody holds across one of these. If it panics, the panic is kept, and the next
    /// [`synchronize`](Stream::synchronize) or `begin` on this stream returns [`Error::HostPanicked`].
    #[doc(alias = "cuLaunchHostFunc")]
    fn host(&mut self, function: impl Fn() + Send + Sync + 'static) -> Result<(), Error> {
        let Place { lane, root, retained, .. } = &self.site(OnlyForDacapo::new())?.enter()?;
        let call = HostCall::new(function, root.host_panic());
        retained.share(&call);
        // SAFETY: (1) the call is retained. (2) The lane keeps its stream.
        lane.heard(unsafe { call.enqueue(lane.driver(), lane.handle()) })
    }

    /// Runs `body` with two places to put work: this stream, and `other` as a branch of it. What is put on the one does not wait for
    /// what is put on the other, so they may overlap on the device. When `body` is over the branch is joined: what is enqueued here
    /// afterwards waits for both. On a capturing stream the branch becomes part of the graph; on any other it runs.
    ///
    /// Before the fork lies what was enqueued here so far; the branch waits for it. The other stream may be of another device. Both sides
    /// may fork again; for several branches at once there is [`fork_many`](Self::fork_many). Neither can be kept beyond `body`.
    ///
    /// The branch is joined whatever becomes of `body`, on an error and a panic too, so that no capture is left unjoined. What it uses is
    /// kept with what this stream uses.
    ///
    /// Afterwards the other stream is as it was. In a capture it belongs to the capture until that has ended, and others who want it
    /// get [`Misuse::CaptureOpen`]; it can be forked to again. Eagerly, `body` has both streams to itself: others who put work on a
    /// sibling of one wait. (Two threads that, inside a fork, fork to each other's streams through siblings wait for each other.)
    ///
    /// # Errors
    /// `body`'s own; [`Misuse::ForkToItself`] if both are one CUDA stream; [`Misuse::OutOfTurn`] if the other is a branch already, or in
    /// the middle of a replay on this thread; [`Misuse::CaptureOpen`] if the other stream, or a sibling of it, captures;
    /// [`Misuse::AlreadyCapturing`] if other code is capturing on it.
    ///
    /// # References
    /// [cuStreamWaitEvent](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html), traces `fork.*`
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, ThreadLocal};
    ///
    /// let device = Device::open(0)?;
    /// let (mut stream, mut other) = (device.stream()?, device.stream()?);
    /// let (a, b) = (stream.alloc::<u32>(2)?, stream.alloc::<u32>(2)?);
    /// let captured = stream.capture(ThreadLocal, |c| {
    ///     c.fork(&mut other, |main, branch| {
    ///         main.fill(&a, 1)?; // these two
    ///         branch.fill(&b, 2) // side by side
    ///     })?;
    ///     c.copy(&b.slice(..1)?, &a.slice(..1)?) // after both
    /// })?;
    /// let census = captured.census();
    /// let edges: Vec<_> = census.edges().iter().map(|edge| (edge.from, edge.to)).collect();
    /// assert_eq!(edges, [(0, 2), (1, 2)]);
    /// let mut published = captured.publish()?;
    /// published.replay()?;
    /// assert_eq!(published.read(&a)?, [2, 1]);
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[doc(alias = "cuStreamWaitEvent")]
    fn fork<R>(
        &mut self,
        other: &mut Stream<Idle>,
        body: impl FnOnce(&mut Work<'_>, &mut Work<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.site(OnlyForDacapo::new())?.fork([&other.core.lane], |main, [branch]| body(main, branch))
    }

    /// As [`fork`](Self::fork), with several branches at once, none of which waits for another.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, ThreadLocal};
    ///
    /// let device = Device::open(0)?;
    /// let (mut stream, mut second, mut third) = (device.stream()?, device.stream()?, device.stream()?);
    /// let (q, k, v) = (stream.alloc::<u32>(1)?, stream.alloc::<u32>(1)?, stream.alloc::<u32>(1)?);
    /// let captured = stream.capture(ThreadLocal, |c| {
    ///     c.fork_many([&mut second, &mut third], |main, [left, right]| {
    ///         main.fill(&q, 1)?;
    ///         left.fill(&k, 2)?;
    ///         right.fill(&v, 3)
    ///     })
    /// })?;
    /// assert!(captured.census().edges().is_empty());
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[doc(alias = "cuStreamWaitEvent")]
    fn fork_many<const N: usize, R>(
        &mut self,
        others: [&mut Stream<Idle>; N],
        body: impl FnOnce(&mut Work<'_>, &mut [Work<'_>; N]) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.site(OnlyForDacapo::new())?.fork(others.map(|other| &other.core.lane), body)
    }

    /// Keeps `value` for as long as the work enqueued or recorded here may run, and drops it after that: for a graph,
    /// after it is destroyed and the stream has drained. Cannot fail, and waits for nothing.
    ///
    /// For what [`raw`](Self::raw) calls and kernels use behind this crate's back: an engine's slices, workspaces,
    /// modules, communicators. Things are dropped in the order in which they were handed in, on the thread that resets or drops the
    /// stream.
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, ThreadLocal};
    ///
    /// struct Workspace;
    /// impl Drop for Workspace {
    ///     fn drop(&mut self) {
    ///         println!("the graph is gone, and its work has finished");
    ///     }
    /// }
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let buffer = stream.alloc::<u32>(1)?;
    /// let published = stream
    ///     .capture(ThreadLocal, |c| {
    ///         c.retain(Workspace);
    ///         c.fill(&buffer, 1)
    ///     })?
    ///     .publish()?;
    /// published.replay()?;
    /// drop(published.reset()?);
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    fn retain(&mut self, value: impl Send + 'static) {
        self.keeper(OnlyForDacapo::new()).own(value);
    }

    /// Keeps one more owner of `value`, as [`retain`](Self::retain) does; the same object is kept once, however often
    /// this is called.
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use std::sync::Arc;
    /// use dacapo::{Device, Enqueue, ThreadLocal};
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let (weights, buffer) = (Arc::new([1.5f32; 4]), stream.alloc::<u32>(1)?);
    /// let captured = stream.capture(ThreadLocal, |c| {
    ///     c.retain_shared(&weights);
    ///     c.retain_shared(&weights);
    ///     c.fill(&buffer, 1)
    /// })?;
    /// assert_eq!(Arc::strong_count(&weights), 2);
    /// drop(captured);
    /// assert_eq!(Arc::strong_count(&weights), 1);
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    fn retain_shared<T: Send + Sync + 'static>(&mut self, value: &Arc<T>) {
        self.keeper(OnlyForDacapo::new()).share(value);
    }

    /// Keeps `value`, and keeps it frozen meanwhile: it is told now, and told again when what was enqueued or recorded here is gone.
    /// Once, however often this is called with it.
    fn freeze<T: Freeze>(&mut self, value: &Arc<T>) {
        self.keeper(OnlyForDacapo::new()).freeze(value);
    }

    /// Hands the CUDA stream to code that this crate knows nothing of: an engine's step over cudarc, cuBLAS, NCCL.
    ///
    /// What the body enqueues is recorded or runs like everything else. The rest is as safe as ever: the capture ends
    /// whatever happens, errors that cudarc's drops park are found at the end, the nodes are counted.
    ///
    /// # Errors
    /// The body's own: one of ours or cudarc's as what it is, any other as [`Error::Body`].
    ///
    /// # Safety
    /// 1. Every address that the body enqueues work on, of device or host memory, and every module whose kernels it
    ///    launches, outlives that work: hand it to [`retain`](Self::retain). For a capture that is until the graph is gone.
    ///    cudarc keeps nothing: a `CudaSlice` that is dropped in the body, or before a replay, is a use
    ///    after free.
    /// 2. What the body enqueues on other streams is joined back to this one before it returns; it draws no stream in that
    ///    another [`Stream`] stands for.
    /// 3. The body begins, ends or destroys no capture on the stream, in whatever state that is. (Synchronising a capturing stream
    ///    or allocating does no harm but lose the capture.)
    /// 4. If it keeps a clone of the stream, what it does with that later obeys these conditions too.
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use std::sync::Arc;
    /// use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DriverError};
    /// use dacapo::{Device, Enqueue, ThreadLocal};
    ///
    /// // An engine's step, as it is.
    /// fn step(stream: &Arc<CudaStream>, from: &CudaSlice<u32>, to: &mut CudaSlice<u32>) -> Result<(), DriverError> {
    ///     stream.memcpy_dtod(from, to)
    /// }
    ///
    /// let context = CudaContext::new(0)?;
    /// // SAFETY: nothing has been allocated yet.
    /// unsafe { context.disable_event_tracking() };
    /// let own = context.new_stream()?;
    /// let (from, mut to) = (own.clone_htod(&[1u32, 2, 3])?, own.alloc_zeros::<u32>(3)?);
    /// own.synchronize()?;
    ///
    /// let stream = Device::adopt(context)?.stream()?;
    /// let captured = stream.capture(ThreadLocal, |c| {
    ///     // SAFETY: the step copies between two slices on this stream alone, and both are retained.
    ///     unsafe { c.raw(|stream| step(stream, &from, &mut to)) }?;
    ///     c.retain((from, to));
    ///     Ok(())
    /// })?;
    /// assert_eq!(captured.census().to_string(), "memcpy ×1");
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    unsafe fn raw<R, E: Into<BoxError>>(
        &mut self,
        body: impl FnOnce(&Arc<CudaStream>) -> Result<R, E>,
    ) -> Result<R, Error> {
        // In nobody's turn: the body may replay. That no sibling captures meanwhile is for the caller to see to.
        let stream = self.site(OnlyForDacapo::new())?.enter()?.lane.stream().clone();
        body(&stream).map_err(Error::from_body)
    }
}

impl<S: State> Enqueue for Stream<S> {}
impl Enqueue for Eager<'_> {}
impl Enqueue for Work<'_> {}

/// How the driver can fill memory with an element's bytes.
#[derive(PartialEq, Eq, Debug)]
enum Fill {
    /// The bytes repeat after one unit.
    Uniform(FillValue),
    /// One strided fill a unit of the element.
    Strided(Vec<FillValue>),
}

impl Fill {
    fn of(bytes: &[u8]) -> Self {
        let repeats =
            |period: usize| bytes.len().is_multiple_of(period) && bytes.chunks(period).all(|c| c == &bytes[..period]);
        match [1, 2, 4].into_iter().find(|&period| repeats(period)) {
            Some(period) => Self::Uniform(unit(&bytes[..period])),
            None => Self::Strided(bytes.chunks(bytes.len() / units_of(bytes.len())).map(unit).collect()),
        }
    }
}

/// Into how many units of 4, 2 or 1 bytes an element of this size divides.
fn units_of(bytes: usize) -> usize {
    [4, 2].into_iter().find(|&unit| bytes.is_multiple_of(unit)).map_or(bytes, |unit| bytes / unit)
}

fn unit(bytes: &[u8]) -> FillValue {
    match *bytes {
        [a] => FillValue::D8(a),
        [a, b] => FillValue::D16(u16::from_ne_bytes([a, b])),
        [a, b, c, d] => FillValue::D32(u32::from_ne_bytes([a, b, c, d])),
        _ => unreachable!("units have one, two or four bytes"),
    }
}

fn unit_bytes(value: FillValue) -> usize {
    match value {
        FillValue::D8(_) => 1,
        FillValue::D16(_) => 2,
        FillValue::D32(_) => 4,
    }
}

pub(crate) mod sealed {
    use super::{Core, Eager, Error, OnlyForDacapo, Retained, Site, Stream, Turns, Work};
    use crate::state::{Phase, State};

    #[diagnostic::on_unimplemented(
        message = "work cannot be enqueued on a `{Self}`: it is enqueued on a `Stream`, in any state",
        note = "write the function over `&mut impl Enqueue`, and pass it a stream"
    )]
    pub trait Recorder {
        /// Where to enqueue. Refuses on a poisoned lane; makes room first.
        fn site(&mut self, _: OnlyForDacapo) -> Result<Site<'_>, Error>;

        /// Where to keep what is handed in.
        fn keeper(&mut self, _: OnlyForDacapo) -> &Retained;
    }

    impl<S: State> Recorder for Stream<S> {
        fn site(&mut self, seal: OnlyForDacapo) -> Result<Site<'_>, Error> {
            let Core { lane, in_flight, .. } = &mut self.core;
            lane.check()?;
            in_flight.make_room(lane)?;
            let turns = if S::PHASE == Phase::Capturing { Turns::OfCapture } else { Turns::Each };
            Ok(Site { lane, root: lane, turns, keep: S::keep(in_flight, &self.data, seal) })
        }

        fn keeper(&mut self, seal: OnlyForDacapo) -> &Retained {
            S::keep(&self.core.in_flight, &self.data, seal).retained
        }
    }

    impl Recorder for Eager<'_> {
        fn site(&mut self, _: OnlyForDacapo) -> Result<Site<'_>, Error> {
            Eager::site(self)
        }

        fn keeper(&mut self, _: OnlyForDacapo) -> &Retained {
            self.keep().retained
        }
    }

    impl Recorder for Work<'_> {
        fn site(&mut self, _: OnlyForDacapo) -> Result<Site<'_>, Error> {
            let site = Work::site(self);
            site.lane.check()?;
            Ok(site)
        }

        fn keeper(&mut self, _: OnlyForDacapo) -> &Retained {
            Work::site(self).keep.retained
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_that_repeats_is_filled_in_one_go() {
        assert_eq!(Fill::of(&[0; 24]), Fill::Uniform(FillValue::D8(0)));
        assert_eq!(Fill::of(&[1, 2, 1, 2]), Fill::Uniform(FillValue::D16(u16::from_ne_bytes([1, 2]))));
        assert_eq!(Fill::of(&1.5f32.to_ne_bytes()), Fill::Uniform(FillValue::D32(1.5f32.to_bits())));
        assert_eq!(Fill::of(&[7, 7, 7]), Fill::Uniform(FillValue::D8(7)));
    }

    #[test]
    fn any_other_element_is_filled_unit_by_unit() {
        let halves = [1u32, 2].map(FillValue::D32);
        assert_eq!(Fill::of(bytemuck::bytes_of(&[1u32, 2])), Fill::Strided(halves.to_vec()));
        assert_eq!(Fill::of(&[1, 2, 3]), Fill::Strided([1, 2, 3].map(FillValue::D8).to_vec()));
        let pairs = [[1, 2], [3, 4], [5, 6]].map(u16::from_ne_bytes).map(FillValue::D16);
        assert_eq!(Fill::of(&[1, 2, 3, 4, 5, 6]), Fill::Strided(pairs.to_vec()));
    }
}
