//! A launch that takes the place of one that was captured.

use std::ffi::c_void;

use smallvec::SmallVec;

use super::{Arguments, Kernel, LaunchConfig, Loaded};
use crate::buffer::Allocation;
use crate::device::Device;
use crate::driver::{FunctionHandle, KernelShape};
use crate::error::Misuse;
use crate::kernel_at::KernelMismatch;
use crate::node::KernelLaunch;
use crate::sync::Arc;

/// A kernel with its shape and arguments, all of which it keeps alive.
#[derive(Clone)]
pub(crate) struct KernelChange {
    kernel: Kernel,
    config: LaunchConfig,
    arguments: Arguments,
}

impl KernelChange {
    /// Checks what a launch checks.
    pub(crate) fn new(kernel: &Kernel, config: LaunchConfig, arguments: Arguments) -> Result<Self, Misuse> {
        kernel.check(&config, &arguments)?;
        Ok(Self { kernel: kernel.clone(), config, arguments })
    }

    pub(crate) fn device(&self) -> &Device {
        self.kernel.device()
    }

    pub(crate) fn module(&self) -> &Arc<Loaded> {
        self.kernel.module()
    }

    /// The buffers among the arguments.
    pub(crate) fn allocations(&self) -> &[Arc<Allocation>] {
        self.arguments.allocations()
    }

    /// As a driver call takes it: one pointer an argument, valid until `self` is moved or changed.
    pub(crate) fn for_driver(&mut self) -> (FunctionHandle, KernelShape, SmallVec<[*mut c_void; 16]>) {
        let LaunchConfig { grid, block, shared_bytes, .. } = self.config;
        (self.kernel.function(), KernelShape { grid, block, shared_bytes }, self.arguments.pointers())
    }

    /// What becomes of the captured launch at this position.
    ///
    /// `programmatic` says whether it was captured so, where it comes after something.
    ///
    /// # Errors
    /// If it is of another kernel, or differs in what cannot be changed.
    pub(crate) fn replace(
        &self,
        captured: &KernelLaunch,
        position: usize,
        programmatic: Option<bool>,
    ) -> Result<KernelLaunch, KernelMismatch> {
        let (kernel, attributes) = (self.kernel.name(), self.config.attributes);
        if let Some(expected) = captured.name.as_deref()
            && expected != kernel
        {
            return Err(KernelMismatch::OtherKernel { position, expected: expected.into(), found: kernel.into() });
        }
        let mut found = KernelLaunch::new(kernel, self.config);
        // One that is not given is the stream's, as in the capture.
        found.priority = attributes.priority.unwrap_or(captured.priority);
        let expected = KernelLaunch {
            name: found.name.clone(),
            grid: self.config.grid,
            block: self.config.block,
            ..captured.clone()
        };
        if found != expected {
            return Err(KernelMismatch::OtherLaunch { expected: Box::new(expected), found: Box::new(found) });
        }
        match programmatic {
            Some(expected) if expected != attributes.programmatic => {
                Err(KernelMismatch::Programmatic { kernel: kernel.into(), expected })
            }
            _ => Ok(found),
        }
    }
}
