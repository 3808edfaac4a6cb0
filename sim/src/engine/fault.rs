//! Device faults: from a bad access, or a fault that a test has injected, to a context that answers every call with the
//! same error.

use super::{Body, LaneId, Step};
use crate::Code;
use crate::model::Driver;
use crate::model::id::{ContextId, Id, Miss, ModuleId};
use crate::model::memory::Trouble;
use crate::model::work::Launch;
use crate::ptx::{self, FaultKind};
use crate::report::{Effect, FaultId, Range, Site, Violation, WorkKind};

/// A fault that work has raised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceFault {
    /// The context of the work.
    pub(crate) context: ContextId,
    /// What every call returns from now on.
    pub(crate) code: Code,
}

/// The device fault that a test has put behind a piece of work.
pub(super) type Doom = Option<(FaultId, Code)>;

impl Driver {
    /// Takes a fault of work on a lane: its device, that of the lane (a graph may reach over several), and those that
    /// share their faults are unusable until they are reset.
    pub(crate) fn raise(&mut self, fault: DeviceFault, lane: LaneId) {
        let of_lane = self.lanes.get(&lane).map(|lane| lane.context);
        for context in [Some(fault.context), of_lane].into_iter().flatten() {
            let device = self.device_of_context(context);
            let Some(group) = self.devices.get(device as usize).map(|device| device.group) else { continue };
            for device in self.devices.iter_mut().filter(|device| device.group == group) {
                device.poison.get_or_insert(fault.code);
            }
        }
        let lanes: Vec<LaneId> = self.lanes.keys().copied().collect();
        for lane in lanes {
            let Some(context) = self.lanes.get(&lane).map(|lane| lane.context) else { continue };
            if self.healthy(self.device_of_context(context)).is_err() {
                self.discard_lane(lane);
            }
        }
    }

    /// Drops everything that a lane has queued, as if it had run.
    pub(crate) fn discard_lane(&mut self, lane: LaneId) {
        let Some(found) = self.lanes.get_mut(&lane) else { return };
        let dropped = found.discard();
        self.discarded += dropped.len() as u64;
        if !found.open {
            self.lanes.remove(&lane);
        }
        for item in dropped {
            if let Body::Run(run) = item.body {
                self.release_run(*run, item.by);
            }
        }
    }

    /// Asks the faults that a test has injected about work that begins on a lane. The step that takes its place, if
    /// any, or what is to follow when it is done.
    pub(super) fn meet_work(
        &mut self,
        kind: Option<WorkKind>,
        context: ContextId,
        lane: LaneId,
        doom: &mut Doom,
    ) -> Option<Step> {
        let device = self.device_of_context(context);
        let (id, effect) = self.devices.get_mut(device as usize)?.faults.begin(kind?, lane)?;
        match effect {
            Effect::Fail(code) => Some(Step::Fault(DeviceFault { context, code })),
            Effect::FailAfter(code) => {
                *doom = Some((id, code));
                None
            }
            Effect::Hang => {
                self.lanes.get_mut(&lane)?.hung = true;
                Some(Step::Hung)
            }
        }
    }

    /// What becomes of work that is done: the device fault that a test has put behind it, if any.
    pub(super) fn meet_end(&mut self, doom: Doom, context: ContextId) -> Step {
        let Some((id, code)) = doom else { return Step::Done };
        let device = self.device_of_context(context);
        if let Some(device) = self.devices.get_mut(device as usize) {
            device.faults.struck_after(id);
        }
        Step::Fault(DeviceFault { context, code })
    }

    /// What a kernel's fault means to the driver.
    pub(super) fn kernel_fault(
        &mut self,
        context: ContextId,
        launch: &Launch,
        fault: &ptx::Fault,
        used: Site,
    ) -> DeviceFault {
        let device = Some(self.device_of_context(context));
        let code = match fault.kind {
            FaultKind::OutOfBounds { address, size: bytes } => {
                let reachable = self.memory.device_of(address).is_none_or(|device| self.reaches(context, device));
                let trouble = match self.memory.span(address, bytes) {
                    Err(trouble) if reachable => trouble,
                    _ => Trouble::Nothing,
                };
                return self.bad_access(context, address, bytes, trouble, used);
            }
            FaultKind::Misaligned { address, size } => {
                let touched = Range { address, bytes: size };
                self.violate(device, Violation::Misaligned { touched, used });
                return DeviceFault { context, code: Code::MISALIGNED_ADDRESS };
            }
            FaultKind::Resources => Code::LAUNCH_OUT_OF_RESOURCES,
            FaultKind::Assertion => Code::ASSERT,
            _ => Code::LAUNCH_FAILED,
        };
        let reason = format!("kernel {}: {fault}", launch.code.name());
        self.violate(device, Violation::KernelFailed { reason, used });
        DeviceFault { context, code }
    }

    /// Records the use of a function whose module is gone.
    pub(crate) fn check_module(&mut self, context: ContextId, module: ModuleId, function: &str, used: Site) {
        if let Err(Miss::Stale(Some(unloaded))) = self.modules.find(module.raw()) {
            let function = function.to_owned();
            let device = Some(self.device_of_context(context));
            self.violate(device, Violation::ModuleUnloaded { function, unloaded, used });
        }
    }
}
