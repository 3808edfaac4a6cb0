//! What a queued item is to a reader of the queue.

use super::{Body, Item};
use crate::model::work::Work;
use crate::report::{Pending, WorkKind};

impl Item {
    /// The item as it was submitted.
    pub(crate) fn pending(&self) -> Pending {
        match &self.body {
            Body::Unit(unit) => self.of_work(&unit.work),
            Body::Run(_) => self.named(WorkKind::Graph, None),
            Body::Mark(_) => self.named(WorkKind::Event, None),
        }
    }

    /// What keeps the item from ending: of a graph, the node that is under way.
    pub(super) fn under_way(&self) -> Pending {
        match &self.body {
            Body::Run(run) => run.under_way().map_or_else(|| self.pending(), |work| self.of_work(work)),
            _ => self.pending(),
        }
    }

    fn of_work(&self, work: &Work) -> Pending {
        self.named(work.kind().unwrap_or(WorkKind::Graph), work.name())
    }

    fn named(&self, kind: WorkKind, name: Option<&str>) -> Pending {
        Pending { kind, name: name.map(str::to_owned), by: self.by }
    }
}
