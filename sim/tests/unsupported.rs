//! Every exported function that is not implemented: it refuses, whatever it is given, and the log says so once.

mod common;

use std::ffi::c_void;

use common::{gpu, symbol};

/// What a caller may think that such a function is: it may pass any number of arguments.
type WithArguments = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u32;

#[test]
fn every_function_that_is_not_implemented_refuses_and_is_logged_once() {
    let gpu = gpu();
    gpu.sim.clear_calls();
    let names: Vec<&str> = dacapo_sim::abi::symbols()
        .map(|(name, _)| name)
        .filter(|name| !dacapo_sim::abi::is_implemented(name))
        .collect();
    assert!(names.len() > 200, "{}", names.len());
    for argument in [0, 1, u64::MAX] {
        for name in &names {
            // SAFETY: the function takes no arguments, and in the C calling conventions of the supported platforms the
            // caller removes those that it passes.
            let function = unsafe { std::mem::transmute::<*mut c_void, WithArguments>(symbol(name)) };
            let a = argument;
            // SAFETY: the function looks at no argument.
            let code = unsafe { function(a, a, a, a, a, a, a, a, a, a, a, a) };
            assert_eq!(code, 801, "{name}");
        }
    }
    let logged: Vec<&str> = gpu.sim.calls().iter().map(|call| call.name).collect();
    assert_eq!(logged, names);
    assert_eq!(gpu.sim.violations(), []);
}
