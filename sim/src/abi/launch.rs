//! Launches.

use super::Call;
use super::args::{ConfigArg, FunctionArg, HostFn, In, StreamArg};
use super::structs::LaunchAttribute;
use crate::code::{Code, Outcome};
use crate::model::LaunchRequest;
use crate::model::work::{HostCall, Shape};
use crate::ptx;

/// `CU_LAUNCH_PARAM_BUFFER_POINTER`, `…_SIZE` and `…_END`, the keys of the `extra` list.
mod extra_key {
    pub(super) const END: u64 = 0;
    pub(super) const POINTER: u64 = 1;
    pub(super) const SIZE: u64 = 2;
}

/// Copies a function's arguments from the two forms in which a caller may give them.
pub(super) fn gather(code: &ptx::Function, params: In<u64>, extra: In<u64>) -> Outcome<Box<[u8]>> {
    let total = code.param_bytes();
    if !extra.is_null() {
        if !params.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        return packed(extra, total);
    }
    let mut block = vec![0u8; total];
    if code.params().is_empty() {
        return Ok(block.into());
    }
    let pointers = params.array(code.params().len())?;
    for (param, pointer) in code.params().iter().zip(pointers) {
        let (offset, size) = (param.offset, param.size);
        let bytes = In::<u8>::at(pointer).array(size)?;
        block.get_mut(offset..offset + size).ok_or(Code::INVALID_VALUE)?.copy_from_slice(&bytes);
    }
    Ok(block.into())
}

/// Arguments in one buffer.
fn packed(extra: In<u64>, total: usize) -> Outcome<Box<[u8]>> {
    const PAIRS: usize = 4;
    let (mut buffer, mut size) = (0, 0);
    for pair in 0..PAIRS {
        match extra.add(2 * pair).get()? {
            extra_key::END => break,
            extra_key::POINTER => buffer = extra.add(2 * pair + 1).get()?,
            extra_key::SIZE => size = In::<u64>::at(extra.add(2 * pair + 1).get()?).get()? as usize,
            _ => return Err(Code::INVALID_VALUE),
        }
    }
    if size > total {
        return Err(Code::INVALID_VALUE);
    }
    let mut block = In::<u8>::at(buffer).array(size)?;
    block.resize(total, 0);
    Ok(block.into())
}

#[allow(clippy::too_many_arguments, reason = "the driver's signature")]
pub(super) fn cuLaunchKernel(
    call: &mut Call,
    function: FunctionArg,
    gx: u32,
    gy: u32,
    gz: u32,
    bx: u32,
    by: u32,
    bz: u32,
    shared: u32,
    stream: StreamArg,
    params: In<u64>,
    extra: In<u64>,
) -> Outcome {
    let shape = Shape { grid: [gx, gy, gz], block: [bx, by, bz], shared };
    let request = LaunchRequest { function: function.0, shape, cooperative: false, cluster: None };
    let site = call.by;
    call.launch(stream.0, request, |code| gather(code, params, extra), site)
}

#[allow(clippy::too_many_arguments, reason = "the driver's signature")]
pub(super) fn cuLaunchCooperativeKernel(
    call: &mut Call,
    function: FunctionArg,
    gx: u32,
    gy: u32,
    gz: u32,
    bx: u32,
    by: u32,
    bz: u32,
    shared: u32,
    stream: StreamArg,
    params: In<u64>,
) -> Outcome {
    let shape = Shape { grid: [gx, gy, gz], block: [bx, by, bz], shared };
    let request = LaunchRequest { function: function.0, shape, cooperative: true, cluster: None };
    let site = call.by;
    call.launch(stream.0, request, |code| gather(code, params, In::at(0)), site)
}

/// Launch attributes that mean something here; the others are hints.
mod attribute {
    pub(super) const COOPERATIVE: u32 = 2;
    pub(super) const CLUSTER_DIMENSION: u32 = 4;
}

pub(super) fn cuLaunchKernelEx(
    call: &mut Call,
    config: ConfigArg,
    function: FunctionArg,
    params: In<u64>,
    extra: In<u64>,
) -> Outcome {
    const MANY: u32 = 64;
    let config = config.0.get()?;
    if config.count > MANY {
        return Err(Code::INVALID_VALUE);
    }
    let (mut cooperative, mut cluster) = (false, None);
    for attribute in In::<LaunchAttribute>::at(config.attributes).array(config.count as usize)? {
        let [x, y, z, ..] = attribute.value;
        match attribute.id {
            attribute::COOPERATIVE => cooperative = x != 0,
            attribute::CLUSTER_DIMENSION => cluster = Some([x, y, z]),
            _ => {}
        }
    }
    if let Some(cluster) = cluster
        && config.grid.iter().zip(cluster).any(|(grid, cluster)| cluster == 0 || grid % cluster != 0)
    {
        return Err(Code::INVALID_VALUE);
    }
    let shape = Shape { grid: config.grid, block: config.block, shared: config.shared };
    let request = LaunchRequest { function: function.0, shape, cooperative, cluster };
    let site = call.by;
    call.launch(config.stream, request, |code| gather(code, params, extra), site)
}

pub(super) fn cuLaunchHostFunc(call: &mut Call, stream: StreamArg, function: HostFn, data: u64) -> Outcome {
    let function = function.ok_or(Code::INVALID_VALUE)?;
    let by = call.by;
    call.launch_host(stream.0, HostCall::Function { function, data: data as usize }, by)
}
