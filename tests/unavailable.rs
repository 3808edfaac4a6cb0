//! No driver, no device, a wrong ordinal: typed errors, never a panic. This binary never installs the simulator in its own
//! process; what needs one runs in a child.

mod common;

use std::env;

use common::in_a_child;
use dacapo::{Device, Error, Unavailable};

#[test]
fn without_a_driver_everything_is_a_typed_error() {
    in_a_child("without_a_driver_everything_is_a_typed_error", || {
        if !matches!(Device::count(), Err(Error::Unavailable(Unavailable::NoLibrary))) {
            eprintln!("skipped: needs a machine without a CUDA driver library");
            return;
        }
        for _ in 0..2 {
            let error = Device::open(0).unwrap_err();
            assert!(matches!(error, Error::Unavailable(Unavailable::NoLibrary)));
            assert!(error.to_string().starts_with("no CUDA driver library found"), "{error}");
        }
        dacapo_sim::install().expect("a driver that was not found may be installed later");
        drop(Device::open(0).expect("and is found"));
    });
}

#[test]
fn an_ordinal_that_is_not_there_is_a_typed_error() {
    in_a_child("an_ordinal_that_is_not_there_is_a_typed_error", || {
        if matches!(env::var("DACAPO_DRIVER").as_deref(), Ok("sim") | Err(_)) {
            dacapo_sim::install().unwrap();
        }
        let count = Device::count().unwrap();
        for ordinal in [count, count + 1, i32::MAX as usize, i32::MAX as usize + 1, usize::MAX] {
            let error = Device::open(ordinal).unwrap_err();
            assert!(matches!(error, Error::Unavailable(Unavailable::NoSuchDevice { .. })), "{error}");
            assert_eq!(error.to_string(), format!("no device with ordinal {ordinal}: the driver has {count}"));
        }
    });
}

#[test]
fn a_driver_that_finds_no_device_is_a_typed_error() {
    in_a_child("a_driver_that_finds_no_device_is_a_typed_error", || {
        if matches!(env::var("DACAPO_DRIVER").as_deref(), Ok("cuda")) {
            eprintln!("skipped: needs a driver without a device, which only the simulated one can be");
            return;
        }
        dacapo_sim::Options { devices: 0, ..Default::default() }.install().unwrap();
        assert!(matches!(Device::count(), Err(Error::Unavailable(Unavailable::NoDevice))));
        assert!(matches!(Device::open(0), Err(Error::Unavailable(Unavailable::NoDevice))));
    });
}
