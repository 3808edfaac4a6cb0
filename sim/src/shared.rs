//! The one driver of the process and the lock around it.

use std::sync::OnceLock;

use parking_lot::{Condvar, Mutex};

use crate::install::Options;
use crate::model::Driver;

/// The driver, and what waiting threads sleep on.
#[derive(Debug)]
pub(crate) struct Shared {
    /// The one lock of the simulator: guards every object of the driver (see [`crate::model`]).
    pub(crate) driver: Mutex<Driver>,
    /// Signalled whenever work has moved, a host function has returned, or a test has released a stream. Used with
    /// `driver`.
    pub(crate) wake: Condvar,
    options: Options,
}

static SHARED: OnceLock<Shared> = OnceLock::new();

impl Shared {
    /// The driver of the process, made with these options unless it exists already.
    pub(crate) fn with(options: &Options) -> &'static Shared {
        SHARED.get_or_init(|| Shared {
            driver: Mutex::new(Driver::new(options)),
            wake: Condvar::new(),
            options: options.clone(),
        })
    }

    /// The driver of the process; made from the environment if nobody has installed one.
    pub(crate) fn get() -> &'static Shared {
        match SHARED.get() {
            Some(shared) => shared,
            None => Shared::with(&Options::from_env()),
        }
    }

    /// What the driver was made with.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }
}
