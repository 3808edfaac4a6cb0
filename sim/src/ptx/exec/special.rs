//! Registers that the hardware sets.

use super::Surroundings;
use crate::ptx::{
    op::Special,
    registers::{Class, LANES, Mask, Registers, Slot, Value},
};

/// What a warp knows about itself when it reads one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader {
    /// The warp's number within its block.
    pub(super) warp: u32,
    /// The lanes that run together now.
    pub(super) active: Mask,
    /// Instructions that the launch has executed.
    pub(super) clock: u64,
}

impl Surroundings<'_, '_> {
    pub(super) fn special(&self, registers: &mut Registers, special: Special, d: Slot, mask: Mask, reader: Reader) {
        if special.class() == Class::Long {
            let value = if special == Special::Clock { reader.clock } else { 0 };
            return u64::store(registers, d, mask, |_| value);
        }
        let first = reader.warp * LANES as u32;
        let dimension = |numbers: [u32; 3], axis: u8| numbers.get(usize::from(axis)).copied().unwrap_or(0);
        let uniform = match special {
            Special::Thread(axis) => {
                let [_, y, z] = self.shape.block;
                return match (axis, y * z) {
                    (0, 1) => u32::store(registers, d, mask, |lane| first + lane as u32),
                    _ => u32::store_each(registers, d, mask, |lane| {
                        dimension(self.shape.thread(first + lane as u32), axis)
                    }),
                };
            }
            Special::Lane => return u32::store(registers, d, mask, |lane| lane as u32),
            Special::LanesEqual => return u32::store(registers, d, mask, |lane| 1 << lane),
            Special::LanesBelow => return u32::store(registers, d, mask, |lane| (1 << lane) - 1),
            Special::LanesUpTo => return u32::store(registers, d, mask, |lane| u32::MAX >> (31 - lane)),
            Special::LanesAbove => return u32::store(registers, d, mask, |lane| !(u32::MAX >> (31 - lane))),
            Special::LanesFrom => return u32::store(registers, d, mask, |lane| u32::MAX << lane),
            Special::BlockSize(axis) => dimension(self.shape.block, axis),
            Special::Block(axis) => dimension(self.block, axis),
            Special::GridSize(axis) => dimension(self.shape.grid, axis),
            Special::Warp => reader.warp,
            Special::Warps => self.shape.threads_per_block().div_ceil(LANES as u64) as u32,
            Special::Processor => 0,
            Special::Processors => 1,
            Special::ActiveMask => reader.active,
            Special::DynamicShared => self.shape.dynamic_shared,
            Special::TotalShared => self.shared.len() as u32,
            Special::ClockLow => reader.clock as u32,
            Special::ClockHigh => (reader.clock >> 32) as u32,
            Special::Clock | Special::GridId => 0,
        };
        u32::store(registers, d, mask, |_| uniform);
    }
}
