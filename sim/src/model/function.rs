//! Functions of modules and kernels of libraries: attributes, limits, and what a launch must satisfy.

use std::ffi::CString;
use std::sync::Arc;

use super::Driver;
use super::device;
use super::id::{ContextId, FunctionId, KernelId, LibraryId, Miss, ModuleId};
use super::work::Shape;
use crate::code::{Code, Outcome};
use crate::ptx;
use crate::report::Site;

/// A function.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) module: ModuleId,
    pub(crate) context: ContextId,
    pub(crate) code: Arc<ptx::Function>,
    pub(crate) name: CString,
    /// The most dynamic shared memory that a launch may ask for.
    pub(crate) max_dynamic: u32,
    /// The preferred carve-out, which changes nothing.
    carveout: i32,
}

/// A kernel of a library.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) library: LibraryId,
    pub(crate) name: CString,
}

/// Attributes of `CUfunction_attribute`.
mod attribute {
    pub(super) const MAX_THREADS: u32 = 0;
    pub(super) const SHARED: u32 = 1;
    pub(super) const CONST: u32 = 2;
    pub(super) const LOCAL: u32 = 3;
    pub(super) const REGISTERS: u32 = 4;
    pub(super) const PTX_VERSION: u32 = 5;
    pub(super) const BINARY_VERSION: u32 = 6;
    pub(super) const CACHE_MODE: u32 = 7;
    pub(super) const MAX_DYNAMIC: u32 = 8;
    pub(super) const CARVEOUT: u32 = 9;
    /// The first and last of those about clusters, which no function here sets.
    pub(super) const CLUSTER: std::ops::RangeInclusive<u32> = 10..=15;
}

impl Driver {
    /// Enters a function of a module.
    pub(super) fn make_function(
        &mut self,
        module: ModuleId,
        context: ContextId,
        code: &Arc<ptx::Function>,
    ) -> FunctionId {
        let name = CString::new(code.name()).unwrap_or_default();
        let max_dynamic = device::SHARED.saturating_sub(code.static_shared_bytes());
        self.functions.insert(Function { module, context, code: Arc::clone(code), name, max_dynamic, carveout: -1 })
    }

    /// The function that a caller's handle names.
    pub(crate) fn function(&self, raw: u64) -> Outcome<FunctionId> {
        self.functions.find(raw).map_err(|_: Miss| Code::INVALID_HANDLE)
    }

    /// The function of a handle that was just resolved.
    pub(crate) fn function_at(&self, function: FunctionId) -> Outcome<&Function> {
        self.functions.get(function).ok_or(Code::INVALID_HANDLE)
    }

    /// The kernel of a library that a caller's handle names.
    pub(crate) fn kernel(&self, raw: u64) -> Outcome<KernelId> {
        self.kernels.find(raw).map_err(|_: Miss| Code::INVALID_HANDLE)
    }

    /// The function that a handle of either kind stands for in a context.
    pub(crate) fn function_in(&mut self, raw: u64, context: ContextId, by: Site) -> Outcome<FunctionId> {
        match self.kernel(raw) {
            Ok(kernel) => self.kernel_function(kernel, context, by),
            Err(_) => self.function(raw),
        }
    }

    /// The function of a library's kernel in a context.
    pub(crate) fn kernel_function(&mut self, kernel: KernelId, context: ContextId, by: Site) -> Outcome<FunctionId> {
        let entry = self.kernels.get(kernel).ok_or(Code::INVALID_HANDLE)?;
        let (library, name) = (entry.library, entry.name.clone());
        let module = self.library_module(library, context, by)?;
        let name = name.to_str().map_err(|_| Code::NOT_FOUND)?;
        let module = self.modules.get(module).ok_or(Code::INVALID_HANDLE)?;
        module.functions.get(name).copied().ok_or(Code::NOT_FOUND)
    }

    /// `cuFuncGetAttribute`.
    pub(crate) fn function_attribute(&self, raw: u64, which: u32) -> Outcome<i32> {
        let function = self.function_at(self.function(raw)?)?;
        let code = &function.code;
        Ok(match which {
            attribute::MAX_THREADS => threads_of(code) as i32,
            attribute::SHARED => code.static_shared_bytes() as i32,
            attribute::LOCAL => code.local_bytes() as i32,
            attribute::REGISTERS => registers_of(code) as i32,
            attribute::CONST | attribute::CACHE_MODE => 0,
            attribute::PTX_VERSION | attribute::BINARY_VERSION => device::CAPABILITY.0 * 10 + device::CAPABILITY.1,
            attribute::MAX_DYNAMIC => function.max_dynamic as i32,
            attribute::CARVEOUT => function.carveout,
            _ if attribute::CLUSTER.contains(&which) => 0,
            _ => return Err(Code::INVALID_VALUE),
        })
    }

    /// `cuFuncSetAttribute`.
    pub(crate) fn function_set_attribute(&mut self, raw: u64, which: u32, value: i32) -> Outcome {
        let id = self.function(raw)?;
        let function = self.functions.get_mut(id).ok_or(Code::INVALID_HANDLE)?;
        match which {
            attribute::MAX_DYNAMIC => {
                let room = device::SHARED_OPTIN.saturating_sub(function.code.static_shared_bytes());
                let value = u32::try_from(value).ok().filter(|value| *value <= room).ok_or(Code::INVALID_VALUE)?;
                function.max_dynamic = value;
                Ok(())
            }
            attribute::CARVEOUT if (-1..=100).contains(&value) => {
                function.carveout = value;
                Ok(())
            }
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// How many blocks of a function a multiprocessor holds at once.
    pub(crate) fn occupancy(&self, raw: u64, block: i32, dynamic: u64) -> Outcome<u32> {
        let function = self.function_at(self.function(raw)?)?;
        let threads = u32::try_from(block).ok().filter(|block| *block > 0).ok_or(Code::INVALID_VALUE)?;
        Ok(blocks_per_sm(&function.code, threads, dynamic))
    }

    /// Whether a launch fits the device and its function.
    pub(crate) fn check_shape(&self, function: &Function, shape: Shape, cooperative: bool) -> Outcome {
        let [x, y, z] = shape.grid;
        if x == 0 || y == 0 || z == 0 || x > i32::MAX as u32 || y > 0xFFFF || z > 0xFFFF {
            return Err(Code::INVALID_VALUE);
        }
        let threads: u64 = shape.block.iter().map(|n| u64::from(*n)).product();
        if threads == 0 || threads > u64::from(device::MAX_THREADS) || shape.block[2] > 64 {
            return Err(Code::INVALID_VALUE);
        }
        if threads > u64::from(threads_of(&function.code)) || shape.shared > function.max_dynamic {
            return Err(Code::INVALID_VALUE);
        }
        if cooperative {
            let per_sm = blocks_per_sm(&function.code, threads as u32, u64::from(shape.shared));
            let blocks = u64::from(x) * u64::from(y) * u64::from(z);
            if blocks > u64::from(per_sm) * u64::from(device::MULTIPROCESSORS) {
                return Err(Code::COOPERATIVE_LAUNCH_TOO_LARGE);
            }
        }
        Ok(())
    }

    /// The calls that queued work of a module's functions, with the functions' names.
    pub(super) fn pending_of(&self, module: ModuleId) -> Vec<(String, Site)> {
        self.lanes.values().flat_map(|lane| lane.launches_of(module)).collect()
    }
}

fn threads_of(code: &ptx::Function) -> u32 {
    code.max_threads_per_block().unwrap_or(device::MAX_THREADS).min(device::MAX_THREADS)
}

/// A plausible number: the interpreter has no register file.
fn registers_of(code: &ptx::Function) -> u32 {
    code.register_count().clamp(1, 255)
}

fn blocks_per_sm(code: &ptx::Function, threads: u32, dynamic: u64) -> u32 {
    if threads > threads_of(code) {
        return 0;
    }
    let by_threads = device::THREADS_PER_SM / threads.next_multiple_of(32);
    let by_registers =
        device::REGISTERS_PER_SM / (registers_of(code).next_multiple_of(8) * threads.next_multiple_of(32));
    let shared = u64::from(code.static_shared_bytes()) + dynamic + 1024;
    let by_shared = (u64::from(device::SHARED_PER_SM) / shared) as u32;
    by_threads.min(by_registers).min(by_shared).min(32)
}
