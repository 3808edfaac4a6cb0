//! Installing: once, explicitly, and so that any program finds the driver.

mod common;

use std::ffi::{CStr, c_void};

use common::{cuGetErrorName, cuGetProcAddress_v2, cuInit, symbol};
use dacapo_sim::{InstallError, Options};

#[test]
fn installing_again_gives_the_same_simulator_and_other_options_are_refused() {
    let first = dacapo_sim::install().expect("no other driver is here");
    let second = Options::default().install().expect("the same options");
    assert_eq!(first.device_count(), 8);
    assert_eq!(second.device_count(), 8);
    let other = Options { devices: 3, ..Options::default() }.install();
    let Err(InstallError::OtherOptions { installed }) = other else { panic!("{other:?}") };
    assert_eq!(installed, Options::default());
    let many = Options { devices: 129, ..Options::default() }.install().expect_err("too many");
    assert!(matches!(many, InstallError::Devices(129)));
    assert_eq!(format!("{many:?}"), "129 devices are more than the 128 that there can be");
    assert_eq!(format!("{many:?}"), many.to_string(), "what `unwrap` prints is the message");
}

#[test]
fn every_function_is_found_by_name_and_jumps_to_the_simulator() {
    dacapo_sim::install().expect("no other driver is here");
    let mut implemented = 0;
    for (name, _) in dacapo_sim::abi::symbols() {
        assert!(!symbol(name).is_null(), "{name}");
        implemented += usize::from(dacapo_sim::abi::is_implemented(name));
    }
    assert!(implemented > 250, "only {implemented}");
    assert_eq!(cuInit(0), 0);
    let mut text = std::ptr::null();
    assert_eq!(cuGetErrorName(901, &mut text), 0);
    // SAFETY: the driver gave a string that lives as long as the process.
    let name = unsafe { CStr::from_ptr(text) };
    assert_eq!(name, c"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED");
}

#[test]
fn a_function_that_is_not_implemented_says_so_and_is_logged() {
    let sim = dacapo_sim::install().expect("no other driver is here");
    assert_eq!(common::cuArrayDestroy(1), 801);
    let calls = sim.calls();
    let call = calls.iter().rev().find(|call| call.name == "cuArrayDestroy").expect("logged");
    assert_eq!(call.result, dacapo_sim::Code::NOT_SUPPORTED);
}

#[test]
fn functions_are_found_by_plain_name_and_version() {
    let find = |name: &CStr, version| {
        let (mut function, mut status) = (std::ptr::null_mut::<c_void>(), 9);
        let code = cuGetProcAddress_v2(name.as_ptr(), &mut function, version, 0, &mut status);
        (code, status, function)
    };
    let (code, status, function) = find(c"cuMemAlloc", 12000);
    assert_eq!((code, status), (0, 0));
    let address = |name| {
        let found = dacapo_sim::abi::symbols().find(|(other, _)| *other == name);
        found.expect("exported").1.get()
    };
    assert_eq!(function as u64, address("cuMemAlloc_v2"));
    assert_eq!(find(c"cuStreamGetCaptureInfo", 12000).2 as u64, address("cuStreamGetCaptureInfo_v2"));
    assert_eq!(find(c"cuStreamGetCaptureInfo", 13000).2 as u64, address("cuStreamGetCaptureInfo_v3"));
    assert_eq!(find(c"cuNothing", 13000), (500, 1, std::ptr::null_mut()));
}
