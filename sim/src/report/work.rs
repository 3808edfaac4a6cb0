//! Device work as a test sees it: what is pending, and what is to go wrong when it runs.

use std::fmt;

use super::Site;
use crate::Code;

/// What kind of work it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum WorkKind {
    /// A kernel.
    Kernel,
    /// A copy.
    Copy,
    /// A fill.
    Fill,
    /// A host function or a stream callback.
    HostFunction,
    /// Words of memory that are written or waited for.
    MemoryOperation,
    /// The launch of an executable graph.
    Graph,
    /// The record of an event, or a wait for one.
    Event,
    /// An allocation's beginning or end in stream order.
    Allocation,
}

impl fmt::Display for WorkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WorkKind::Kernel => "kernel",
            WorkKind::Copy => "copy",
            WorkKind::Fill => "fill",
            WorkKind::HostFunction => "host function",
            WorkKind::MemoryOperation => "memory operation",
            WorkKind::Graph => "graph",
            WorkKind::Event => "event",
            WorkKind::Allocation => "allocation",
        })
    }
}

/// An entry of a stream's queue that has not finished.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pending {
    /// What it is.
    pub kind: WorkKind,
    /// The name of a kernel.
    pub name: Option<String>,
    /// The call that submitted it.
    pub by: Site,
}

impl fmt::Display for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if let Some(name) = &self.name {
            write!(f, " {name}")?;
        }
        write!(f, " of {}", self.by)
    }
}

/// A piece of device work that is made to fail or to hang when its turn comes.
///
/// The call that submits it succeeds. A failure shows as a device fault does: at the next call that waits for the work,
/// and from then on at every call of the device (and of those coupled with it) until
/// [`SimDevice::reset`](crate::SimDevice::reset).
///
/// Work is counted as the device comes to it, eager or in a launched graph, from the injection on; work that nobody
/// waits for does not run, so it does not count either.
///
/// ```
/// use dacapo_sim::WorkFault;
///
/// let ecc = WorkFault::kernel().nth(3).code(214);
/// assert_eq!(ecc.to_string(), "kernel 3 fails the device with CUDA_ERROR_ECC_UNCORRECTABLE (214)");
/// let stall = WorkFault::graph().hangs();
/// assert_eq!(stall.to_string(), "graph 1 hangs");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "a fault does nothing until it is injected into a device"]
pub struct WorkFault {
    kind: Option<WorkKind>,
    pub(super) nth: u64,
    pub(crate) stream: Option<u64>,
    pub(super) effect: Effect,
}

/// What happens to the work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    /// The device fails in its place.
    Fail(Code),
    /// The device fails when it is done.
    FailAfter(Code),
    /// Its stream stops before it.
    Hang,
}

impl WorkFault {
    fn first(kind: Option<WorkKind>) -> WorkFault {
        WorkFault { kind, nth: 1, stream: None, effect: Effect::Fail(Code::LAUNCH_FAILED) }
    }

    /// The first piece of work, whatever it is: a kernel, a copy, a fill, a host function, a memory operation. Fails
    /// with `CUDA_ERROR_LAUNCH_FAILED`; the other methods refine that.
    pub fn any() -> WorkFault {
        WorkFault::first(None)
    }

    /// The first kernel.
    pub fn kernel() -> WorkFault {
        WorkFault::first(Some(WorkKind::Kernel))
    }

    /// The first copy.
    pub fn copy() -> WorkFault {
        WorkFault::first(Some(WorkKind::Copy))
    }

    /// The first fill.
    pub fn fill() -> WorkFault {
        WorkFault::first(Some(WorkKind::Fill))
    }

    /// The first host function or callback.
    pub fn host_function() -> WorkFault {
        WorkFault::first(Some(WorkKind::HostFunction))
    }

    /// The first write to, or wait for, a word of memory.
    pub fn memory_operation() -> WorkFault {
        WorkFault::first(Some(WorkKind::MemoryOperation))
    }

    /// The first launch of an executable graph, before any of its nodes.
    pub fn graph() -> WorkFault {
        WorkFault::first(Some(WorkKind::Graph))
    }

    /// The `n`-th such piece of work, counted from 1, instead of the first.
    pub fn nth(mut self, n: u64) -> WorkFault {
        self.nth = n.max(1);
        self
    }

    /// Only work of this stream counts, with the graphs launched into it; the handle is as for
    /// [`SimDevice::hang`](crate::SimDevice::hang).
    pub fn on_stream(mut self, stream: u64) -> WorkFault {
        self.stream = Some(stream);
        self
    }

    /// The device fails with this code in place of the work. The codes that a driver makes stick are, by its
    /// documentation, 214, 220, 226, 700, 702, 710, 714 to 719, 721 and 911; any other sticks here as well.
    ///
    /// # Panics
    ///
    /// For `CUDA_SUCCESS` and `CUDA_ERROR_NOT_READY`, which say that nothing is wrong.
    #[track_caller]
    pub fn code(mut self, code: impl Into<Code>) -> WorkFault {
        self.effect = Effect::Fail(failure(code.into()));
        self
    }

    /// The work is done, and then the device fails with this code.
    ///
    /// # Panics
    ///
    /// As [`code`](WorkFault::code).
    #[track_caller]
    pub fn code_after(mut self, code: impl Into<Code>) -> WorkFault {
        self.effect = Effect::FailAfter(failure(code.into()));
        self
    }

    /// The stream stops before the work, as if by [`SimDevice::hang`](crate::SimDevice::hang), until it is
    /// [released](crate::SimDevice::release).
    pub fn hangs(mut self) -> WorkFault {
        self.effect = Effect::Hang;
        self
    }

    /// Whether work of a kind counts.
    pub(super) fn concerns(&self, kind: WorkKind) -> bool {
        match self.kind {
            Some(own) => own == kind,
            None => !matches!(kind, WorkKind::Graph | WorkKind::Event | WorkKind::Allocation),
        }
    }
}

#[track_caller]
fn failure(code: Code) -> Code {
    assert!(!code.is_success() && code != Code::NOT_READY, "a device cannot fail with {code}");
    code
}

impl fmt::Display for WorkFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Some(kind) => write!(f, "{kind} {}", self.nth)?,
            None => write!(f, "piece of work {}", self.nth)?,
        }
        if let Some(stream) = self.stream {
            write!(f, " of stream {stream:#x}")?;
        }
        match self.effect {
            Effect::Fail(code) => write!(f, " fails the device with {code}"),
            Effect::FailAfter(code) => write!(f, " is done and fails the device with {code}"),
            Effect::Hang => f.write_str(" hangs"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "a device cannot fail with CUDA_ERROR_NOT_READY (600)")]
    fn a_device_cannot_fail_with_not_ready() {
        drop(WorkFault::any().code(600));
    }

    #[test]
    #[should_panic(expected = "a device cannot fail with CUDA_SUCCESS (0)")]
    fn a_device_cannot_fail_with_success() {
        drop(WorkFault::any().code_after(0));
    }

    #[test]
    fn work_and_its_faults_say_what_they_are() {
        let fault = WorkFault::any().nth(2).on_stream(0x10).code_after(700);
        assert_eq!(
            fault.to_string(),
            "piece of work 2 of stream 0x10 is done and fails the device with CUDA_ERROR_ILLEGAL_ADDRESS (700)"
        );
        let by = Site { call: 7, name: "cuLaunchKernel", thread: 1 };
        let kernel = Pending { kind: WorkKind::Kernel, name: Some("inc".to_owned()), by };
        assert_eq!(kernel.to_string(), "kernel inc of call 7 cuLaunchKernel on thread 1");
        assert_eq!(
            Pending { kind: WorkKind::Event, name: None, by }.to_string(),
            "event of call 7 cuLaunchKernel on thread 1"
        );
    }
}
