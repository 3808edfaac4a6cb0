//! What every stream can do that is not capturing: wait, and move data to and from the host at once.

#![allow(unsafe_code)]

use bytemuck::Pod;

use super::Stream;
use crate::buffer::Buffer;
use crate::error::{Error, Misuse};
use crate::runtime::CapturePolicy;
use crate::state::{Resting, State};

impl<S: State> Stream<S> {
    /// Waits until everything enqueued on the stream so far has finished, replays included, and lets go of what eager
    /// work used.
    ///
    /// # Errors
    /// [`DriverError`](crate::DriverError): a device fault of earlier work shows up here.
    /// [`Error::HostPanicked`] if a host call has panicked.
    #[doc(alias = "cuStreamSynchronize")]
    pub fn synchronize(&mut self) -> Result<(), Error>
    where
        S: Resting,
    {
        self.core.drain()?;
        self.core.lane.host_panic().take()
    }

    /// Allocates a buffer of `len` elements, all bytes zero. Waits until it is, so it may be used on any stream.
    ///
    /// # Errors
    /// [`Misuse::ZeroLength`], [`Misuse::SizeOverflow`], [`DriverError`](crate::DriverError).
    #[doc(alias = "cuMemAlloc")]
    pub fn alloc<T: Pod>(&mut self, len: usize) -> Result<Buffer<T>, Error>
    where
        S: Resting,
    {
        use super::Enqueue;

        self.core.lane.check()?;
        let buffer = Buffer::allocate(self.device(), len)?;
        self.fill(&buffer, T::zeroed())?;
        self.synchronize()?;
        Ok(buffer)
    }

    /// Allocates a buffer and copies `source` into it. Waits until it has, so it may be used on any stream.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc).
    pub fn buffer_from<T: Pod>(&mut self, source: &[T]) -> Result<Buffer<T>, Error>
    where
        S: Resting,
    {
        self.core.lane.check()?;
        let buffer = Buffer::allocate(self.device(), source.len())?;
        self.write(source, &buffer)?;
        Ok(buffer)
    }

    /// Copies `source` into a buffer of the same length, after everything enqueued so far. Waits until it has.
    ///
    /// # Errors
    /// [`Misuse::LengthMismatch`], [`Misuse::WrongContext`], [`DriverError`](crate::DriverError).
    #[doc(alias = "cuMemcpyHtoD")]
    pub fn write<T: Pod>(&mut self, source: &[T], destination: &Buffer<T>) -> Result<(), Error>
    where
        S: Resting,
    {
        self.check_transfer(source.len(), destination.len(), destination)?;
        let (driver, stream) = (self.core.lane.driver(), self.core.lane.handle());
        let (from, to, bytes) = (source.as_ptr().cast(), destination.device_ptr(), destination.size_bytes());
        // SAFETY: (1) both are of this length; the buffer is in flight, and the slice is borrowed until the drain below
        // has returned. Should that fail, the device has faulted and runs nothing more. (2) The lane keeps its stream.
        let copied = unsafe { driver.memcpy_htod_async(from, to, bytes, stream) };
        self.synchronize()?;
        Ok(copied?)
    }

    /// Copies a buffer out, after everything enqueued so far, replays included. Waits until it has.
    ///
    /// # Errors
    /// [`Misuse::WrongContext`], [`DriverError`](crate::DriverError).
    #[doc(alias = "cuMemcpyDtoH")]
    pub fn read<T: Pod>(&mut self, source: &Buffer<T>) -> Result<Vec<T>, Error>
    where
        S: Resting,
    {
        let mut destination = vec![T::zeroed(); source.len()];
        self.read_into(source, &mut destination)?;
        Ok(destination)
    }

    /// As [`read`](Self::read), into a slice of the same length.
    ///
    /// # Errors
    /// As [`read`](Self::read), and [`Misuse::LengthMismatch`].
    pub fn read_into<T: Pod>(&mut self, source: &Buffer<T>, destination: &mut [T]) -> Result<(), Error>
    where
        S: Resting,
    {
        self.check_transfer(source.len(), destination.len(), source)?;
        let (driver, stream) = (self.core.lane.driver(), self.core.lane.handle());
        let (from, to, bytes) = (source.device_ptr(), destination.as_mut_ptr().cast(), source.size_bytes());
        // SAFETY: (1) both are of this length; the buffer is in flight, and the slice is borrowed until the drain below
        // has returned. Should that fail, the device has faulted and runs nothing more. (2) It is borrowed mutably, so
        // nobody reads it. (3) The lane keeps its stream.
        let copied = unsafe { driver.memcpy_dtoh_async(from, to, bytes, stream) };
        self.synchronize()?;
        Ok(copied?)
    }

    /// Sets what later captures on this stream take; the default is [`CapturePolicy::new`].
    pub fn with_policy(mut self, policy: CapturePolicy) -> Self
    where
        S: Resting,
    {
        self.core.policy = policy;
        self
    }

    /// Checks a transfer, and keeps its buffer in flight.
    fn check_transfer<T: Pod>(
        &mut self,
        source_len: usize,
        destination_len: usize,
        buffer: &Buffer<T>,
    ) -> Result<(), Error> {
        self.core.lane.check()?;
        if source_len != destination_len {
            return Err(Misuse::LengthMismatch { source_len, destination_len }.into());
        }
        if !self.device().same_context(buffer.device()) {
            return Err(Misuse::WrongContext { what: "buffer" }.into());
        }
        self.core.in_flight.retained(&self.core.lane)?.share(buffer.allocation());
        Ok(())
    }
}
