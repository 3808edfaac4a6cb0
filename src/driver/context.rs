//! Driver, devices, and the calling thread's current context.

use std::ffi::{CStr, c_int};
use std::ptr;

use cudarc::driver::sys::CUcontext;

use super::Driver;
use crate::error::{DriverCode, DriverError};

/// A context's handle. Names the context; owns nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ContextHandle(pub(super) CUcontext);

// SAFETY: a `CUcontext` is an opaque name for an object that the driver shares between threads: "CUDA contexts have a
// one-to-many correspondence with host threads" (CUDA Driver API 13.0, Context Management). It is never dereferenced.
unsafe impl Send for ContextHandle {}
// SAFETY: as above.
unsafe impl Sync for ContextHandle {}

impl ContextHandle {
    /// The context of a cudarc context.
    pub(crate) fn of(context: &cudarc::driver::CudaContext) -> Self {
        Self(context.cu_ctx())
    }
}

/// The attributes that this crate asks for; numbers as in `cuda.h`.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(crate) enum DeviceAttribute {
    ComputeCapabilityMajor = 75,
    ComputeCapabilityMinor = 76,
}

/// What the driver tells of a device's graph memory; numbers as in `cuda.h`.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(crate) enum GraphMemAttribute {
    Used = 0,
    UsedHigh = 1,
    Reserved = 2,
    ReservedHigh = 3,
}

impl Driver {
    /// `cuDriverGetVersion`: 1000 × major + 10 × minor.
    /// [Manual](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__VERSION.html).
    pub(crate) fn driver_get_version(&self) -> Result<u32, DriverError> {
        let mut version: c_int = 0;
        // SAFETY: a live out-pointer.
        let code = unsafe { (self.driver_get_version.call)(&raw mut version) };
        self.check(self.driver_get_version.name, code)?;
        Ok(version.unsigned_abs())
    }

    /// `cuDeviceGetCount`. [Manual](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html).
    pub(crate) fn device_get_count(&self) -> Result<usize, DriverError> {
        let mut count: c_int = 0;
        // SAFETY: a live out-pointer.
        let code = unsafe { (self.device_get_count.call)(&raw mut count) };
        self.check(self.device_get_count.name, code)?;
        Ok(count.unsigned_abs() as usize)
    }

    /// `cuDeviceGet`.
    pub(crate) fn device_get(&self, ordinal: c_int) -> Result<c_int, DriverError> {
        let mut device: c_int = 0;
        // SAFETY: a live out-pointer; any ordinal may be asked for.
        let code = unsafe { (self.device_get.call)(&raw mut device, ordinal) };
        self.check(self.device_get.name, code)?;
        Ok(device)
    }

    /// `cuDeviceGetName`.
    pub(crate) fn device_get_name(&self, device: c_int) -> Result<String, DriverError> {
        let mut name = [0u8; 256];
        // SAFETY: `name` is live and 256 bytes long; the driver writes at most that and ends it with a NUL.
        let code = unsafe { (self.device_get_name.call)(name.as_mut_ptr().cast(), 256, device) };
        self.check(self.device_get_name.name, code)?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    /// `cuDeviceGetAttribute`.
    pub(crate) fn device_get_attribute(&self, attribute: DeviceAttribute, device: c_int) -> Result<c_int, DriverError> {
        let mut value: c_int = 0;
        // SAFETY: a live out-pointer; a bad device is an error, not undefined.
        let code = unsafe { (self.device_get_attribute.call)(&raw mut value, attribute as u32, device) };
        self.check(self.device_get_attribute.name, code)?;
        Ok(value)
    }

    /// `cuDeviceGraphMemTrim`: gives memory that graphs have reserved and do not use back to the operating system. Does no capture
    /// any harm (matrix `mx.cuDeviceGraphMemTrim`).
    /// [Manual](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html).
    pub(crate) fn device_graph_mem_trim(&self, device: c_int) -> Result<(), DriverError> {
        // SAFETY: a bad device is an error, not undefined.
        let code = unsafe { (self.device_graph_mem_trim.call)(device) };
        self.check(self.device_graph_mem_trim.name, code)
    }

    /// `cuDeviceGetGraphMemAttribute`: bytes.
    /// [Manual](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html).
    pub(crate) fn device_get_graph_mem_attribute(
        &self,
        attribute: GraphMemAttribute,
        device: c_int,
    ) -> Result<u64, DriverError> {
        let mut bytes = 0;
        // SAFETY: a live out-pointer to the 64-bit number that each of these attributes is; a bad device is an error, not undefined.
        let code = unsafe { (self.device_get_graph_mem_attribute.call)(device, attribute as u32, &raw mut bytes) };
        self.check(self.device_get_graph_mem_attribute.name, code)?;
        Ok(bytes)
    }

    /// `cuDevicePrimaryCtxRetain`: one more reference, to be given back by
    /// [`primary_ctx_release`](Self::primary_ctx_release).
    /// [Manual](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PRIMARY__CTX.html).
    pub(crate) fn primary_ctx_retain(&self, device: c_int) -> Result<ContextHandle, DriverError> {
        let mut context = ptr::null_mut();
        // SAFETY: a live out-pointer; a bad device is an error, not undefined.
        let code = unsafe { (self.primary_ctx_retain.call)(&raw mut context, device) };
        self.check(self.primary_ctx_retain.name, code)?;
        Ok(ContextHandle(context))
    }

    /// `cuDevicePrimaryCtxRelease`.
    ///
    /// # Safety
    /// 1. The caller owns one reference, from [`primary_ctx_retain`](Self::primary_ctx_retain), and gives it up.
    pub(crate) unsafe fn primary_ctx_release(&self, device: c_int) -> Result<(), DriverError> {
        // SAFETY: (1).
        let code = unsafe { (self.primary_ctx_release.call)(device) };
        self.check(self.primary_ctx_release.name, code)
    }

    /// `cuCtxEnablePeerAccess`: kernels of the current context may read and write what is allocated in `peer`. True if it was so
    /// already. [Manual](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PEER__ACCESS.html).
    ///
    /// # Safety
    /// 1. `peer` is alive.
    pub(crate) unsafe fn ctx_enable_peer_access(&self, peer: ContextHandle) -> Result<bool, DriverError> {
        // SAFETY: (1); no flags are defined.
        let code = self.relaxed(|| unsafe { (self.ctx_enable_peer_access.call)(peer.0, 0) });
        match self.check(self.ctx_enable_peer_access.name, code) {
            Ok(()) => Ok(false),
            Err(error) if error.code == DriverCode::PEER_ACCESS_ALREADY_ENABLED => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Runs `body` with `context` current on the calling thread, and puts back what was current before.
    ///
    /// `cuCtxPushCurrent`, then `cuCtxPopCurrent`, on unwinding too.
    ///
    /// # Safety
    /// 1. `context` is alive.
    pub(crate) unsafe fn with_context<R>(
        &self,
        context: ContextHandle,
        body: impl FnOnce() -> Result<R, DriverError>,
    ) -> Result<R, DriverError> {
        struct Pop<'a>(&'a Driver);
        impl Drop for Pop<'_> {
            fn drop(&mut self) {
                let mut popped = ptr::null_mut();
                // SAFETY: a live out-pointer. What is popped is what the matching push has put there: `body` changes
                // the current context only through this function, so pushes and pops nest. The code is not needed:
                // with nothing to pop the thread has no context of ours.
                let _ = unsafe { (self.0.ctx_pop_current.call)(&raw mut popped) };
            }
        }

        // SAFETY: (1).
        let code = unsafe { (self.ctx_push_current.call)(context.0) };
        self.check(self.ctx_push_current.name, code)?;
        let _pop = Pop(self);
        body()
    }
}
