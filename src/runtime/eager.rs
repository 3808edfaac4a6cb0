//! Eager work on a lane: what can be done where nothing is being captured.

#![allow(unsafe_code)]

use bytemuck::Pod;

use super::completion::{Completion, Waiting};
use super::event::Event;
use super::in_flight::InFlight;
use super::lane::{Lane, LaneExclusive};
use super::site::{Keep, Place, Site, Turns};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::driver::{Driver, FillValue, StreamHandle};
use crate::error::{DriverError, Error, Misuse};
use crate::pinned::Pinned;
use crate::sync::Arc;

/// Eager work on a stream, in one's turn: what a [seam](crate::Stream::seam) does between two segments, or a
/// [`replay_with`](crate::Replayer::replay_with) before its replay.
///
/// Has the operations of [`Enqueue`](crate::Enqueue), and waits, reads and writes as a stream does that is not capturing.
/// Nobody else puts work on the stream meanwhile.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::{DeviceCounter, Device, Enqueue};
///
/// let mut stream = Device::open(0)?.stream()?;
/// let mut eager = stream.eager();
/// let buffer = eager.buffer_from(&[1u32, 2])?;
/// eager.fill(&buffer, 7)?;
/// assert_eq!(eager.read(&buffer)?, [7, 7]);
/// let counter = DeviceCounter::new(&mut eager)?; // what is made with it runs on the stream
/// assert_eq!(counter.read(&mut eager)?, 0);
/// # Ok::<(), dacapo::Error>(())
/// ```
pub struct Eager<'a> {
    lane: &'a Arc<Lane>,
    in_flight: &'a mut InFlight,
    turns: Turns<'a>,
}

impl<'a> Eager<'a> {
    pub(crate) fn new(lane: &'a Arc<Lane>, in_flight: &'a mut InFlight) -> Self {
        Self { lane, in_flight, turns: Turns::Each }
    }

    pub(crate) fn in_turn(exclusive: &'a LaneExclusive<'a>, lane: &'a Arc<Lane>, in_flight: &'a mut InFlight) -> Self {
        Self { lane, in_flight, turns: Turns::OfHolder(exclusive) }
    }

    /// The device that the stream is on.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.lane.device()
    }

    /// As [`Stream::synchronize`](crate::Stream::synchronize).
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "cuStreamSynchronize")]
    pub fn synchronize(&mut self) -> Result<(), Error> {
        self.lane.check()?;
        self.drain()?;
        self.lane.host_panic().take()
    }

    /// As [`Stream::alloc`](crate::Stream::alloc).
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "cuMemAlloc")]
    pub fn alloc<T: Pod>(&mut self, len: usize) -> Result<Buffer<T>, Error> {
        self.lane.check()?;
        let buffer = Buffer::allocate(self.device(), len)?;
        self.in_flight.retained().share(buffer.allocation());
        let (address, zero, bytes) = (buffer.device_ptr(), FillValue::D8(0), buffer.size_bytes());
        self.see_through(|driver, stream| {
            // SAFETY: (1) the buffer is this long, and in flight. (2) The lane keeps its stream.
            unsafe { driver.memset_async(address, zero, bytes, stream) }
        })?;
        Ok(buffer)
    }

    /// As [`Stream::buffer_from`](crate::Stream::buffer_from).
    ///
    /// # Errors
    /// As there.
    pub fn buffer_from<T: Pod>(&mut self, source: &[T]) -> Result<Buffer<T>, Error> {
        self.lane.check()?;
        let buffer = Buffer::allocate(self.device(), source.len())?;
        self.write(source, &buffer)?;
        Ok(buffer)
    }

    /// As [`Stream::write`](crate::Stream::write).
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "cuMemcpyHtoD")]
    pub fn write<T: Pod>(&mut self, source: &[T], destination: &Buffer<T>) -> Result<(), Error> {
        self.check_transfer(source.len(), destination.len(), destination)?;
        let (from, to, bytes) = (source.as_ptr().cast(), destination.device_ptr(), destination.size_bytes());
        self.see_through(|driver, stream| {
            // SAFETY: (1) both are of this length; the buffer is in flight, and the slice is borrowed until `see_through`
            // returns. (2) The lane keeps its stream.
            unsafe { driver.memcpy_htod_async(from, to, bytes, stream) }
        })
    }

    /// As [`Stream::read`](crate::Stream::read).
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "cuMemcpyDtoH")]
    pub fn read<T: Pod>(&mut self, source: &Buffer<T>) -> Result<Vec<T>, Error> {
        let mut destination = bytemuck::zeroed_vec(source.len());
        self.read_into(source, &mut destination)?;
        Ok(destination)
    }

    /// As [`Stream::read_into`](crate::Stream::read_into).
    ///
    /// # Errors
    /// As there.
    pub fn read_into<T: Pod>(&mut self, source: &Buffer<T>, destination: &mut [T]) -> Result<(), Error> {
        self.check_transfer(source.len(), destination.len(), source)?;
        let (from, to, bytes) = (source.device_ptr(), destination.as_mut_ptr().cast(), source.size_bytes());
        self.see_through(|driver, stream| {
            // SAFETY: (1) both are of this length; the buffer is in flight, and the slice is borrowed until `see_through`
            // returns. (2) It is borrowed mutably, so nobody reads it. (3) The lane keeps its stream.
            unsafe { driver.memcpy_dtoh_async(from, to, bytes, stream) }
        })
    }

    /// Stands for everything enqueued so far: whether it has finished can be asked and waited for on any thread.
    ///
    /// # Errors
    /// [`DriverError`].
    #[doc(alias = "cuEventRecord")]
    pub fn completion(&mut self, waiting: Waiting) -> Result<Completion, Error> {
        let completion = Completion::unrecorded(self.lane, waiting)?;
        self.record(completion.event())?;
        Ok(completion)
    }

    pub(crate) fn record(&mut self, event: &Event) -> Result<(), Error> {
        self.lane.check()?;
        let _turn = self.turns.take(self.lane)?;
        self.lane.heard(event.record(self.lane))
    }

    pub(crate) fn upload_slot<T: Pod>(
        &mut self,
        from: &Pinned<T>,
        to: &Buffer<T>,
        copied: &Event,
    ) -> Result<(), Error> {
        let Place { lane, retained, .. } = &self.site()?.enter()?;
        retained.share(from.block());
        retained.share(to.allocation());
        let (source, destination, bytes) = (from.as_ptr().cast(), to.device_ptr(), from.size_bytes());
        // SAFETY: (1) both are of this length, and in flight. (2) The lane keeps its stream.
        lane.heard(unsafe { lane.driver().memcpy_htod_async(source, destination, bytes, lane.handle()) })?;
        lane.heard(copied.record(lane))
    }

    pub(crate) fn download_slot<T: Pod>(
        &mut self,
        from: &Buffer<T>,
        to: &Pinned<T>,
        copied: &Event,
    ) -> Result<(), Error> {
        let Place { lane, retained, .. } = &self.site()?.enter()?;
        retained.share(from.allocation());
        retained.share(to.block());
        let (source, destination, bytes) = (from.device_ptr(), to.as_ptr().cast(), from.size_bytes());
        // SAFETY: (1) both are of this length, and in flight. (2) Nobody has a plain reference to pinned memory: it is read and
        // written by atomic words only. (3) The lane keeps its stream.
        lane.heard(unsafe { lane.driver().memcpy_dtoh_async(source, destination, bytes, lane.handle()) })?;
        lane.heard(copied.record(lane))
    }

    pub(crate) fn lane(&self) -> &'a Arc<Lane> {
        self.lane
    }

    /// Where work is put. Refuses on a poisoned lane; makes room first.
    pub(crate) fn site(&mut self) -> Result<Site<'_>, Error> {
        self.lane.check()?;
        self.in_flight.make_room(self.lane)?;
        Ok(Site { lane: self.lane, root: self.lane, turns: self.turns, keep: self.keep() })
    }

    pub(crate) fn keep(&self) -> Keep<'_> {
        Keep { retained: self.in_flight.retained(), branches: None }
    }

    /// Drains, and lets go of what eager work used.
    fn drain(&mut self) -> Result<(), Error> {
        self.lane.drain()?;
        self.in_flight.let_go();
        Ok(())
    }

    /// Checks a transfer, and keeps its buffer in flight.
    fn check_transfer<T: Pod>(
        &mut self,
        source_len: usize,
        destination_len: usize,
        buffer: &Buffer<T>,
    ) -> Result<(), Error> {
        self.lane.check()?;
        Misuse::check_lengths(source_len, destination_len)?;
        self.lane.check_context(buffer.device(), "buffer")?;
        self.in_flight.make_room(self.lane)?;
        self.in_flight.retained().share(buffer.allocation());
        Ok(())
    }

    /// Enqueues one piece of work and waits until it has finished with what it was given, whatever comes of it.
    ///
    /// A borrow cannot be kept for good, as other memory is when a drain fails. From and to pageable memory a copy has finished
    /// when its call returns (D12). For memory that the caller has page-locked the drain shows it; if that fails it is made
    /// again, because a device fault sticks (D13): a drain that fails twice says that the context is lost, and a lost context
    /// runs nothing more.
    fn see_through(
        &mut self,
        enqueue: impl FnOnce(&Driver, StreamHandle) -> Result<(), DriverError>,
    ) -> Result<(), Error> {
        // Announced before the work is there, so that no capture begins in between and refuses the drain.
        let draining = self.lane.order().drain()?;
        let turn = self.turns.take(self.lane)?;
        let enqueued = self.lane.heard(enqueue(self.lane.driver(), self.lane.handle()));
        drop(turn);
        let drained = self.lane.synchronize();
        if drained.is_err() {
            // What it says is what the first one has said, or that all is well by now; the first is what is reported.
            let _ = self.lane.synchronize();
        }
        drop(draining);
        enqueued?;
        drop(drained?);
        self.in_flight.let_go();
        Ok(())
    }
}
