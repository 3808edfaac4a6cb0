//! Device memory, pinned host memory, copies and fills.

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::sys::CUdeviceptr;

use super::{Driver, StreamHandle};
use crate::error::DriverError;

/// `CU_MEMHOSTALLOC_PORTABLE`: pinned for every context, not for the current one alone.
const HOST_ALLOC_PORTABLE: u32 = 1;

/// A fill: `height` rows, `pitch` bytes apart, of one `value` each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FillValue {
    D8(u8),
    D16(u16),
    D32(u32),
}

impl Driver {
    /// `cuMemAlloc`: device memory in the current context, its contents undefined.
    /// [Manual](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
    pub(crate) fn mem_alloc(&self, bytes: usize) -> Result<CUdeviceptr, DriverError> {
        let mut address = 0;
        // SAFETY: a live out-pointer. Without a current context the call is an error, not undefined.
        let code = self.relaxed(|| unsafe { (self.mem_alloc.call)(&raw mut address, bytes) });
        self.check(self.mem_alloc.name, code)?;
        Ok(address)
    }

    /// `cuMemFree`.
    ///
    /// # Safety
    /// 1. `address` came from [`mem_alloc`](Self::mem_alloc) or from a memory pool, and has not been freed.
    /// 2. No work that uses it is pending, and no graph that names it will be launched again.
    pub(crate) unsafe fn mem_free(&self, address: CUdeviceptr) -> Result<(), DriverError> {
        // SAFETY: (1), (2).
        let code = self.relaxed(|| unsafe { (self.mem_free.call)(address) });
        self.check(self.mem_free.name, code)
    }

    /// `cuMemHostAlloc`, portable: page-locked host memory, aligned to a page, its contents undefined.
    pub(crate) fn mem_host_alloc(&self, bytes: usize) -> Result<*mut c_void, DriverError> {
        let mut address = ptr::null_mut();
        // SAFETY: a live out-pointer. Without a current context the call is an error, not undefined.
        let code = self.relaxed(|| unsafe { (self.mem_host_alloc.call)(&raw mut address, bytes, HOST_ALLOC_PORTABLE) });
        self.check(self.mem_host_alloc.name, code)?;
        Ok(address)
    }

    /// `cuMemFreeHost`.
    ///
    /// # Safety
    /// 1. `address` came from [`mem_host_alloc`](Self::mem_host_alloc), and has not been freed.
    /// 2. No work that uses it is pending, no graph that names it will be launched again, and no reference to it lives.
    pub(crate) unsafe fn mem_free_host(&self, address: *mut c_void) -> Result<(), DriverError> {
        // SAFETY: (1), (2).
        let code = self.relaxed(|| unsafe { (self.mem_free_host.call)(address) });
        self.check(self.mem_free_host.name, code)
    }

    /// `cuMemcpyHtoDAsync`. On a capturing stream: one memcpy node that reads `source` at every launch.
    ///
    /// # Safety
    /// 1. `source` is readable, and `destination` writable device memory, for `bytes` bytes, until the copy has run;
    ///    if it is captured, until the graph can run no more.
    /// 2. `stream` is alive.
    pub(crate) unsafe fn memcpy_htod_async(
        &self,
        source: *const c_void,
        destination: CUdeviceptr,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<(), DriverError> {
        // SAFETY: (1), (2).
        let code = unsafe { (self.memcpy_htod_async.call)(destination, source, bytes, stream.0) };
        self.check(self.memcpy_htod_async.name, code)
    }

    /// `cuMemcpyDtoHAsync`. On a capturing stream: one memcpy node that writes `destination` at every launch.
    ///
    /// # Safety
    /// 1. `source` is readable device memory, and `destination` writable, for `bytes` bytes, until the copy has run; if
    ///    it is captured, until the graph can run no more.
    /// 2. Nothing reads `destination` through a plain Rust reference meanwhile.
    /// 3. `stream` is alive.
    pub(crate) unsafe fn memcpy_dtoh_async(
        &self,
        source: CUdeviceptr,
        destination: *mut c_void,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<(), DriverError> {
        // SAFETY: (1), (2), (3).
        let code = unsafe { (self.memcpy_dtoh_async.call)(destination, source, bytes, stream.0) };
        self.check(self.memcpy_dtoh_async.name, code)
    }

    /// `cuMemcpyDtoDAsync`. On a capturing stream: one memcpy node.
    ///
    /// # Safety
    /// 1. Both are device memory for `bytes` bytes and do not overlap, until the copy has run; if it is captured, until
    ///    the graph can run no more.
    /// 2. `stream` is alive.
    pub(crate) unsafe fn memcpy_dtod_async(
        &self,
        source: CUdeviceptr,
        destination: CUdeviceptr,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<(), DriverError> {
        // SAFETY: (1), (2).
        let code = unsafe { (self.memcpy_dtod_async.call)(destination, source, bytes, stream.0) };
        self.check(self.memcpy_dtod_async.name, code)
    }

    /// `cuMemsetD8Async`, `cuMemsetD16Async`, `cuMemsetD32Async`: `count` units of `value`. One memset node if captured.
    ///
    /// # Safety
    /// 1. `address` is device memory for `count` units, aligned to the unit, until the fill has run; if it is captured,
    ///    until the graph can run no more.
    /// 2. `stream` is alive.
    pub(crate) unsafe fn memset_async(
        &self,
        address: CUdeviceptr,
        value: FillValue,
        count: usize,
        stream: StreamHandle,
    ) -> Result<(), DriverError> {
        match value {
            FillValue::D8(value) => {
                // SAFETY: (1), (2).
                let code = unsafe { (self.memset_d8_async.call)(address, value, count, stream.0) };
                self.check(self.memset_d8_async.name, code)
            }
            FillValue::D16(value) => {
                // SAFETY: (1), (2).
                let code = unsafe { (self.memset_d16_async.call)(address, value, count, stream.0) };
                self.check(self.memset_d16_async.name, code)
            }
            FillValue::D32(value) => {
                // SAFETY: (1), (2).
                let code = unsafe { (self.memset_d32_async.call)(address, value, count, stream.0) };
                self.check(self.memset_d32_async.name, code)
            }
        }
    }

    /// `cuMemsetD2D8Async`, `cuMemsetD2D16Async`, `cuMemsetD2D32Async`: one unit of `value` every `pitch` bytes, `rows`
    /// times. One memset node if captured.
    ///
    /// # Safety
    /// 1. `address` is device memory for `(rows - 1) * pitch` bytes and one unit more, aligned to the unit as `pitch` is,
    ///    until the fill has run; if it is captured, until the graph can run no more.
    /// 2. `stream` is alive.
    pub(crate) unsafe fn memset_strided_async(
        &self,
        address: CUdeviceptr,
        pitch: usize,
        value: FillValue,
        rows: usize,
        stream: StreamHandle,
    ) -> Result<(), DriverError> {
        match value {
            FillValue::D8(value) => {
                // SAFETY: (1), (2).
                let code = unsafe { (self.memset_d2d8_async.call)(address, pitch, value, 1, rows, stream.0) };
                self.check(self.memset_d2d8_async.name, code)
            }
            FillValue::D16(value) => {
                // SAFETY: (1), (2).
                let code = unsafe { (self.memset_d2d16_async.call)(address, pitch, value, 1, rows, stream.0) };
                self.check(self.memset_d2d16_async.name, code)
            }
            FillValue::D32(value) => {
                // SAFETY: (1), (2).
                let code = unsafe { (self.memset_d2d32_async.call)(address, pitch, value, 1, rows, stream.0) };
                self.check(self.memset_d2d32_async.name, code)
            }
        }
    }
}
