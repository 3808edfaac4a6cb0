//! Makes the simulated driver the `libcuda.so` of this process.
//!
//! The shared object that [`elf`] writes goes to a file that exists only in memory and is loaded under the name
//! `libcuda.so`. The dynamic linker then answers every later `dlopen("libcuda.so")` with it. The symbols jump back into this
//! very process, so there is one copy of the simulator.
//!
//! 1. The object is loaded for this process only and never unloaded.
//! 2. Its symbols are local to it: they do not take part in the resolution of anybody else's.

use std::ffi::{CStr, CString, c_void};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

use crate::abi;
use crate::elf::{self, Machine};
use crate::install::InstallError;

/// The name under which programs load the driver.
const SONAME: &str = "libcuda.so";

/// Other names under which a driver may already be in the process.
const DRIVER_NAMES: [&CStr; 4] = [c"libcuda.so", c"libcuda.so.1", c"libcuda64.so", c"libnvcuda.so"];

/// Fails if some driver is already in the process.
pub(crate) fn check_absent() -> Result<(), InstallError> {
    for name in DRIVER_NAMES {
        if let Some(handle) = open(name, libc::RTLD_NOW | libc::RTLD_NOLOAD) {
            // SAFETY: the handle is the one that `dlopen` has just returned; closing it drops the count it added.
            unsafe { libc::dlclose(handle.as_ptr()) };
            return Err(InstallError::DriverLoaded { name: name.to_string_lossy().into_owned() });
        }
    }
    // SAFETY: the name is a C string; the handle means the scope of the whole process.
    let linked = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"cuInit".as_ptr()) };
    if linked.is_null() { Ok(()) } else { Err(InstallError::DriverLinked) }
}

/// Loads the shared object.
pub(crate) fn load() -> Result<(), InstallError> {
    let machine = Machine::host().ok_or(InstallError::UnsupportedPlatform)?;
    let symbols: Vec<(&str, u64)> = abi::symbols().map(|(name, address)| (name, address.get())).collect();
    let image = elf::shared_object(machine, SONAME, &symbols);
    let file = memory_file().or_else(|_| unlinked_file()).map_err(InstallError::File)?;
    let mut file = File::from(file);
    file.write_all(&image).map_err(InstallError::File)?;
    let path =
        CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).map_err(|_| InstallError::UnsupportedPlatform)?;
    match open(&path, libc::RTLD_NOW | libc::RTLD_LOCAL) {
        Some(_kept_open_for_good) => Ok(()),
        None => Err(InstallError::Load { reason: last_error() }),
    }
}

fn open(name: &CStr, flags: i32) -> Option<NonNull<c_void>> {
    // SAFETY: the name is a C string. Loading runs no code of the object's: the simulator's has none to run, and the other
    // callers ask for what is loaded already.
    NonNull::new(unsafe { libc::dlopen(name.as_ptr(), flags) })
}

/// What the dynamic linker has to say about the last failure.
fn last_error() -> String {
    // SAFETY: no condition; the string is copied before anything else is called.
    let error = unsafe { libc::dlerror() };
    if error.is_null() {
        return "no reason given".to_owned();
    }
    // SAFETY: the string is valid until the next call of the dynamic linker on this thread.
    unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned()
}

/// A file that exists only in memory.
fn memory_file() -> std::io::Result<OwnedFd> {
    // SAFETY: the name is a C string.
    let fd = unsafe { libc::memfd_create(c"libcuda.so".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A file that has lost its name already, where there are no memory files.
fn unlinked_file() -> std::io::Result<OwnedFd> {
    let path = std::env::temp_dir().join(format!("dacapo-sim-{}.so", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file.into())
}
