//! Loads and stores.
//!
//! Every access resolves to a [`Place`] that is known to be mapped and aligned; only then are bytes touched. Frequent
//! shapes, words or longs of all lanes in one region, have their own loops.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::{LaneFault, Surroundings};
use crate::ptx::{
    fault::FaultKind,
    number::convert,
    op::{Access, Parameter},
    registers::{ALL, Class, LANES, Mask, Registers, Slot, Value, lanes},
    types::{CALL_PARAMETERS, Space, Ty, window},
};

/// Resolved memory: mapped, aligned, and large enough for the access it was resolved for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    /// Device memory that nobody else touches meanwhile.
    Device(*mut u8),
    /// Memory that host threads may touch meanwhile.
    Host(*mut u8),
    /// Offsets into the block's and the warp's own memory.
    Shared(usize),
    Local(usize),
    /// An offset into the launch's parameters; read only.
    Parameter(usize),
}

/// The address of each lane.
pub(super) fn addresses(registers: &Registers, base: Slot, offset: i32) -> [u64; LANES] {
    let mut out = registers.longs[usize::from(base)];
    for address in &mut out {
        *address = address.wrapping_add_signed(offset.into());
    }
    out
}

impl Surroundings<'_, '_> {
    /// Resolves an access of `size` bytes by one lane.
    pub(super) fn resolve(
        &mut self,
        space: Space,
        lane: usize,
        address: u64,
        size: u64,
        writes: bool,
    ) -> Result<Place, LaneFault> {
        let fault = |kind| Err(LaneFault { lane, kind });
        let outside = FaultKind::OutOfBounds { address, size };
        let (space, at) = match space {
            Space::Generic => window::split(address),
            space => (space, address),
        };
        if at & (size - 1) != 0 {
            return fault(FaultKind::Misaligned { address, size });
        }
        let within = |length: usize| at.checked_add(size).is_some_and(|end| end <= length as u64);
        let own = self.function.local_bytes() as usize;
        match space {
            Space::Shared if within(self.shared.len()) => Ok(Place::Shared(at as usize)),
            Space::Local if within(own) => Ok(Place::Local(lane * own + at as usize)),
            Space::Param if at >= CALL_PARAMETERS => {
                self.resolve(Space::Local, lane, at - CALL_PARAMETERS, size, writes)
            }
            Space::Param if !writes && within(self.parameters.len()) => Ok(Place::Parameter(at as usize)),
            Space::Shared | Space::Local | Space::Param => fault(outside),
            Space::Generic | Space::Global | Space::Const => {
                let Some(region) = self.memory.find(at, size) else { return fault(outside) };
                // In bounds of the region, so in bounds of its allocation.
                let data = region.data.wrapping_add((at - region.base) as usize);
                match region.host_shared {
                    false => Ok(Place::Device(data)),
                    true if data.addr() as u64 & (size.min(8) - 1) != 0 => {
                        fault(FaultKind::Misaligned { address, size })
                    }
                    true => Ok(Place::Host(data)),
                }
            }
        }
    }

    /// Reads `bytes` bytes, 1, 2, 4 or 8, at `offset` from a place that was resolved for at least `offset + bytes`.
    pub(super) fn read(&self, place: Place, offset: usize, bytes: u8) -> u64 {
        let owned = |memory: &[u8], at: usize| {
            let mut out = [0; 8];
            let from = memory.get(at + offset..at + offset + usize::from(bytes)).unwrap_or_default();
            for (to, from) in out.iter_mut().zip(from) {
                *to = *from;
            }
            u64::from_le_bytes(out)
        };
        match place {
            Place::Shared(at) => owned(self.shared, at),
            Place::Local(at) => owned(self.local, at),
            Place::Parameter(at) => owned(self.parameters, at),
            // SAFETY: `resolve` found the bytes mapped, and by `Memory` 1 they still are; by 2 and 3 nobody else uses them.
            Place::Device(data) => unsafe { read_device(data.wrapping_add(offset), bytes) },
            // SAFETY: as above for 1 and 2; by `Memory` 3 others use them atomically only. `resolve` checked the alignment.
            Place::Host(data) => unsafe { read_host(data.wrapping_add(offset), bytes) },
        }
    }

    /// Writes the low `bytes` bytes of `value`, under the same conditions.
    pub(super) fn write(&mut self, place: Place, offset: usize, bytes: u8, value: u64) {
        let owned = |memory: &mut [u8], at: usize| {
            let to = memory.get_mut(at + offset..at + offset + usize::from(bytes)).unwrap_or_default();
            for (to, from) in to.iter_mut().zip(value.to_le_bytes()) {
                *to = from;
            }
        };
        match place {
            Place::Shared(at) => owned(self.shared, at),
            Place::Local(at) => owned(self.local, at),
            Place::Parameter(_) => {}
            // SAFETY: as in `read`.
            Place::Device(data) => unsafe { write_device(data.wrapping_add(offset), bytes, value) },
            // SAFETY: as in `read`.
            Place::Host(data) => unsafe { write_host(data.wrapping_add(offset), bytes, value) },
        }
    }

    pub(super) fn load(&mut self, registers: &mut Registers, access: &Access, mask: Mask) -> Result<(), LaneFault> {
        let addresses = addresses(registers, access.base, access.offset);
        let size = u64::from(access.bytes) * u64::from(access.count);
        if let Some((data, offsets)) = self.span(access.space, &addresses, mask, size) {
            match (access.class, access.bytes) {
                (Class::Word, 4) => {
                    for (element, slot) in access.registers.iter().enumerate().take(access.count.into()) {
                        let out = &mut registers.words[usize::from(*slot)];
                        // SAFETY: `span` found `size` bytes at each offset of an active lane; element and 4 bytes fit in.
                        unsafe { gather(data.wrapping_add(4 * element), &offsets, mask, out) };
                    }
                    return Ok(());
                }
                (Class::Long, 8) => {
                    for (element, slot) in access.registers.iter().enumerate().take(access.count.into()) {
                        let out = &mut registers.longs[usize::from(*slot)];
                        // SAFETY: as above, with 8 bytes an element.
                        unsafe { gather(data.wrapping_add(8 * element), &offsets, mask, out) };
                    }
                    return Ok(());
                }
                _ => {}
            }
        }
        for lane in lanes(mask) {
            let place = self.resolve(access.space, lane, addresses[lane], size, false)?;
            for (element, slot) in access.registers.iter().enumerate().take(access.count.into()) {
                let value = self.read(place, element * usize::from(access.bytes), access.bytes);
                let value = if access.signed { extended(value, access.bytes) } else { value };
                set(registers, access.class, *slot, lane, value);
            }
        }
        Ok(())
    }

    pub(super) fn store(&mut self, registers: &Registers, access: &Access, mask: Mask) -> Result<(), LaneFault> {
        let addresses = addresses(registers, access.base, access.offset);
        let size = u64::from(access.bytes) * u64::from(access.count);
        if let Some((data, offsets)) = self.span(access.space, &addresses, mask, size)
            && (access.class, access.bytes) == (Class::Word, 4)
        {
            for (element, slot) in access.registers.iter().enumerate().take(access.count.into()) {
                let values = &registers.words[usize::from(*slot)];
                for lane in lanes(mask) {
                    let to = data.wrapping_add(offsets[lane] as usize + 4 * element).cast::<u32>();
                    // SAFETY: `span` found `size` bytes at the offset; nobody else uses them, by `Memory` 2 and 3.
                    unsafe { to.write_unaligned(values[lane]) };
                }
            }
            return Ok(());
        }
        for lane in lanes(mask) {
            let place = self.resolve(access.space, lane, addresses[lane], size, true)?;
            for (element, slot) in access.registers.iter().enumerate().take(access.count.into()) {
                let value = get(registers, access.class, *slot, lane);
                self.write(place, element * usize::from(access.bytes), access.bytes, value);
            }
        }
        Ok(())
    }

    /// Reads the parameter block at a place that is the same for all lanes.
    pub(super) fn parameter(
        &mut self,
        registers: &mut Registers,
        parameter: &Parameter,
        mask: Mask,
    ) -> Result<(), LaneFault> {
        let Parameter { offset, bytes, signed, class, d } = *parameter;
        let lane = mask.trailing_zeros() as usize;
        let place = self.resolve(Space::Param, lane, offset.into(), bytes.into(), false)?;
        let value = self.read(place, 0, bytes);
        let value = if signed { extended(value, bytes) } else { value };
        match class {
            Class::Predicate => {}
            Class::Half => u16::store(registers, d, mask, |_| value as u16),
            Class::Word => u32::store(registers, d, mask, |_| value as u32),
            Class::Long => u64::store(registers, d, mask, |_| value),
        }
        Ok(())
    }

    /// Global memory that holds the accesses of all active lanes, none of it shared with the host: its bytes, and each
    /// lane's offset. Every active lane's `size` bytes are in bounds and aligned.
    fn span(
        &mut self,
        space: Space,
        addresses: &[u64; LANES],
        mask: Mask,
        size: u64,
    ) -> Option<(*mut u8, [u64; LANES])> {
        if !matches!(space, Space::Global | Space::Const | Space::Generic) {
            return None;
        }
        let first = addresses[mask.trailing_zeros() as usize & (LANES - 1)];
        if space == Space::Generic && first >= window::BASE {
            return None;
        }
        let region = self.memory.find(first, size).filter(|region| !region.host_shared)?;
        let limit = region.len - size;
        let mut offsets = [0; LANES];
        let mut fits = true;
        for lane in 0..LANES {
            let offset = addresses[lane].wrapping_sub(region.base);
            let inactive = mask & (1 << lane) == 0;
            fits &= inactive | ((offset <= limit) & (addresses[lane] & (size - 1) == 0));
            offsets[lane] = offset;
        }
        // A generic address of another space would lie outside of any region.
        fits.then_some((region.data, offsets))
    }
}

/// Reads an element for each active lane.
///
/// # Safety
///
/// For each lane in `mask`, `data + offsets[lane]` points to `size_of::<T>()` readable bytes that nobody writes meanwhile.
unsafe fn gather<T: Copy>(data: *mut u8, offsets: &[u64; LANES], mask: Mask, out: &mut [T; LANES]) {
    if mask == ALL {
        let stride = size_of::<T>() as u64;
        let start = offsets[0];
        if offsets.iter().zip(0..).all(|(offset, lane)| *offset == start.wrapping_add(lane * stride)) {
            let from = data.wrapping_add(start as usize).cast::<[T; LANES]>();
            // SAFETY: the lanes' elements are neighbours, so together they are the array.
            *out = unsafe { from.read_unaligned() };
            return;
        }
        for (to, offset) in out.iter_mut().zip(offsets) {
            // SAFETY: the caller's condition, for this lane.
            *to = unsafe { data.wrapping_add(*offset as usize).cast::<T>().read_unaligned() };
        }
        return;
    }
    for lane in lanes(mask) {
        // SAFETY: the caller's condition, for this lane.
        out[lane] = unsafe { data.wrapping_add(offsets[lane] as usize).cast::<T>().read_unaligned() };
    }
}

/// # Safety
///
/// `data` points to `bytes` readable bytes that nobody writes meanwhile.
unsafe fn read_device(data: *mut u8, bytes: u8) -> u64 {
    match bytes {
        // SAFETY: the caller's condition.
        1 => unsafe { data.read() }.into(),
        // SAFETY: the caller's condition.
        2 => unsafe { data.cast::<u16>().read_unaligned() }.into(),
        // SAFETY: the caller's condition.
        4 => unsafe { data.cast::<u32>().read_unaligned() }.into(),
        // SAFETY: the caller's condition.
        _ => unsafe { data.cast::<u64>().read_unaligned() },
    }
}

/// # Safety
///
/// `data` points to `bytes` writable bytes that nobody uses meanwhile.
unsafe fn write_device(data: *mut u8, bytes: u8, value: u64) {
    match bytes {
        // SAFETY: the caller's condition.
        1 => unsafe { data.write(value as u8) },
        // SAFETY: the caller's condition.
        2 => unsafe { data.cast::<u16>().write_unaligned(value as u16) },
        // SAFETY: the caller's condition.
        4 => unsafe { data.cast::<u32>().write_unaligned(value as u32) },
        // SAFETY: the caller's condition.
        _ => unsafe { data.cast::<u64>().write_unaligned(value) },
    }
}

/// # Safety
///
/// `data` is aligned to `bytes` and points to as many bytes that others access only atomically.
unsafe fn read_host(data: *mut u8, bytes: u8) -> u64 {
    // Relaxed: a kernel's plain accesses promise no order; its fences are `Op::Fence`, which pairs with the host's.
    match bytes {
        // SAFETY: the caller's condition.
        1 => unsafe { AtomicU8::from_ptr(data) }.load(Ordering::Relaxed).into(),
        // SAFETY: the caller's condition.
        2 => unsafe { AtomicU16::from_ptr(data.cast()) }.load(Ordering::Relaxed).into(),
        // SAFETY: the caller's condition.
        4 => unsafe { AtomicU32::from_ptr(data.cast()) }.load(Ordering::Relaxed).into(),
        // SAFETY: the caller's condition.
        _ => unsafe { AtomicU64::from_ptr(data.cast()) }.load(Ordering::Relaxed),
    }
}

/// # Safety
///
/// As for `read_host`, and the bytes are writable.
unsafe fn write_host(data: *mut u8, bytes: u8, value: u64) {
    // Relaxed: as in `read_host`.
    match bytes {
        // SAFETY: the caller's condition.
        1 => unsafe { AtomicU8::from_ptr(data) }.store(value as u8, Ordering::Relaxed),
        // SAFETY: the caller's condition.
        2 => unsafe { AtomicU16::from_ptr(data.cast()) }.store(value as u16, Ordering::Relaxed),
        // SAFETY: the caller's condition.
        4 => unsafe { AtomicU32::from_ptr(data.cast()) }.store(value as u32, Ordering::Relaxed),
        // SAFETY: the caller's condition.
        _ => unsafe { AtomicU64::from_ptr(data.cast()) }.store(value, Ordering::Relaxed),
    }
}

/// The value extended by its sign.
pub(super) fn extended(value: u64, bytes: u8) -> u64 {
    let ty = match bytes {
        1 => Ty::S8,
        2 => Ty::S16,
        4 => Ty::S32,
        _ => Ty::S64,
    };
    convert::extend(value, ty)
}

/// Puts a value into one lane of a register, cut to the register's width.
pub(super) fn set(registers: &mut Registers, class: Class, slot: Slot, lane: usize, value: u64) {
    match class {
        Class::Predicate => {}
        Class::Half => registers.words[usize::from(slot)][lane] = u32::from(value as u16),
        Class::Word => registers.words[usize::from(slot)][lane] = value as u32,
        Class::Long => registers.longs[usize::from(slot)][lane] = value,
    }
}

/// One lane of a register.
pub(super) fn get(registers: &Registers, class: Class, slot: Slot, lane: usize) -> u64 {
    match class {
        Class::Predicate => 0,
        Class::Half | Class::Word => registers.words[usize::from(slot)][lane].into(),
        Class::Long => registers.longs[usize::from(slot)][lane],
    }
}
