//! The faults that are in force on a device, and what became of those that are not any more.
//!
//! 1. A fault counts what concerns it from the moment it was injected.
//! 2. Of several faults that would strike the same call or piece of work, the oldest does; for the others it has
//!    counted.
//! 3. A fault that strikes once is used up. How often it has struck can be asked until the device is reset.

use std::collections::BTreeMap;

use super::fault::plain;
use super::work::{Effect, WorkFault, WorkKind};
use super::{Fault, FaultId};
use crate::Code;
use crate::engine::LaneId;

/// What the faults of a device say about a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Nothing.
    Pass,
    /// The call fails at once.
    Fail(Code),
    /// The call does its work; if that succeeds it fails, and the fault [has struck](Faults::struck_after).
    FailAfter(FaultId, Code),
}

/// The faults of one device.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    calls: Vec<Armed<Fault>>,
    work: Vec<Armed<OnLane>>,
    struck: BTreeMap<FaultId, u64>,
}

#[derive(Debug)]
struct Armed<F> {
    id: FaultId,
    fault: F,
    /// How many calls, or pieces of work, have counted.
    met: u64,
}

/// A fault of work, with the queue of the stream that it is bound to.
#[derive(Debug)]
struct OnLane {
    fault: WorkFault,
    lane: Option<LaneId>,
}

impl Faults {
    /// Adds a fault of a call.
    pub(crate) fn inject(&mut self, fault: Fault) -> FaultId {
        let id = self.enter();
        self.calls.push(Armed { id, fault, met: 0 });
        id
    }

    /// Adds a fault of work, for one lane or all.
    pub(crate) fn inject_work(&mut self, fault: WorkFault, lane: Option<LaneId>) -> FaultId {
        let id = self.enter();
        self.work.push(Armed { id, fault: OnLane { fault, lane }, met: 0 });
        id
    }

    fn enter(&mut self) -> FaultId {
        let id = FaultId::fresh();
        self.struck.insert(id, 0);
        id
    }

    /// Takes a fault away; false when it is not in force.
    pub(crate) fn remove(&mut self, id: FaultId) -> bool {
        let before = self.calls.len() + self.work.len();
        self.calls.retain(|armed| armed.id != id);
        self.work.retain(|armed| armed.id != id);
        self.calls.len() + self.work.len() != before
    }

    /// Takes every fault away.
    pub(crate) fn clear(&mut self) {
        self.calls.clear();
        self.work.clear();
    }

    /// How often a fault has struck; nothing for one that this device never had.
    pub(crate) fn struck(&self, id: FaultId) -> Option<u64> {
        self.struck.get(&id).copied()
    }

    /// Counts a call against every fault. `stream` is asked only when there is one.
    pub(crate) fn meet(&mut self, name: &str, thread: u32, stream: impl FnOnce() -> Option<u64>) -> Verdict {
        if self.calls.is_empty() {
            return Verdict::Pass;
        }
        let (name, stream) = (plain(name), stream());
        let mut verdict = Verdict::Pass;
        let Faults { calls, struck, .. } = self;
        calls.retain_mut(|Armed { id, fault, met }| {
            if !fault.concerns(name, thread, stream) {
                return true;
            }
            *met += 1;
            let strikes = if fault.every { *met >= fault.nth } else { *met == fault.nth };
            if strikes && verdict == Verdict::Pass {
                verdict = match fault.after {
                    true => Verdict::FailAfter(*id, fault.code),
                    false => Verdict::Fail(fault.code),
                };
                if !fault.after {
                    count(struck, *id);
                }
            }
            fault.every || *met < fault.nth
        });
        verdict
    }

    /// A fault has let a call or a piece of work happen and then struck.
    pub(crate) fn struck_after(&mut self, id: FaultId) {
        count(&mut self.struck, id);
    }

    /// Counts a piece of work that begins against every fault: what is to happen to it.
    pub(crate) fn begin(&mut self, kind: WorkKind, lane: LaneId) -> Option<(FaultId, Effect)> {
        let mut verdict = None;
        let Faults { work, struck, .. } = self;
        work.retain_mut(|Armed { id, fault: OnLane { fault, lane: own }, met }| {
            if !fault.concerns(kind) || own.is_some_and(|own| own != lane) {
                return true;
            }
            *met += 1;
            if *met == fault.nth && verdict.is_none() {
                verdict = Some((*id, fault.effect));
                if !matches!(fault.effect, Effect::FailAfter(_)) {
                    count(struck, *id);
                }
            }
            *met < fault.nth
        });
        verdict
    }
}

fn count(struck: &mut BTreeMap<FaultId, u64>, id: FaultId) {
    *struck.entry(id).or_default() += 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none() -> Option<u64> {
        None
    }

    #[test]
    fn names_match_with_and_without_a_version_suffix() {
        let mut faults = Faults::default();
        let id = faults.inject(Fault::on("cuMemAlloc_v2").code(2));
        assert_eq!(faults.meet("cuMemAllocAsync", 0, none), Verdict::Pass);
        assert_eq!(faults.struck(id), Some(0));
        assert_eq!(faults.meet("cuMemAlloc", 0, none), Verdict::Fail(Code::OUT_OF_MEMORY));
        assert_eq!(faults.meet("cuMemAlloc", 0, none), Verdict::Pass);
        assert_eq!(faults.struck(id), Some(1));
    }

    #[test]
    fn the_nth_call_fails_and_every_keeps_failing() {
        let mut faults = Faults::default();
        let second = faults.inject(Fault::on("cuGraphLaunch").nth(2).code(1));
        let later = faults.inject(Fault::on("cuGraphLaunch").nth(3).every().after().code(999));
        let got: Vec<Verdict> = (0..4).map(|_| faults.meet("cuGraphLaunch", 0, none)).collect();
        let late = Verdict::FailAfter(later, Code::UNKNOWN);
        assert_eq!(got, [Verdict::Pass, Verdict::Fail(Code::INVALID_VALUE), late, late]);
        assert_eq!(faults.struck(later), Some(0), "nobody has said that the calls succeeded");
        faults.struck_after(later);
        assert_eq!((faults.struck(second), faults.struck(later)), (Some(1), Some(1)));
        assert!(faults.remove(later));
        assert!(!faults.remove(later));
        assert!(!faults.remove(second), "used up");
        assert_eq!(faults.meet("cuGraphLaunch", 0, none), Verdict::Pass);
        assert_eq!(faults.struck(later), Some(1), "still known");
    }

    #[test]
    fn a_fault_may_be_bound_to_a_thread_and_a_stream() {
        let mut faults = Faults::default();
        let thread = faults.inject(Fault::on_any().on_thread(3).code(700));
        assert_eq!(faults.meet("cuInit", 0, none), Verdict::Pass);
        assert_eq!(faults.meet("cuInit", 3, none), Verdict::Fail(Code::ILLEGAL_ADDRESS));
        let stream = faults.inject(Fault::on_any().on_stream(0).every().code(700));
        assert_eq!(faults.meet("cuInit", 3, none), Verdict::Pass);
        assert_eq!(faults.meet("cuGraphLaunch", 3, || Some(2)), Verdict::Pass);
        assert_eq!(faults.meet("cuGraphLaunch", 3, || Some(0)), Verdict::Fail(Code::ILLEGAL_ADDRESS));
        assert_eq!(faults.meet("cuGraphLaunch", 3, || Some(1)), Verdict::Fail(Code::ILLEGAL_ADDRESS));
        assert_eq!((faults.struck(thread), faults.struck(stream)), (Some(1), Some(2)));
    }

    #[test]
    fn the_oldest_fault_strikes_and_the_others_count() {
        let mut faults = Faults::default();
        let first = faults.inject(Fault::on_any().code(1));
        let second = faults.inject(Fault::on_any().nth(2).code(2));
        let third = faults.inject(Fault::on_any().code(3));
        assert_eq!(faults.meet("cuInit", 0, none), Verdict::Fail(Code::INVALID_VALUE));
        assert_eq!(faults.meet("cuInit", 0, none), Verdict::Fail(Code::OUT_OF_MEMORY));
        assert_eq!([first, second, third].map(|id| faults.struck(id)), [Some(1), Some(1), Some(0)]);
    }

    fn lane(number: u64) -> LaneId {
        LaneId { number, device: 0 }
    }

    #[test]
    fn work_is_counted_by_kind_and_lane() {
        let mut faults = Faults::default();
        let kernel = faults.inject_work(WorkFault::kernel().nth(2).code(716), Some(lane(1)));
        let any = faults.inject_work(WorkFault::any().nth(4).hangs(), None);
        assert_eq!(faults.begin(WorkKind::Graph, lane(1)), None, "its parts count, not the launch itself");
        assert_eq!(faults.begin(WorkKind::Kernel, lane(1)), None);
        assert_eq!(faults.begin(WorkKind::Copy, lane(1)), None);
        assert_eq!(faults.begin(WorkKind::Kernel, lane(2)), None);
        let misaligned = (kernel, Effect::Fail(Code::MISALIGNED_ADDRESS));
        assert_eq!(faults.begin(WorkKind::Kernel, lane(1)), Some(misaligned));
        assert_eq!((faults.struck(kernel), faults.struck(any)), (Some(1), Some(0)), "the younger one has counted only");
        assert_eq!(faults.begin(WorkKind::Kernel, lane(1)), None);
    }
}
