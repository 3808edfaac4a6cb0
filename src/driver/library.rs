//! Finds the driver library: always the one that cudarc itself calls, in every way cudarc can be linked.
//!
//! cudarc either loads the driver when it is first used (its features `dynamic-loading`, `fallback-dynamic-loading`)
//! or has it linked (`dynamic-linking`, `static-linking`). Its features are chosen by whoever builds the program and
//! cannot be seen from here, but its items can: where it loads the driver, `cudarc::driver::sys` has `culib` and
//! `is_culib_present`, and a glob import finds them before the functions of the same names in [`linked`].

use std::ffi::{CStr, c_void};

/// The driver as linked into the program; used only where cudarc has no lookup of its own.
#[allow(dead_code, reason = "shadowed by cudarc's functions of the same names where cudarc loads the driver")]
mod linked {
    #[cfg(unix)]
    pub(super) use libloading::os::unix::Library;
    #[cfg(windows)]
    pub(super) use libloading::os::windows::Library;

    /// # Safety
    /// None to uphold; `unsafe` as cudarc's function of the same name is.
    pub(super) unsafe fn is_culib_present() -> bool {
        // SAFETY: opening the driver runs its initialisers, which the program has run already by linking to it.
        unsafe { open() }.is_some()
    }

    /// # Safety
    /// [`is_culib_present`] has returned `true`.
    pub(super) unsafe fn culib() -> Library {
        // SAFETY: as above.
        unsafe { open() }.expect("the driver was there a moment ago, and a linked library is never unloaded")
    }

    /// The library by name: the loader hands out the copy that is linked in, also to a plug-in loaded privately.
    ///
    /// # Safety
    /// Opening the library runs its initialisers.
    unsafe fn open() -> Option<Library> {
        let names = if cfg!(windows) { ["nvcuda.dll", "nvcuda.dll"] } else { ["libcuda.so.1", "libcuda.so"] };
        // SAFETY: the caller's condition.
        names.into_iter().find_map(|name| unsafe { Library::new(name) }.ok())
    }
}

/// The driver library, as a way to look up its symbols.
pub(super) struct Library(());

impl Library {
    /// The library, if there is one on this machine. Loads it.
    pub(super) fn find() -> Option<Self> {
        #[allow(unused_imports, reason = "one of the two imports names what is used")]
        use linked::*;
        {
            #[allow(unused_imports, reason = "as above")]
            use cudarc::driver::sys::*;
            // SAFETY: loading the CUDA driver runs its initialisers; that is what this crate is for, and cudarc does
            // the same on its first call. No condition beyond that.
            unsafe { is_culib_present() }.then_some(Self(()))
        }
    }

    /// The address of a symbol.
    pub(super) fn symbol(&self, name: &CStr) -> Option<*const c_void> {
        #[allow(unused_imports, reason = "as in find")]
        use linked::*;
        {
            #[allow(unused_imports, reason = "as in find")]
            use cudarc::driver::sys::*;
            // SAFETY: `find` has seen the library, so this does not panic for want of one.
            let library = unsafe { culib() };
            // SAFETY: the symbol is read as an address only; nothing is called through this type.
            unsafe { library.get::<*const c_void>(name.to_bytes_with_nul()) }.ok().map(|symbol| *symbol)
        }
    }
}
