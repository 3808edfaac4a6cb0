//! Copies and fills.

use super::Call;
use super::args::{ContextArg, DevicePtr, HostPtr, In, Out, StreamArg};
use super::structs::{Memcpy2d, Memcpy3d};
use crate::code::{Code, Outcome};
use crate::engine::Goal;
use crate::model::CopyKind;
use crate::model::work::{Fill, Rows};

/// A plain range.
fn range(bytes: usize) -> Rows {
    Rows::plain(bytes as u64)
}

/// Waits for what a copy leaves to wait for.
fn settle(call: &mut Call, stream: u64, goal: Option<Goal>) -> Outcome {
    let Some(goal) = goal else { return Ok(()) };
    let by = call.by;
    let stream = call.stream(stream, by)?;
    let device = call.device_of_stream(stream);
    call.wait(&goal, device)
}

fn blocking(call: &mut Call, kind: CopyKind, ends: (u64, u64), rows: Rows) -> Outcome {
    let by = call.by;
    let goal = call.copy_sync(kind, ends, rows, by)?;
    settle(call, 0, goal)
}

fn ordered(call: &mut Call, kind: CopyKind, ends: (u64, u64), rows: Rows, stream: StreamArg) -> Outcome {
    let by = call.by;
    let goal = call.copy_async(stream.0, kind, ends, rows, by)?;
    settle(call, stream.0, goal)
}

pub(super) fn cuMemcpy(call: &mut Call, dst: DevicePtr, src: DevicePtr, bytes: usize) -> Outcome {
    blocking(call, CopyKind::Unified, (dst.0, src.0), range(bytes))
}

pub(super) fn cuMemcpyAsync(
    call: &mut Call,
    dst: DevicePtr,
    src: DevicePtr,
    bytes: usize,
    stream: StreamArg,
) -> Outcome {
    ordered(call, CopyKind::Unified, (dst.0, src.0), range(bytes), stream)
}

pub(super) fn cuMemcpyHtoD_v2(call: &mut Call, dst: DevicePtr, src: HostPtr, bytes: usize) -> Outcome {
    blocking(call, CopyKind::HtoD, (dst.0, src.0), range(bytes))
}

pub(super) fn cuMemcpyHtoDAsync_v2(
    call: &mut Call,
    dst: DevicePtr,
    src: HostPtr,
    bytes: usize,
    stream: StreamArg,
) -> Outcome {
    ordered(call, CopyKind::HtoD, (dst.0, src.0), range(bytes), stream)
}

pub(super) fn cuMemcpyDtoH_v2(call: &mut Call, dst: HostPtr, src: DevicePtr, bytes: usize) -> Outcome {
    blocking(call, CopyKind::DtoH, (dst.0, src.0), range(bytes))
}

pub(super) fn cuMemcpyDtoHAsync_v2(
    call: &mut Call,
    dst: HostPtr,
    src: DevicePtr,
    bytes: usize,
    stream: StreamArg,
) -> Outcome {
    ordered(call, CopyKind::DtoH, (dst.0, src.0), range(bytes), stream)
}

pub(super) fn cuMemcpyDtoD_v2(call: &mut Call, dst: DevicePtr, src: DevicePtr, bytes: usize) -> Outcome {
    blocking(call, CopyKind::DtoD, (dst.0, src.0), range(bytes))
}

pub(super) fn cuMemcpyDtoDAsync_v2(
    call: &mut Call,
    dst: DevicePtr,
    src: DevicePtr,
    bytes: usize,
    stream: StreamArg,
) -> Outcome {
    ordered(call, CopyKind::DtoD, (dst.0, src.0), range(bytes), stream)
}

pub(super) fn cuMemcpyPeerAsync(
    call: &mut Call,
    dst: DevicePtr,
    to: ContextArg,
    src: DevicePtr,
    from: ContextArg,
    bytes: usize,
    stream: StreamArg,
) -> Outcome {
    let by = call.by;
    let goal = call.copy_peer_async(stream.0, (dst.0, src.0), (to.0, from.0), range(bytes), by)?;
    settle(call, stream.0, goal)
}

pub(super) fn cuMemcpyPeer(
    call: &mut Call,
    dst: DevicePtr,
    to: ContextArg,
    src: DevicePtr,
    from: ContextArg,
    bytes: usize,
) -> Outcome {
    cuMemcpyPeerAsync(call, dst, to, src, from, bytes, StreamArg(0))
}

#[allow(clippy::too_many_arguments, reason = "the driver's signature")]
pub(super) fn cuMemcpyBatchAsync_v2(
    call: &mut Call,
    dsts: In<u64>,
    srcs: In<u64>,
    sizes: In<u64>,
    count: usize,
    _attributes: In<u8>,
    _indices: In<u64>,
    attribute_count: usize,
    stream: StreamArg,
) -> Outcome {
    let by = call.by;
    if count == 0 || count > super::capture::MANY || attribute_count == 0 || attribute_count > count {
        return Err(Code::INVALID_VALUE);
    }
    let (dsts, srcs, sizes) = (dsts.array(count)?, srcs.array(count)?, sizes.array(count)?);
    let copies: Vec<(u64, u64, u64)> =
        dsts.into_iter().zip(srcs).zip(sizes).map(|((dst, src), bytes)| (dst, src, bytes)).collect();
    let goals = call.copy_batch(stream.0, &copies, by)?;
    goals.into_iter().try_for_each(|goal| settle(call, stream.0, Some(goal)))
}

#[allow(clippy::too_many_arguments, reason = "the driver's signature")]
pub(super) fn cuMemcpyBatchAsync(
    call: &mut Call,
    dsts: In<u64>,
    srcs: In<u64>,
    sizes: In<u64>,
    count: usize,
    attributes: In<u8>,
    indices: In<u64>,
    attribute_count: usize,
    failed: Out<u64>,
    stream: StreamArg,
) -> Outcome {
    failed.set_if_wanted(u64::MAX);
    cuMemcpyBatchAsync_v2(call, dsts, srcs, sizes, count, attributes, indices, attribute_count, stream)
}

/// `CU_MEMORYTYPE_HOST`, `DEVICE` and `UNIFIED`; arrays are not supported.
mod memory_type {
    pub(super) const HOST: u32 = 1;
    pub(super) const DEVICE: u32 = 2;
    pub(super) const UNIFIED: u32 = 4;
}

/// Where one side of a copy with rows begins, and whether it must be device memory.
pub(super) fn side(kind: u32, host: u64, device: u64, offset: u64) -> Outcome<(u64, bool)> {
    let (base, on_device) = match kind {
        memory_type::HOST => (host, false),
        memory_type::DEVICE => (device, true),
        memory_type::UNIFIED => (device, false),
        _ => return Err(Code::NOT_SUPPORTED),
    };
    if base == 0 {
        return Err(Code::INVALID_VALUE);
    }
    Ok((base.checked_add(offset).ok_or(Code::INVALID_VALUE)?, on_device))
}

/// A copy with rows: kind, ends, rows.
pub(super) type Spelled = (CopyKind, (u64, u64), Rows);

fn kind(dst_on_device: bool, src_on_device: bool) -> CopyKind {
    match (dst_on_device, src_on_device) {
        (true, true) => CopyKind::DtoD,
        (true, false) => CopyKind::HtoD,
        (false, true) => CopyKind::DtoH,
        (false, false) => CopyKind::Unified,
    }
}

fn offset(x: u64, y: u64, pitch: u64) -> Outcome<u64> {
    y.checked_mul(pitch).and_then(|rows| rows.checked_add(x)).ok_or(Code::INVALID_VALUE)
}

/// A two-dimensional copy. A pitch of zero means rows without a gap.
fn spell_2d(copy: &Memcpy2d) -> Outcome<Spelled> {
    let pitch = |pitch| if pitch == 0 { copy.width } else { pitch };
    let (src_pitch, dst_pitch) = (pitch(copy.src.pitch), pitch(copy.dst.pitch));
    let (src, src_on_device) =
        side(copy.src.memory_type, copy.src.host, copy.src.device, offset(copy.src.x, copy.src.y, src_pitch)?)?;
    let (dst, dst_on_device) =
        side(copy.dst.memory_type, copy.dst.host, copy.dst.device, offset(copy.dst.x, copy.dst.y, dst_pitch)?)?;
    let rows = Rows { width: copy.width, height: copy.height, dst_pitch, src_pitch };
    Ok((kind(dst_on_device, src_on_device), (dst, src), rows))
}

/// A three-dimensional copy of depth one; deeper ones are not supported.
pub(super) fn spell_3d(copy: &Memcpy3d) -> Outcome<Spelled> {
    if copy.depth > 1 || copy.src.z > 0 || copy.dst.z > 0 {
        return Err(Code::NOT_SUPPORTED);
    }
    let flat = |side: &super::structs::CopySide| super::structs::CopySide2d {
        x: side.x,
        y: side.y,
        memory_type: side.memory_type,
        host: side.host,
        device: side.device,
        array: side.array,
        pitch: side.pitch,
    };
    spell_2d(&Memcpy2d { src: flat(&copy.src), dst: flat(&copy.dst), width: copy.width, height: copy.height.max(1) })
}

pub(super) fn cuMemcpy2D_v2(call: &mut Call, copy: In<Memcpy2d>) -> Outcome {
    let (kind, ends, rows) = spell_2d(&copy.get()?)?;
    blocking(call, kind, ends, rows)
}

pub(super) fn cuMemcpy2DUnaligned_v2(call: &mut Call, copy: In<Memcpy2d>) -> Outcome {
    cuMemcpy2D_v2(call, copy)
}

pub(super) fn cuMemcpy2DAsync_v2(call: &mut Call, copy: In<Memcpy2d>, stream: StreamArg) -> Outcome {
    let (kind, ends, rows) = spell_2d(&copy.get()?)?;
    ordered(call, kind, ends, rows, stream)
}

pub(super) fn cuMemcpy3D_v2(call: &mut Call, copy: In<Memcpy3d>) -> Outcome {
    let (kind, ends, rows) = spell_3d(&copy.get()?)?;
    blocking(call, kind, ends, rows)
}

pub(super) fn cuMemcpy3DAsync_v2(call: &mut Call, copy: In<Memcpy3d>, stream: StreamArg) -> Outcome {
    let (kind, ends, rows) = spell_3d(&copy.get()?)?;
    ordered(call, kind, ends, rows, stream)
}

/// A fill of `height` rows; stream 0 is what the blocking calls use.
fn fill(call: &mut Call, dst: DevicePtr, value: u32, element: u32, shape: (usize, usize, usize), stream: u64) -> Outcome {
    let by = call.by;
    let (width, height, pitch) = shape;
    let fill = Fill {
        dst: dst.0,
        value,
        element,
        width: width as u64,
        height: height as u64,
        pitch: pitch as u64,
    };
    call.fill_async(stream, fill, by)
}

macro_rules! fills {
    ($($name:ident, $async_name:ident, $rows:ident, $async_rows:ident: $ty:ty = $element:literal;)*) => {
        $(
            pub(super) fn $name(call: &mut Call, dst: DevicePtr, value: $ty, count: usize) -> Outcome {
                fill(call, dst, u32::from(value), $element, (count, 1, 0), 0)
            }

            pub(super) fn $async_name(
                call: &mut Call,
                dst: DevicePtr,
                value: $ty,
                count: usize,
                stream: StreamArg,
            ) -> Outcome {
                fill(call, dst, u32::from(value), $element, (count, 1, 0), stream.0)
            }

            pub(super) fn $rows(
                call: &mut Call,
                dst: DevicePtr,
                pitch: usize,
                value: $ty,
                width: usize,
                height: usize,
            ) -> Outcome {
                fill(call, dst, u32::from(value), $element, (width, height, pitch), 0)
            }

            pub(super) fn $async_rows(
                call: &mut Call,
                dst: DevicePtr,
                pitch: usize,
                value: $ty,
                width: usize,
                height: usize,
                stream: StreamArg,
            ) -> Outcome {
                fill(call, dst, u32::from(value), $element, (width, height, pitch), stream.0)
            }
        )*
    };
}

fills! {
    cuMemsetD8_v2, cuMemsetD8Async, cuMemsetD2D8_v2, cuMemsetD2D8Async: u8 = 1;
    cuMemsetD16_v2, cuMemsetD16Async, cuMemsetD2D16_v2, cuMemsetD2D16Async: u16 = 2;
    cuMemsetD32_v2, cuMemsetD32Async, cuMemsetD2D32_v2, cuMemsetD2D32Async: u32 = 4;
}
