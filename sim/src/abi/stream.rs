//! Streams.

use super::Call;
use super::args::{DevicePtr, EventArg, In, Out, StreamArg, StreamCallback, handle};
use super::structs::MemOpParams;
use crate::code::{Code, Outcome};
use crate::model::work::{Compare, HostCall, MemOp};

pub(super) fn cuStreamCreate(call: &mut Call, stream: Out<u64>, flags: u32) -> Outcome {
    cuStreamCreateWithPriority(call, stream, flags, 0)
}

pub(super) fn cuStreamCreateWithPriority(call: &mut Call, stream: Out<u64>, flags: u32, priority: i32) -> Outcome {
    stream.wanted()?;
    let by = call.by;
    stream.set(handle(call.stream_create(flags, priority, by)?))
}

pub(super) fn cuStreamDestroy_v2(call: &mut Call, stream: StreamArg) -> Outcome {
    let by = call.by;
    call.stream_destroy(stream.0, by)
}

pub(super) fn cuStreamSynchronize(call: &mut Call, stream: StreamArg) -> Outcome {
    let by = call.by;
    let goal = call.stream_goal(stream.0, by)?;
    let stream = call.stream(stream.0, by)?;
    let device = call.device_of_stream(stream);
    call.wait(&goal, device)
}

pub(super) fn cuStreamQuery(call: &mut Call, stream: StreamArg) -> Outcome {
    let by = call.by;
    let goal = call.stream_goal(stream.0, by)?;
    call.poll(&goal)
}

pub(super) fn cuStreamWaitEvent(call: &mut Call, stream: StreamArg, event: EventArg, flags: u32) -> Outcome {
    let by = call.by;
    call.event_wait(stream.0, event.0, flags, by)
}

pub(super) fn cuStreamGetCtx(call: &mut Call, stream: StreamArg, context: Out<u64>) -> Outcome {
    let by = call.by;
    let stream = call.stream(stream.0, by)?;
    call.target(stream)?;
    context.set(handle(call.at(stream)?.context))
}

pub(super) fn cuStreamGetCtx_v2(call: &mut Call, stream: StreamArg, context: Out<u64>, green: Out<u64>) -> Outcome {
    cuStreamGetCtx(call, stream, context)?;
    green.set_if_wanted(0);
    Ok(())
}

/// A capturing stream does not tell its flags, and the attempt loses the capture.
pub(super) fn cuStreamGetFlags(call: &mut Call, stream: StreamArg, flags: Out<u32>) -> Outcome {
    let by = call.by;
    let stream = call.stream(stream.0, by)?;
    call.uncaptured(stream)?;
    flags.set(call.at(stream)?.flags)
}

pub(super) fn cuStreamGetPriority(call: &mut Call, stream: StreamArg, priority: Out<i32>) -> Outcome {
    let by = call.by;
    let stream = call.stream(stream.0, by)?;
    call.target(stream)?;
    priority.set(call.at(stream)?.priority)
}

pub(super) fn cuStreamGetId(call: &mut Call, stream: StreamArg, id: Out<u64>) -> Outcome {
    let by = call.by;
    let stream = call.stream(stream.0, by)?;
    id.set(call.stream_number(stream))
}

pub(super) fn cuStreamGetDevice(call: &mut Call, stream: StreamArg, device: Out<i32>) -> Outcome {
    let by = call.by;
    let stream = call.stream(stream.0, by)?;
    device.set(call.device_of_stream(stream) as i32)
}

pub(super) fn cuStreamAddCallback(
    call: &mut Call,
    stream: StreamArg,
    callback: StreamCallback,
    data: u64,
    flags: u32,
) -> Outcome {
    let by = call.by;
    let function = callback.ok_or(Code::INVALID_VALUE)?;
    if flags != 0 {
        return Err(Code::INVALID_VALUE);
    }
    let host = HostCall::Callback { function, stream: stream.0, data: data as usize };
    call.add_callback(stream.0, host, by)
}

/// `CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER`.
const WRITE_FLAGS: u32 = 1;
/// `CU_STREAM_WAIT_VALUE_FLUSH`.
const WAIT_FLUSH: u32 = 1 << 30;

fn write(call: &mut Call, stream: StreamArg, address: DevicePtr, value: u64, bytes: u32, flags: u32) -> Outcome {
    let by = call.by;
    if flags & !WRITE_FLAGS != 0 {
        return Err(Code::INVALID_VALUE);
    }
    call.mem_ops(stream.0, vec![MemOp::Write { address: address.0, value, bytes }], by)
}

fn compare(flags: u32) -> Outcome<Compare> {
    match flags & !WAIT_FLUSH {
        0 => Ok(Compare::AtLeast),
        1 => Ok(Compare::Equal),
        2 => Ok(Compare::And),
        3 => Ok(Compare::Nor),
        _ => Err(Code::INVALID_VALUE),
    }
}

fn wait(call: &mut Call, stream: StreamArg, address: DevicePtr, value: u64, bytes: u32, flags: u32) -> Outcome {
    let by = call.by;
    let op = MemOp::Wait { address: address.0, value, bytes, compare: compare(flags)? };
    call.mem_ops(stream.0, vec![op], by)
}

pub(super) fn cuStreamWriteValue32(
    call: &mut Call,
    stream: StreamArg,
    address: DevicePtr,
    value: u32,
    flags: u32,
) -> Outcome {
    write(call, stream, address, u64::from(value), 4, flags)
}

pub(super) fn cuStreamWriteValue32_v2(
    call: &mut Call,
    stream: StreamArg,
    address: DevicePtr,
    value: u32,
    flags: u32,
) -> Outcome {
    write(call, stream, address, u64::from(value), 4, flags)
}

pub(super) fn cuStreamWriteValue64(
    call: &mut Call,
    stream: StreamArg,
    address: DevicePtr,
    value: u64,
    flags: u32,
) -> Outcome {
    write(call, stream, address, value, 8, flags)
}

pub(super) fn cuStreamWriteValue64_v2(
    call: &mut Call,
    stream: StreamArg,
    address: DevicePtr,
    value: u64,
    flags: u32,
) -> Outcome {
    write(call, stream, address, value, 8, flags)
}

pub(super) fn cuStreamWaitValue32(
    call: &mut Call,
    stream: StreamArg,
    address: DevicePtr,
    value: u32,
    flags: u32,
) -> Outcome {
    wait(call, stream, address, u64::from(value), 4, flags)
}

pub(super) fn cuStreamWaitValue32_v2(
    call: &mut Call,
    stream: StreamArg,
    address: DevicePtr,
    value: u32,
    flags: u32,
) -> Outcome {
    wait(call, stream, address, u64::from(value), 4, flags)
}

pub(super) fn cuStreamWaitValue64(
    call: &mut Call,
    stream: StreamArg,
    address: DevicePtr,
    value: u64,
    flags: u32,
) -> Outcome {
    wait(call, stream, address, value, 8, flags)
}

pub(super) fn cuStreamWaitValue64_v2(
    call: &mut Call,
    stream: StreamArg,
    address: DevicePtr,
    value: u64,
    flags: u32,
) -> Outcome {
    wait(call, stream, address, value, 8, flags)
}

/// A memory operation of a batch: wait 1, write 2, wait for eight bytes 4, write eight bytes 5, flush 3, barrier 6.
pub(super) fn mem_op(params: &MemOpParams) -> Outcome<MemOp> {
    let MemOpParams { operation, address, value, flags, .. } = *params;
    let word = value & 0xFFFF_FFFF;
    match operation {
        1 => Ok(MemOp::Wait { address, value: word, bytes: 4, compare: compare(flags)? }),
        2 => Ok(MemOp::Write { address, value: word, bytes: 4 }),
        3 | 6 => Ok(MemOp::Fence),
        4 => Ok(MemOp::Wait { address, value, bytes: 8, compare: compare(flags)? }),
        5 => Ok(MemOp::Write { address, value, bytes: 8 }),
        _ => Err(Code::INVALID_VALUE),
    }
}

/// The operations of a batch; there may be 256.
pub(super) fn read_mem_ops(ops: In<MemOpParams>, count: u32) -> Outcome<Vec<MemOp>> {
    if count == 0 || count > 256 {
        return Err(Code::INVALID_VALUE);
    }
    ops.array(count as usize)?.iter().map(mem_op).collect()
}

pub(super) fn cuStreamBatchMemOp_v2(
    call: &mut Call,
    stream: StreamArg,
    count: u32,
    ops: In<MemOpParams>,
    flags: u32,
) -> Outcome {
    let by = call.by;
    if flags != 0 {
        return Err(Code::INVALID_VALUE);
    }
    let ops = read_mem_ops(ops, count)?;
    call.mem_ops(stream.0, ops, by)
}

pub(super) fn cuStreamBatchMemOp(
    call: &mut Call,
    stream: StreamArg,
    count: u32,
    ops: In<MemOpParams>,
    flags: u32,
) -> Outcome {
    cuStreamBatchMemOp_v2(call, stream, count, ops, flags)
}
