//! User objects: the caller's own things, kept alive by graphs, executables and launches.

use super::Driver;
use super::id::{Miss, UserObjectId};
use super::work::HostCall;
use crate::code::{Code, Outcome};
use crate::report::Site;

/// `CU_USER_OBJECT_NO_DESTRUCTOR_SYNC`, which every user object must have.
const NO_DESTRUCTOR_SYNC: u32 = 1;
/// `CU_GRAPH_USER_OBJECT_MOVE`: the caller's references become the graph's.
const MOVE: u32 = 1;

/// A user object.
#[derive(Debug)]
pub(crate) struct UserObject {
    destructor: HostCall,
    references: u64,
    pub(crate) device: u32,
    pub(crate) made: Site,
}

impl Driver {
    /// The user object that a caller's handle names.
    pub(crate) fn object(&self, raw: u64) -> Outcome<UserObjectId> {
        self.user_objects.find(raw).map_err(|_: Miss| Code::INVALID_VALUE)
    }

    /// `cuUserObjectCreate`.
    pub(crate) fn object_create(
        &mut self,
        destructor: HostCall,
        count: u32,
        flags: u32,
        by: Site,
    ) -> Outcome<UserObjectId> {
        if !self.initialised {
            return Err(Code::NOT_INITIALIZED);
        }
        if flags != NO_DESTRUCTOR_SYNC || count == 0 || count > i32::MAX as u32 {
            return Err(Code::INVALID_VALUE);
        }
        let device = self.top(by.thread).map_or(0, |context| self.device_of_context(context));
        Ok(self.user_objects.insert(UserObject { destructor, references: u64::from(count), device, made: by }))
    }

    /// `cuUserObjectRetain`.
    pub(crate) fn object_retain(&mut self, raw: u64, count: u32) -> Outcome {
        let object = self.object(raw)?;
        if count == 0 {
            return Err(Code::INVALID_VALUE);
        }
        self.retain_object(object, count);
        Ok(())
    }

    /// `cuUserObjectRelease`.
    pub(crate) fn object_release(&mut self, raw: u64, count: u32, by: Site) -> Outcome {
        let object = self.object(raw)?;
        let held = self.user_objects.get(object).map_or(0, |object| object.references);
        if count == 0 || u64::from(count) > held {
            return Err(Code::INVALID_VALUE);
        }
        self.release_object(object, count, by);
        Ok(())
    }

    /// Adds references.
    pub(crate) fn retain_object(&mut self, object: UserObjectId, count: u32) {
        if let Some(object) = self.user_objects.get_mut(object) {
            object.references += u64::from(count);
        }
    }

    /// Takes references away; with the last one the destructor becomes due.
    pub(crate) fn release_object(&mut self, id: UserObjectId, count: u32, by: Site) {
        let Some(object) = self.user_objects.get_mut(id) else { return };
        object.references = object.references.saturating_sub(u64::from(count));
        if object.references == 0
            && let Some(object) = self.user_objects.remove(id, by)
        {
            self.destructors.push_back(object.destructor);
        }
    }

    /// `cuGraphRetainUserObject`.
    pub(crate) fn graph_retain_object(&mut self, graph: u64, object: u64, count: u32, flags: u32) -> Outcome {
        let graph = self.graph(graph)?;
        let object = self.object(object)?;
        let held = self.user_objects.get(object).map_or(0, |object| object.references);
        if count == 0 || flags & !MOVE != 0 || (flags == MOVE && u64::from(count) > held) {
            return Err(Code::INVALID_VALUE);
        }
        if flags != MOVE {
            self.retain_object(object, count);
        }
        if let Some(graph) = self.graphs.get_mut(graph) {
            graph.objects.push((object, count));
        }
        Ok(())
    }

    /// `cuGraphReleaseUserObject`.
    pub(crate) fn graph_release_object(&mut self, graph: u64, object: u64, count: u32, by: Site) -> Outcome {
        let graph = self.graph(graph)?;
        let object = self.object(object)?;
        let entries = &mut self.graphs.get_mut(graph).ok_or(Code::INVALID_VALUE)?.objects;
        let held: u64 = entries.iter().filter(|(o, _)| *o == object).map(|(_, count)| u64::from(*count)).sum();
        if count == 0 || u64::from(count) > held {
            return Err(Code::INVALID_VALUE);
        }
        entries.retain(|(other, _)| *other != object);
        let rest = held - u64::from(count);
        if rest > 0 {
            entries.push((object, rest as u32));
        }
        self.release_object(object, count, by);
        Ok(())
    }
}
