//! Events.

use super::Call;
use super::args::{EventArg, Out, StreamArg, handle};
use crate::code::Outcome;
use crate::engine::Goal;

pub(super) fn cuEventCreate(call: &mut Call, event: Out<u64>, flags: u32) -> Outcome {
    event.wanted()?;
    let by = call.by;
    event.set(handle(call.event_create(flags, by)?))
}

pub(super) fn cuEventDestroy_v2(call: &mut Call, event: EventArg) -> Outcome {
    let by = call.by;
    call.event_destroy(event.0, by)
}

pub(super) fn cuEventRecord(call: &mut Call, event: EventArg, stream: StreamArg) -> Outcome {
    cuEventRecordWithFlags(call, event, stream, 0)
}

pub(super) fn cuEventRecordWithFlags(call: &mut Call, event: EventArg, stream: StreamArg, flags: u32) -> Outcome {
    let by = call.by;
    call.event_record(event.0, stream.0, flags, by)
}

pub(super) fn cuEventQuery(call: &mut Call, event: EventArg) -> Outcome {
    let by = call.by;
    match call.event_goal(event.0, by)? {
        Some(mark) => call.poll(&Goal::mark(mark)),
        None => Ok(()),
    }
}

pub(super) fn cuEventSynchronize(call: &mut Call, event: EventArg) -> Outcome {
    let by = call.by;
    let Some(mark) = call.event_goal(event.0, by)? else { return Ok(()) };
    let id = call.event(event.0)?;
    let context = call.event_at(id)?.context;
    let device = call.device_of_context(context);
    call.wait(&Goal::mark(mark), device)
}

pub(super) fn cuEventElapsedTime(call: &mut Call, milliseconds: Out<f32>, start: EventArg, end: EventArg) -> Outcome {
    milliseconds.wanted()?;
    milliseconds.set(call.event_elapsed(start.0, end.0)?)
}

pub(super) fn cuEventElapsedTime_v2(
    call: &mut Call,
    milliseconds: Out<f32>,
    start: EventArg,
    end: EventArg,
) -> Outcome {
    cuEventElapsedTime(call, milliseconds, start, end)
}
