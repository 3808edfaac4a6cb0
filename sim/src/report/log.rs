//! The call log: a bounded ring of the latest driver calls of a device.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use super::Site;
use crate::Code;

/// How many calls a log remembers.
const CAPACITY: usize = 1 << 14;

/// One driver call, as it returned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallRecord {
    /// The number of the call, counted over the process from 1.
    pub number: u64,
    /// The driver function, version suffix included.
    pub name: &'static str,
    /// The thread that called, numbered in the order of its first call.
    pub thread: u32,
    /// The device that the call's handles or the current context name, if any.
    pub device: Option<u32>,
    /// What the call returned.
    pub result: Code,
    /// More about the result where the driver has something to say, such as why a module was refused.
    pub detail: Option<String>,
}

impl fmt::Display for CallRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let site = Site { call: self.number, name: self.name, thread: self.thread };
        write!(f, "{site}: {}", self.result)?;
        match &self.detail {
            Some(detail) => write!(f, ": {detail}"),
            None => Ok(()),
        }
    }
}

/// The latest calls.
#[derive(Debug, Default)]
pub(crate) struct Log {
    ring: VecDeque<CallRecord>,
    /// The functions that are named once only.
    named: BTreeSet<&'static str>,
}

impl Log {
    /// Adds a call, forgetting the oldest when full.
    pub(crate) fn push(&mut self, record: CallRecord) {
        if self.ring.len() == CAPACITY {
            self.ring.pop_front();
        }
        self.ring.push_back(record);
    }

    /// Adds a call unless there was one of this function before.
    pub(crate) fn push_once(&mut self, record: CallRecord) {
        if self.named.insert(record.name) {
            self.push(record);
        }
    }

    /// The calls, oldest first.
    pub(crate) fn records(&self) -> Vec<CallRecord> {
        self.ring.iter().cloned().collect()
    }

    /// Forgets every call.
    pub(crate) fn clear(&mut self) {
        self.ring.clear();
        self.named.clear();
    }
}
