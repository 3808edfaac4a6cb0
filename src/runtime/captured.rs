//! A captured graph, with everything that its nodes use.

#![allow(unsafe_code)]

use super::lane::Lane;
use super::policy::{CapturePolicy, FailStop};
use super::retained::Retained;
use crate::driver::ExecutableHandle;
use crate::error::{Error, Poisoned};
use crate::graph::{Census, Executable, Graph};
use crate::sync::Arc;

/// Owns an executable, its graph, and what its nodes use.
///
/// Released in one order only: the stream drains, the executable is destroyed, then the graph, and then what the nodes
/// used is let go. If the drain fails nothing of it is ever released ([`FailStop`]).
pub struct Captured {
    lane: Arc<Lane>,
    census: Census,
    executable: ExecutableHandle,
    fail_stop: FailStop,
    /// There until released.
    holdings: Option<Holdings>,
}

/// Dropped in the order of the fields.
struct Holdings {
    executable: Executable,
    _graph: Graph,
    _retained: Retained,
}

impl Captured {
    /// Instantiates `graph`, if the policy takes it.
    pub(crate) fn new(
        lane: &Arc<Lane>,
        policy: CapturePolicy,
        retained: Retained,
        graph: Graph,
    ) -> Result<Self, Error> {
        // Bound anew, so that on an early return the half-made graph goes before what its nodes use.
        let graph = graph;
        let census = graph.census()?;
        policy.check(&census)?;
        let executable = graph.instantiate(policy.auto_free_on_launch())?;
        let captured = Self {
            lane: lane.clone(),
            census,
            executable: executable.handle(),
            fail_stop: policy.on_unproven(),
            holdings: Some(Holdings { executable, _graph: graph, _retained: retained }),
        };
        if policy.uploads() {
            captured.upload()?;
        }
        Ok(captured)
    }

    fn upload(&self) -> Result<(), Error> {
        if let Some(holdings) = &self.holdings {
            // SAFETY: (1) it has not been published, so nobody else knows it. (2) The lane keeps its stream alive, and
            // the capture on it has ended.
            unsafe { holdings.executable.upload(self.lane.handle()) }?;
        }
        Ok(())
    }

    pub(crate) fn census(&self) -> &Census {
        &self.census
    }

    /// The executable, to be used under the lane's lock and until `self` is released.
    pub(crate) fn executable(&self) -> ExecutableHandle {
        self.executable
    }

    /// Drains, destroys, releases.
    pub(crate) fn release(mut self) -> Result<(), Poisoned> {
        self.settle()
    }

    fn settle(&mut self) -> Result<(), Poisoned> {
        let Some(holdings) = self.holdings.take() else { return Ok(()) };
        match self.lane.drain() {
            Ok(()) => {
                drop(holdings);
                Ok(())
            }
            Err(cause) => {
                std::mem::forget(holdings);
                let poisoned = self.lane.poison(cause);
                if self.fail_stop == FailStop::Abort {
                    abort(&poisoned);
                }
                Err(poisoned)
            }
        }
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        if let Err(poisoned) = self.settle() {
            self.lane.device().park(Err(poisoned.cause));
            // Parked errors are told to who goes on with the device. If nobody does, this is all that is heard of it.
            say(&poisoned);
        }
    }
}

fn abort(poisoned: &Poisoned) -> ! {
    say(poisoned);
    std::process::abort()
}

#[expect(clippy::print_stderr, reason = "there is nobody to return it to")]
fn say(poisoned: &Poisoned) {
    eprintln!("dacapo: {poisoned}");
}
