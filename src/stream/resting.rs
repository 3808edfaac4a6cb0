//! What every stream can do that is not capturing: wait, and move data to and from the host at once.

#![allow(unsafe_code)]

use bytemuck::Pod;

use super::{Core, Stream};
use crate::buffer::Buffer;
use crate::driver::FillValue;
use crate::error::{DriverError, Error, Misuse};
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
        self.core.lane.check()?;
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
        self.core.lane.check()?;
        let buffer = Buffer::allocate(self.device(), len)?;
        self.core.in_flight.retained().share(buffer.allocation());
        let (driver, stream) = (self.core.lane.driver(), self.core.lane.handle());
        let (address, zero) = (buffer.device_ptr(), FillValue::D8(0));
        // SAFETY: (1) the buffer is this long, and in flight. (2) The lane keeps its stream.
        unsafe { driver.memset_async(address, zero, buffer.size_bytes(), stream) }?;
        self.core.drain()?;
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
        // SAFETY: (1) both are of this length; the buffer is in flight, and the slice is borrowed until
        // `finish_transfer` has seen the copy through. (2) The lane keeps its stream.
        let copied = unsafe { driver.memcpy_htod_async(from, to, bytes, stream) };
        self.finish_transfer(copied)
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
        let mut destination = bytemuck::zeroed_vec(source.len());
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
        // SAFETY: (1) both are of this length; the buffer is in flight, and the slice is borrowed until
        // `finish_transfer` has seen the copy through. (2) It is borrowed mutably, so nobody reads it. (3) The lane keeps its
        // stream.
        let copied = unsafe { driver.memcpy_dtoh_async(from, to, bytes, stream) };
        self.finish_transfer(copied)
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
        let Core { lane, in_flight, .. } = &mut self.core;
        lane.check()?;
        Misuse::check_lengths(source_len, destination_len)?;
        lane.check_context(buffer.device(), "buffer")?;
        in_flight.make_room(lane)?;
        in_flight.retained().share(buffer.allocation());
        Ok(())
    }

    /// Waits until a copy from or to borrowed memory has finished with it, whatever `copied` says of the call itself.
    ///
    /// A borrow cannot be kept for good, as other memory is when a drain fails. From and to pageable memory a copy has finished
    /// when its call returns (D12). For memory that the caller has page-locked the drain shows it; if that fails it is made
    /// again, because a device fault sticks (D13): a drain that fails twice says that the context is lost, and a lost context
    /// runs nothing more.
    fn finish_transfer(&mut self, copied: Result<(), DriverError>) -> Result<(), Error> {
        let drained = self.core.drain();
        if drained.is_err() {
            // What it says is what the first one has said, or that all is well by now; the first is what is reported.
            let _ = self.core.lane.drain();
        }
        copied?;
        Ok(drained?)
    }
}
