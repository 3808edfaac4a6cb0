//! Every PTX instruction form of the simulator, on operands of all kinds, on whichever driver is loaded.
//!
//! [`forms`] is the one table: what to try and how exact it has to be. [`text`] makes kernels of it, [`operands`] their input
//! from a seed, [`run`] the results, [`compare`] the verdict on two files of them. [`kernels`] are whole kernels that NVRTC
//! made, treated alike.

pub mod compare;
pub mod driver;
pub mod form;
pub mod forms;
pub mod kernels;
pub mod operands;
pub mod results;
pub mod run;
pub mod text;
