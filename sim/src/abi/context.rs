//! Contexts.

use super::Call;
use super::args::{ContextArg, DeviceArg, EventArg, In, Out, handle};
use crate::code::{Code, Outcome};
use crate::model::device;

pub(super) fn cuCtxCreate_v2(call: &mut Call, context: Out<u64>, flags: u32, device: DeviceArg) -> Outcome {
    context.wanted()?;
    let by = call.by;
    context.set(handle(call.context_create(flags, device.0, by)?))
}

pub(super) fn cuCtxCreate_v3(
    call: &mut Call,
    context: Out<u64>,
    _affinity: In<u64>,
    count: i32,
    flags: u32,
    device: DeviceArg,
) -> Outcome {
    if count != 0 {
        return Err(Code::UNSUPPORTED_EXEC_AFFINITY);
    }
    cuCtxCreate_v2(call, context, flags, device)
}

pub(super) fn cuCtxCreate_v4(
    call: &mut Call,
    context: Out<u64>,
    params: In<u64>,
    flags: u32,
    device: DeviceArg,
) -> Outcome {
    if !params.is_null() {
        return Err(Code::NOT_SUPPORTED);
    }
    cuCtxCreate_v2(call, context, flags, device)
}

/// Waits for the context's work.
pub(super) fn cuCtxDestroy_v2(call: &mut Call, context: ContextArg) -> Outcome {
    let by = call.by;
    if let Ok(found) = call.context(context.0) {
        call.drain(found);
    }
    call.context_destroy(context.0, by)
}

pub(super) fn cuCtxGetCurrent(call: &mut Call, context: Out<u64>) -> Outcome {
    if !call.initialised {
        return Err(Code::NOT_INITIALIZED);
    }
    context.set(call.top(call.by.thread).map_or(0, handle))
}

pub(super) fn cuCtxSetCurrent(call: &mut Call, context: ContextArg) -> Outcome {
    let by = call.by;
    call.set_current(context.0, by)
}

pub(super) fn cuCtxPushCurrent_v2(call: &mut Call, context: ContextArg) -> Outcome {
    let by = call.by;
    call.push_current(context.0, by)
}

pub(super) fn cuCtxPopCurrent_v2(call: &mut Call, context: Out<u64>) -> Outcome {
    let by = call.by;
    let popped = call.pop_current(by)?;
    context.set_if_wanted(handle(popped));
    Ok(())
}

pub(super) fn cuCtxSynchronize(call: &mut Call) -> Outcome {
    let context = call.current(call.by.thread)?;
    let goal = call.context_goal(context)?;
    let device = call.device_of_context(context);
    call.wait(&goal, device)
}

pub(super) fn cuCtxSynchronize_v2(call: &mut Call, context: ContextArg) -> Outcome {
    let context = call.context(context.0)?;
    let goal = call.context_goal(context)?;
    let device = call.device_of_context(context);
    call.wait(&goal, device)
}

pub(super) fn cuCtxGetDevice(call: &mut Call, device: Out<i32>) -> Outcome {
    let context = call.current_any(call.by.thread)?;
    device.set(call.device_of_context(context) as i32)
}

pub(super) fn cuCtxGetDevice_v2(call: &mut Call, device: Out<i32>, context: ContextArg) -> Outcome {
    let context = call.context(context.0)?;
    device.set(call.device_of_context(context) as i32)
}

pub(super) fn cuCtxGetFlags(call: &mut Call, flags: Out<u32>) -> Outcome {
    let context = call.current(call.by.thread)?;
    flags.set(call.contexts.get(context).map_or(0, |context| context.flags))
}

pub(super) fn cuCtxSetFlags(call: &mut Call, flags: u32) -> Outcome {
    let context = call.current(call.by.thread)?;
    if let Some(context) = call.contexts.get_mut(context) {
        context.flags = flags;
    }
    Ok(())
}

pub(super) fn cuCtxGetId(call: &mut Call, context: ContextArg, id: Out<u64>) -> Outcome {
    let context = match context.0 {
        0 => call.current(call.by.thread)?,
        raw => call.context(raw)?,
    };
    id.set(handle(context) & 0xFFFF_FFFF_FFFF)
}

pub(super) fn cuCtxGetApiVersion(call: &mut Call, context: ContextArg, version: Out<u32>) -> Outcome {
    if context.0 != 0 {
        call.context(context.0)?;
    }
    version.set(3020)
}

pub(super) fn cuCtxGetLimit(call: &mut Call, value: Out<u64>, limit: u32) -> Outcome {
    let by = call.by;
    value.set(call.limit(limit, by)?)
}

pub(super) fn cuCtxSetLimit(call: &mut Call, limit: u32, value: u64) -> Outcome {
    let by = call.by;
    call.set_limit(limit, value, by)
}

pub(super) fn cuCtxGetCacheConfig(call: &mut Call, config: Out<u32>) -> Outcome {
    let context = call.current(call.by.thread)?;
    config.set(call.contexts.get(context).map_or(0, |context| context.cache_config))
}

pub(super) fn cuCtxSetCacheConfig(call: &mut Call, config: u32) -> Outcome {
    let context = call.current(call.by.thread)?;
    if config > 3 {
        return Err(Code::INVALID_VALUE);
    }
    if let Some(context) = call.contexts.get_mut(context) {
        context.cache_config = config;
    }
    Ok(())
}

pub(super) fn cuCtxGetStreamPriorityRange(call: &mut Call, least: Out<i32>, greatest: Out<i32>) -> Outcome {
    call.current(call.by.thread)?;
    least.set_if_wanted(device::PRIORITIES.0);
    greatest.set_if_wanted(device::PRIORITIES.1);
    Ok(())
}

pub(super) fn cuCtxEnablePeerAccess(call: &mut Call, peer: ContextArg, flags: u32) -> Outcome {
    let by = call.by;
    call.enable_peer(peer.0, flags, by)
}

pub(super) fn cuCtxDisablePeerAccess(call: &mut Call, peer: ContextArg) -> Outcome {
    let by = call.by;
    call.disable_peer(peer.0, by)
}

pub(super) fn cuCtxRecordEvent(call: &mut Call, context: ContextArg, event: EventArg) -> Outcome {
    let by = call.by;
    call.context_record(context.0, event.0, by)
}

pub(super) fn cuCtxWaitEvent(call: &mut Call, context: ContextArg, event: EventArg) -> Outcome {
    let by = call.by;
    call.context_wait(context.0, event.0, by)
}
