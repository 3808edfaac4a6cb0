//! Somewhere to enqueue work, whether it is captured there or runs.

use super::site::Site;
use crate::device::Device;

/// Somewhere to enqueue work: either side of a [`fork`](crate::Enqueue::fork), or a stream in a body that is run both eagerly and
/// under capture ([`warm_up`](crate::Stream::warm_up), [`capture_or_eager`](crate::Stream::capture_or_eager)).
///
/// Has the operations of [`Enqueue`](crate::Enqueue). Lent to a body, and not `Send`: a body runs on one thread.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::{Buffer, Device, Enqueue, Error, ThreadLocal, Work};
///
/// fn step(work: &mut Work<'_>, x: &Buffer<u32>) -> Result<(), Error> {
///     println!("{} on {}", if work.is_captured() { "captured" } else { "run" }, work.device().name());
///     work.fill(x, 1)
/// }
///
/// let mut stream = Device::open(0)?.stream()?;
/// let x = stream.alloc::<u32>(4)?;
/// let stream = stream.warm_up(1, |work| step(work, &x))?;
/// let outcome = stream.capture_or_eager(ThreadLocal, |work| step(work, &x))?;
/// # Ok::<(), dacapo::Error>(())
/// ```
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
