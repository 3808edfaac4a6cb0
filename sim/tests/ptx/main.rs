//! The PTX interpreter through its public interface.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod atomics;
mod barriers;
mod basic_kernels;
mod budget;
mod calls;
mod compute;
mod convert;
mod decode_kernels;
mod faults;
mod float;
mod flow;
mod halves;
mod hardware;
mod integer;
mod machine;
mod memory;
mod modules;
mod refusals;
mod robustness;
mod special;
mod speed;
mod system;
mod warps;
