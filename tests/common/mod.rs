//! What every test needs: a device of its own on the simulated driver, or the real one on request.
//!
//! `DACAPO_DRIVER=cuda` runs the same tests on this machine's driver (device 0, best with `--test-threads=1`). A test that needs
//! what only the simulated driver can do asks for [`Rig::sim`] and is skipped with a reason elsewhere.

#![allow(dead_code, reason = "no test binary uses all of it")]

use std::env;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};

use dacapo::{Device, Idle, Kernel, Module, Stream};
use dacapo_sim::{Options, SimDevice, Simulator};

pub(crate) const BASIC_PTX: &str = include_str!("../../kernels/basic.ptx");

/// More than any test binary has tests.
const DEVICES: u32 = 64;

/// The simulated driver, unless the tests are to run on the real one.
pub(crate) fn simulator() -> Option<Simulator> {
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
pub(crate) struct Rig {
    pub(crate) device: Device,
    sim: Option<SimDevice>,
}

impl Rig {
    /// The simulated device behind this one; `None`, and a reason on standard error, on a real one.
    pub(crate) fn sim(&self, needs: &str) -> Option<SimDevice> {
        if self.sim.is_none() {
            eprintln!("skipped: needs {needs}, which only the simulated driver has");
        }
        self.sim
    }

    /// The cudarc context of the device.
    pub(crate) fn context(&self) -> &std::sync::Arc<dacapo::cudarc::driver::CudaContext> {
        // SAFETY: each test uses the slices that it makes on one stream, or drains in between.
        unsafe { self.device.context() }
    }

    pub(crate) fn stream(&self) -> Stream<Idle> {
        self.device.stream().expect("a stream")
    }

    pub(crate) fn module(&self) -> Module {
        self.device.load_ptx(BASIC_PTX).expect("the module loads")
    }

    pub(crate) fn kernel(&self, name: &str) -> Kernel {
        self.module().kernel(name).expect("the kernel is there")
    }
}

/// Runs a test on a device of its own. At its end nothing may be left over on the simulated driver, and nothing may have
/// gone wrong there.
pub(crate) fn on_device(test: impl FnOnce(&Rig)) {
    on_devices(1, |rigs| test(&rigs[0]));
}

/// The same while no other test of the binary runs: a `Global` capture restrains every thread, whatever its device.
pub(crate) fn on_device_alone(test: impl FnOnce(&Rig)) {
    let _room = ROOM.write().unwrap_or_else(PoisonError::into_inner);
    on_devices_of_room(1, |rigs| test(&rigs[0]));
}

/// Many tests side by side, or one alone.
static ROOM: RwLock<()> = RwLock::new(());

/// The same as [`on_device`] with `count` devices; skipped where the machine has fewer.
pub(crate) fn on_devices(count: usize, test: impl FnOnce(&[Rig])) {
    let _room = ROOM.read().unwrap_or_else(PoisonError::into_inner);
    on_devices_of_room(count, test);
}

fn on_devices_of_room(count: usize, test: impl FnOnce(&[Rig])) {
    static NEXT: AtomicUsize = AtomicUsize::new(0);

    let sim = simulator();
    let first = if sim.is_some() { NEXT.fetch_add(count, Ordering::Relaxed) } else { 0 };
    if sim.is_none() && Device::count().expect("a driver") < count {
        eprintln!("skipped: needs {count} devices");
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
pub(crate) fn check_clean(sim: SimDevice) {
    let violations = sim.take_violations();
    assert!(violations.is_empty(), "violations:\n{}", lines(&violations));
    let live = sim.live();
    assert!(live.is_empty(), "left over:\n{live}");
}

fn lines(items: &[impl std::fmt::Display]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Runs the test of this name in a process of its own, with `DACAPO_TEST_CHILD` set.
pub(crate) fn in_a_child(name: &str, body: impl FnOnce()) {
    if env::var_os("DACAPO_TEST_CHILD").is_some() {
        return body();
    }
    let child = Command::new(env::current_exe().expect("a test has a file"))
        .args([name, "--exact", "--test-threads=1"])
        .env("DACAPO_TEST_CHILD", "1")
        .output()
        .expect("the child starts");
    assert!(
        child.status.success(),
        "{}{}",
        String::from_utf8_lossy(&child.stdout),
        String::from_utf8_lossy(&child.stderr)
    );
}
