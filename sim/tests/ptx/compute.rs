//! Runs one instruction on rows of operands, one row a thread.

use crate::machine::{Machine, args, kernel, parse};

/// Runs `instruction`, which computes register `d` from registers `a`, `b`, `c` and `e`, once for each row.
///
/// `result` and `operands` are PTX types. Values are bit patterns; a predicate is 0 or 1.
pub(crate) fn compute(instruction: &str, result: &str, operands: &[&str], rows: &[&[u64]]) -> Vec<u64> {
    let names = ["a", "b", "c", "e"];
    let mut body = String::from(
        "ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1]; ld.param.u32 %r1, [p2];\n\
         mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r5, %r2, %r3, %r4;\n\
         setp.ge.u32 %p1, %r5, %r1; @%p1 ret;\n\
         mul.wide.u32 %rd3, %r5, 8; add.u64 %rd2, %rd2, %rd3;\n",
    );
    body += &format!("mul.wide.u32 %rd4, %r5, {}; add.u64 %rd1, %rd1, %rd4;\n", 8 * operands.len());
    for (i, ty) in operands.iter().enumerate() {
        let name = names[i];
        body += &format!(".reg .{ty} {name};\n");
        body += &match bytes(ty) {
            0 => format!("ld.global.u32 %r9, [%rd1+{}]; setp.ne.u32 {name}, %r9, 0;\n", 8 * i),
            size => format!("ld.global.b{} {name}, [%rd1+{}];\n", 8 * size, 8 * i),
        };
    }
    body += &format!(".reg .{result} d;\n{instruction}\n");
    body += &match bytes(result) {
        0 => "selp.u32 %r9, 1, 0, d; st.global.u32 [%rd2], %r9;\nret;".to_owned(),
        size => format!("st.global.b{} [%rd2], d;\nret;", 8 * size),
    };
    let function = parse(&kernel(".param .u64 p0, .param .u64 p1, .param .u32 p2", &body));

    let mut machine = Machine::new();
    let flat: Vec<u64> = rows.iter().flat_map(|row| row.iter().copied()).collect();
    assert_eq!(flat.len(), rows.len() * operands.len(), "operands of {instruction}");
    let input = machine.longs(&flat);
    let output = machine.longs(&vec![0; rows.len()]);
    let count = rows.len() as u32;
    machine.launch(&function, count.div_ceil(96), 96, 0, args![input, output, count]).unwrap();
    machine.read_longs(output, rows.len())
}

/// The same with one row.
pub(crate) fn compute1(instruction: &str, result: &str, operands: &[&str], row: &[u64]) -> u64 {
    compute(instruction, result, operands, &[row])[0]
}

fn bytes(ty: &str) -> u32 {
    match ty {
        "pred" => 0,
        "f16x2" => 4,
        name => name[1..].parse::<u32>().unwrap() / 8,
    }
}

/// All pairs of values.
pub(crate) fn pairs(values: &[u64]) -> Vec<[u64; 2]> {
    values.iter().flat_map(|a| values.iter().map(|b| [*a, *b])).collect()
}

/// Rows as the slices that `compute` takes.
pub(crate) fn rows<const N: usize>(rows: &[[u64; N]]) -> Vec<&[u64]> {
    rows.iter().map(|row| &row[..]).collect()
}

pub(crate) fn f32s(values: &[f32]) -> Vec<u64> {
    values.iter().map(|v| u64::from(v.to_bits())).collect()
}

pub(crate) fn f64s(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

pub(crate) const EDGES32: [f32; 20] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    -2.5,
    3.0,
    1e-45,
    -1e-45,
    1.1754944e-38,
    1.1754942e-38,
    3.4028235e38,
    -3.4028235e38,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    16777216.0,
    0.1,
    1.0000001,
];

pub(crate) const EDGES64: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    3.0,
    5e-324,
    2.2250738585072014e-308,
    2.225073858507201e-308,
    1.7976931348623157e308,
    -1.7976931348623157e308,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    9007199254740993.0,
    0.1,
    1.0000000000000002,
];
