//! Device faults: from a bad access to a context that answers every call with the same error.

use super::{Body, LaneId};
use crate::Code;
use crate::model::Driver;
use crate::model::id::{ContextId, Id, Miss, ModuleId};
use crate::model::memory::Trouble;
use crate::model::work::Launch;
use crate::ptx::{self, FaultKind};
use crate::report::{Range, Site, Violation};

/// A fault that work has raised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceFault {
    /// The context of the work.
    pub(crate) context: ContextId,
    /// What every call returns from now on.
    pub(crate) code: Code,
}

impl Driver {
    /// Takes a fault: the device, and those that share its faults, are unusable until they are reset.
    pub(crate) fn raise(&mut self, fault: DeviceFault) {
        let device = self.device_of_context(fault.context);
        let Some(group) = self.devices.get(device as usize).map(|device| device.group) else { return };
        for device in self.devices.iter_mut().filter(|device| device.group == group) {
            device.poison.get_or_insert(fault.code);
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
        if !found.open {
            self.lanes.remove(&lane);
        }
        for item in dropped {
            if let Body::Run(run) = item.body {
                self.release_run(*run, item.by);
            }
        }
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
