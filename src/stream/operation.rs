//! Operations as values: which may be captured is said by type, and where the type is not known, asked beforehand.

use super::Stream;
use super::transition::CanBegin;
use crate::error::{Error, Misuse, Rejected};
use crate::runtime::Work;
use crate::state::{Capturing, Idle, Instantiated, Mode, Resting, State};

/// A piece of an engine's work, as a value: a layer, a step of a plan.
///
/// One that may be captured is [`Capturable`] too. Lists of `&dyn Operation` are captured by
/// [`capture_all`](Stream::capture_all), which asks each first.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::{Buffer, Capturable, Device, Enqueue, Error, Misuse, Operation, ThreadLocal, Work};
///
/// struct Clear(Buffer<f32>);
///
/// impl Operation for Clear {
///     fn name(&self) -> &str {
///         "clear"
///     }
///     fn enqueue(&self, work: &mut Work<'_>) -> Result<(), Error> {
///         work.fill(&self.0, 0.0)
///     }
/// }
/// impl Capturable for Clear {}
///
/// /// Asks the host what to do next: not to be captured.
/// struct Sample;
///
/// impl Operation for Sample {
///     fn name(&self) -> &str {
///         "sample"
///     }
///     fn is_capturable(&self) -> bool {
///         false
///     }
///     fn enqueue(&self, _: &mut Work<'_>) -> Result<(), Error> {
///         Ok(())
///     }
/// }
///
/// let mut stream = Device::open(0)?.stream()?;
/// let clear = Clear(stream.alloc(4)?);
/// let rejected = stream.capture_all(ThreadLocal, &[&clear, &Sample]).unwrap_err();
/// assert_eq!(rejected.to_string(), "operation 1, sample, cannot be captured");
/// let captured = rejected.into_stream().capture(ThreadLocal, |c| c.run_operation(&clear))?;
/// assert_eq!(captured.census().to_string(), "memset ×1");
/// # Ok::<(), Error>(())
/// ```
pub trait Operation {
    /// What to call it in a message.
    fn name(&self) -> &str;

    /// Whether it may be captured. Asked where the type is not known; where it is, [`Capturable`] says so.
    fn is_capturable(&self) -> bool {
        true
    }

    /// Enqueues it.
    ///
    /// # Errors
    /// Its own.
    fn enqueue(&self, work: &mut Work<'_>) -> Result<(), Error>;
}

/// An [`Operation`] that may be captured: it waits for nothing, asks the host nothing, and means the same at every replay.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be captured",
    label = "is not `Capturable`",
    note = "run it eagerly, between two captures or in a seam; or, if it may be captured, say so: `impl Capturable for {Self} {{}}`"
)]
pub trait Capturable: Operation {}

impl<M: Mode, From: Resting> Stream<Capturing<M, From>> {
    /// Records an operation.
    ///
    /// # Errors
    /// Its own.
    pub fn run_operation(&mut self, operation: &impl Capturable) -> Result<(), Error> {
        self.as_work(|work| operation.enqueue(work))
    }
}

impl<S: State> Stream<S> {
    /// Enqueues an operation, captured or not: nothing is being captured.
    ///
    /// # Errors
    /// Its own.
    pub fn run_eager_operation(&mut self, operation: &(impl Operation + ?Sized)) -> Result<(), Error>
    where
        S: Resting,
    {
        self.as_work(|work| operation.enqueue(work))
    }

    /// Captures a list of operations. Each is asked first whether it may be: if one may not, the driver is not touched.
    ///
    /// # Errors
    /// Still `Idle`, with [`Misuse::NotCapturable`], or what [`capture`](Self::capture) returns.
    pub fn capture_all<M: Mode>(
        self,
        mode: M,
        operations: &[&dyn Operation],
    ) -> Result<Stream<Instantiated>, Rejected<Stream<Idle>>>
    where
        S: CanBegin,
    {
        let stream = S::is(self);
        if let Some((position, operation)) =
            operations.iter().enumerate().find(|(_, operation)| !operation.is_capturable())
        {
            let misuse = Misuse::NotCapturable { position, name: operation.name().into() };
            return Err(Rejected::new(stream, misuse));
        }
        stream.capture(mode, |c| c.as_work(|work| operations.iter().try_for_each(|operation| operation.enqueue(work))))
    }
}
