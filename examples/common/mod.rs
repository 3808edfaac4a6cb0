//! Which driver an example runs on. Never chosen silently: the caller prints what this returns.

use std::env;
use std::error::Error;
use std::process::{Command, exit};

use dacapo::{Device, Unavailable};

/// The environment variable that names the driver: `auto` (the default), `cuda` or `sim`.
pub(crate) const VARIABLE: &str = "DACAPO_DRIVER";

/// What [`choose_driver`] calls the simulated driver.
pub(crate) const SIMULATED: &str = "simulated driver";

const SIM: &str = "DACAPO_DRIVER=sim runs on the simulated driver";

/// Readies the driver called `choice` and says which one it is.
///
/// `cuda` is the driver of this machine, `sim` the simulated one. `auto` is the driver of this machine if it has a device,
/// and the simulated one otherwise. A process has one driver for its life, so where the machine's driver has been loaded
/// before it turned out to have no device, the program runs itself anew with `sim`.
#[allow(dead_code, reason = "an example of several devices asks for them")]
pub(crate) fn choose_driver(choice: &str) -> Result<&'static str, Box<dyn Error>> {
    choose_driver_of(1, choice)
}

/// The same for an example that needs so many devices.
pub(crate) fn choose_driver_of(devices: usize, choice: &str) -> Result<&'static str, Box<dyn Error>> {
    match choice {
        "sim" => {
            dacapo_sim::install()?;
            Ok(SIMULATED)
        }
        "cuda" => match Device::count() {
            Ok(count) if count >= devices => Ok("CUDA driver"),
            Ok(count) => Err(format!("needs {devices} devices, and there are {count} ({SIM})").into()),
            Err(error) => Err(format!("{error} ({SIM})").into()),
        },
        "auto" if choice_from_environment() == "sim" => choose_driver_of(devices, "sim"),
        "auto" => match Device::count() {
            Ok(count) if count >= devices => Ok("CUDA driver"),
            Err(dacapo::Error::Unavailable(Unavailable::NoLibrary)) => choose_driver_of(devices, "sim"),
            Ok(_) | Err(_) => {
                let anew =
                    Command::new(env::current_exe()?).args(env::args_os().skip(1)).env(VARIABLE, "sim").status()?;
                exit(anew.code().unwrap_or(1))
            }
        },
        other => Err(format!("no driver called {other:?}: choose auto, cuda or sim").into()),
    }
}

/// What [`VARIABLE`] says.
pub(crate) fn choice_from_environment() -> String {
    env::var(VARIABLE).unwrap_or_else(|_| "auto".into())
}
