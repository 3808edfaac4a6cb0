//! Inputs and outputs of a graph: a fixed address on the device, and page-locked slots that take turns.
//!
//! A graph names addresses, so its inputs and outputs are device buffers that stay where they are. What goes up and down goes through
//! a ring of slots, each with an event: no slot is written while a copy still reads it, or read before a copy has written it.

use std::collections::VecDeque;
use std::fmt;

use bytemuck::Pod;

use super::eager::Eager;
use super::event::Event;
use super::lane::Lane;
use crate::buffer::Buffer;
use crate::driver::EventKind;
use crate::error::{Error, Misuse};
use crate::pinned::Pinned;
use crate::sync::{Arc, Mutex};

/// A slot: host memory, and an event that happens when the last copy from or to it has finished.
struct Slot<T> {
    memory: Pinned<T>,
    copied: Event,
}

/// What an input or output consists of.
struct Ring<T> {
    lane: Arc<Lane>,
    buffer: Buffer<T>,
    of: usize,
    /// Those that nobody has, the one that was used first in front. Locked to take one out or put one in.
    free: Mutex<VecDeque<Slot<T>>>,
}

impl<T: Pod> Ring<T> {
    fn new(eager: &mut Eager<'_>, len: usize, slots: usize) -> Result<Arc<Self>, Error> {
        if slots == 0 {
            return Err(Misuse::ZeroLength.into());
        }
        let (lane, buffer) = (eager.lane().clone(), eager.alloc(len)?);
        let slot =
            |_| Ok(Slot { memory: lane.device().pinned(len)?, copied: Event::new(lane.device(), EventKind::Untimed)? });
        let free = (0..slots).map(slot).collect::<Result<_, Error>>()?;
        Ok(Arc::new(Self { lane, buffer, of: slots, free: Mutex::new(free) }))
    }

    /// Takes the slot that has been unused for longest, once the copy that used it last has finished.
    fn take(&self, eager: &Eager<'_>, len: usize) -> Result<Slot<T>, Error> {
        if !Arc::ptr_eq(&self.lane, eager.lane()) {
            return Err(Misuse::OtherStream.into());
        }
        Misuse::check_lengths(len, self.buffer.len())?;
        let slot = self.free.lock().pop_front().ok_or(Misuse::RingFull { slots: self.of })?;
        match slot.copied.wait() {
            Ok(()) => Ok(slot),
            Err(error) => {
                self.free.lock().push_front(slot);
                Err(error.into())
            }
        }
    }

    fn put(&self, slot: Slot<T>) {
        self.free.lock().push_back(slot);
    }

    /// Takes back a slot whose copy was refused: it may be under way all the same, without an event that tells. If that cannot be
    /// waited for either, the ring is one slot shorter; what a copy may still use is kept in flight.
    fn take_back(&self, slot: Slot<T>, eager: &mut Eager<'_>) {
        if eager.synchronize().is_ok() {
            self.put(slot);
        }
    }
}

/// An input of a graph: `len` elements at a fixed address on the device, written anew before a replay.
///
/// A capture names [`buffer`](Self::buffer). [`write`](Self::write), in [`Replayer::replay_with`](crate::Replayer::replay_with) or on a
/// stream that is not capturing, puts new contents there: it copies them into a page-locked slot, waiting only if all slots are still being
/// read, and enqueues the upload, after the replays that came before and before those that come after. Cloning adds an owner.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::{Device, Enqueue, Input, Output, ThreadLocal};
///
/// let mut stream = Device::open(0)?.stream()?;
/// let (input, output) = (Input::<u32>::new(&mut stream.eager(), 2, 3)?, Output::<u32>::new(&mut stream.eager(), 2, 3)?);
/// let captured = stream.capture(ThreadLocal, |c| c.copy(input.buffer(), output.buffer()))?;
/// let published = captured.publish()?;
/// let replayer = published.replayer();
/// for step in 0..10 {
///     // Upload, replay and download, with nobody else's work in between.
///     let answer = replayer.replay_around(|eager| input.write(eager, &[7, step]), |eager| output.read(eager))?;
///     assert_eq!(answer.wait()?, [7, step]);
/// }
/// # Ok::<(), dacapo::Error>(())
/// ```
pub struct Input<T>(Arc<Ring<T>>);

impl<T: Pod> Input<T> {
    /// An input of `len` elements, zero at first, with so many slots: so many uploads may be under way before one more waits.
    ///
    /// # Errors
    /// [`Misuse::ZeroLength`] for no elements or no slots, and as [`Stream::alloc`](crate::Stream::alloc).
    pub fn new(eager: &mut Eager<'_>, len: usize, slots: usize) -> Result<Self, Error> {
        Ring::new(eager, len, slots).map(Self)
    }

    /// What a capture names.
    #[must_use]
    pub fn buffer(&self) -> &Buffer<T> {
        &self.0.buffer
    }

    /// Enqueues an upload of new contents.
    ///
    /// # Errors
    /// [`Misuse::LengthMismatch`]; [`Misuse::OtherStream`] on another CUDA stream than the one that the input was made on;
    /// [`DriverError`](crate::DriverError).
    #[doc(alias = "cuMemcpyHtoDAsync")]
    pub fn write(&self, eager: &mut Eager<'_>, contents: &[T]) -> Result<(), Error> {
        let slot = self.0.take(eager, contents.len())?;
        slot.memory.write(contents)?;
        match eager.upload_slot(&slot.memory, &self.0.buffer, &slot.copied) {
            Ok(()) => {
                self.0.put(slot);
                Ok(())
            }
            Err(error) => {
                self.0.take_back(slot, eager);
                Err(error)
            }
        }
    }
}

/// An output of a graph: `len` elements at a fixed address on the device, read after a replay.
///
/// A capture names [`buffer`](Self::buffer). [`read`](Self::read), on a stream that is not capturing or in
/// [`Replayer::replay_around`](crate::Replayer::replay_around), enqueues a download into a page-locked slot and returns at once. Cloning
/// adds an owner.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::{Device, Enqueue, Error, Misuse, Output, ThreadLocal};
///
/// let mut stream = Device::open(0)?.stream()?;
/// let output = Output::<u32>::new(&mut stream.eager(), 1, 2)?;
/// let mut published = stream.capture(ThreadLocal, |c| c.fill(output.buffer(), 7))?.publish()?;
/// published.replay()?;
/// let first = output.read(&mut published.eager())?;
/// let second = output.read(&mut published.eager())?;
/// let third = output.read(&mut published.eager());
/// assert!(matches!(third, Err(Error::Misuse(Misuse::RingFull { slots: 2 }))));
/// assert_eq!(first.wait()?, second.wait()?); // which makes room again
/// # Ok::<(), dacapo::Error>(())
/// ```
pub struct Output<T>(Arc<Ring<T>>);

impl<T: Pod> Output<T> {
    /// An output of `len` elements, zero at first, with so many slots: so many answers may be held at a time.
    ///
    /// # Errors
    /// [`Misuse::ZeroLength`] for no elements or no slots, and as [`Stream::alloc`](crate::Stream::alloc).
    pub fn new(eager: &mut Eager<'_>, len: usize, slots: usize) -> Result<Self, Error> {
        Ring::new(eager, len, slots).map(Self)
    }

    /// What a capture names.
    #[must_use]
    pub fn buffer(&self) -> &Buffer<T> {
        &self.0.buffer
    }

    /// Enqueues a download of the contents, as they are after everything enqueued so far.
    ///
    /// # Errors
    /// [`Misuse::RingFull`] if every slot is held by an [`Answer`]; [`Misuse::OtherStream`] on another CUDA stream than the one that
    /// the output was made on; [`DriverError`](crate::DriverError).
    #[doc(alias = "cuMemcpyDtoHAsync")]
    pub fn read(&self, eager: &mut Eager<'_>) -> Result<Answer<T>, Error> {
        let slot = self.0.take(eager, self.0.buffer.len())?;
        match eager.download_slot(&self.0.buffer, &slot.memory, &slot.copied) {
            Ok(()) => Ok(Answer { ring: self.0.clone(), slot: Some(slot) }),
            Err(error) => {
                self.0.take_back(slot, eager);
                Err(error)
            }
        }
    }
}

/// What an [`Output`] held at some moment, on its way to the host. It has a slot of the output's.
///
/// # Dropping
/// Gives the slot back, and waits for nothing.
pub struct Answer<T: Pod> {
    ring: Arc<Ring<T>>,
    /// There until dropped.
    slot: Option<Slot<T>>,
}

impl<T: Pod> Answer<T> {
    /// Whether it has arrived. Waits for nothing.
    ///
    /// # Errors
    /// [`DriverError`](crate::DriverError): a device fault of earlier work shows up here.
    #[doc(alias = "cuEventQuery")]
    pub fn is_done(&self) -> Result<bool, Error> {
        self.ring.lane.check()?;
        self.ring.lane.heard(self.slot.as_ref().map_or(Ok(true), |slot| slot.copied.has_happened()))
    }

    /// Waits until it has arrived, and returns it.
    ///
    /// # Errors
    /// [`DriverError`](crate::DriverError): a device fault of earlier work shows up here.
    #[doc(alias = "cuEventSynchronize")]
    pub fn wait(self) -> Result<Vec<T>, Error> {
        self.ring.lane.check()?;
        let Some(slot) = &self.slot else { return Ok(Vec::new()) };
        self.ring.lane.heard(slot.copied.wait())?;
        Ok(slot.memory.to_vec())
    }
}

impl<T: Pod> Drop for Answer<T> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.ring.put(slot);
        }
    }
}

impl<T> Clone for Input<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Clone for Output<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> fmt::Debug for Input<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("buffer", &self.0.buffer).field("slots", &self.0.of).finish()
    }
}

impl<T> fmt::Debug for Output<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("buffer", &self.0.buffer).field("slots", &self.0.of).finish()
    }
}

impl<T: Pod> fmt::Debug for Answer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").finish_non_exhaustive()
    }
}

static_assertions::assert_impl_all!(Input<f32>: Send, Sync, Clone);
static_assertions::assert_impl_all!(Output<f32>: Send, Sync, Clone);
static_assertions::assert_impl_all!(Answer<f32>: Send, Sync);
