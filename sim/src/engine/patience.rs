//! Patience: how long a wait may go on without anything of what it waits for getting done.
//!
//! 1. Without patience set, a wait that cannot end does not end, as on a GPU without a watchdog.
//! 2. The clock that is read here decides whether a wait is given up, never what work does.

use std::time::{Duration, Instant};

use super::fault::DeviceFault;
use super::{Body, Goal, LaneId};
use crate::Code;
use crate::model::Driver;
use crate::report::{Site, Violation};

/// The time that a wait has spent since something was last done for it.
#[derive(Debug, Default)]
pub(super) struct Watch {
    last: Option<(u64, Instant)>,
}

impl Watch {
    /// How much longer a wait may last of which this much is left to do.
    pub(super) fn remaining(&mut self, left: u64, patience: Duration) -> Duration {
        match self.last {
            Some((same, since)) if same == left => patience.saturating_sub(since.elapsed()),
            _ => {
                self.last = Some((left, Instant::now()));
                patience
            }
        }
    }
}

impl Driver {
    /// The least patience of the devices that a goal needs, if any has one, and how much is left to do: a number that
    /// changes when something gets done.
    pub(super) fn patience(&self, goal: &Goal) -> Option<(Duration, u64)> {
        if self.devices.iter().all(|device| device.patience.is_none()) {
            return None;
        }
        let need = self.needed(goal);
        let devices = need.keys().filter_map(|id| self.lanes.get(id)).map(|lane| self.device_of_context(lane.context));
        let patience = devices.filter_map(|device| self.devices.get(device as usize)?.patience).min()?;
        let left = need.iter().filter_map(|(id, upto)| {
            let lane = self.lanes.get(id)?;
            let nodes = match lane.front().map(|item| &item.body) {
                Some(Body::Run(run)) => run.left() as u64,
                _ => 0,
            };
            Some(upto.saturating_sub(lane.done()) + nodes)
        });
        Some((patience, left.sum()))
    }

    /// Gives a wait up: the device whose work does not end fails with a timeout. False when there is no such work.
    pub(super) fn time_out(&mut self, goal: &Goal, waited: Site) -> bool {
        let need = self.needed(goal);
        let heads = need.keys().filter_map(|id| {
            let item = self.lanes.get(id)?.front()?;
            item.deps.iter().all(|dep| self.dep_done(dep)).then_some((item.by.call, *id))
        });
        let culprit: Option<LaneId> = heads.min().map(|(_, id)| id);
        let found = culprit.and_then(|id| self.lanes.get(&id).map(|lane| (id, lane)));
        let Some((id, context, work)) =
            found.and_then(|(id, lane)| Some((id, lane.context, lane.front()?.under_way())))
        else {
            return false;
        };
        self.violate(Some(self.device_of_context(context)), Violation::TimedOut { work, waited });
        self.raise(DeviceFault { context, code: Code::LAUNCH_TIMEOUT }, id);
        true
    }
}
