//! Devices and their primary contexts.

use super::Call;
use super::args::{DeviceArg, In, Out, PoolArg, Text, handle};
use super::structs::Uuid;
use crate::code::{Code, Outcome};
use crate::model::device;

pub(super) fn cuDeviceGet(call: &mut Call, device: Out<i32>, ordinal: DeviceArg) -> Outcome {
    let ordinal = call.ordinal(ordinal.0)?;
    device.set(ordinal as i32)
}

pub(super) fn cuDeviceGetCount(call: &mut Call, count: Out<i32>) -> Outcome {
    if !call.initialised {
        return Err(Code::NOT_INITIALIZED);
    }
    count.set(call.devices.len() as i32)
}

/// Writes a string with its NUL into a buffer of the caller's, cut to fit.
fn write_text(text: &str, buffer: Out<u8>, room: i32) -> Outcome {
    let room = usize::try_from(room).ok().filter(|room| *room > 0).ok_or(Code::INVALID_VALUE)?;
    buffer.wanted()?;
    let mut bytes: Vec<u8> = text.bytes().take(room - 1).collect();
    bytes.push(0);
    buffer.set_array(&bytes, room)
}

pub(super) fn cuDeviceGetName(call: &mut Call, name: Out<u8>, len: i32, device: DeviceArg) -> Outcome {
    call.ordinal(device.0)?;
    write_text(device::NAME, name, len)
}

pub(super) fn cuDeviceGetUuid(call: &mut Call, uuid: Out<Uuid>, device: DeviceArg) -> Outcome {
    let ordinal = call.ordinal(device.0)?;
    uuid.set(Uuid(call.devices[ordinal as usize].uuid()))
}

pub(super) fn cuDeviceGetUuid_v2(call: &mut Call, uuid: Out<Uuid>, device: DeviceArg) -> Outcome {
    cuDeviceGetUuid(call, uuid, device)
}

pub(super) fn cuDeviceTotalMem_v2(call: &mut Call, bytes: Out<u64>, device: DeviceArg) -> Outcome {
    let ordinal = call.ordinal(device.0)?;
    bytes.set(call.memory.room(ordinal).1)
}

pub(super) fn cuDeviceGetAttribute(call: &mut Call, value: Out<i32>, attribute: u32, device: DeviceArg) -> Outcome {
    let ordinal = call.ordinal(device.0)?;
    value.set(device::attribute(attribute, ordinal)?)
}

pub(super) fn cuDeviceComputeCapability(
    call: &mut Call,
    major: Out<i32>,
    minor: Out<i32>,
    device: DeviceArg,
) -> Outcome {
    call.ordinal(device.0)?;
    minor.wanted()?;
    major.set(device::CAPABILITY.0)?;
    minor.set(device::CAPABILITY.1)
}

pub(super) fn cuDeviceGetPCIBusId(call: &mut Call, text: Out<u8>, len: i32, device: DeviceArg) -> Outcome {
    let ordinal = call.ordinal(device.0)?;
    let id = call.devices[ordinal as usize].pci_bus_id();
    write_text(&id, text, len)
}

pub(super) fn cuDeviceGetByPCIBusId(call: &mut Call, device: Out<i32>, text: Text) -> Outcome {
    let text = text.get()?;
    let found = call.devices.iter().find(|device| device.pci_bus_id().eq_ignore_ascii_case(&text));
    device.set(found.ok_or(Code::INVALID_DEVICE)?.ordinal as i32)
}

pub(super) fn cuDeviceCanAccessPeer(call: &mut Call, can: Out<i32>, device: DeviceArg, peer: DeviceArg) -> Outcome {
    can.set(i32::from(call.can_access_peer(device.0, peer.0)?))
}

pub(super) fn cuDeviceGetP2PAttribute(
    call: &mut Call,
    value: Out<i32>,
    attribute: u32,
    from: DeviceArg,
    to: DeviceArg,
) -> Outcome {
    value.set(call.p2p_attribute(attribute, from.0, to.0)?)
}

pub(super) fn cuDevicePrimaryCtxRetain(call: &mut Call, context: Out<u64>, device: DeviceArg) -> Outcome {
    context.wanted()?;
    let by = call.by;
    context.set(handle(call.primary_retain(device.0, by)?))
}

/// The last release waits for the context's work.
pub(super) fn cuDevicePrimaryCtxRelease_v2(call: &mut Call, device: DeviceArg) -> Outcome {
    let by = call.by;
    let ordinal = call.ordinal(device.0)?;
    if let Some(primary) = call.devices[ordinal as usize].primary.filter(|primary| primary.references == 1) {
        call.drain(primary.context);
    }
    call.primary_release(device.0, by)
}

pub(super) fn cuDevicePrimaryCtxRelease(call: &mut Call, device: DeviceArg) -> Outcome {
    cuDevicePrimaryCtxRelease_v2(call, device)
}

pub(super) fn cuDevicePrimaryCtxReset_v2(call: &mut Call, device: DeviceArg) -> Outcome {
    let by = call.by;
    let ordinal = call.ordinal(device.0)?;
    if let Some(primary) = call.devices[ordinal as usize].primary {
        call.drain(primary.context);
    }
    call.primary_reset(device.0, by)
}

pub(super) fn cuDevicePrimaryCtxReset(call: &mut Call, device: DeviceArg) -> Outcome {
    cuDevicePrimaryCtxReset_v2(call, device)
}

pub(super) fn cuDevicePrimaryCtxGetState(
    call: &mut Call,
    device: DeviceArg,
    flags: Out<u32>,
    active: Out<i32>,
) -> Outcome {
    let (bits, is_active) = call.primary_state(device.0)?;
    active.wanted()?;
    flags.set(bits)?;
    active.set(i32::from(is_active))
}

pub(super) fn cuDevicePrimaryCtxSetFlags_v2(call: &mut Call, device: DeviceArg, flags: u32) -> Outcome {
    call.primary_set_flags(device.0, flags)
}

pub(super) fn cuDevicePrimaryCtxSetFlags(call: &mut Call, device: DeviceArg, flags: u32) -> Outcome {
    cuDevicePrimaryCtxSetFlags_v2(call, device, flags)
}

pub(super) fn cuDeviceGetDefaultMemPool(call: &mut Call, pool: Out<u64>, device: DeviceArg) -> Outcome {
    let ordinal = call.ordinal(device.0)?;
    pool.wanted()?;
    pool.set(handle(call.default_pool(ordinal)?))
}

pub(super) fn cuDeviceGetMemPool(call: &mut Call, pool: Out<u64>, device: DeviceArg) -> Outcome {
    let ordinal = call.ordinal(device.0)?;
    pool.wanted()?;
    pool.set(handle(call.current_pool(ordinal)?))
}

pub(super) fn cuDeviceSetMemPool(call: &mut Call, device: DeviceArg, pool: PoolArg) -> Outcome {
    call.set_current_pool(device.0, pool.0)
}

pub(super) fn cuDeviceGraphMemTrim(call: &mut Call, device: DeviceArg) -> Outcome {
    call.graph_trim(device.0)
}

pub(super) fn cuDeviceGetGraphMemAttribute(
    call: &mut Call,
    device: DeviceArg,
    attribute: u32,
    value: Out<u64>,
) -> Outcome {
    value.set(call.graph_mem_attribute(device.0, attribute)?)
}

pub(super) fn cuDeviceSetGraphMemAttribute(
    call: &mut Call,
    device: DeviceArg,
    attribute: u32,
    value: In<u64>,
) -> Outcome {
    value.get()?;
    call.reset_graph_high(device.0, attribute)
}
