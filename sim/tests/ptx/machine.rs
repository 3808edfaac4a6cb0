//! Memory and launches for the tests: what the driver model does around the interpreter, in its simplest form.

use std::sync::Arc;

use dacapo_sim::ptx::{Fault, Function, Grid, Memory, Module, Progress, Region};

/// The kernels that the project ships.
pub(crate) const BASIC: &str = include_str!("../../../kernels/basic.ptx");
pub(crate) const DECODE: &str = include_str!("../../../kernels/decode.ptx");

/// Bytes at a made-up device address, or at their own address when they stand for pinned host memory.
struct Buffer {
    base: u64,
    len: usize,
    /// From `Box::into_raw`, so that no reference to the bytes exists while kernels and host threads use them.
    data: *mut [u64],
    host: bool,
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the pointer came from a box, and only here goes back into one.
        drop(unsafe { Box::from_raw(self.data) });
    }
}

/// A device memory.
#[derive(Default)]
pub(crate) struct Machine {
    buffers: Vec<Buffer>,
    lookups: usize,
}

/// One kernel argument.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Arg {
    U32(u32),
    U64(u64),
    F32(f32),
    F64(f64),
    /// A structure of four words.
    Bytes([u32; 4]),
}

impl From<u32> for Arg {
    fn from(value: u32) -> Arg {
        Arg::U32(value)
    }
}

impl From<u64> for Arg {
    fn from(value: u64) -> Arg {
        Arg::U64(value)
    }
}

impl From<f32> for Arg {
    fn from(value: f32) -> Arg {
        Arg::F32(value)
    }
}

impl From<f64> for Arg {
    fn from(value: f64) -> Arg {
        Arg::F64(value)
    }
}

/// Arguments of a kernel, packed as its parameter block.
pub(crate) fn pack(function: &Function, args: &[Arg]) -> Box<[u8]> {
    assert_eq!(function.params().len(), args.len(), "number of arguments of {}", function.name());
    let mut block = vec![0; function.param_bytes()];
    for (param, arg) in function.params().iter().zip(args) {
        let bytes = match arg {
            Arg::U32(value) => value.to_le_bytes().to_vec(),
            Arg::U64(value) => value.to_le_bytes().to_vec(),
            Arg::F32(value) => value.to_le_bytes().to_vec(),
            Arg::F64(value) => value.to_le_bytes().to_vec(),
            Arg::Bytes(words) => words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        };
        assert_eq!(param.size, bytes.len(), "size of an argument of {}", function.name());
        block[param.offset..param.offset + param.size].copy_from_slice(&bytes);
    }
    block.into()
}

/// Arguments of any of the usual types.
macro_rules! args {
    ($($value:expr),* $(,)?) => { &[$($crate::machine::Arg::from($value)),*] };
}
pub(crate) use args;

impl Machine {
    pub(crate) fn new() -> Machine {
        Machine::default()
    }

    fn add(&mut self, len: usize, host: bool) -> u64 {
        let data = Box::into_raw(vec![0u64; len.div_ceil(8).max(1)].into_boxed_slice());
        // Gaps between buffers, so that an access just outside of one is outside of all.
        let base = match host {
            true => data.cast::<u8>().expose_provenance() as u64,
            false => 0x7000_0000_0000 + (self.buffers.len() as u64) * 0x1_0000_0000,
        };
        self.buffers.push(Buffer { base, len, data, host });
        base
    }

    /// Device memory of `len` bytes, zero.
    pub(crate) fn bytes(&mut self, len: usize) -> u64 {
        self.add(len, false)
    }

    /// Pinned host memory of `len` bytes, zero.
    pub(crate) fn host(&mut self, len: usize) -> u64 {
        self.add(len, true)
    }

    /// Device memory that holds these words.
    pub(crate) fn words(&mut self, values: &[u32]) -> u64 {
        let base = self.bytes(4 * values.len());
        self.write(base, values);
        base
    }

    /// Device memory that holds these floats.
    pub(crate) fn floats(&mut self, values: &[f32]) -> u64 {
        self.words(&values.iter().map(|v| v.to_bits()).collect::<Vec<_>>())
    }

    /// Device memory that holds these long words.
    pub(crate) fn longs(&mut self, values: &[u64]) -> u64 {
        let words: Vec<u32> = values.iter().flat_map(|v| [*v as u32, (*v >> 32) as u32]).collect();
        self.words(&words)
    }

    fn at(&self, address: u64, len: usize) -> *mut u8 {
        let found = self.buffers.iter().find(|b| (b.base..=b.base + b.len as u64).contains(&address));
        let buffer = found.expect("an address of this machine");
        let offset = (address - buffer.base) as usize;
        assert!(offset + len <= buffer.len, "{len} bytes at {address:#x}");
        buffer.data.cast::<u8>().wrapping_add(offset)
    }

    pub(crate) fn write(&mut self, address: u64, values: &[u32]) {
        let to = self.at(address, 4 * values.len()).cast::<u32>();
        for (i, value) in values.iter().enumerate() {
            // SAFETY: `at` checked the range.
            unsafe { to.wrapping_add(i).write_unaligned(*value) };
        }
    }

    pub(crate) fn read(&mut self, address: u64, count: usize) -> Vec<u32> {
        let from = self.at(address, 4 * count).cast::<u32>();
        // SAFETY: `at` checked the range.
        (0..count).map(|i| unsafe { from.wrapping_add(i).read_unaligned() }).collect()
    }

    pub(crate) fn read_longs(&mut self, address: u64, count: usize) -> Vec<u64> {
        let words = self.read(address, 2 * count);
        words.chunks(2).map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32).collect()
    }

    /// How often a kernel asked for a region.
    pub(crate) fn lookups(&self) -> usize {
        self.lookups
    }

    /// Gives the module's variables memory and their initial bytes.
    pub(crate) fn link(&mut self, module: &mut Module) -> Vec<u64> {
        let mut bases = Vec::new();
        module.link(|global| {
            bases.push(self.bytes(global.size() as usize));
            *bases.last().unwrap()
        });
        for (global, base) in module.globals().iter().zip(&bases) {
            let to = self.at(*base, global.initial().len());
            for (i, byte) in global.initial().iter().enumerate() {
                // SAFETY: `at` checked the range.
                unsafe { to.wrapping_add(i).write(*byte) };
            }
        }
        bases
    }

    /// Runs a kernel to its end.
    pub(crate) fn launch(
        &mut self,
        function: &Arc<Function>,
        grid: u32,
        block: u32,
        shared: u32,
        args: &[Arg],
    ) -> Result<u64, Fault> {
        let params = pack(function, args);
        let mut launch = Grid::new(Arc::clone(function), [grid, 1, 1], [block, 1, 1], shared, params);
        loop {
            match launch.run(self, u64::MAX) {
                Progress::Done => return Ok(launch.instructions()),
                Progress::Running => {}
                Progress::Fault(fault) => return Err(fault),
            }
        }
    }
}

// SAFETY: buffers are never freed or moved while the machine lives, and a launch borrows the machine exclusively, so nothing
// else uses them meanwhile. Host threads that tests start use atomics only, on host buffers.
unsafe impl Memory for Machine {
    fn region(&mut self, address: u64) -> Option<Region> {
        self.lookups += 1;
        let buffer = self.buffers.iter().find(|b| (b.base..b.base + b.len as u64).contains(&address))?;
        Some(Region { base: buffer.base, len: buffer.len as u64, data: buffer.data.cast(), host_shared: buffer.host })
    }
}

/// A text with one kernel `k` that has these parameters, declarations of the usual registers, and this body.
pub(crate) fn kernel(params: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry k({params})\n{{\n\
         .reg .pred %p<20>; .reg .b16 %rs<20>; .reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .f32 %f<20>; .reg .f64 %fd<20>;\n\
         {body}\n}}\n"
    )
}

/// The kernel `k` of a text.
pub(crate) fn parse(text: &str) -> Arc<Function> {
    let module = Module::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Arc::clone(module.function("k").expect("kernel k"))
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A float in [-1, 1).
    pub(crate) fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    pub(crate) fn units(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.unit()).collect()
    }
}
