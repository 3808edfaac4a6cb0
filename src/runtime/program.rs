//! What a replay does: launches segments in order, and runs the seams between them.

use super::eager::Eager;
use crate::driver::ExecutableHandle;
use crate::error::Error;
use crate::sync::{Arc, Mutex};

/// A published program: one segment, and whatever follows it.
///
/// Two words, so that it lies in the lane's cache line; a program of one segment is all there.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) first: ExecutableHandle,
    pub(crate) rest: Option<Arc<Rest>>,
}

/// What follows a program's first segment.
pub(crate) struct Rest(pub(crate) Vec<Step>);

/// A step of a program.
#[derive(Clone)]
pub(crate) enum Step {
    Launch(ExecutableHandle),
    Seam(Arc<Seam>),
}

impl Program {
    /// The segments' executables, in order.
    pub(crate) fn executables(&self) -> impl Iterator<Item = ExecutableHandle> + '_ {
        let rest = self.rest.iter().flat_map(|rest| &rest.0);
        std::iter::once(self.first).chain(rest.filter_map(|step| match step {
            Step::Launch(executable) => Some(*executable),
            Step::Seam(_) => None,
        }))
    }

    /// Whether there is a seam in it.
    pub(crate) fn has_seams(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| rest.has_seams())
    }
}

impl Rest {
    pub(crate) fn has_seams(&self) -> bool {
        self.0.iter().any(|step| matches!(step, Step::Seam(_)))
    }
}

type SeamBody = dyn FnMut(&mut Eager<'_>) -> Result<(), Error> + Send;

/// A closure that runs between two segments.
pub(crate) struct Seam(
    /// Never contended: it is called by who has the lane to itself.
    Mutex<Box<SeamBody>>,
);

impl Seam {
    pub(crate) fn new(body: impl FnMut(&mut Eager<'_>) -> Result<(), Error> + Send + 'static) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Box::new(body))))
    }

    pub(crate) fn run(&self, eager: &mut Eager<'_>) -> Result<(), Error> {
        (self.0.lock())(eager)
    }
}
