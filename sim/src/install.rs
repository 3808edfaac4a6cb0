//! Installing the simulated driver: explicit, once, never over a real one.

use std::fmt;
use std::sync::Mutex;

use crate::shared::Shared;
use crate::shim;
use crate::simulator::Simulator;

/// How the simulated driver is to be.
///
/// ```no_run
/// let sim = dacapo_sim::Options { devices: 2, ..Default::default() }.install()?;
/// assert_eq!(sim.device_count(), 2);
/// # Ok::<(), dacapo_sim::InstallError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// How many devices there are. With none, `cuInit` fails as a driver without a device does.
    pub devices: u32,
    /// Bytes of memory that each device has.
    pub memory: u64,
    /// Whether a device fault on one device makes all devices fail, as real ones in one process do. Off by default, so that
    /// tests side by side do not disturb each other; [`Simulator::couple`] couples some devices only.
    pub coupled: bool,
}

/// More devices than anybody needs; their addresses are told apart by 8 bits.
const MAX_DEVICES: u32 = 128;

impl Default for Options {
    fn default() -> Options {
        Options { devices: 8, memory: 16 << 30, coupled: false }
    }
}

/// Why the simulated driver was not installed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// There is no way to do it on this platform: it takes Linux on x86-64 or 64-bit Arm.
    #[error("the simulated driver cannot be installed on this platform")]
    UnsupportedPlatform,
    /// Another driver library is loaded already.
    #[error("a driver is already loaded as {name}")]
    DriverLoaded {
        /// Its name.
        name: String,
    },
    /// The program is linked with a driver library.
    #[error("the program is linked with a driver library")]
    DriverLinked,
    /// It is installed already, with other options.
    #[error("the simulated driver is already installed with other options")]
    OtherOptions {
        /// The options in force.
        installed: Options,
    },
    /// There are at most 128 devices.
    #[error("{0} devices are more than the 128 that there can be")]
    Devices(u32),
    /// The shared object could not be written.
    #[error("the shared object could not be written")]
    File(#[source] std::io::Error),
    /// The shared object could not be loaded.
    #[error("the shared object could not be loaded: {reason}")]
    Load {
        /// What the dynamic linker says.
        reason: String,
    },
}

/// Reads as well as the message: `unwrap`, and a `main` or test that returns it, print it like this.
impl fmt::Debug for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Options {
    /// Makes the simulated driver the driver of this process. Call it before the program looks for one.
    ///
    /// Installing again with the same options gives the same simulator.
    ///
    /// # Errors
    ///
    /// See [`InstallError`]; in particular, it refuses when a real driver is in the process.
    pub fn install(&self) -> Result<Simulator, InstallError> {
        /// Held while one thread installs; true when the shared object is loaded.
        static INSTALLED: Mutex<bool> = Mutex::new(false);
        if self.devices > MAX_DEVICES {
            return Err(InstallError::Devices(self.devices));
        }
        let mut installed = INSTALLED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !*installed {
            shim::check_absent()?;
        }
        let shared = Shared::with(self);
        if shared.options() != self {
            return Err(InstallError::OtherOptions { installed: shared.options().clone() });
        }
        if !*installed {
            shim::load()?;
            *installed = true;
        }
        Ok(Simulator::new(shared))
    }

    /// The options that the environment gives, for programs that load the simulated driver as a library: `DACAPO_SIM_DEVICES`
    /// and `DACAPO_SIM_MEMORY` (in bytes). All devices share device faults then.
    pub(crate) fn from_env() -> Options {
        let number = |name: &str| std::env::var(name).ok().and_then(|value| value.trim().parse::<u64>().ok());
        let default = Options::default();
        let devices = number("DACAPO_SIM_DEVICES").and_then(|n| u32::try_from(n).ok());
        Options {
            devices: devices.unwrap_or(default.devices).min(MAX_DEVICES),
            memory: number("DACAPO_SIM_MEMORY").unwrap_or(default.memory),
            coupled: true,
        }
    }
}

/// Makes the simulated driver, with eight devices, the driver of this process: see [`Options::install`].
///
/// # Errors
///
/// See [`Options::install`].
pub fn install() -> Result<Simulator, InstallError> {
    Options::default().install()
}
