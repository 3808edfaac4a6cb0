//! Launching kernels and host functions.

use std::sync::Arc;

use super::Driver;
use super::id::{ContextId, StreamId};
use super::work::{Arguments, HostCall, Launch, MemOp, Shape, Work};
use crate::code::{Code, Outcome};
use crate::ptx;
use crate::report::Site;

/// A launch as a call describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchRequest {
    /// A function's or a kernel's handle.
    pub(crate) function: u64,
    pub(crate) shape: Shape,
    pub(crate) cooperative: bool,
    pub(crate) cluster: Option<[u32; 3]>,
}

impl Driver {
    /// `cuLaunchKernel` and its variants. `gather` copies the arguments, given the function that says their layout.
    pub(crate) fn launch(
        &mut self,
        stream: u64,
        request: LaunchRequest,
        gather: impl FnOnce(&ptx::Function) -> Outcome<Box<[u8]>>,
        by: Site,
    ) -> Outcome {
        let stream = self.stream(stream, by)?;
        let context = self.at(stream)?.context;
        let work = self.kernel_work(request, context, gather, by)?;
        self.target(stream)?;
        self.submit(stream, work, by).map(|_| ())
    }

    /// A kernel with its arguments, fit to run in a context.
    pub(crate) fn kernel_work(
        &mut self,
        request: LaunchRequest,
        context: ContextId,
        gather: impl FnOnce(&ptx::Function) -> Outcome<Box<[u8]>>,
        by: Site,
    ) -> Outcome<Work> {
        let LaunchRequest { function, shape, cooperative, cluster } = request;
        let id = self.function_in(function, context, by)?;
        let entry = self.function_at(id)?;
        if entry.context != context {
            return Err(Code::INVALID_HANDLE);
        }
        self.check_shape(entry, shape, cooperative)?;
        let params = Arguments::new(gather(&entry.code)?, &entry.code);
        let (module, code) = (entry.module, Arc::clone(&entry.code));
        Ok(Work::Kernel(Arc::new(Launch { function: id, module, code, shape, params, cooperative, cluster })))
    }

    /// The context that a node for a function belongs to: the function's own, or the current one for a library's kernel.
    pub(crate) fn context_of_function(&self, raw: u64, by: Site) -> Outcome<ContextId> {
        match self.function(raw) {
            Ok(function) => Ok(self.function_at(function)?.context),
            Err(_) => self.current(by.thread),
        }
    }

    /// `cuLaunchHostFunc`.
    pub(crate) fn launch_host(&mut self, stream: u64, call: HostCall, by: Site) -> Outcome {
        let stream = self.stream(stream, by)?;
        self.submit(stream, Work::Host(call), by).map(|_| ())
    }

    /// `cuStreamAddCallback`: cannot be captured, and an attempt loses the capture.
    pub(crate) fn add_callback(&mut self, stream: u64, call: HostCall, by: Site) -> Outcome {
        let stream = self.stream(stream, by)?;
        self.uncaptured(stream)?;
        self.submit(stream, Work::Host(call), by).map(|_| ())
    }

    /// `cuStreamWriteValue`, `cuStreamWaitValue`, `cuStreamBatchMemOp`.
    pub(crate) fn mem_ops(&mut self, stream: u64, ops: Vec<MemOp>, by: Site) -> Outcome {
        let stream: StreamId = self.stream(stream, by)?;
        self.check_mem_ops(&ops, by)?;
        self.submit(stream, Work::MemOps(ops.into()), by).map(|_| ())
    }

    /// Whether the words that memory operations touch exist and are aligned.
    pub(crate) fn check_mem_ops(&mut self, ops: &[MemOp], by: Site) -> Outcome {
        for op in ops {
            if let MemOp::Write { address, bytes, .. } | MemOp::Wait { address, bytes, .. } = *op {
                if address % u64::from(bytes) != 0 {
                    return Err(Code::INVALID_VALUE);
                }
                self.device_place(address, u64::from(bytes), by)?;
            }
        }
        Ok(())
    }
}
