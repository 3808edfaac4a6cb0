//! Which calls a capture forbids, and whom a forbidden call hurts.
//!
//! Calls fall into classes, whatever object they touch:
//!
//! | class | who is refused | code |
//! |---|---|---|
//! | free | nobody | |
//! | unsafe | by the capture's mode and the calling thread's interaction mode | 900 |
//! | legacy | every use of a context's legacy stream while a blocking stream of the context captures | 906 |
//! | conflict | calls on the capturing stream, or over its whole context, in every mode | 900 |
//!
//! 1. A refused call invalidates exactly the captures that refused it.
//! 2. A capture that is already invalidated goes on refusing, until it is ended.

use super::id::ContextId;
use super::{CaptureId, Driver, Status, StreamKind};
use crate::code::{Code, Outcome};

/// `CU_STREAM_CAPTURE_MODE_GLOBAL`.
pub(crate) const GLOBAL: u32 = 0;
/// `CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`.
pub(crate) const THREAD_LOCAL: u32 = 1;
/// `CU_STREAM_CAPTURE_MODE_RELAXED`.
pub(crate) const RELAXED: u32 = 2;

impl Driver {
    /// The calling thread makes a call of the unsafe class.
    pub(crate) fn unsafe_call(&mut self, thread: u32) -> Outcome {
        let mode = self.threads.get(&thread).map_or(GLOBAL, |thread| thread.mode);
        if mode == RELAXED {
            return Ok(());
        }
        let forbids = |capture: &super::Capture| {
            let own = capture.thread == thread && capture.mode != RELAXED;
            let foreign = mode != THREAD_LOCAL && capture.thread != thread && capture.mode == GLOBAL;
            own || foreign
        };
        let hurt: Vec<CaptureId> =
            self.captures.iter().filter(|(_, capture)| forbids(capture)).map(|(id, _)| *id).collect();
        self.refuse(&hurt, Code::STREAM_CAPTURE_UNSUPPORTED)
    }

    /// The legacy stream of a context is used for work, a wait or a query.
    pub(crate) fn legacy_use(&mut self, context: ContextId) -> Outcome {
        let hurt = self.blocking_captures(context);
        self.refuse(&hurt, Code::STREAM_CAPTURE_IMPLICIT)
    }

    /// The capture status of the legacy stream is asked for: refused, but harmless.
    pub(crate) fn legacy_status(&self, context: ContextId) -> Outcome {
        match self.blocking_captures(context).is_empty() {
            true => Ok(()),
            false => Err(Code::STREAM_CAPTURE_IMPLICIT),
        }
    }

    /// A call that reaches over a whole context: no stream of it may be capturing.
    pub(crate) fn context_call(&mut self, context: ContextId) -> Outcome {
        let in_context = |stream: &super::Stream| stream.context == context;
        let hurt = self.captures_of(in_context);
        self.refuse(&hurt, Code::STREAM_CAPTURE_UNSUPPORTED)
    }

    /// A capture is refused a call on one of its own streams.
    pub(crate) fn conflict(&mut self, capture: CaptureId) -> Code {
        self.invalidate(capture);
        Code::STREAM_CAPTURE_UNSUPPORTED
    }

    /// The captures that a blocking stream of the context takes part in.
    fn blocking_captures(&self, context: ContextId) -> Vec<CaptureId> {
        self.captures_of(|stream| stream.context == context && stream.blocking() && stream.kind != StreamKind::Legacy)
    }

    fn captures_of(&self, accept: impl Fn(&super::Stream) -> bool) -> Vec<CaptureId> {
        let mut found: Vec<CaptureId> =
            self.streams.iter().filter(|(_, stream)| accept(stream)).filter_map(|(_, stream)| stream.capture).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    fn refuse(&mut self, hurt: &[CaptureId], code: Code) -> Outcome {
        for capture in hurt {
            self.invalidate(*capture);
        }
        if hurt.is_empty() { Ok(()) } else { Err(code) }
    }

    /// Marks a capture as invalidated. Its graph is gone from then on.
    pub(crate) fn invalidate(&mut self, capture: CaptureId) {
        if let Some(capture) = self.captures.get_mut(&capture) {
            capture.status = Status::Invalidated;
        }
    }
}
