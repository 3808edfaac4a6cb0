//! Which driver an example runs on. Never chosen silently: the caller prints what this returns.

use std::env;
use std::error::Error;
use std::process::{Command, exit};

use dacapo::{Device, Unavailable};

/// The environment variable that names the driver: `auto` (the default), `cuda` or `sim`.
pub(crate) const VARIABLE: &str = "DACAPO_DRIVER";

/// What [`choose_driver`] calls the simulated driver.
pub(crate) const SIMULATED: &str = "simulated driver";

/// Readies the driver called `choice` and says which one it is.
///
/// `cuda` is the driver of this machine, `sim` the simulated one. `auto` is the driver of this machine if it has a device,
/// and the simulated one otherwise. A process has one driver for its life, so where the machine's driver has been loaded
/// before it turned out to have no device, the program runs itself anew with `sim`.
pub(crate) fn choose_driver(choice: &str) -> Result<&'static str, Box<dyn Error>> {
    match choice {
        "sim" => {
            dacapo_sim::install()?;
            Ok(SIMULATED)
        }
        "cuda" => match Device::count() {
            Ok(_) => Ok("CUDA driver"),
            Err(error) => Err(format!("{error} (DACAPO_DRIVER=sim runs on the simulated driver)").into()),
        },
        "auto" if choice_from_environment() == "sim" => choose_driver("sim"),
        "auto" => match Device::count() {
            Ok(_) => Ok("CUDA driver"),
            Err(dacapo::Error::Unavailable(Unavailable::NoLibrary)) => choose_driver("sim"),
            Err(_) => {
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
