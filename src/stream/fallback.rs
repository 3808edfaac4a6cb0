//! The same body eagerly and under capture: to warm up, and to fall back on.

use super::Stream;
use super::enqueue::sealed::Recorder;
use super::transition::CanBegin;
use crate::error::{DriverCode, Error, Rejected};
use crate::runtime::Work;
use crate::seal::OnlyForDacapo;
use crate::state::{Idle, Instantiated, Mode, State};

/// What became of a [`capture_or_eager`](Stream::capture_or_eager).
#[derive(Debug)]
#[non_exhaustive]
pub enum CapturedOrEager {
    /// The body was captured, and has not run.
    Captured(Stream<Instantiated>),
    /// It could not be captured, for this reason, and has run (or is enqueued) instead.
    Eager(Stream<Idle>, Error),
}

impl<S: State> Stream<S> {
    /// Runs `body` on the stream as it is: captured, if that is its state.
    pub(super) fn as_work(&mut self, body: impl FnOnce(&mut Work<'_>) -> Result<(), Error>) -> Result<(), Error> {
        body(&mut Work::new(self.site(OnlyForDacapo::new())?))
    }
}

impl<S: State> Stream<S> {
    /// Runs `body` so many times eagerly and waits: what a step loads, compiles or allocates the first time is there before it is
    /// captured.
    ///
    /// # Errors
    /// Still `Idle`, with the body's own error, or [`DriverError`](crate::DriverError) if its work has faulted.
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{CapturedOrEager, Device, Enqueue, Error, ThreadLocal, Work};
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let (a, b) = (stream.buffer_from(&[1u32])?, stream.alloc::<u32>(1)?);
    /// let mut step = |work: &mut Work<'_>| work.copy(&a, &b);
    /// match stream.warm_up(2, &mut step)?.capture_or_eager(ThreadLocal, &mut step)? {
    ///     CapturedOrEager::Captured(captured) => captured.publish()?.replay()?,
    ///     CapturedOrEager::Eager(_, why) => eprintln!("not captured: {why}"),
    ///     _ => {}
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    pub fn warm_up(
        self,
        times: usize,
        mut body: impl FnMut(&mut Work<'_>) -> Result<(), Error>,
    ) -> Result<Stream<Idle>, Rejected<Stream<Idle>>>
    where
        S: CanBegin,
    {
        let mut stream = S::is(self);
        for _ in 0..times {
            if let Err(error) = stream.as_work(&mut body) {
                return Err(Rejected::new(stream, error));
            }
        }
        match stream.synchronize() {
            Ok(()) => Ok(stream),
            Err(error) => Err(Rejected::new(stream, error)),
        }
    }

    /// Captures `body`, or runs it eagerly if it cannot be captured.
    ///
    /// A capture that *others* have invalidated (`CUDA_ERROR_STREAM_CAPTURE_INVALIDATED` at its end, with nothing wrong in the
    /// body) is made again first, as often as the policy says ([`CapturePolicy::retries`](crate::CapturePolicy::retries)). The body
    /// may ask [`Work::is_captured`] which it is.
    ///
    /// # Errors
    /// `Idle`, if the body fails eagerly too: with the error of that.
    pub fn capture_or_eager<M: Mode>(
        self,
        mode: M,
        mut body: impl FnMut(&mut Work<'_>) -> Result<(), Error>,
    ) -> Result<CapturedOrEager, Rejected<Stream<Idle>>>
    where
        S: CanBegin,
    {
        let mut stream = S::is(self);
        let mut retries = stream.core.policy.retries_left();
        loop {
            let captured = stream.capture(mode, |c| c.as_work(&mut body));
            let (idle, error) = match captured {
                Ok(captured) => return Ok(CapturedOrEager::Captured(captured)),
                Err(rejected) => rejected.into_parts(),
            };
            stream = idle;
            if invalidated_by_others(&error) && retries > 0 {
                retries -= 1;
                continue;
            }
            return match stream.as_work(&mut body) {
                Ok(()) => Ok(CapturedOrEager::Eager(stream, error)),
                Err(error) => Err(Rejected::new(stream, error)),
            };
        }
    }
}

/// Whether the end alone found the capture spoilt: what this thread enqueued went well.
fn invalidated_by_others(error: &Error) -> bool {
    match error {
        Error::Capture(failure) => {
            failure.body.is_none() && failure.end.is_some_and(|end| end.code == DriverCode::STREAM_CAPTURE_INVALIDATED)
        }
        _ => false,
    }
}
