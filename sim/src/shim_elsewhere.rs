//! In place of [`shim`](crate::shim) on platforms other than Linux: there is no way to install the simulated driver.

use crate::install::InstallError;

/// There is nothing to look for.
pub(crate) fn check_absent() -> Result<(), InstallError> {
    Ok(())
}

/// Always fails.
pub(crate) fn load() -> Result<(), InstallError> {
    Err(InstallError::UnsupportedPlatform)
}
