//! What every test needs: a device of its own on the simulated driver, or the real one on request.
//!
//! `DACAPO_DRIVER=cuda` runs the same tests on this machine's driver (device 0, best with `--test-threads=1`). A test that needs
//! what only the simulated driver can do asks for [`Rig::sim`] and is skipped with a reason elsewhere.

#![allow(dead_code, reason = "no test binary uses all of it")]

use std::env;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use dacapo::{Device, Idle, Kernel, Module, Stream};
use dacapo_sim::{Options, SimDevice, Simulator};

pub const BASIC_PTX: &str = include_str!("../../kernels/basic.ptx");

/// More than any test binary has tests.
const DEVICES: usize = 64;

/// The simulated driver, unless the tests are to run on the real one.
pub fn simulator() -> Option<Simulator> {
    static SIMULATOR: OnceLock<Option<Simulator>> = OnceLock::new();
    *SIMULATOR.get_or_init(|| match env::var("DACAPO_DRIVER").as_deref() {
        Ok("cuda") => None,
        Ok("sim") | Err(_) => {
            Some(Options { devices: DEVICES, ..Options::default() }.install().expect("the simulator installs"))
        }
        Ok(other) => panic!("DACAPO_DRIVER={other}: choose sim or cuda"),
    })
}

/// One test's device.
pub struct Rig {
    pub device: Device,
    sim: Option<SimDevice>,
}

impl Rig {
    /// The simulated device behind this one; `None`, and a reason on standard error, on a real one.
    pub fn sim(&self, needs: &str) -> Option<SimDevice> {
        if self.sim.is_none() {
            eprintln!("skipped: needs {needs}, which only the simulated driver has");
        }
        self.sim
    }

    pub fn stream(&self) -> Stream<Idle> {
        self.device.stream().expect("a stream")
    }

    pub fn module(&self) -> Module {
        self.device.load_ptx(BASIC_PTX).expect("the module loads")
    }

    pub fn kernel(&self, name: &str) -> Kernel {
        self.module().kernel(name).expect("the kernel is there")
    }
}

/// Runs a test on a device of its own. At its end nothing may be left over on the simulated driver, and nothing may have
/// gone wrong there.
pub fn on_device(test: impl FnOnce(&Rig)) {
    on_two_devices(1, |rigs| test(&rigs[0]));
}

/// The same with `count` devices, as far as the machine has them.
pub fn on_two_devices(count: usize, test: impl FnOnce(&[Rig])) {
    static NEXT: AtomicUsize = AtomicUsize::new(0);

    let sim = simulator();
    let first = if sim.is_some() { NEXT.fetch_add(count, Ordering::Relaxed) } else { 0 };
    if sim.is_none() && Device::count().expect("a driver") < count {
        eprintln!("skipped: needs {count} devices");
        assert!(env::var("REQUIRE_GPU").as_deref() != Ok("2"), "REQUIRE_GPU=2, but there is one device");
        return;
    }
    let rigs: Vec<Rig> = (first..first + count)
        .map(|ordinal| Rig {
            device: Device::open(ordinal).expect("the device opens"),
            sim: sim.map(|sim| sim.device(u32::try_from(ordinal).expect("small"))),
        })
        .collect();
    test(&rigs);
    for Rig { device, sim } in rigs {
        drop(device);
        if let Some(sim) = sim {
            check_clean(sim);
        }
    }
}

/// Nothing is alive on the device, and no violation was recorded.
pub fn check_clean(sim: SimDevice) {
    let violations = sim.take_violations();
    assert!(violations.is_empty(), "violations:\n{}", lines(&violations));
    let live = sim.live();
    assert!(live.is_empty(), "left over:\n{live}");
}

fn lines(items: &[impl std::fmt::Display]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
