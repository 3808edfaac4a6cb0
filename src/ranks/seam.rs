//! A closure that runs between two segments of all ranks.

use crate::error::Error;
use crate::runtime::Eager;
use crate::sync::{Arc, Mutex};

type Body<const N: usize> = dyn FnMut(&mut [Eager<'_>; N]) -> Result<(), Error> + Send;

/// A closure that runs between two segments of all ranks.
pub(crate) struct RankSeam<const N: usize>(
    /// Never contended: it is called by who has every lane to itself.
    Mutex<Box<Body<N>>>,
);

impl<const N: usize> RankSeam<N> {
    pub(super) fn new(body: impl FnMut(&mut [Eager<'_>; N]) -> Result<(), Error> + Send + 'static) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Box::new(body))))
    }

    pub(super) fn run(&self, ranks: &mut [Eager<'_>; N]) -> Result<(), Error> {
        (self.0.lock())(ranks)
    }
}
