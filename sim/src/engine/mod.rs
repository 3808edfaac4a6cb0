//! The engine: runs the work that streams have queued, when somebody waits for it.
//!
//! Streams are lazy. A call only queues; the queue moves when a thread needs a result: a synchronising call, a blocking
//! copy, a query (which moves it by one step, so that polling ends), or a call that finds the queue full. So "still in
//! flight" means the same in every run.
//!
//! 1. A lane runs its items in order. An item starts when its dependencies are done. Dependencies only point to items
//!    that were queued earlier, so they have no cycle.
//! 2. Waiting runs what the wait needs and nothing else. Only when a needed kernel keeps running for many slices (it
//!    may be waiting for another kernel) do the other lanes of the devices that it can reach take turns with it.
//! 3. A device fault empties every lane of the devices that share it; the waits on them end.
//! 4. A wait that nothing can move sleeps; whoever changes what it may depend on wakes it (see `wait`).

mod depth;
mod fault;
mod goal;
mod lane;
mod patience;
mod pending;
mod run;
mod schedule;
mod spin;
mod unit;
mod view;
mod wait;

pub use depth::QueueDepth;
pub(crate) use goal::{Dep, Goal, Mark, Ticket};
pub(crate) use lane::{Body, Item, Lane, LaneId};
pub(crate) use run::Run;
pub(crate) use schedule::{Advance, HostJob, Pace};
pub(crate) use unit::{Step, Unit};
pub(crate) use wait::{nudge, run_destructors, step, wait};
