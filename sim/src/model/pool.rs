//! Memory pools: the default one of a device, and those that are created.
//!
//! A pool is mostly a name here: addresses are never reused, so what a pool keeps for reuse has no effect but on the numbers
//! that its attributes show.

use std::collections::BTreeMap;

use super::Driver;
use super::id::{Id, Miss, PoolId};
use super::memory::BlockKind;
use crate::code::{Code, Outcome};
use crate::report::{ObjectKind, Site};

/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`.
const RELEASE_THRESHOLD: u32 = 4;
/// The attributes that can be set and read back: three reuse policies and the release threshold.
const SETTABLE: std::ops::RangeInclusive<u32> = 1..=RELEASE_THRESHOLD;
/// Reserved and used bytes, now and at most.
const COUNTERS: std::ops::RangeInclusive<u32> = 5..=8;

/// A pool.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) device: u32,
    pub(crate) default: bool,
    settings: BTreeMap<u32, u64>,
    pub(crate) made: Site,
}

impl Driver {
    /// The pool that a caller's handle names.
    pub(crate) fn pool(&self, raw: u64) -> Outcome<PoolId> {
        self.pools.find(raw).map_err(|_: Miss| Code::INVALID_VALUE)
    }

    /// A device's default pool, made when first asked for.
    pub(crate) fn default_pool(&mut self, device: u32) -> Outcome<PoolId> {
        let made = Site { call: self.calls, name: "cuInit", thread: 0 };
        let entry = self.devices.get_mut(device as usize).ok_or(Code::INVALID_DEVICE)?;
        if let Some(pool) = entry.default_pool {
            return Ok(pool);
        }
        let pool = self.pools.insert(Pool { device, default: true, settings: BTreeMap::new(), made });
        entry.default_pool = Some(pool);
        Ok(pool)
    }

    /// `cuDeviceSetMemPool`.
    pub(crate) fn set_current_pool(&mut self, device: i32, pool: u64) -> Outcome {
        let device = self.ordinal(device)?;
        let pool = self.pool(pool)?;
        if self.pools.get(pool).is_none_or(|pool| pool.device != device) {
            return Err(Code::INVALID_VALUE);
        }
        self.devices[device as usize].current_pool = Some(pool);
        Ok(())
    }

    /// `cuMemPoolCreate` for a device.
    pub(crate) fn pool_create(&mut self, device: i32, by: Site) -> Outcome<PoolId> {
        let device = self.ordinal(device)?;
        self.unsafe_call(by.thread)?;
        Ok(self.pools.insert(Pool { device, default: false, settings: BTreeMap::new(), made: by }))
    }

    /// `cuMemPoolDestroy`: memory taken from the pool stays valid until it is freed.
    pub(crate) fn pool_destroy(&mut self, raw: u64, by: Site) -> Outcome {
        if let Err(Miss::Stale(first)) = self.pools.find(raw) {
            self.destroyed_twice(ObjectKind::Pool, raw, first, by);
        }
        let pool = self.pool(raw)?;
        if self.pools.get(pool).is_some_and(|pool| pool.default) {
            return Err(Code::INVALID_VALUE);
        }
        self.unsafe_call(by.thread)?;
        self.pools.remove(pool, by);
        Ok(())
    }

    /// `cuMemPoolTrimTo`.
    pub(crate) fn pool_trim(&mut self, raw: u64, by: Site) -> Outcome {
        self.pool(raw)?;
        self.unsafe_call(by.thread)
    }

    /// `cuMemPoolGetAttribute`.
    pub(crate) fn pool_get(&mut self, raw: u64, attribute: u32, by: Site) -> Outcome<u64> {
        let pool = self.pool(raw)?;
        self.unsafe_call(by.thread)?;
        let settings = &self.pools.get(pool).ok_or(Code::INVALID_VALUE)?.settings;
        let default = u64::from(attribute != RELEASE_THRESHOLD);
        match attribute {
            _ if SETTABLE.contains(&attribute) => Ok(settings.get(&attribute).copied().unwrap_or(default)),
            _ if COUNTERS.contains(&attribute) => Ok(self.pool_bytes(pool)),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn pool_bytes(&self, pool: PoolId) -> u64 {
        let blocks = self.memory.blocks().filter(|(_, block)| matches!(block.kind, BlockKind::Pool(p) if p == pool));
        blocks.map(|(_, block)| block.len).sum()
    }

    /// `cuMemPoolSetAttribute`; the high-water counters can be set to zero only.
    pub(crate) fn pool_set(&mut self, raw: u64, attribute: u32, value: u64, by: Site) -> Outcome {
        let pool = self.pool(raw)?;
        self.unsafe_call(by.thread)?;
        match attribute {
            _ if SETTABLE.contains(&attribute) => {
                if let Some(pool) = self.pools.get_mut(pool) {
                    pool.settings.insert(attribute, value);
                }
                Ok(())
            }
            6 | 8 if value == 0 => Ok(()),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// Whether an attribute is an `int`, so that the caller's pointer points to four bytes.
    pub(crate) fn pool_attribute_is_int(attribute: u32) -> bool {
        SETTABLE.contains(&attribute) && attribute != RELEASE_THRESHOLD
    }

    /// The live pools of a device, for [`Live`](crate::Live).
    pub(crate) fn live_pools(&self, device: u32) -> impl Iterator<Item = crate::report::Object> {
        let created = self.pools.iter().filter(move |(_, pool)| pool.device == device && !pool.default);
        created.map(|(id, pool)| crate::report::Object {
            kind: ObjectKind::Pool,
            handle: id.raw(),
            bytes: 0,
            made: pool.made,
        })
    }
}
