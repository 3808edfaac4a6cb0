//! `fma` to nearest, with the processor's own instruction where it has one.
//!
//! Rust's `mul_add` is right everywhere, but on x86-64 it becomes a call of the C library for each lane unless the code
//! is compiled for processors with FMA. So the loops exist twice, and the choice is made once, when code is lowered.

#[cfg(target_arch = "x86_64")]
use super::Slots;
use super::{Alu, alu};
use crate::ptx::number::single_double::{canonical, settled3};
#[cfg(target_arch = "x86_64")]
use crate::ptx::registers::{Mask, Registers, Value};

/// `fma.rn.f32`
pub(super) fn single() -> Alu {
    let plain = alu!(|a: f32, b: f32, c: f32| -> f32 { canonical(a.mul_add(b, c)) });
    #[cfg(target_arch = "x86_64")]
    if has_fma() {
        return Alu { run: single_on_fma, ..plain };
    }
    plain
}

/// `fma.rn.f64`
pub(super) fn double() -> Alu {
    let plain = alu!(|a: f64, b: f64, c: f64| -> f64 { settled3(a.mul_add(b, c), [b, c, a]) });
    #[cfg(target_arch = "x86_64")]
    if has_fma() {
        return Alu { run: double_on_fma, ..plain };
    }
    plain
}

#[cfg(target_arch = "x86_64")]
fn has_fma() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
}

#[cfg(target_arch = "x86_64")]
fn single_on_fma(registers: &mut Registers, slots: &Slots, mask: Mask) {
    #[target_feature(enable = "avx2,fma")]
    fn run(registers: &mut Registers, slots: &Slots, mask: Mask) {
        let [a, b, c] = [slots.s[0], slots.s[1], slots.s[2]].map(|slot| f32::load(registers, slot));
        f32::store(registers, slots.d, mask, |lane| {
            let [a, b, c] = [&a, &b, &c].map(|lanes| f32::lane(lanes, lane));
            canonical(a.mul_add(b, c))
        });
    }
    // SAFETY: `run` needs a processor with AVX2 and FMA; only `single` hands this function out, after asking for both.
    unsafe { run(registers, slots, mask) }
}

#[cfg(target_arch = "x86_64")]
fn double_on_fma(registers: &mut Registers, slots: &Slots, mask: Mask) {
    #[target_feature(enable = "avx2,fma")]
    fn run(registers: &mut Registers, slots: &Slots, mask: Mask) {
        let [a, b, c] = [slots.s[0], slots.s[1], slots.s[2]].map(|slot| f64::load(registers, slot));
        f64::store(registers, slots.d, mask, |lane| {
            let [a, b, c] = [&a, &b, &c].map(|lanes| f64::lane(lanes, lane));
            settled3(a.mul_add(b, c), [b, c, a])
        });
    }
    // SAFETY: `run` needs a processor with AVX2 and FMA; only `double` hands this function out, after asking for both.
    unsafe { run(registers, slots, mask) }
}
