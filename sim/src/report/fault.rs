//! Faults of calls, as data: make the n-th call of a kind fail with a code.
//!
//! 1. A fault names a function that the driver has, so a misspelt one cannot lie in wait for ever.
//! 2. A fault is matched against a call before the call does anything; only an [`after`](Fault::after) fault lets the
//!    call happen and then replaces its success.
//! 3. Names match with and without a version suffix: a fault on `cuMemAlloc` meets `cuMemAlloc_v2`, and the other way.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Code;
use crate::abi;

/// A call that is made to fail: all that is said of it must hold for a call to count.
///
/// ```
/// use dacapo_sim::Fault;
///
/// let first_end = Fault::on("cuStreamEndCapture").code(901);
/// let every_launch_from_the_third = Fault::on("cuGraphLaunch").nth(3).every().code(2);
/// assert_eq!(first_end.to_string(), "call 1 of cuStreamEndCapture fails with CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901)");
/// assert!(Fault::try_on("cuStreamEndCaptrue").is_err());
/// # drop(every_launch_from_the_third);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "a fault does nothing until it is injected into a device"]
pub struct Fault {
    name: Option<&'static str>,
    pub(super) nth: u64,
    pub(super) every: bool,
    pub(super) after: bool,
    thread: Option<u32>,
    stream: Option<u64>,
    pub(super) code: Code,
}

/// The driver has no such function, or has it only to look something up, which never fails.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("no driver function that can be made to fail has the name {name:?}")]
pub struct UnknownFunction {
    /// The name as it was given.
    pub name: String,
}

/// Reads as well as the message: tests print errors by `Debug`.
impl fmt::Debug for UnknownFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Names an injected fault: to ask about it, and to remove it again. No two faults of a process have the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FaultId(u64);

impl FaultId {
    /// An id that was not given out before.
    pub(super) fn fresh() -> FaultId {
        /// The next id. Only read and raised by this one operation.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        // Relaxed: only distinctness matters; nothing is published with the number.
        FaultId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Fault {
    /// The first call of a driver function fails with `CUDA_ERROR_UNKNOWN`; the other methods refine that.
    ///
    /// # Panics
    ///
    /// When the driver has no such function: a fault on it would never strike, and a test would pass for that reason.
    /// See [`try_on`](Fault::try_on) for names that come from elsewhere.
    #[track_caller]
    pub fn on(name: &str) -> Fault {
        match Fault::try_on(name) {
            Ok(fault) => fault,
            Err(error) => panic!("{error}"),
        }
    }

    /// The same for a name that may be wrong.
    ///
    /// # Errors
    ///
    /// [`UnknownFunction`] when the driver has no function of this name, and for the two that look up error names.
    pub fn try_on(name: &str) -> Result<Fault, UnknownFunction> {
        let known = abi::symbols().map(|(known, _)| known).filter(|known| !abi::is_inert(known));
        let found = known.filter(|known| *known == name || plain(known) == name).map(plain).next();
        match found {
            Some(name) => Ok(Fault { name: Some(name), ..Fault::on_any() }),
            None => Err(UnknownFunction { name: name.to_owned() }),
        }
    }

    /// The first call of whatever function fails.
    pub fn on_any() -> Fault {
        Fault { name: None, nth: 1, every: false, after: false, thread: None, stream: None, code: Code::UNKNOWN }
    }

    /// The `n`-th matching call fails, counted from 1, instead of the first.
    pub fn nth(mut self, n: u64) -> Fault {
        self.nth = n.max(1);
        self
    }

    /// From the chosen call on, every matching call fails.
    pub fn every(mut self) -> Fault {
        self.every = true;
        self
    }

    /// The call does its work, writes its results, and then reports the code in place of success. A call that fails by
    /// itself is left alone.
    pub fn after(mut self) -> Fault {
        self.after = true;
        self
    }

    /// Only calls of this thread count; threads are numbered as in the call log.
    pub fn on_thread(mut self, thread: u32) -> Fault {
        self.thread = Some(thread);
        self
    }

    /// Only calls that name this stream count: as an argument, or in the configuration of `cuLaunchKernelEx`. The
    /// handle is taken as it stands, but that 0 and 1 both mean the legacy default stream.
    pub fn on_stream(mut self, stream: u64) -> Fault {
        self.stream = Some(legacy_as_null(stream));
        self
    }

    /// The code to fail with.
    ///
    /// # Panics
    ///
    /// For the code of success: a call that reports success without its work is no fault of a driver.
    #[track_caller]
    pub fn code(mut self, code: impl Into<Code>) -> Fault {
        self.code = code.into();
        assert!(!self.code.is_success(), "a call cannot fail with success");
        self
    }

    /// Whether a call counts.
    pub(super) fn concerns(&self, name: &str, thread: u32, stream: Option<u64>) -> bool {
        self.name.is_none_or(|own| own == name)
            && self.thread.is_none_or(|own| own == thread)
            && self.stream.is_none_or(|own| stream.map(legacy_as_null) == Some(own))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.unwrap_or("any function");
        let more = if self.every { " and every later one" } else { "" };
        let when = if self.after { " after its work" } else { "" };
        write!(f, "call {}{more} of {name}", self.nth)?;
        if let Some(stream) = self.stream {
            write!(f, " on stream {stream:#x}")?;
        }
        if let Some(thread) = self.thread {
            write!(f, " on thread {thread}")?;
        }
        write!(f, " fails{when} with {}", self.code)
    }
}

/// The name without a version suffix.
pub(super) fn plain(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((head, digits)) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => head,
        _ => name,
    }
}

/// `CU_STREAM_LEGACY` is another name of the null stream.
fn legacy_as_null(stream: u64) -> u64 {
    if stream == 1 { 0 } else { stream }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_on_a_function_that_the_driver_has() {
        for name in ["cuMemAlloc", "cuMemAlloc_v2", "cuGraphLaunch", "cuArrayDestroy", "cuCtxCreate"] {
            assert!(Fault::try_on(name).is_ok(), "{name}");
        }
        for name in ["", "cuMemAlloc_v9", "cumemalloc", "cuGraphLaunchh", "cuGetErrorName", "cuGetErrorString"] {
            let error = Fault::try_on(name).unwrap_err();
            assert_eq!(error, UnknownFunction { name: name.to_owned() });
            assert_eq!(
                format!("{error:?}"),
                format!("no driver function that can be made to fail has the name {name:?}")
            );
        }
    }

    #[test]
    #[should_panic(expected = "no driver function that can be made to fail has the name \"cuNothing\"")]
    fn a_misspelt_fault_panics_where_it_is_made() {
        drop(Fault::on("cuNothing"));
    }

    #[test]
    #[should_panic(expected = "a call cannot fail with success")]
    fn a_fault_needs_an_error() {
        drop(Fault::on_any().code(0));
    }

    #[test]
    fn a_fault_says_what_it_does() {
        let fault = Fault::on("cuMemcpyHtoDAsync_v2").nth(2).every().after().on_stream(1).on_thread(3).code(46);
        assert_eq!(
            fault.to_string(),
            "call 2 and every later one of cuMemcpyHtoDAsync on stream 0x0 on thread 3 fails after its work with \
             CUDA_ERROR_DEVICE_UNAVAILABLE (46)"
        );
    }
}
