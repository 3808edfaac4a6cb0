//! Memory of an engine's that must stay where it is while a graph names it.

use crate::sync::Arc;

/// Scratch memory or a workspace that an engine would grow, shrink or move, and must not while a graph names it.
///
/// [`Enqueue::freeze`](crate::Enqueue::freeze) tells it when a capture begins to use it, and when the last graph that does is gone. Each
/// call of `freeze` is followed by one of `thaw`; several graphs may have it frozen at a time, so count.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use dacapo::{Device, Enqueue, Freeze, ThreadLocal};
///
/// #[derive(Default)]
/// struct Scratch {
///     graphs: AtomicUsize,
/// }
///
/// impl Scratch {
///     fn grow(&self) -> Result<(), &'static str> {
///         if self.graphs.load(Ordering::Relaxed) > 0 { Err("a graph names the scratch memory") } else { Ok(()) }
///     }
/// }
///
/// impl Freeze for Scratch {
///     fn freeze(&self) {
///         self.graphs.fetch_add(1, Ordering::Relaxed);
///     }
///     fn thaw(&self) {
///         self.graphs.fetch_sub(1, Ordering::Relaxed);
///     }
/// }
///
/// let mut stream = Device::open(0)?.stream()?;
/// let (scratch, buffer) = (Arc::new(Scratch::default()), stream.alloc::<u32>(1)?);
/// let captured = stream.capture(ThreadLocal, |c| {
///     c.freeze(&scratch);
///     c.fill(&buffer, 1)
/// })?;
/// assert!(scratch.grow().is_err());
/// drop(captured);
/// assert!(scratch.grow().is_ok());
/// # Ok::<(), dacapo::Error>(())
/// ```
pub trait Freeze: Send + Sync + 'static {
    /// A capture, or eager work, begins to use it. Must not wait for the stream.
    fn freeze(&self);

    /// What began with one call of `freeze` is gone: the graph is destroyed and its work has finished, or the capture was lost.
    fn thaw(&self);
}

/// Frozen for as long as this value lives, and kept.
pub(crate) struct Frozen<T: Freeze>(Arc<T>);

impl<T: Freeze> Frozen<T> {
    pub(crate) fn new(value: &Arc<T>) -> Self {
        value.freeze();
        Self(value.clone())
    }
}

impl<T: Freeze> Drop for Frozen<T> {
    fn drop(&mut self) {
        self.0.thaw();
    }
}
