//! Faults as data: make the n-th call of a kind fail with a code.
//!
//! 1. A fault is matched against a call before the call does anything; only an [`after`](Fault::after) fault lets the
//!    call happen and then replaces its success.
//! 2. Names match with and without a version suffix: a fault on `cuMemAlloc` meets `cuMemAlloc_v2`, and the other way.
//! 3. A fault counts the matching calls of its own device only, from the moment it was injected.

use std::fmt;

use crate::Code;

/// A call that is made to fail.
///
/// ```
/// use dacapo_sim::Fault;
///
/// let first_end = Fault::on("cuStreamEndCapture").code(901);
/// let every_launch_from_the_third = Fault::on("cuGraphLaunch").nth(3).every().code(2);
/// assert_eq!(first_end.to_string(), "call 1 of cuStreamEndCapture fails with CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901)");
/// # drop(every_launch_from_the_third);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "a fault does nothing until it is injected into a device"]
pub struct Fault {
    name: Option<String>,
    nth: u64,
    every: bool,
    after: bool,
    thread: Option<u32>,
    code: Code,
}

/// Names an injected fault, to remove it again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FaultId(u64);

impl Fault {
    /// The first call of a driver function fails with `CUDA_ERROR_UNKNOWN`; the other methods refine that.
    pub fn on(name: &str) -> Fault {
        Fault { name: Some(plain(name).to_owned()), ..Fault::on_any() }
    }

    /// The first call of whatever function fails.
    pub fn on_any() -> Fault {
        Fault { name: None, nth: 1, every: false, after: false, thread: None, code: Code::UNKNOWN }
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

    /// The call does its work, then reports the code in place of success.
    pub fn after(mut self) -> Fault {
        self.after = true;
        self
    }

    /// Only calls of this thread count; threads are numbered as in the call log.
    pub fn on_thread(mut self, thread: u32) -> Fault {
        self.thread = Some(thread);
        self
    }

    /// The code to fail with.
    pub fn code(mut self, code: impl Into<Code>) -> Fault {
        self.code = code.into();
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.as_deref().unwrap_or("any function");
        let more = if self.every { " and every later one" } else { "" };
        let when = if self.after { " after its work" } else { "" };
        write!(f, "call {}{more} of {name} fails{when} with {}", self.nth, self.code)
    }
}

/// The name without a version suffix.
fn plain(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((head, digits)) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => head,
        _ => name,
    }
}

/// What the faults of a device say about a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Nothing.
    Pass,
    /// The call fails at once.
    Fail(Code),
    /// The call does its work and then fails.
    FailAfter(Code),
}

/// The faults injected into one device.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    next: u64,
    active: Vec<(FaultId, Fault, u64)>,
}

impl Faults {
    /// Adds a fault.
    pub(crate) fn inject(&mut self, fault: Fault) -> FaultId {
        self.next += 1;
        let id = FaultId(self.next);
        self.active.push((id, fault, 0));
        id
    }

    /// Takes a fault away; false when it is gone already.
    pub(crate) fn remove(&mut self, id: FaultId) -> bool {
        let before = self.active.len();
        self.active.retain(|(other, ..)| *other != id);
        self.active.len() != before
    }

    /// Takes every fault away.
    pub(crate) fn clear(&mut self) {
        self.active.clear();
    }

    /// Counts a call against every fault; the oldest one that strikes decides. A fault that strikes once is used up.
    pub(crate) fn meet(&mut self, name: &str, thread: u32) -> Verdict {
        let name = plain(name);
        let mut verdict = Verdict::Pass;
        self.active.retain_mut(|(_, fault, met)| {
            let concerns = fault.name.as_deref().is_none_or(|n| n == name) && fault.thread.is_none_or(|t| t == thread);
            if !concerns {
                return true;
            }
            *met += 1;
            let strikes = if fault.every { *met >= fault.nth } else { *met == fault.nth };
            if strikes && verdict == Verdict::Pass {
                verdict = if fault.after { Verdict::FailAfter(fault.code) } else { Verdict::Fail(fault.code) };
            }
            fault.every || *met < fault.nth
        });
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_with_and_without_a_version_suffix() {
        let mut faults = Faults::default();
        faults.inject(Fault::on("cuMemAlloc_v2").code(2));
        assert_eq!(faults.meet("cuMemAllocAsync", 0), Verdict::Pass);
        assert_eq!(faults.meet("cuMemAlloc", 0), Verdict::Fail(Code::OUT_OF_MEMORY));
        assert_eq!(faults.meet("cuMemAlloc", 0), Verdict::Pass);
    }

    #[test]
    fn the_nth_call_fails_and_every_keeps_failing() {
        let mut faults = Faults::default();
        faults.inject(Fault::on("cuGraphLaunch").nth(2).code(1));
        let id = faults.inject(Fault::on("cuGraphLaunch").nth(3).every().after().code(999));
        let got: Vec<Verdict> = (0..4).map(|_| faults.meet("cuGraphLaunch", 0)).collect();
        let late = Verdict::FailAfter(Code::UNKNOWN);
        assert_eq!(got, [Verdict::Pass, Verdict::Fail(Code::INVALID_VALUE), late, late]);
        assert!(faults.remove(id));
        assert!(!faults.remove(id));
        assert_eq!(faults.meet("cuGraphLaunch", 0), Verdict::Pass);
    }

    #[test]
    fn a_fault_may_be_bound_to_a_thread() {
        let mut faults = Faults::default();
        faults.inject(Fault::on_any().on_thread(3).code(700));
        assert_eq!(faults.meet("cuInit", 0), Verdict::Pass);
        assert_eq!(faults.meet("cuInit", 3), Verdict::Fail(Code::ILLEGAL_ADDRESS));
    }
}
