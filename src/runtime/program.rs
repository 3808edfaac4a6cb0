//! What a replay does: asks the engine's checks, launches segments in order, and runs the seams between them.

use super::eager::Eager;
use crate::driver::ExecutableHandle;
use crate::error::{BoxError, Error, NotValid};
use crate::sync::{Arc, Mutex};

/// A published program: one segment, and whatever else there is to it.
///
/// Two words, so that it lies in the lane's cache line; a program of one segment and no check is all there.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) first: ExecutableHandle,
    pub(crate) rest: Option<Arc<Rest>>,
}

/// What there is to a program besides its first segment. Not empty.
pub(crate) struct Rest {
    /// Asked before anything is launched.
    checks: Vec<Arc<Check>>,
    /// What follows the first segment.
    steps: Vec<Step>,
}

/// A step of a program.
#[derive(Clone)]
pub(crate) enum Step {
    Launch(ExecutableHandle),
    Seam(Arc<Seam>),
}

impl Program {
    pub(crate) fn new(first: ExecutableHandle, checks: Vec<Arc<Check>>, steps: Vec<Step>) -> Self {
        let is_all = checks.is_empty() && steps.is_empty();
        Self { first, rest: (!is_all).then(|| Arc::new(Rest { checks, steps })) }
    }

    /// The steps, in order; the first is a launch.
    pub(crate) fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        let rest = self.rest.iter().flat_map(|rest| &rest.steps);
        std::iter::once(Step::Launch(self.first)).chain(rest.cloned())
    }

    /// The segments' executables, in order.
    pub(crate) fn executables(&self) -> impl Iterator<Item = ExecutableHandle> + '_ {
        self.steps().filter_map(|step| match step {
            Step::Launch(executable) => Some(executable),
            Step::Seam(_) => None,
        })
    }

    /// Whether there is a seam in it.
    pub(crate) fn has_seams(&self) -> bool {
        self.steps().any(|step| matches!(step, Step::Seam(_)))
    }

    /// Whether there is anything to be asked before a replay.
    pub(crate) fn has_checks(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| !rest.checks.is_empty())
    }

    /// Asks whether it may be launched now. In nobody's turn: what is asked is the user's.
    pub(crate) fn check(&self) -> Result<(), NotValid> {
        let mut checks = self.rest.iter().flat_map(|rest| &rest.checks);
        checks.try_for_each(|check| check.0()).map_err(|why| NotValid { why })
    }
}

/// What an engine says of whether captured work is still to be replayed.
pub(crate) struct Check(Box<dyn Fn() -> Result<(), Error> + Send + Sync>);

impl Check {
    pub(crate) fn new<E: Into<BoxError>>(body: impl Fn() -> Result<(), E> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self(Box::new(move || body().map_err(Error::from_body))))
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
