//! What every stream can do that is not capturing: wait, and move data to and from the host at once.

use bytemuck::Pod;

use super::Stream;
use crate::buffer::Buffer;
use crate::error::Error;
use crate::runtime::{CapturePolicy, Completion, Eager, Waiting};
use crate::state::{Resting, State};

impl<S: State> Stream<S> {
    /// Waits until everything enqueued on the stream so far has finished, replays included, and lets go of what eager
    /// work used.
    ///
    /// # Errors
    /// [`DriverError`](crate::DriverError): a device fault of earlier work shows up here.
    /// [`Error::HostPanicked`] if a host call has panicked.
    /// [`Misuse::CaptureOpen`](crate::Misuse::CaptureOpen) while a sibling captures: a stream that captures cannot be waited for.
    #[doc(alias = "cuStreamSynchronize")]
    pub fn synchronize(&mut self) -> Result<(), Error>
    where
        S: Resting,
    {
        self.core.eager().synchronize()
    }

    /// Allocates a buffer of `len` elements, all bytes zero. Waits until it is, so it may be used on any stream.
    ///
    /// # Errors
    /// [`Misuse::ZeroLength`](crate::Misuse::ZeroLength), [`Misuse::SizeOverflow`](crate::Misuse::SizeOverflow),
    /// [`Misuse::CaptureOpen`](crate::Misuse::CaptureOpen), [`DriverError`](crate::DriverError).
    #[doc(alias = "cuMemAlloc")]
    pub fn alloc<T: Pod>(&mut self, len: usize) -> Result<Buffer<T>, Error>
    where
        S: Resting,
    {
        self.core.eager().alloc(len)
    }

    /// Allocates a buffer and copies `source` into it. Waits until it has, so it may be used on any stream.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc).
    pub fn buffer_from<T: Pod>(&mut self, source: &[T]) -> Result<Buffer<T>, Error>
    where
        S: Resting,
    {
        self.core.eager().buffer_from(source)
    }

    /// Copies `source` into a buffer of the same length, after everything enqueued so far. Waits until it has.
    ///
    /// # Errors
    /// [`Misuse::LengthMismatch`](crate::Misuse::LengthMismatch), [`Misuse::WrongContext`](crate::Misuse::WrongContext),
    /// [`Misuse::CaptureOpen`](crate::Misuse::CaptureOpen), [`DriverError`](crate::DriverError).
    #[doc(alias = "cuMemcpyHtoD")]
    pub fn write<T: Pod>(&mut self, source: &[T], destination: &Buffer<T>) -> Result<(), Error>
    where
        S: Resting,
    {
        self.core.eager().write(source, destination)
    }

    /// Copies a buffer out, after everything enqueued so far, replays included. Waits until it has.
    ///
    /// # Errors
    /// [`Misuse::WrongContext`](crate::Misuse::WrongContext), [`Misuse::CaptureOpen`](crate::Misuse::CaptureOpen),
    /// [`DriverError`](crate::DriverError).
    #[doc(alias = "cuMemcpyDtoH")]
    pub fn read<T: Pod>(&mut self, source: &Buffer<T>) -> Result<Vec<T>, Error>
    where
        S: Resting,
    {
        self.core.eager().read(source)
    }

    /// As [`read`](Self::read), into a slice of the same length.
    ///
    /// # Errors
    /// As [`read`](Self::read), and [`Misuse::LengthMismatch`](crate::Misuse::LengthMismatch).
    pub fn read_into<T: Pod>(&mut self, source: &Buffer<T>, destination: &mut [T]) -> Result<(), Error>
    where
        S: Resting,
    {
        self.core.eager().read_into(source, destination)
    }

    /// Eager work on the stream, as what [`Input`](crate::Input) and [`Output`](crate::Output) are made and used with.
    pub fn eager(&mut self) -> Eager<'_>
    where
        S: Resting,
    {
        self.core.eager()
    }

    /// Stands for everything enqueued so far: whether it has finished can be asked and waited for, on any thread.
    ///
    /// # Errors
    /// [`Misuse::CaptureOpen`](crate::Misuse::CaptureOpen), [`DriverError`](crate::DriverError).
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, Enqueue, Waiting};
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let buffer = stream.alloc::<u32>(1)?;
    /// stream.fill(&buffer, 7)?;
    /// let completion = stream.completion(Waiting::Spin)?;
    /// completion.wait()?; // for that, and for nothing that is enqueued after it
    /// assert!(completion.is_done()?);
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[doc(alias = "cuEventRecord")]
    pub fn completion(&mut self, waiting: Waiting) -> Result<Completion, Error>
    where
        S: Resting,
    {
        self.core.eager().completion(waiting)
    }

    /// What captures on this stream take.
    pub fn policy(&self) -> CapturePolicy
    where
        S: Resting,
    {
        self.core.policy.clone()
    }

    /// Sets what later captures on this stream take; the default is [`CapturePolicy::new`].
    pub fn with_policy(mut self, policy: CapturePolicy) -> Self
    where
        S: Resting,
    {
        self.core.policy = policy;
        self
    }
}
