//! Managed memory.

use super::Call;
use super::args::{DeviceArg, DevicePtr, Out, StreamArg};
use super::structs::MemLocation;
use crate::code::{Code, Outcome};
use crate::model::Home;

/// `CU_DEVICE_CPU`.
const HOST_DEVICE: i32 = -1;

fn by_device(device: DeviceArg) -> Home {
    if device.0 == HOST_DEVICE { Home::Host } else { Home::Device(device.0) }
}

/// `CU_MEM_LOCATION_TYPE_DEVICE`, and `HOST`, `HOST_NUMA` and `HOST_NUMA_CURRENT`.
fn by_location(location: MemLocation) -> Outcome<Home> {
    match location.kind {
        1 => Ok(Home::Device(location.id)),
        2..=4 => Ok(Home::Host),
        _ => Err(Code::INVALID_VALUE),
    }
}

pub(super) fn cuMemAllocManaged(call: &mut Call, address: Out<u64>, bytes: usize, flags: u32) -> Outcome {
    address.wanted()?;
    let by = call.by;
    address.set(call.managed_alloc(bytes as u64, flags, by)?)
}

pub(super) fn cuStreamAttachMemAsync(
    call: &mut Call,
    stream: StreamArg,
    address: DevicePtr,
    bytes: usize,
    flags: u32,
) -> Outcome {
    let by = call.by;
    call.managed_attach(stream.0, address.0, bytes as u64, flags, by)
}

pub(super) fn cuMemPrefetchAsync(
    call: &mut Call,
    address: DevicePtr,
    bytes: usize,
    device: DeviceArg,
    stream: StreamArg,
) -> Outcome {
    let by = call.by;
    call.managed_prefetch(address.0, bytes as u64, by_device(device), stream.0, by)
}

pub(super) fn cuMemPrefetchAsync_v2(
    call: &mut Call,
    address: DevicePtr,
    bytes: usize,
    location: MemLocation,
    flags: u32,
    stream: StreamArg,
) -> Outcome {
    if flags != 0 {
        return Err(Code::INVALID_VALUE);
    }
    let by = call.by;
    call.managed_prefetch(address.0, bytes as u64, by_location(location)?, stream.0, by)
}

pub(super) fn cuMemAdvise(
    call: &mut Call,
    address: DevicePtr,
    bytes: usize,
    advice: u32,
    device: DeviceArg,
) -> Outcome {
    let by = call.by;
    call.managed_advise(address.0, bytes as u64, advice, by_device(device), by)
}

pub(super) fn cuMemAdvise_v2(
    call: &mut Call,
    address: DevicePtr,
    bytes: usize,
    advice: u32,
    location: MemLocation,
) -> Outcome {
    let by = call.by;
    call.managed_advise(address.0, bytes as u64, advice, by_location(location)?, by)
}
