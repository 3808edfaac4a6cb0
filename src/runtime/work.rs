//! Somewhere to enqueue work, whether it is captured there or runs.

use super::site::Site;
use crate::device::Device;

/// Somewhere to enqueue work: either side of a [`fork`](crate::Enqueue::fork), or a stream in a body that is run both eagerly and
/// under capture ([`warm_up`](crate::Stream::warm_up), [`capture_or_eager`](crate::Stream::capture_or_eager)).
///
/// Has the operations of [`Enqueue`](crate::Enqueue). Lent to a body, and not `Send`: a body runs on one thread.
pub struct Work<'a> {
    site: Site<'a>,
}

impl<'a> Work<'a> {
    pub(crate) fn new(site: Site<'a>) -> Self {
        Self { site }
    }

    /// The device that the work runs on.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.site.lane.device()
    }

    /// Whether the work is captured, and does not run now.
    #[must_use]
    pub fn is_captured(&self) -> bool {
        self.site.keep.branches.is_some()
    }

    pub(crate) fn site(&self) -> Site<'_> {
        self.site
    }
}

static_assertions::assert_not_impl_any!(Work<'_>: Send, Sync);
