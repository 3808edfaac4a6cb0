//! The table of instruction forms: everything that the interpreter supports, and how exact it has to be.
//!
//! Each submodule lists one kind of instruction. Forms whose result PTX leaves open (a shuffle from a lane that does not take
//! part, a fused `mad` without rounding) are left out.

mod atomic;
mod bits;
mod compare;
mod convert;
mod float;
mod half;
mod integer;
mod memory;
mod warp;

use crate::form::{Form, Ty};

/// Every form, sorted by the kind of instruction.
#[must_use]
pub fn all() -> Vec<Form> {
    let mut forms = Vec::new();
    integer::add(&mut forms);
    bits::add(&mut forms);
    compare::add(&mut forms);
    float::add(&mut forms);
    half::add(&mut forms);
    convert::add(&mut forms);
    memory::add(&mut forms);
    atomic::add(&mut forms);
    warp::add(&mut forms);
    forms
}

/// The type of a suffix that the tables here use.
fn ty(suffix: &str) -> Ty {
    Ty::of(suffix).expect("the tables name only types that registers have")
}

/// `.rn` and its like, and no suffix at all.
const ROUNDINGS: [&str; 4] = [".rn", ".rz", ".rm", ".rp"];
/// Flushing of denormals, or none.
const FLUSHINGS: [&str; 2] = ["", ".ftz"];
/// Saturation, or none.
const SATURATIONS: [&str; 2] = ["", ".sat"];
