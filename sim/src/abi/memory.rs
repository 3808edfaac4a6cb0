//! Memory: device, page-locked host, pools, and what is known of a pointer.

use super::Call;
use super::args::{DevicePtr, HostPtr, In, Out, PoolArg, StreamArg, handle};
use super::structs::PoolProps;
use crate::code::{Code, Outcome};
use crate::model::{Driver, PointerAttribute};

pub(super) fn cuMemGetInfo_v2(call: &mut Call, free: Out<u64>, total: Out<u64>) -> Outcome {
    let by = call.by;
    let (room, all) = call.mem_info(by)?;
    total.wanted()?;
    free.set(room)?;
    total.set(all)
}

pub(super) fn cuMemAlloc_v2(call: &mut Call, address: Out<u64>, bytes: usize) -> Outcome {
    address.wanted()?;
    let by = call.by;
    address.set(call.mem_alloc(bytes as u64, by)?)
}

pub(super) fn cuMemAllocPitch_v2(
    call: &mut Call,
    address: Out<u64>,
    pitch: Out<u64>,
    width: usize,
    height: usize,
    element: u32,
) -> Outcome {
    address.wanted()?;
    pitch.wanted()?;
    let by = call.by;
    let (base, stride) = call.mem_alloc_pitch(width as u64, height as u64, element, by)?;
    pitch.set(stride)?;
    address.set(base)
}

pub(super) fn cuMemFree_v2(call: &mut Call, address: DevicePtr) -> Outcome {
    let by = call.by;
    if let Some(goal) = call.managed_users(address.0, by)? {
        let context = call.current(by.thread)?;
        let device = call.device_of_context(context);
        call.wait(&goal, device)?;
    }
    call.mem_free(address.0, by)
}

pub(super) fn cuMemAllocAsync(call: &mut Call, address: Out<u64>, bytes: usize, stream: StreamArg) -> Outcome {
    address.wanted()?;
    let by = call.by;
    address.set(call.alloc_async(bytes as u64, None, stream.0, by)?)
}

pub(super) fn cuMemAllocFromPoolAsync(
    call: &mut Call,
    address: Out<u64>,
    bytes: usize,
    pool: PoolArg,
    stream: StreamArg,
) -> Outcome {
    address.wanted()?;
    let by = call.by;
    address.set(call.alloc_async(bytes as u64, Some(pool.0), stream.0, by)?)
}

pub(super) fn cuMemFreeAsync(call: &mut Call, address: DevicePtr, stream: StreamArg) -> Outcome {
    let by = call.by;
    call.free_async(address.0, stream.0, by)
}

pub(super) fn cuMemGetAddressRange_v2(call: &mut Call, base: Out<u64>, bytes: Out<u64>, address: DevicePtr) -> Outcome {
    let range = call.address_range(address.0)?;
    base.set_if_wanted(range.address);
    bytes.set_if_wanted(range.bytes);
    Ok(())
}

pub(super) fn cuMemHostAlloc(call: &mut Call, pointer: Out<u64>, bytes: usize, flags: u32) -> Outcome {
    pointer.wanted()?;
    let by = call.by;
    pointer.set(call.host_alloc(bytes as u64, flags, by)?)
}

pub(super) fn cuMemAllocHost_v2(call: &mut Call, pointer: Out<u64>, bytes: usize) -> Outcome {
    cuMemHostAlloc(call, pointer, bytes, 0)
}

pub(super) fn cuMemFreeHost(call: &mut Call, pointer: HostPtr) -> Outcome {
    let by = call.by;
    call.host_free(pointer.0, by)
}

pub(super) fn cuMemHostRegister_v2(call: &mut Call, pointer: HostPtr, bytes: usize, flags: u32) -> Outcome {
    let by = call.by;
    call.host_register(pointer.0, bytes as u64, flags, by)
}

pub(super) fn cuMemHostUnregister(call: &mut Call, pointer: HostPtr) -> Outcome {
    let by = call.by;
    call.host_unregister(pointer.0, by)
}

pub(super) fn cuMemHostGetDevicePointer_v2(
    call: &mut Call,
    address: Out<u64>,
    pointer: HostPtr,
    flags: u32,
) -> Outcome {
    call.current(call.by.thread)?;
    if flags != 0 || call.pinned_at(pointer.0).is_none_or(|(_, pinned)| pinned.managed) {
        return Err(Code::INVALID_VALUE);
    }
    address.set(pointer.0)
}

pub(super) fn cuMemHostGetFlags(call: &mut Call, flags: Out<u32>, pointer: HostPtr) -> Outcome {
    let bits = match call.pinned_at(pointer.0) {
        Some((_, pinned)) if !pinned.managed => pinned.flags,
        _ => return Err(Code::INVALID_VALUE),
    };
    flags.set(bits)
}

fn write_attribute(data: Out<u8>, value: PointerAttribute) -> Outcome {
    match value {
        PointerAttribute::Word(word) => data.cast::<u64>().set(word),
        PointerAttribute::Int(int) => data.cast::<u32>().set(int),
        PointerAttribute::Flag(flag) => data.set(u8::from(flag)),
    }
}

pub(super) fn cuPointerGetAttribute(call: &mut Call, data: Out<u8>, attribute: u32, address: DevicePtr) -> Outcome {
    data.wanted()?;
    write_attribute(data, call.pointer_attribute(attribute, address.0)?)
}

/// Attributes of what is no pointer of the driver's read as zero, without an error.
pub(super) fn cuPointerGetAttributes(
    call: &mut Call,
    count: u32,
    attributes: In<u32>,
    data: In<u64>,
    address: DevicePtr,
) -> Outcome {
    const MANY: u32 = 64;
    if count == 0 || count > MANY {
        return Err(Code::INVALID_VALUE);
    }
    let attributes = attributes.array(count as usize)?;
    let data = data.array(count as usize)?;
    for (attribute, place) in attributes.into_iter().zip(data) {
        let value = match call.pointer_attribute(attribute, address.0) {
            Ok(value) => value,
            Err(Code::NOT_INITIALIZED) => return Err(Code::NOT_INITIALIZED),
            Err(_) => match attribute {
                2 | 9 => PointerAttribute::Int(0),
                6 | 8 | 13 => PointerAttribute::Flag(false),
                _ => PointerAttribute::Word(0),
            },
        };
        write_attribute(Out::at(place), value)?;
    }
    Ok(())
}

/// `CU_MEM_ALLOCATION_TYPE_PINNED` and `CU_MEM_LOCATION_TYPE_DEVICE`, the only ones there are here.
const PINNED_ON_DEVICE: (u32, u32) = (1, 1);

pub(super) fn cuMemPoolCreate(call: &mut Call, pool: Out<u64>, props: In<PoolProps>) -> Outcome {
    pool.wanted()?;
    let props = props.get()?;
    if (props.alloc_type, props.location.kind) != PINNED_ON_DEVICE {
        return Err(Code::INVALID_VALUE);
    }
    let by = call.by;
    pool.set(handle(call.pool_create(props.location.id, by)?))
}

pub(super) fn cuMemPoolDestroy(call: &mut Call, pool: PoolArg) -> Outcome {
    let by = call.by;
    call.pool_destroy(pool.0, by)
}

pub(super) fn cuMemPoolTrimTo(call: &mut Call, pool: PoolArg, _keep: usize) -> Outcome {
    let by = call.by;
    call.pool_trim(pool.0, by)
}

pub(super) fn cuMemPoolGetAttribute(call: &mut Call, pool: PoolArg, attribute: u32, value: Out<u8>) -> Outcome {
    value.wanted()?;
    let by = call.by;
    let read = call.pool_get(pool.0, attribute, by)?;
    match Driver::pool_attribute_is_int(attribute) {
        true => value.cast::<u32>().set(read as u32),
        false => value.cast::<u64>().set(read),
    }
}

pub(super) fn cuMemPoolSetAttribute(call: &mut Call, pool: PoolArg, attribute: u32, value: In<u8>) -> Outcome {
    let by = call.by;
    let value = match Driver::pool_attribute_is_int(attribute) {
        true => u64::from(value.cast::<u32>().get()?),
        false => value.cast::<u64>().get()?,
    };
    call.pool_set(pool.0, attribute, value, by)
}
