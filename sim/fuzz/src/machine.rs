//! What the sequences of a process share: the driver, a context on each device, memory that is never freed, one kernel.
//!
//! Work of a sequence only ever touches this memory, so that nothing it destroys can be in use.

use std::ffi::CString;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::driver::{Driver, DriverError};
use crate::names::{CELLS, Cell, Host, PLACES, Place};

/// What the constant words hold that copies take.
pub(crate) const MARK: u32 = 0xC0DE;

/// How often host functions have run in this process.
static HOST_CALLS: AtomicU32 = AtomicU32::new(0);

pub(crate) extern "C" fn host_function(_data: u64) {
    // Relaxed: whoever reads has waited for the work, which orders them.
    HOST_CALLS.fetch_add(1, Ordering::Relaxed);
}

pub(crate) extern "C" fn callback(_stream: u64, _code: u32, data: u64) {
    host_function(data);
}

pub(crate) extern "C" fn destructor(_data: u64) {}

pub(crate) fn host_calls() -> u32 {
    // Relaxed: as above.
    HOST_CALLS.load(Ordering::Relaxed)
}

/// A device, its context and what is there.
pub(crate) struct Site {
    pub(crate) context: u64,
    pub(crate) pool: u64,
    /// The kernel that adds one to a word.
    pub(crate) count: u64,
    /// Where the cells begin; the constant word comes after them.
    cells: u64,
}

impl Site {
    pub(crate) fn cell(&self, cell: Cell) -> u64 {
        self.cells + 4 * u64::from(cell.0)
    }

    pub(crate) fn mark(&self) -> u64 {
        self.cells + 4 * u64::from(CELLS)
    }
}

/// Everything that outlives a sequence.
pub(crate) struct Machine {
    pub(crate) driver: Driver,
    pub(crate) version: i32,
    sites: Vec<Site>,
    /// The image of the kernel's module.
    pub(crate) image: CString,
    /// A stream that nothing is ever done on: querying it tells whether some capture is left over.
    pub(crate) idle: u64,
    pinned: u64,
    pageable: u64,
}

fn check(name: &'static str, code: u32) -> Result<(), DriverError> {
    if code == 0 { Ok(()) } else { Err(DriverError::Call(name, code)) }
}

impl Machine {
    /// Sets a process up for so many devices of the simulated driver, if it is installed, or of the one that is there.
    pub(crate) fn new(devices: usize, sim: bool) -> Result<Machine, DriverError> {
        let driver = Driver::load(sim)?;
        check("cuInit", driver.cuInit(0))?;
        let mut version = 0;
        check("cuDriverGetVersion", driver.cuDriverGetVersion(&mut version))?;
        let image = CString::new(include_str!("kernels.ptx")).expect("the text has no NUL");
        let mut sites = Vec::new();
        for device in (0..).take(devices.min(PLACES)) {
            let mut site = Site { context: 0, pool: 0, count: 0, cells: 0 };
            let (mut module, d) = (0, &driver);
            check("cuDevicePrimaryCtxRetain", d.cuDevicePrimaryCtxRetain(&mut site.context, device))?;
            check("cuCtxSetCurrent", d.cuCtxSetCurrent(site.context))?;
            check("cuDeviceGetDefaultMemPool", d.cuDeviceGetDefaultMemPool(&mut site.pool, device))?;
            check("cuModuleLoadData", d.cuModuleLoadData(&mut module, image.as_ptr()))?;
            check("cuModuleGetFunction", d.cuModuleGetFunction(&mut site.count, module, c"count".as_ptr()))?;
            check("cuMemAlloc", d.cuMemAlloc_v2(&mut site.cells, 4 * (usize::from(CELLS) + 1)))?;
            check("cuMemsetD32", d.cuMemsetD32_v2(site.cells, 0, CELLS.into()))?;
            check("cuMemsetD32", d.cuMemsetD32_v2(site.mark(), MARK, 1))?;
            // The first use of a kernel may load it, which is nothing that sequences are about.
            let at = site.cell(Cell(0));
            let arguments = [&raw const at as u64];
            check(
                "cuLaunchKernel",
                d.cuLaunchKernel(site.count, 1, 1, 1, 1, 1, 1, 0, 0, arguments.as_ptr(), std::ptr::null()),
            )?;
            check("cuMemsetD32", d.cuMemsetD32_v2(site.cells, 0, CELLS.into()))?;
            check("cuCtxSynchronize", d.cuCtxSynchronize())?;
            sites.push(site);
        }
        check("cuCtxSetCurrent", driver.cuCtxSetCurrent(sites.first().map_or(0, |site| site.context)))?;
        let (mut idle, mut pinned) = (0, 0);
        check("cuStreamCreate", driver.cuStreamCreate(&mut idle, 1))?;
        check("cuMemHostAlloc", driver.cuMemHostAlloc(&mut pinned, 8, 1))?;
        let pageable: &'static mut [u32; 2] = Box::leak(Box::new([MARK, 0]));
        // SAFETY: the block has just been given to us and is large enough.
        unsafe { (pinned as *mut u32).write(MARK) };
        Ok(Machine { driver, version, sites, image, idle, pinned, pageable: &raw mut *pageable as u64 })
    }

    /// Gives the calling thread the context that threads begin with.
    pub(crate) fn bind(&self) -> u32 {
        self.driver.cuCtxSetCurrent(self.site(Place(0)).context)
    }

    pub(crate) fn places(&self) -> usize {
        self.sites.len()
    }

    /// The site of a place, which the caller has checked to be there.
    pub(crate) fn site(&self, place: Place) -> &Site {
        &self.sites[place.0]
    }

    /// A host word that copies read.
    pub(crate) fn source(&self, host: Host) -> u64 {
        match host {
            Host::Pinned => self.pinned,
            Host::Pageable => self.pageable,
        }
    }

    /// A host word that copies write and nobody reads.
    pub(crate) fn sink(&self, host: Host) -> u64 {
        self.source(host) + 4
    }

    /// Reads the cells of a place that are not zero.
    pub(crate) fn read_cells(&self, place: Place) -> Result<Vec<(Cell, u32)>, u32> {
        let mut words = [0_u32; CELLS as usize];
        let code = self.driver.cuMemcpyDtoH_v2(words.as_mut_ptr() as u64, self.site(place).cells, size_of_val(&words));
        if code != 0 {
            return Err(code);
        }
        Ok((0..).map(Cell).zip(words).filter(|(_, word)| *word != 0).collect())
    }

    /// Sets the cells of a place to zero.
    pub(crate) fn clear_cells(&self, place: Place) -> u32 {
        self.driver.cuMemsetD32_v2(self.site(place).cells, 0, CELLS.into())
    }
}
