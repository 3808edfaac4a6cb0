//! Whole kernels that NVRTC made, with fixed inputs: the manifest of `kernels/*.ptx`.
//!
//! They are compiled for `compute_70` with no multiplication fused behind the source's back, so all but what rests on an
//! approximate instruction has one right result. Where several threads meet, their order does not matter.

use crate::{
    driver::{Argument, Buffer, Device, DriverError, Module, Shape},
    form::{Bound, Ty},
    operands::Random,
    results::Outcome,
};

/// A file of kernels.
struct File {
    text: &'static str,
    kernels: &'static [Kernel],
}

/// One kernel and its launch.
struct Kernel {
    name: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    /// Bytes of dynamic shared memory.
    shared: u32,
    parameters: &'static [Parameter],
}

/// What one parameter is given.
#[derive(Clone, Copy)]
enum Parameter {
    /// A buffer of this many values.
    In(Data, usize),
    /// A buffer whose values are compared when the kernel is done.
    Out {
        data: Data,
        count: usize,
        ty: Ty,
        bound: Bound,
    },
    Word(u32),
    /// A structure of 16 bytes.
    Structure([u64; 2]),
}

/// What a buffer holds at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Data {
    Zeros,
    /// Bytes of any value.
    Bytes,
    /// 16-bit floats of half precision between -1 and 1.
    Halves,
    /// 32-bit numbers from 0 to 7.
    Digits,
    /// 32-bit numbers of any value.
    Words,
    /// 64-bit numbers of any length.
    Longs,
    /// Single precision, between -4 and 4.
    Singles,
    /// Double precision, between -4 and 4.
    Doubles,
}

impl Data {
    fn bytes(self, random: &mut Random, count: usize, ty: Ty) -> Vec<u8> {
        let unit = |random: &mut Random| (random.next() >> 11) as f64 * (-53.0f64).exp2() * 2.0 - 1.0;
        let values = std::iter::repeat_with(|| match self {
            Data::Zeros => vec![0; ty.bytes()],
            Data::Bytes => vec![random.next() as u8],
            Data::Halves => {
                // A sign, an exponent below that of one, any digits.
                let word = random.next();
                let half = (word & 0x8000) | (10 + (word >> 16) % 5) << 10 | (word >> 32 & 0x3ff);
                (half as u16).to_le_bytes().to_vec()
            }
            Data::Digits => (random.below(8) as u32).to_le_bytes().to_vec(),
            Data::Words => (random.next() as u32).to_le_bytes().to_vec(),
            Data::Longs => {
                let magnitude = random.next() >> random.below(64);
                let value = if random.below(2) == 0 { magnitude } else { magnitude.wrapping_neg() };
                value.to_le_bytes().to_vec()
            }
            Data::Singles => ((unit(random) * 4.0) as f32).to_le_bytes().to_vec(),
            Data::Doubles => (unit(random) * 4.0).to_le_bytes().to_vec(),
        });
        values.take(count).flatten().collect()
    }
}

const fn out(count: usize, ty: Ty) -> Parameter {
    Parameter::Out { data: Data::Zeros, count, ty, bound: Bound::Exact }
}

const fn changed(data: Data, count: usize, ty: Ty) -> Parameter {
    Parameter::Out { data, count, ty, bound: Bound::Exact }
}

const fn near(count: usize, ty: Ty, absolute: f64, relative: f64) -> Parameter {
    let bound = Bound::Within { absolute, relative };
    Parameter::Out { data: Data::Zeros, count, ty, bound }
}

const fn kernel(name: &'static str, blocks: u32, threads: u32, parameters: &'static [Parameter]) -> Kernel {
    Kernel { name, grid: [blocks, 1, 1], block: [threads, 1, 1], shared: 0, parameters }
}

const fn wide(name: &'static str, grid: [u32; 2], block: [u32; 2], parameters: &'static [Parameter]) -> Kernel {
    Kernel { name, grid: [grid[0], grid[1], 1], block: [block[0], block[1], 1], shared: 0, parameters }
}

use Data::{Bytes, Digits, Doubles, Halves, Longs, Singles, Words};
use Parameter::{In, Structure, Word};

const F32: Ty = Ty::F32;
const I32: Ty = Ty::I32;
/// Errors of the functions that rest on `ex2.approx` and its like.
const FINE: f64 = 1.0 / (1 << 20) as f64;
const COARSE: f64 = 1.0 / (1 << 18) as f64;
/// The error of double-precision functions that begin with an approximate reciprocal.
const DOUBLE: f64 = 1.0 / (1u64 << 50) as f64;

const FILES: &[File] = &[
    File {
        text: include_str!("../kernels/math.ptx"),
        kernels: &[
            kernel("functions", 8, 128, &[In(Singles, 1000), near(16000, F32, FINE / 4.0, FINE), Word(1000)]),
            kernel("fast_functions", 8, 128, &[In(Singles, 1000), near(8000, F32, COARSE / 4.0, COARSE), Word(1000)]),
            kernel("rounding", 8, 128, &[In(Singles, 1000), out(8000, F32), out(8000, I32), Word(1000)]),
            kernel("doubles", 8, 128, &[In(Doubles, 1000), near(12000, Ty::F64, DOUBLE / 4.0, DOUBLE), Word(1000)]),
            kernel("activations", 8, 128, &[In(Singles, 1000), near(1000, F32, FINE / 4.0, FINE), Word(1000)]),
            kernel("saxpy4", 2, 128, &[In(Singles, 1000), changed(Singles, 1000, F32), Word(0x3fa0_0001), Word(250)]),
        ],
    },
    File {
        text: include_str!("../kernels/reduce.ptx"),
        kernels: &[
            kernel("softmax", 8, 128, &[In(Singles, 2400), near(2400, F32, 0.0, FINE), Word(300)]),
            kernel("layer_norm", 8, 96, &[In(Singles, 2400), In(Singles, 300), near(2400, F32, 0.0, FINE), Word(300)]),
            Kernel { shared: 1024, ..kernel("tree_sum", 2, 256, &[In(Singles, 1000), out(2, F32), Word(1000)]) },
            kernel("scan", 3, 256, &[In(Words, 700), out(700, I32), Word(700)]),
            kernel("votes", 4, 128, &[In(Digits, 512), out(512, I32), Word(512)]),
            kernel("argmax", 4, 256, &[In(Singles, 2000), out(4, I32), Word(500)]),
        ],
    },
    File {
        text: include_str!("../kernels/linear.ptx"),
        kernels: &[
            wide(
                "mat_vec",
                [16, 1],
                [32, 4],
                &[In(Singles, 12800), In(Singles, 200), out(64, F32), Word(64), Word(200)],
            ),
            wide("mat_mul", [3, 3], [16, 16], &[In(Singles, 2304), In(Singles, 2304), out(2304, F32), Word(48)]),
            wide("transpose", [3, 2], [32, 8], &[In(Singles, 3500), out(3500, F32), Word(70), Word(50)]),
            kernel("dot_int8", 1, 128, &[In(Words, 768), In(Words, 768), out(128, I32), Word(6)]),
            kernel("convolve", 8, 128, &[In(Singles, 1000), out(1000, F32), Word(1000)]),
            kernel(
                "rotary",
                20,
                32,
                &[
                    // The error of an angle grows with the position.
                    Parameter::Out {
                        data: Singles,
                        count: 1280,
                        ty: F32,
                        bound: Bound::Within { absolute: 64.0 * FINE, relative: 0.0 },
                    },
                    Word(20),
                    Word(32),
                ],
            ),
            kernel("dequantise", 8, 128, &[In(Bytes, 500), In(Singles, 32), out(1000, F32), Word(1000)]),
        ],
    },
    File {
        text: include_str!("../kernels/atomics.ptx"),
        kernels: &[
            kernel("histogram", 4, 256, &[In(Bytes, 3000), out(256, I32), Word(3000)]),
            kernel(
                "integers",
                5,
                128,
                &[In(Words, 600), changed(Words, 11, I32), changed(Longs, 5, Ty::I64), Word(600)],
            ),
            kernel("own_places", 4, 128, &[In(Words, 500), out(4000, I32), Word(500)]),
            kernel("largest", 5, 128, &[In(Singles, 600), out(4, F32), Word(600)]),
            kernel("last_block", 4, 128, &[In(Words, 512), out(4, I32), out(1, I32)]),
        ],
    },
    File {
        text: include_str!("../kernels/flow.ptx"),
        kernels: &[
            kernel("divisions", 4, 128, &[In(Longs, 1000), out(4000, Ty::I64), Word(500)]),
            kernel("bytes", 4, 128, &[In(Words, 500), out(2000, I32), Word(500)]),
            kernel("interpreter", 4, 128, &[In(Bytes, 16), In(Words, 500), out(500, I32), Word(500)]),
            kernel("sort_each", 2, 128, &[In(Words, 3200), out(400, I32), Word(200)]),
            kernel(
                "calls",
                4,
                128,
                &[
                    In(Singles, 500),
                    out(500, F32),
                    // 1.25, 3, -7.5
                    Structure([0x0000_0003_3fa0_0000, 0xc01e_0000_0000_0000]),
                    Word(500),
                ],
            ),
            kernel("collatz", 2, 64, &[In(Words, 500), out(500, I32), Word(500)]),
            kernel("philox", 4, 128, &[out(500, I32), Word(12345), Word(500)]),
        ],
    },
    File {
        text: include_str!("../kernels/half.ptx"),
        kernels: &[
            kernel("half_axpy", 4, 128, &[In(Halves, 1000), changed(Halves, 1000, Ty::F16), Word(500)]),
            wide("half_mat_vec", [8, 1], [32, 4], &[In(Halves, 3072), In(Halves, 96), out(32, Ty::F16), Word(96)]),
            kernel("brain_by_hand", 4, 128, &[In(Singles, 500), out(500, Ty::I16), out(500, F32), Word(500)]),
        ],
    },
];

/// The name of an output in a file of results.
fn output_name(kernel: &Kernel, parameter: usize) -> String {
    format!("kernel {} {parameter}", kernel.name)
}

/// The name, type and bound of every output.
pub fn outputs() -> impl Iterator<Item = (String, Ty, Bound)> {
    FILES.iter().flat_map(|file| file.kernels).flat_map(|kernel| {
        kernel.parameters.iter().enumerate().filter_map(move |(i, parameter)| match parameter {
            Parameter::Out { ty, bound, .. } => Some((output_name(kernel, i), *ty, *bound)),
            _ => None,
        })
    })
}

/// Runs all kernels whose outputs' names begin with `only`.
#[must_use]
pub fn run(device: &Device, seed: u64, only: &str) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for file in FILES {
        let kernels = file.kernels.iter().filter(|kernel| output_name(kernel, 0).starts_with(only));
        let module = device.load(file.text);
        for kernel in kernels {
            let results = match &module {
                Ok(module) => one(device, module, kernel, seed).map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            for (i, parameter) in kernel.parameters.iter().enumerate() {
                if let Parameter::Out { ty, .. } = parameter {
                    let values = match &results {
                        Ok(values) => Ok(values[i].clone()),
                        Err(reason) => Err(reason.clone()),
                    };
                    outcomes.push(Outcome { name: output_name(kernel, i), width: ty.bytes() as u8, values });
                }
            }
        }
    }
    outcomes
}

/// Runs a kernel and gives back what its buffers hold, by parameter; nothing for those that are no outputs.
fn one(device: &Device, module: &Module<'_>, kernel: &Kernel, seed: u64) -> Result<Vec<Vec<u8>>, DriverError> {
    let mut random = Random::new(seed, kernel.name);
    let mut buffers: Vec<Option<Buffer<'_>>> = Vec::new();
    for parameter in kernel.parameters {
        buffers.push(match *parameter {
            In(data, count) => Some(device.buffer(&data.bytes(&mut random, count, I32))?),
            Parameter::Out { data, count, ty, .. } => Some(device.buffer(&data.bytes(&mut random, count, ty))?),
            Word(_) | Structure(_) => None,
        });
    }
    let arguments: Vec<Argument<'_>> = kernel
        .parameters
        .iter()
        .zip(&buffers)
        .map(|(parameter, buffer)| match (parameter, buffer) {
            (_, Some(buffer)) => Argument::Buffer(buffer),
            (Structure(value), None) => Argument::Structure(*value),
            (Word(value), None) => Argument::Word(*value),
            // Both kinds of buffers have one.
            (In(..) | Parameter::Out { .. }, None) => Argument::Word(0),
        })
        .collect();
    let shape = Shape { grid: kernel.grid, block: kernel.block, shared: kernel.shared };
    // SAFETY:
    // 1. The manifest gives each parameter of the kernel, in order and by its type.
    // 2. The sizes in the manifest are what the sources beside `kernels/*.ptx` touch in that shape.
    unsafe { module.run(kernel.name, shape, &arguments) }?;
    let read = |(parameter, buffer): (&Parameter, &Option<Buffer<'_>>)| match (parameter, buffer) {
        (Parameter::Out { .. }, Some(buffer)) => buffer.read(),
        _ => Ok(Vec::new()),
    };
    kernel.parameters.iter().zip(&buffers).map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_of_the_files_is_in_the_manifest() {
        for file in FILES {
            let entries = file.text.matches(".visible .entry ").count();
            assert_eq!(entries, file.kernels.len());
            for kernel in file.kernels {
                assert!(file.text.contains(&format!(".visible .entry {}(", kernel.name)), "{}", kernel.name);
            }
        }
    }

    #[test]
    fn outputs_have_names_of_their_own() {
        let mut names: Vec<String> = outputs().map(|(name, ..)| name).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
