//! Device memory with shared ownership.

#![allow(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use bytemuck::Pod;
use cudarc::driver::{CudaSlice, CudaStream};

use crate::device::Device;
use crate::driver::StreamHandle;
use crate::error::{Error, Misuse, Rejected};
use crate::sync::Arc;

/// `len` elements of `T` in device memory. Cloning adds an owner; no bytes are copied.
///
/// Work that is enqueued or recorded with a buffer owns it too: the memory is freed once the last clone is gone, every
/// graph that names it is destroyed, and the streams that used it have drained. `T` is any plain type
/// ([`Pod`]): no padding, every bit pattern valid.
///
/// Made by [`Stream::alloc`](crate::Stream::alloc) and [`Stream::buffer_from`](crate::Stream::buffer_from), or from
/// cudarc's own slice by [`Device::adopt_slice`].
///
/// # Dropping
/// Drops one owner. The last one frees the memory (`cuMemFree`, under the relaxed thread mode, so that no capture is
/// hurt); an error of that is parked and reported by the next begin.
pub struct Buffer<T> {
    allocation: Arc<Allocation>,
    /// Bytes from the start of the allocation.
    offset: usize,
    len: usize,
    element: PhantomData<fn() -> T>,
}

/// One allocation; its address is fixed for its life.
pub(crate) struct Allocation {
    device: Device,
    address: u64,
    bytes: usize,
    /// The stream that an adopted slice was allocated on, kept as the slice kept it.
    _origin: Option<Arc<CudaStream>>,
}

impl Allocation {
    /// Address and size in bytes.
    pub(crate) fn span(&self) -> (u64, usize) {
        (self.address, self.bytes)
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let freed = self.device.with_current(|driver| {
            // SAFETY:
            // 1. The address came from `mem_alloc` or a slice's pool, is owned by this value alone, and is freed once.
            // 2. Work owns the buffers that it uses (see `Retained`), so none is pending and no graph names it. Of what others
            //    enqueued before a slice was adopted, `adopt_slice` demands it.
            unsafe { driver.mem_free(self.address) }
        });
        self.device.park(freed);
    }
}

/// The size of `len` elements of `T`, if there can be such memory.
pub(crate) fn bytes_of<T>(len: usize) -> Result<usize, Misuse> {
    let size = size_of::<T>();
    let bytes = len.checked_mul(size).filter(|&bytes| isize::try_from(bytes).is_ok());
    match bytes {
        Some(0) => Err(Misuse::ZeroLength),
        Some(bytes) => Ok(bytes),
        None => Err(Misuse::SizeOverflow { elements: len, size }),
    }
}

impl<T: Pod> Buffer<T> {
    /// Allocates; the contents are undefined.
    pub(crate) fn allocate(device: &Device, len: usize) -> Result<Self, Error> {
        let bytes = bytes_of::<T>(len)?;
        let address = device.with_current(|driver| driver.mem_alloc(bytes))?;
        let allocation = Arc::new(Allocation { device: device.clone(), address, bytes, _origin: None });
        Ok(Self { allocation, offset: 0, len, element: PhantomData })
    }

    /// A part of the buffer, which owns the memory as the whole does.
    ///
    /// # Errors
    /// [`Misuse::OutOfRange`] if the range is not inside the buffer, [`Misuse::ZeroLength`] if it is empty.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Self, Error> {
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&last) => last.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => self.len,
        };
        if start > end || end > self.len {
            return Err(Misuse::OutOfRange { start, end, len: self.len }.into());
        }
        if start == end {
            return Err(Misuse::ZeroLength.into());
        }
        let offset = self.offset + start * size_of::<T>();
        Ok(Self { allocation: self.allocation.clone(), offset, len: end - start, element: PhantomData })
    }
}

#[expect(clippy::len_without_is_empty, reason = "a buffer is never empty: the driver has no memory of no bytes")]
impl<T> Buffer<T> {
    /// Elements in the buffer; at least one.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes in the buffer.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// The address of the first element, fixed for the buffer's life; a number, which keeps nothing alive.
    #[must_use]
    pub fn device_ptr(&self) -> u64 {
        self.allocation.address + self.offset as u64
    }

    /// The device that the memory is on.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.allocation.device
    }

    pub(crate) fn allocation(&self) -> &Arc<Allocation> {
        &self.allocation
    }

    /// Whether the two share a byte.
    pub(crate) fn overlaps<U>(&self, other: &Buffer<U>) -> bool {
        let (ours, theirs) = (self.device_ptr(), other.device_ptr());
        ours < theirs + other.size_bytes() as u64 && theirs < ours + self.size_bytes() as u64
    }
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Self { allocation: self.allocation.clone(), offset: self.offset, len: self.len, element: PhantomData }
    }
}

impl<T> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("address", &format_args!("{:#x}", self.device_ptr()))
            .field("len", &self.len)
            .field("element", &std::any::type_name::<T>())
            .finish()
    }
}

impl Device {
    /// Takes a cudarc slice as a [`Buffer`], without copying. Waits for the work of the slice's stream, so that the
    /// buffer can be used on any.
    ///
    /// # Safety
    /// 1. No work that uses the slice is pending on another stream than its own.
    /// 2. No graph that others have captured names its memory, or it is launched no more.
    ///
    /// # Errors
    /// The slice comes back with: [`Misuse::WrongContext`] if it is of another context, [`Misuse::EventTracking`] if
    /// tracking is on in its context, [`Misuse::ZeroLength`] if it is empty, [`Misuse::AlreadyCapturing`] if its stream
    /// is capturing, [`DriverError`](crate::DriverError) if its stream cannot be drained.
    pub unsafe fn adopt_slice<T: Pod>(&self, slice: CudaSlice<T>) -> Result<Buffer<T>, Rejected<CudaSlice<T>>> {
        match self.check_adoption(&slice) {
            Ok(()) => {}
            Err(error) => return Err(Rejected::new(slice, error)),
        }
        let (len, bytes, origin) = (slice.len(), slice.num_bytes(), slice.stream().clone());
        let address = slice.leak();
        let allocation = Arc::new(Allocation { device: self.clone(), address, bytes, _origin: Some(origin) });
        Ok(Buffer { allocation, offset: 0, len, element: PhantomData })
    }

    fn check_adoption<T>(&self, slice: &CudaSlice<T>) -> Result<(), Error> {
        self.check_fault()?;
        if slice.context().cu_ctx() != self.cuda_context().cu_ctx() {
            return Err(Misuse::WrongContext { what: "slice" }.into());
        }
        if slice.context().is_event_tracking() {
            return Err(Misuse::EventTracking.into());
        }
        bytes_of::<T>(slice.len())?;
        let stream = StreamHandle::of(slice.stream());
        // SAFETY: (1) the slice keeps its stream alive.
        if unsafe { self.driver().stream_is_capturing(stream) }? != 0 {
            return Err(Misuse::AlreadyCapturing.into());
        }
        // SAFETY: (1) as above. (2) It was not capturing a moment ago; who begins a capture on it at this moment, on
        // another thread, loses that capture with an error.
        Ok(unsafe { self.driver().stream_synchronize(stream) }?)
    }
}

static_assertions::assert_impl_all!(Buffer<f32>: Send, Sync, Clone);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_checked() {
        assert_eq!(bytes_of::<u32>(3), Ok(12));
        assert_eq!(bytes_of::<u32>(0), Err(Misuse::ZeroLength));
        assert_eq!(bytes_of::<[u32; 0]>(7), Err(Misuse::ZeroLength));
        let too_many = usize::MAX / 4 + 1;
        assert_eq!(bytes_of::<u32>(too_many), Err(Misuse::SizeOverflow { elements: too_many, size: 4 }));
        let past_isize = isize::MAX as usize / 4 + 1;
        assert_eq!(bytes_of::<u32>(past_isize), Err(Misuse::SizeOverflow { elements: past_isize, size: 4 }));
    }
}
