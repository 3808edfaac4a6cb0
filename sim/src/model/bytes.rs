//! The bytes behind simulated memory, and the only code that copies and fills them.
//!
//! 1. Every access happens under the driver's lock, so no two accesses of the simulator overlap in time.
//! 2. Page-locked host memory is the caller's own and may be touched by its threads at any time: it is only accessed by
//!    relaxed atomics, which pair with nothing; ordering comes from the caller waiting for the work.
//! 3. No Rust reference to the bytes is ever made.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Fresh allocations up to this size hold [`PATTERN`] instead of zero, so that a missing initialisation shows.
const PATTERN_UP_TO: usize = 1 << 16;
/// What a small fresh allocation holds.
const PATTERN: u8 = 0xA5;

/// Memory owned by the simulator that backs one block.
#[derive(Debug)]
pub(crate) struct Backing {
    data: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the block of bytes is owned by this value alone, and is reached only through it, under the driver's lock.
unsafe impl Send for Backing {}

impl Backing {
    /// Fresh bytes: a pattern for small sizes, zero pages that the operating system supplies lazily for large ones.
    pub(crate) fn fresh(bytes: u64) -> Option<Backing> {
        let len = usize::try_from(bytes).ok()?;
        let backing = Backing::zeroed(len, 16)?;
        if len <= PATTERN_UP_TO {
            // SAFETY: the backing owns `len` bytes from `data` on.
            unsafe { backing.data.as_ptr().write_bytes(PATTERN, len) };
        }
        Some(backing)
    }

    /// Zero bytes at an alignment.
    pub(crate) fn zeroed(len: usize, align: usize) -> Option<Backing> {
        let layout = Layout::from_size_align(len.max(1), align).ok()?;
        // SAFETY: the layout has a size of at least one byte.
        let data = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Backing { data, layout })
    }

    /// The first byte.
    pub(crate) fn data(&self) -> *mut u8 {
        self.data.as_ptr()
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        // SAFETY: `data` came from the global allocator with this very layout and is freed once.
        unsafe { dealloc(self.data.as_ptr(), self.layout) };
    }
}

/// A place that bytes can be moved to or from, with at least as many bytes as the access needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// The first byte.
    pub(crate) data: *mut u8,
    /// Whether host threads may touch the bytes meanwhile.
    pub(crate) shared: bool,
}

/// Moves bytes; the places may overlap.
///
/// # Safety
///
/// Both spans must hold `len` bytes that are valid for reads (`src`) and writes (`dst`) for the whole call, and nobody may
/// access the bytes of a span that is not `shared` meanwhile.
pub(crate) unsafe fn copy(dst: Span, src: Span, len: usize) {
    if !dst.shared && !src.shared {
        // SAFETY: the caller vouches for both ranges; `copy` allows overlap.
        unsafe { std::ptr::copy(src.data, dst.data, len) };
        return;
    }
    if (src.data as usize) < (dst.data as usize) && (dst.data as usize) - (src.data as usize) < len {
        // An overlap that a forward walk would corrupt: go through a private buffer.
        let mut staged = vec![0u8; len];
        let middle = Span { data: staged.as_mut_ptr(), shared: false };
        // SAFETY: `staged` holds `len` bytes of its own; the caller vouches for the other two.
        unsafe { forward(middle, src, len) };
        // SAFETY: as above.
        unsafe { forward(dst, middle, len) };
        return;
    }
    // SAFETY: the caller vouches for both ranges, and a forward walk is right for them.
    unsafe { forward(dst, src, len) };
}

/// Moves bytes from low to high addresses by relaxed atomics, by words where both sides are aligned alike.
///
/// # Safety
///
/// As for [`copy`].
unsafe fn forward(dst: Span, src: Span, len: usize) {
    const WORD: usize = size_of::<u64>();
    let mut at = 0;
    let alike = (dst.data as usize) % WORD == (src.data as usize) % WORD;
    while at < len {
        // SAFETY: `at` is below `len`, so both pointers stay inside the ranges that the caller vouches for.
        let (to, from) = unsafe { (dst.data.add(at), src.data.add(at)) };
        if alike && (to as usize).is_multiple_of(WORD) && len - at >= WORD {
            // SAFETY: a whole aligned word lies inside both ranges; the memory is valid for the call.
            let (to, from) = unsafe { (AtomicU64::from_ptr(to.cast()), AtomicU64::from_ptr(from.cast())) };
            // Relaxed: invariant 2.
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
            at += WORD;
        } else {
            // SAFETY: one byte lies inside both ranges; the memory is valid for the call.
            let (to, from) = unsafe { (AtomicU8::from_ptr(to), AtomicU8::from_ptr(from)) };
            // Relaxed: invariant 2.
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
            at += 1;
        }
    }
}

/// Repeats the low `width` bytes of `value` over `count` elements.
///
/// # Safety
///
/// `dst` must hold `width * count` bytes valid for writes for the whole call; if it is not `shared`, nobody else may touch
/// them meanwhile. `width` must be 1, 2 or 4.
pub(crate) unsafe fn fill(dst: Span, value: u32, width: usize, count: usize) {
    let pattern = value.to_le_bytes();
    if !dst.shared && (width == 1 || pattern[..width].iter().all(|byte| *byte == pattern[0])) {
        // SAFETY: the caller vouches for the range.
        unsafe { dst.data.write_bytes(pattern[0], width * count) };
        return;
    }
    for at in 0..width * count {
        // SAFETY: `at` is below the length that the caller vouches for.
        let byte = unsafe { AtomicU8::from_ptr(dst.data.add(at)) };
        // Relaxed: invariant 2.
        byte.store(pattern[at % width], Ordering::Relaxed);
    }
}

/// Copies bytes out into a buffer of the simulator's own.
///
/// # Safety
///
/// As for [`copy`], with `src` as the source.
pub(crate) unsafe fn read(src: Span, len: usize) -> Box<[u8]> {
    let mut buffer = vec![0u8; len].into_boxed_slice();
    // SAFETY: the buffer holds `len` bytes of its own; the caller vouches for the source.
    unsafe { copy(Span { data: buffer.as_mut_ptr(), shared: false }, src, len) };
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(bytes: &mut [u8], shared: bool) -> Span {
        Span { data: bytes.as_mut_ptr(), shared }
    }

    #[test]
    fn shared_copies_move_every_byte_at_any_alignment() {
        for offset in 0..9 {
            let mut src: Vec<u8> = (0..64).collect();
            let mut dst = [0u8; 64];
            // SAFETY: both vectors hold 40 bytes from the offsets used.
            unsafe { copy(span(&mut dst[3..], true), span(&mut src[offset..], true), 40) };
            assert_eq!(dst[3..43], src[offset..offset + 40]);
            assert_eq!(dst[43], 0);
        }
    }

    #[test]
    fn overlapping_shared_copies_keep_the_source() {
        let mut bytes: Vec<u8> = (0..32).collect();
        let base = bytes.as_mut_ptr();
        let src = Span { data: base, shared: true };
        // SAFETY: offset 4 with 20 bytes stays inside the 32.
        let dst = Span { data: unsafe { base.add(4) }, shared: true };
        // SAFETY: both ranges lie in `bytes`.
        unsafe { copy(dst, src, 20) };
        assert_eq!(bytes[4..24], (0..20).collect::<Vec<u8>>());
    }

    #[test]
    fn fills_repeat_the_element() {
        let mut bytes = [0u8; 9];
        // SAFETY: eight bytes fit.
        unsafe { fill(span(&mut bytes, false), 0x0403_0201, 4, 2) };
        assert_eq!(bytes, [1, 2, 3, 4, 1, 2, 3, 4, 0]);
        // SAFETY: nine bytes fit.
        unsafe { fill(span(&mut bytes, true), 0x0707, 1, 9) };
        assert_eq!(bytes, [7; 9]);
    }

    #[test]
    fn a_small_fresh_backing_is_not_zero() {
        let backing = Backing::fresh(64).expect("64 bytes");
        // SAFETY: the backing holds 64 bytes that nobody else touches.
        let bytes = unsafe { read(Span { data: backing.data(), shared: false }, 64) };
        assert!(bytes.iter().all(|byte| *byte == PATTERN));
    }
}
