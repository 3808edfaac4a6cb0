//! Streams, their captures, and the calling thread's capture mode.

use std::ffi::c_uint;
use std::ptr;

use cudarc::driver::sys::CUstream;

use super::graph::GraphHandle;
use super::{ContextHandle, Driver};
use crate::error::DriverError;

/// A stream's handle. Names the stream; owns nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct StreamHandle(pub(super) CUstream);

// SAFETY: a `CUstream` is an opaque name. Stream calls may be made from any thread (CUDA Driver API 13.0, Stream
// Management; traces `thread.work_on_other_thread.*`); the handle is never dereferenced.
unsafe impl Send for StreamHandle {}
// SAFETY: as above.
unsafe impl Sync for StreamHandle {}

impl StreamHandle {
    /// The stream of a cudarc stream.
    pub(crate) fn of(stream: &cudarc::driver::CudaStream) -> Self {
        Self(stream.cu_stream())
    }

    /// Whether this is the legacy default stream (0, 1) or the per-thread one (2), which are names, not objects.
    pub(crate) fn is_default(self) -> bool {
        self.0.addr() <= 2
    }
}

/// `CUstreamCaptureMode`; numbers as in `cuda.h`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum CaptureMode {
    Global = 0,
    ThreadLocal = 1,
    Relaxed = 2,
}

/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: c_uint = 1;

impl Driver {
    /// Asks the driver whether it would create a stream: creates one and destroys it.
    ///
    /// The streams that are kept are created by cudarc, so that they can be lent as its own type; this call sees an
    /// error first, whatever its code (rule 2).
    ///
    /// # Safety
    /// 1. `context` is alive.
    pub(crate) unsafe fn stream_create_dry_run(&self, context: ContextHandle) -> Result<(), DriverError> {
        let create = || {
            let mut stream = ptr::null_mut();
            // SAFETY: a live out-pointer; the context is current.
            let code = unsafe { (self.stream_create.call)(&raw mut stream, NON_BLOCKING) };
            self.check(self.stream_create.name, code)?;
            // SAFETY: the stream was made a line ago and nobody else has seen it.
            let code = unsafe { (self.stream_destroy.call)(stream) };
            self.check(self.stream_destroy.name, code)
        };
        // SAFETY: (1).
        unsafe { self.with_context(context, create) }
    }

    /// `cuStreamSynchronize`: waits until everything enqueued so far has finished. A device fault shows up here.
    ///
    /// # Safety
    /// 1. `stream` is alive.
    /// 2. It is not capturing, or losing that capture is intended: the call invalidates it in every mode.
    pub(crate) unsafe fn stream_synchronize(&self, stream: StreamHandle) -> Result<(), DriverError> {
        // SAFETY: (1), (2).
        let code = self.relaxed(|| unsafe { (self.stream_synchronize.call)(stream.0) });
        self.check(self.stream_synchronize.name, code)
    }

    /// `cuStreamQuery`: `CUDA_ERROR_NOT_READY` while something enqueued has not finished. A device fault shows up here.
    ///
    /// # Safety
    /// 1. `stream` is alive.
    /// 2. It is not capturing, or losing that capture is intended: the call invalidates it in every mode.
    pub(crate) unsafe fn stream_query(&self, stream: StreamHandle) -> Result<(), DriverError> {
        // SAFETY: (1), (2).
        let code = self.relaxed(|| unsafe { (self.stream_query.call)(stream.0) });
        self.check(self.stream_query.name, code)
    }

    /// `cuStreamIsCapturing`: 0 none, 1 active, 2 invalidated. Changes nothing (matrix `mx.cuStreamIsCapturing`).
    ///
    /// # Safety
    /// 1. `stream` is alive.
    pub(crate) unsafe fn stream_is_capturing(&self, stream: StreamHandle) -> Result<u32, DriverError> {
        let mut status: c_uint = 0;
        // SAFETY: (1); a live out-pointer.
        let code = unsafe { (self.stream_is_capturing.call)(stream.0, &raw mut status) };
        self.check(self.stream_is_capturing.name, code)?;
        Ok(status)
    }

    /// `cuStreamBeginCapture`. Before: not capturing. After success: capturing, with this thread as the one to end it.
    /// [Manual](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html).
    ///
    /// # Safety
    /// 1. `stream` is alive.
    pub(crate) unsafe fn stream_begin_capture(
        &self,
        stream: StreamHandle,
        mode: CaptureMode,
    ) -> Result<(), DriverError> {
        // SAFETY: (1).
        let code = unsafe { (self.stream_begin_capture.call)(stream.0, mode as c_uint) };
        self.check(self.stream_begin_capture.name, code)
    }

    /// `cuStreamEndCapture`. After success: not capturing, and the caller owns the graph. After an error: not capturing
    /// in every case measured (901, 904, 908), and there is no graph: the driver destroys what there was of it.
    ///
    /// # Safety
    /// 1. `stream` is alive.
    pub(crate) unsafe fn stream_end_capture(&self, stream: StreamHandle) -> Result<GraphHandle, DriverError> {
        let mut graph = ptr::null_mut();
        // SAFETY: (1); a live out-pointer.
        let code = unsafe { (self.stream_end_capture.call)(stream.0, &raw mut graph) };
        self.check(self.stream_end_capture.name, code)?;
        Ok(GraphHandle(graph))
    }

    /// Runs `body` with the calling thread's capture mode at `RELAXED`, and puts back the mode that was set before.
    ///
    /// `cuThreadExchangeStreamCaptureMode`, twice, on unwinding too. Under `RELAXED` none of the potentially unsafe
    /// calls hurts a capture, of this thread or another (D3; traces `exchange.capture_*`).
    pub(crate) fn relaxed<R>(&self, body: impl FnOnce() -> R) -> R {
        struct Restore<'a>(&'a Driver, c_uint);
        impl Drop for Restore<'_> {
            fn drop(&mut self) {
                self.0.exchange(self.1);
            }
        }

        let _restore = Restore(self, self.exchange(CaptureMode::Relaxed as c_uint));
        body()
    }

    /// Swaps the thread's capture mode for `mode` and returns what it was.
    fn exchange(&self, mode: c_uint) -> c_uint {
        let mut mode = mode;
        // SAFETY: a live in-out pointer. The call changes a setting of this thread and cannot fail with one (trace
        // `exchange.basic`); should it, the mode is as it was, and what runs under it reports its own error.
        let _ = unsafe { (self.thread_exchange_stream_capture_mode.call)(&raw mut mode) };
        mode
    }
}
