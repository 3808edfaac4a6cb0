//! Read-modify-write operations. Lanes take part one after the other, the lowest first.

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::{
    LaneFault, Surroundings,
    access::{Place, addresses, get, set},
};
use crate::ptx::{
    number::{
        Control, Rounding,
        half::{self, Bf16, F16},
        single_double::{self, Binary},
    },
    op::{Atomic, AtomicOperation},
    registers::{Class, Mask, Registers, lanes},
};

impl Surroundings<'_, '_> {
    pub(super) fn atomic(&mut self, registers: &mut Registers, atomic: &Atomic, mask: Mask) -> Result<(), LaneFault> {
        let addresses = addresses(registers, atomic.base, atomic.offset);
        let class = match atomic.bytes {
            2 => Class::Half,
            4 => Class::Word,
            _ => Class::Long,
        };
        for lane in lanes(mask) {
            let place = self.resolve(atomic.space, lane, addresses[lane], atomic.bytes.into(), true)?;
            let b = get(registers, class, atomic.b, lane);
            let c = get(registers, class, atomic.c, lane);
            let shared = matches!(place, Place::Shared(_));
            let update = |old| match (atomic.operation, class) {
                (AtomicOperation::AddFloat, Class::Long) => add_double(old, b, shared),
                (AtomicOperation::AddFloat, _) => add_single(old as u32, b as u32, shared).into(),
                (operation, Class::Long) => update_long(operation, old, b, c),
                (operation, _) => update_word(operation, old as u32, b as u32, c as u32).into(),
            };
            let old = match place {
                Place::Host(data) => {
                    // SAFETY: `resolve` found the bytes mapped and aligned, and by `Memory` they stay so and others use them
                    // atomically only.
                    unsafe { exchange_host(data, atomic.bytes, update) }
                }
                place => {
                    let old = self.read(place, 0, atomic.bytes);
                    self.write(place, 0, atomic.bytes, update(old));
                    old
                }
            };
            set(registers, class, atomic.d, lane, old);
        }
        Ok(())
    }
}

/// Replaces a value by `update` of it, in one step as host threads see it, and returns the old one.
///
/// # Safety
///
/// `data` is aligned to `bytes`, 2, 4 or 8, and points to as many writable bytes that others access only atomically.
unsafe fn exchange_host(data: *mut u8, bytes: u8, update: impl Fn(u64) -> u64) -> u64 {
    // Relaxed: an atomic without ordering suffix promises none; with one, `Op::Fence` stands beside it.
    if bytes == 2 {
        // SAFETY: the caller's condition.
        let half = unsafe { AtomicU16::from_ptr(data.cast()) };
        let replace = |old: u16| Some(update(old.into()) as u16);
        match half.fetch_update(Ordering::Relaxed, Ordering::Relaxed, replace) {
            Ok(old) | Err(old) => old.into(),
        }
    } else if bytes == 4 {
        // SAFETY: the caller's condition.
        let word = unsafe { AtomicU32::from_ptr(data.cast()) };
        let replace = |old: u32| Some(update(old.into()) as u32);
        match word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, replace) {
            Ok(old) | Err(old) => old.into(),
        }
    } else {
        // SAFETY: the caller's condition.
        let long = unsafe { AtomicU64::from_ptr(data.cast()) };
        match long.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| Some(update(old))) {
            Ok(old) | Err(old) => old,
        }
    }
}

/// A sum in single precision. In global memory the units that do it flush denormals, in shared memory they do not.
fn add_single(old: u32, b: u32, shared: bool) -> u32 {
    let control = Control { flush: !shared, ..Control::PLAIN };
    single_double::binary32(Binary::Add, f32::from_bits(old), f32::from_bits(b), control).to_bits()
}

/// A sum in double precision. In global memory a NaN stays as it is, the operand's before the old value. In shared memory
/// it becomes quiet, the old value's before the operand's.
fn add_double(old: u64, b: u64, shared: bool) -> u64 {
    let (x, y) = (f64::from_bits(old), f64::from_bits(b));
    match (x.is_nan(), y.is_nan()) {
        (_, true) if !shared => b,
        (true, false) if !shared => old,
        _ => single_double::binary64(Binary::Add, y, x, Rounding::Near).to_bits(),
    }
}

/// The operations on halves and words that are not sums in single precision.
fn update_word(operation: AtomicOperation, old: u32, b: u32, c: u32) -> u32 {
    match operation {
        AtomicOperation::Add | AtomicOperation::AddFloat => old.wrapping_add(b),
        AtomicOperation::AddHalf => half::add::<F16>(old as u16, b as u16, Control::PLAIN).into(),
        AtomicOperation::AddBrain => half::add::<Bf16>(old as u16, b as u16, Control::PLAIN).into(),
        AtomicOperation::AddHalves => half::pairwise([old, b], |[old, b]| half::add::<F16>(old, b, Control::PLAIN)),
        AtomicOperation::AddBrains => half::pairwise([old, b], |[old, b]| half::add::<Bf16>(old, b, Control::PLAIN)),
        AtomicOperation::MinUnsigned => old.min(b),
        AtomicOperation::MinSigned => (old as i32).min(b as i32) as u32,
        AtomicOperation::MaxUnsigned => old.max(b),
        AtomicOperation::MaxSigned => (old as i32).max(b as i32) as u32,
        AtomicOperation::And => old & b,
        AtomicOperation::Or => old | b,
        AtomicOperation::Xor => old ^ b,
        AtomicOperation::Exchange => b,
        AtomicOperation::CompareAndSwap => {
            if old == b {
                c
            } else {
                old
            }
        }
        AtomicOperation::Increment => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        AtomicOperation::Decrement => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
    }
}

/// The same on longs.
fn update_long(operation: AtomicOperation, old: u64, b: u64, c: u64) -> u64 {
    match operation {
        AtomicOperation::Add
        | AtomicOperation::AddFloat
        | AtomicOperation::AddHalf
        | AtomicOperation::AddHalves
        | AtomicOperation::AddBrain
        | AtomicOperation::AddBrains => old.wrapping_add(b),
        AtomicOperation::MinUnsigned => old.min(b),
        AtomicOperation::MinSigned => (old as i64).min(b as i64) as u64,
        AtomicOperation::MaxUnsigned => old.max(b),
        AtomicOperation::MaxSigned => (old as i64).max(b as i64) as u64,
        AtomicOperation::And => old & b,
        AtomicOperation::Or => old | b,
        AtomicOperation::Xor => old ^ b,
        AtomicOperation::Exchange => b,
        AtomicOperation::CompareAndSwap => {
            if old == b {
                c
            } else {
                old
            }
        }
        AtomicOperation::Increment => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        AtomicOperation::Decrement => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
    }
}
