//! Devices: what they say of themselves, and the state that is kept per device.
//!
//! The simulated device describes itself like a current data-centre GPU of compute capability 9.0, with features that the
//! simulator does not have reported as absent.

use std::time::Duration;

use super::Driver;
use super::context::Primary;
use super::id::PoolId;
use crate::code::{Code, Outcome};
use crate::engine::QueueDepth;
use crate::report::{Faults, Log, Violations};

/// What `cuDeviceGetName` says.
pub(crate) const NAME: &str = "dacapo simulated device";
/// Compute capability.
pub(crate) const CAPABILITY: (i32, i32) = (9, 0);
/// Streaming multiprocessors.
pub(crate) const MULTIPROCESSORS: u32 = 132;
/// Threads a block may have.
pub(crate) const MAX_THREADS: u32 = 1024;
/// Threads a multiprocessor runs at once.
pub(crate) const THREADS_PER_SM: u32 = 2048;
/// Shared memory a block may have without asking, in bytes.
pub(crate) const SHARED: u32 = 48 << 10;
/// Shared memory a block may have when its function opts in, in bytes.
pub(crate) const SHARED_OPTIN: u32 = 227 << 10;
/// Shared memory of a multiprocessor, in bytes.
pub(crate) const SHARED_PER_SM: u32 = 228 << 10;
/// The least and the greatest priority of a stream.
pub(crate) const PRIORITIES: (i32, i32) = (0, -5);
/// Registers of a multiprocessor.
pub(crate) const REGISTERS_PER_SM: u32 = 65536;

/// A device.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) ordinal: u32,
    /// Devices of one group share their device faults.
    pub(crate) group: u32,
    pub(crate) primary: Option<Primary>,
    pub(crate) primary_flags: u32,
    pub(crate) default_pool: Option<PoolId>,
    pub(crate) current_pool: Option<PoolId>,
    /// The device fault that every call of its contexts returns from then on.
    pub(crate) poison: Option<Code>,
    /// How much a queue holds before a call waits for room.
    pub(crate) queue_depth: QueueDepth,
    /// The host's simulated time for this device: that of the latest work that somebody has waited for, of its own or of
    /// a device coupled with it.
    pub(crate) now: u64,
    /// How long a wait may go on without anything getting done, if not for ever.
    pub(crate) patience: Option<Duration>,
    pub(crate) log: Log,
    pub(crate) faults: Faults,
    pub(crate) violations: Violations,
    /// Graph memory: bytes reserved now and at most.
    pub(crate) graph_reserved: u64,
    pub(crate) graph_high: u64,
}

impl Device {
    /// A device at rest. With `coupled`, a fault on one device fails them all.
    pub(crate) fn new(ordinal: u32, coupled: bool) -> Device {
        Device {
            ordinal,
            group: if coupled { 0 } else { ordinal },
            primary: None,
            primary_flags: 0,
            default_pool: None,
            current_pool: None,
            poison: None,
            queue_depth: QueueDepth::default(),
            now: 0,
            patience: None,
            log: Log::default(),
            faults: Faults::default(),
            violations: Violations::default(),
            graph_reserved: 0,
            graph_high: 0,
        }
    }

    /// Sixteen bytes that no other device has.
    pub(crate) fn uuid(&self) -> [u8; 16] {
        let mut uuid = *b"dacapo-sim-dev\0\0";
        uuid[14..].copy_from_slice(&(self.ordinal as u16).to_be_bytes());
        uuid
    }

    /// The PCI address, as `cuDeviceGetPCIBusId` prints it.
    pub(crate) fn pci_bus_id(&self) -> String {
        format!("0000:{:02X}:00.0", self.ordinal + 1)
    }
}

impl Driver {
    /// `cuDeviceCanAccessPeer`.
    pub(crate) fn can_access_peer(&self, device: i32, peer: i32) -> Outcome<bool> {
        Ok(self.ordinal(device)? != self.ordinal(peer)?)
    }

    /// `cuDeviceGetP2PAttribute`: performance rank, access, native atomics, array access.
    pub(crate) fn p2p_attribute(&self, attribute: u32, from: i32, to: i32) -> Outcome<i32> {
        if !self.can_access_peer(from, to)? {
            return Err(Code::INVALID_DEVICE);
        }
        match attribute {
            1 => Ok(0),
            2..=4 => Ok(1),
            _ => Err(Code::INVALID_VALUE),
        }
    }
}

/// The attributes that are not zero, by their number in `CUdevice_attribute`.
const ATTRIBUTES: &[(u32, i32)] = &[
    // Limits of a block and a grid, by dimension.
    (1, MAX_THREADS as i32),
    (2, MAX_THREADS as i32),
    (3, MAX_THREADS as i32),
    (4, 64),
    (5, i32::MAX),
    (6, 65535),
    (7, 65535),
    // Shared and constant memory, warp, pitch, registers.
    (8, SHARED as i32),
    (9, 65536),
    (10, 32),
    (11, i32::MAX),
    (12, REGISTERS_PER_SM as i32),
    // Clock in kHz, texture alignment, overlap, multiprocessors.
    (13, 1_980_000),
    (14, 512),
    (15, 1),
    (16, MULTIPROCESSORS as i32),
    // Host memory can be mapped; kernels run side by side.
    (19, 1),
    (31, 1),
    // Memory clock in kHz and bus width, cache, threads, copy engines, unified addressing.
    (36, 2_619_000),
    (37, 6144),
    (38, 60 << 20),
    (39, THREADS_PER_SM as i32),
    (40, 3),
    (41, 1),
    // Compute capability, stream priorities, shared memory and registers of a multiprocessor.
    (75, CAPABILITY.0),
    (76, CAPABILITY.1),
    (78, 1),
    (79, 1),
    (80, 1),
    (81, SHARED_PER_SM as i32),
    (82, REGISTERS_PER_SM as i32),
    // Managed memory.
    (83, 1),
    // Native host atomics, single-to-double ratio, cooperative launch, shared memory on request.
    (86, 1),
    (87, 2),
    // Concurrent managed access.
    (89, 1),
    (91, 1),
    (92, 1),
    (93, 1),
    (95, 1),
    (97, SHARED_OPTIN as i32),
    (99, 1),
    // Blocks of a multiprocessor, reserved shared memory, memory pools.
    (106, 32),
    (111, 1024),
    (115, 1),
    // The host memory node: none.
    (134, -1),
];

/// The number of the PCI bus attribute, which differs between devices.
const PCI_BUS_ID: u32 = 33;
/// One more than the highest attribute known.
const ATTRIBUTE_END: u32 = 150;

/// A device attribute by its number in `CUdevice_attribute`.
pub(crate) fn attribute(attribute: u32, ordinal: u32) -> Outcome<i32> {
    match attribute {
        0 | ATTRIBUTE_END.. => Err(Code::INVALID_VALUE),
        PCI_BUS_ID => Ok(ordinal as i32 + 1),
        _ => Ok(ATTRIBUTES.iter().find(|(number, _)| *number == attribute).map_or(0, |(_, value)| *value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_known_zero_or_refused() {
        assert_eq!(attribute(75, 0), Ok(9));
        assert_eq!(attribute(115, 0), Ok(1));
        assert_eq!(attribute(88, 0), Ok(0));
        assert_eq!(attribute(33, 3), Ok(4));
        assert_eq!(attribute(0, 0), Err(Code::INVALID_VALUE));
        assert_eq!(attribute(999, 0), Err(Code::INVALID_VALUE));
    }

    #[test]
    fn no_attribute_is_listed_twice() {
        for pair in ATTRIBUTES.windows(2) {
            assert!(pair[0].0 < pair[1].0, "{} comes before {}", pair[0].0, pair[1].0);
        }
    }
}
