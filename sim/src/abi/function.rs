//! Functions, kernels of libraries, occupancy.

use std::sync::Arc;

use super::Call;
use super::args::{BlockToShared, DeviceArg, FunctionArg, KernelArg, Out, handle};
use crate::code::{Code, Outcome};
use crate::model::device;
use crate::ptx;

pub(super) fn cuFuncGetName(call: &mut Call, name: Out<u64>, function: FunctionArg) -> Outcome {
    let function = call.function(function.0)?;
    name.set(call.function_at(function)?.name.as_ptr() as u64)
}

pub(super) fn cuFuncGetModule(call: &mut Call, module: Out<u64>, function: FunctionArg) -> Outcome {
    let function = call.function(function.0)?;
    module.set(handle(call.function_at(function)?.module))
}

pub(super) fn cuFuncGetAttribute(call: &mut Call, value: Out<i32>, attribute: u32, function: FunctionArg) -> Outcome {
    value.set(call.function_attribute(function.0, attribute)?)
}

pub(super) fn cuFuncSetAttribute(call: &mut Call, function: FunctionArg, attribute: u32, value: i32) -> Outcome {
    call.function_set_attribute(function.0, attribute, value)
}

pub(super) fn cuFuncSetCacheConfig(call: &mut Call, function: FunctionArg, config: u32) -> Outcome {
    call.function(function.0)?;
    if config > 3 { Err(Code::INVALID_VALUE) } else { Ok(()) }
}

pub(super) fn cuFuncSetSharedMemConfig(call: &mut Call, function: FunctionArg, config: u32) -> Outcome {
    call.function(function.0)?;
    if config > 2 { Err(Code::INVALID_VALUE) } else { Ok(()) }
}

/// Where a parameter lies in the parameter block.
fn param_info(code: &ptx::Function, index: usize, offset: Out<usize>, bytes: Out<usize>) -> Outcome {
    let param = code.params().get(index).ok_or(Code::INVALID_VALUE)?;
    bytes.set_if_wanted(param.size);
    offset.set(param.offset)
}

pub(super) fn cuFuncGetParamInfo(
    call: &mut Call,
    function: FunctionArg,
    index: usize,
    offset: Out<usize>,
    bytes: Out<usize>,
) -> Outcome {
    let function = call.function(function.0)?;
    param_info(&call.function_at(function)?.code, index, offset, bytes)
}

pub(super) fn cuFuncGetParamCount(call: &mut Call, function: FunctionArg, count: Out<usize>) -> Outcome {
    let function = call.function(function.0)?;
    count.set(call.function_at(function)?.code.params().len())
}

pub(super) fn cuFuncLoad(call: &mut Call, function: FunctionArg) -> Outcome {
    call.function(function.0).map(|_| ())
}

pub(super) fn cuFuncIsLoaded(call: &mut Call, state: Out<u32>, function: FunctionArg) -> Outcome {
    const LOADED: u32 = 1;
    call.function(function.0)?;
    state.set(LOADED)
}

pub(super) fn cuKernelGetName(call: &mut Call, name: Out<u64>, kernel: KernelArg) -> Outcome {
    let kernel = call.kernel(kernel.0)?;
    name.set(call.kernels.get(kernel).ok_or(Code::INVALID_HANDLE)?.name.as_ptr() as u64)
}

/// The function of a kernel in the current context.
fn function_of(call: &mut Call, kernel: KernelArg) -> Outcome<u64> {
    let by = call.by;
    let kernel = call.kernel(kernel.0)?;
    let context = call.current(by.thread)?;
    Ok(handle(call.kernel_function(kernel, context, by)?))
}

pub(super) fn cuKernelGetFunction(call: &mut Call, function: Out<u64>, kernel: KernelArg) -> Outcome {
    function.wanted()?;
    function.set(function_of(call, kernel)?)
}

pub(super) fn cuKernelGetLibrary(call: &mut Call, library: Out<u64>, kernel: KernelArg) -> Outcome {
    let kernel = call.kernel(kernel.0)?;
    library.set(handle(call.kernels.get(kernel).ok_or(Code::INVALID_HANDLE)?.library))
}

pub(super) fn cuKernelGetAttribute(
    call: &mut Call,
    value: Out<i32>,
    attribute: u32,
    kernel: KernelArg,
    device: DeviceArg,
) -> Outcome {
    call.ordinal(device.0)?;
    let function = function_of(call, kernel)?;
    value.set(call.function_attribute(function, attribute)?)
}

pub(super) fn cuKernelSetAttribute(
    call: &mut Call,
    attribute: u32,
    value: i32,
    kernel: KernelArg,
    device: DeviceArg,
) -> Outcome {
    call.ordinal(device.0)?;
    let function = function_of(call, kernel)?;
    call.function_set_attribute(function, attribute, value)
}

pub(super) fn cuKernelGetParamInfo(
    call: &mut Call,
    kernel: KernelArg,
    index: usize,
    offset: Out<usize>,
    bytes: Out<usize>,
) -> Outcome {
    let function = function_of(call, kernel)?;
    let function = call.function(function)?;
    let code = Arc::clone(&call.function_at(function)?.code);
    param_info(&code, index, offset, bytes)
}

pub(super) fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    call: &mut Call,
    blocks: Out<i32>,
    function: FunctionArg,
    block: i32,
    dynamic: usize,
) -> Outcome {
    blocks.set(call.occupancy(function.0, block, dynamic as u64)? as i32)
}

pub(super) fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    call: &mut Call,
    blocks: Out<i32>,
    function: FunctionArg,
    block: i32,
    dynamic: usize,
    _flags: u32,
) -> Outcome {
    cuOccupancyMaxActiveBlocksPerMultiprocessor(call, blocks, function, block, dynamic)
}

/// The caller's function for the shared memory of a block size runs without the lock, before anything is looked at.
pub(super) fn cuOccupancyMaxPotentialBlockSize(
    call: &mut Call,
    grid: Out<i32>,
    block: Out<i32>,
    function: FunctionArg,
    dynamic_of: BlockToShared,
    dynamic: usize,
    limit: i32,
) -> Outcome {
    grid.wanted()?;
    block.wanted()?;
    call.function(function.0)?;
    let most = match u32::try_from(limit) {
        Ok(0) | Err(_) => device::MAX_THREADS,
        Ok(limit) => limit.min(device::MAX_THREADS),
    };
    let sizes: Vec<u32> = (32..=most).step_by(32).chain([most]).collect();
    let shared: Vec<usize> = match dynamic_of {
        None => vec![dynamic; sizes.len()],
        // SAFETY: the caller of the C function passed a function that takes a block size.
        Some(of) => call.unlocked(|| sizes.iter().map(|threads| unsafe { of(*threads as i32) }).collect()),
    };
    let mut best = (0, 0, 0);
    for (threads, dynamic) in sizes.into_iter().zip(shared) {
        let blocks = call.occupancy(function.0, threads as i32, dynamic as u64)?;
        best = best.max((blocks * threads, threads, blocks));
    }
    let (_, threads, blocks) = best;
    block.set(threads as i32)?;
    grid.set((blocks * device::MULTIPROCESSORS) as i32)
}

#[allow(clippy::too_many_arguments, reason = "the driver's signature")]
pub(super) fn cuOccupancyMaxPotentialBlockSizeWithFlags(
    call: &mut Call,
    grid: Out<i32>,
    block: Out<i32>,
    function: FunctionArg,
    dynamic_of: BlockToShared,
    dynamic: usize,
    limit: i32,
    _flags: u32,
) -> Outcome {
    cuOccupancyMaxPotentialBlockSize(call, grid, block, function, dynamic_of, dynamic, limit)
}

pub(super) fn cuOccupancyAvailableDynamicSMemPerBlock(
    call: &mut Call,
    bytes: Out<usize>,
    function: FunctionArg,
    blocks: i32,
    block: i32,
) -> Outcome {
    let wanted = u32::try_from(blocks).ok().filter(|blocks| *blocks > 0).ok_or(Code::INVALID_VALUE)?;
    if call.occupancy(function.0, block, 0)? < wanted {
        return Err(Code::INVALID_VALUE);
    }
    let id = call.function(function.0)?;
    let fixed = call.function_at(id)?.code.static_shared_bytes() + 1024;
    let share = (device::SHARED_PER_SM / wanted).saturating_sub(fixed);
    bytes.set(share.min(device::SHARED_OPTIN) as usize)
}
