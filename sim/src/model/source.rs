//! Digests of page-locked copy sources, to notice when a program overwrites one before the copy has run.
//!
//! A digest is taken when the copy is submitted and compared when it runs. Two things other than the program's threads write
//! page-locked memory: device work, and host functions in stream order. Either makes the digests taken before it useless, and
//! they are then not compared: a violation is never reported for what the stream order allows.

use super::Driver;
use super::bytes;
use crate::report::Range;

impl Driver {
    /// A digest of a page-locked range, mixed with how often anything but the program's threads may have written it.
    pub(crate) fn digest(&self, address: u64, bytes: u64) -> Option<Digest> {
        let (_, pinned) = self.pinned_at(address)?;
        let span = self.memory.span(address, bytes).ok()?;
        // SAFETY: `span` vouches for the range; page-locked memory is read by relaxed atomics.
        let content = unsafe { bytes::read(span, bytes as usize) };
        // FNV-1a.
        let hash = content
            .iter()
            .fold(0xCBF2_9CE4_8422_2325u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3));
        Some(Digest { hash, writes: pinned.device_writes, host_runs: self.host_runs })
    }

    /// Whether the program has changed a range since a digest was taken.
    pub(crate) fn overwritten(&self, address: u64, bytes: u64, before: Digest) -> bool {
        self.digest(address, bytes).is_some_and(|now| {
            now.writes == before.writes && now.host_runs == before.host_runs && now.hash != before.hash
        })
    }

    /// Device work has written to page-locked memory, or may have.
    pub(crate) fn touch_pinned(&mut self, range: Range) {
        let end = range.address.saturating_add(range.bytes.max(1));
        if let Some((base, pinned)) = self.memory.pinned.range_mut(..end).next_back()
            && base + pinned.len > range.address
        {
            pinned.device_writes += 1;
        }
    }
}

/// What a range held at some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Digest {
    hash: u64,
    writes: u64,
    host_runs: u64,
}
