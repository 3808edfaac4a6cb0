//! Ranges of NVTX, through cudarc: what a profiler shows on its time line.
//!
//! cudarc looks for `libnvToolsExt` at the first call and panics if there is none, so it is asked first; without the library a range is
//! nothing. Where cudarc links its libraries there is nothing to ask, and this one is linked, too: as in `driver::library`, a
//! glob import then falls through to a function of ours.

#![allow(unsafe_code)]

use std::ffi::CStr;

use cudarc::nvtx::sys;

use crate::sync::OnceLock;

#[allow(dead_code, reason = "shadowed by cudarc's function of the same name where cudarc loads the library")]
mod linked {
    /// # Safety
    /// None to uphold; `unsafe` as cudarc's function of the same name is.
    pub(super) unsafe fn is_culib_present() -> bool {
        true
    }
}

/// A range on the time line, until it is dropped; on whatever thread.
pub(crate) struct Range(Option<u64>);

impl Range {
    pub(crate) fn start(name: &'static CStr) -> Self {
        // SAFETY: the library is there; a string that ends with a NUL and lives for ever.
        Self(is_present().then(|| unsafe { sys::nvtxRangeStartA(name.as_ptr()) }))
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        if let Some(range) = self.0 {
            // SAFETY: the library is there; a range that was started and not ended.
            unsafe { sys::nvtxRangeEnd(range) };
        }
    }
}

/// Whether there is a library to call; looked for once.
fn is_present() -> bool {
    static PRESENT: OnceLock<bool> = OnceLock::new();
    #[allow(unused_imports, reason = "one of the two imports names what is used")]
    use linked::*;
    *PRESENT.get_or_init(|| {
        #[allow(unused_imports, reason = "as above")]
        use cudarc::nvtx::sys::*;
        // SAFETY: loading the library runs its initialisers, which is what it is for; cudarc does the same on its first call.
        unsafe { is_culib_present() }
    })
}
