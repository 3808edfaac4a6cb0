//! Page-locked host memory that copies may name.

#![allow(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use bytemuck::Pod;

use crate::buffer::bytes_of;
use crate::device::Device;
use crate::error::{Error, Misuse};
use crate::sync::{Arc, Ordering, PlainAtomicU64};

/// `len` elements of `T` in page-locked host memory. Cloning adds an owner; no bytes are copied.
///
/// It is what a copy between host and device can be *recorded* with: a graph reads or writes the memory at every
/// replay, so a borrowed slice would not do. Work that is enqueued or recorded with it owns it too.
///
/// A device may write here at any moment, on behalf of any thread that replays. So there is no `&[T]` to be had:
/// [`write`](Self::write) and [`read_into`](Self::read_into) copy, word by word, and are sound at any time. Whether the bytes are
/// the ones you want is a matter of order: synchronise first. A copy that races with the device may be torn.
///
/// # Dropping
/// Drops one owner. The last one frees the memory (`cuMemFreeHost`, under the relaxed thread mode, so that no capture is
/// hurt); an error of that is parked and reported by the next begin.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::{Device, Enqueue};
///
/// let device = Device::open(0)?;
/// let mut stream = device.stream()?;
/// let (staging, buffer) = (device.pinned::<u32>(3)?, stream.alloc::<u32>(3)?);
/// staging.write(&[1, 2, 3])?;
/// stream.upload(&staging, &buffer)?;
/// assert_eq!(stream.read(&buffer)?, [1, 2, 3]);
/// # Ok::<(), dacapo::Error>(())
/// ```
pub struct Pinned<T> {
    block: Arc<Block>,
    len: usize,
    element: PhantomData<fn() -> T>,
}

/// One page-locked block of whole words.
pub(crate) struct Block {
    device: Device,
    /// Invariants: from `mem_host_alloc`, aligned to a page; `words` words long; every access from the host is a relaxed
    /// atomic access to a whole word.
    address: NonNull<PlainAtomicU64>,
    words: usize,
}

// SAFETY: the block owns its memory, and all host access is atomic.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// Address and size in bytes.
    pub(crate) fn span(&self) -> (u64, usize) {
        (self.address.addr().get() as u64, self.words * size_of::<u64>())
    }

    fn words(&self) -> &[PlainAtomicU64] {
        // SAFETY: the address is non-null and aligned, and the block is `words` words long and lives as long as `self`;
        // the words were initialised when it was made. Access through the slice is atomic, as the invariant has it.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.words) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let freed = self.device.with_current(|driver| {
            // SAFETY:
            // 1. The address came from `mem_host_alloc`, is owned by this value alone, and is freed once.
            // 2. Work owns the blocks that it uses (see `Retained`), so none is pending and no graph names it; a
            //    reference to the words borrows the block.
            unsafe { driver.mem_free_host(self.address.as_ptr().cast()) }
        });
        self.device.park(freed);
    }
}

impl Device {
    /// Allocates page-locked host memory for `len` elements, all bytes zero.
    ///
    /// # Errors
    /// [`Misuse::ZeroLength`], [`Misuse::SizeOverflow`], [`Faulted`](crate::Faulted), [`DriverError`](crate::DriverError).
    ///
    /// # References
    /// [cuMemHostAlloc](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html)
    #[doc(alias = "cuMemHostAlloc")]
    pub fn pinned<T: Pod>(&self, len: usize) -> Result<Pinned<T>, Error> {
        self.check_fault()?;
        let bytes = bytes_of::<T>(len)?;
        let words = bytes.div_ceil(size_of::<u64>());
        let address = self.with_current(|driver| driver.mem_host_alloc(words * size_of::<u64>()))?;
        let address: NonNull<PlainAtomicU64> = NonNull::new(address.cast()).ok_or(Misuse::ZeroLength)?;
        // SAFETY: the driver has just allocated this many words here, and nobody else has seen them.
        unsafe { address.write_bytes(0, words) };
        let block = Arc::new(Block { device: self.clone(), address, words });
        Ok(Pinned { block, len, element: PhantomData })
    }
}

impl<T: Pod> Pinned<T> {
    /// Copies `source` in.
    ///
    /// # Errors
    /// [`Misuse::LengthMismatch`] unless `source` is as long as the memory.
    pub fn write(&self, source: &[T]) -> Result<(), Error> {
        Misuse::check_lengths(source.len(), self.len)?;
        for (word, bytes) in self.block.words().iter().zip(bytemuck::cast_slice(source).chunks(size_of::<u64>())) {
            let mut whole = [0; size_of::<u64>()];
            whole[..bytes.len()].copy_from_slice(bytes);
            // Relaxed: pairs with nothing. Order with the device is the driver's: a copy that is enqueued after this
            // returns reads these words, as the manual's memory model for host memory has it.
            word.store(u64::from_ne_bytes(whole), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Copies everything out into `destination`.
    ///
    /// # Errors
    /// [`Misuse::LengthMismatch`] unless `destination` is as long as the memory.
    pub fn read_into(&self, destination: &mut [T]) -> Result<(), Error> {
        Misuse::check_lengths(self.len, destination.len())?;
        let bytes = bytemuck::cast_slice_mut(destination).chunks_mut(size_of::<u64>());
        for (word, bytes) in self.block.words().iter().zip(bytes) {
            // Relaxed: pairs with nothing. Order with the device is the driver's: a synchronisation that has returned
            // makes the device's writes visible.
            let whole = word.load(Ordering::Relaxed).to_ne_bytes();
            bytes.copy_from_slice(&whole[..bytes.len()]);
        }
        Ok(())
    }

    /// Copies everything out.
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        let mut vec = bytemuck::zeroed_vec(self.len);
        // The lengths are the same by construction.
        let _ = self.read_into(&mut vec);
        vec
    }
}

#[expect(clippy::len_without_is_empty, reason = "never empty: the driver has no memory of no bytes")]
impl<T> Pinned<T> {
    /// Elements; at least one.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// The first byte. Reading or writing through it is subject to what the type's documentation says of races.
    #[must_use]
    pub fn as_ptr(&self) -> *mut T {
        self.block.address.as_ptr().cast()
    }

    pub(crate) fn block(&self) -> &Arc<Block> {
        &self.block
    }
}

impl<T> Clone for Pinned<T> {
    fn clone(&self) -> Self {
        Self { block: self.block.clone(), len: self.len, element: PhantomData }
    }
}

impl<T> fmt::Debug for Pinned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pinned")
            .field("len", &self.len)
            .field("element", &std::any::type_name::<T>())
            .finish_non_exhaustive()
    }
}

/// Host memory that enqueued and recorded copies may name: [`Pinned`].
///
/// Sealed: what a copy names must stay where it is, and alive, for as long as the copy may run.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the host side of a copy that is enqueued or recorded",
    label = "borrowed memory may be gone by the time the copy runs",
    note = "a graph copies at every replay: use a `Pinned` from `Device::pinned`, and `Pinned::write` or `Pinned::read_into` it",
    note = "on a stream that is not capturing, `Stream::write` and `Stream::read` copy a slice at once"
)]
pub trait HostMemory<T: Pod>: sealed::HostMemory<T> {}

impl<T: Pod> HostMemory<T> for Pinned<T> {}

mod sealed {
    use super::{Pinned, Pod};

    pub trait HostMemory<T: Pod> {
        fn pinned(&self) -> &Pinned<T>;
    }

    impl<T: Pod> HostMemory<T> for Pinned<T> {
        fn pinned(&self) -> &Pinned<T> {
            self
        }
    }
}

static_assertions::assert_impl_all!(Pinned<f32>: Send, Sync, Clone);
