//! Atomic operations on device, host and shared memory.

use crate::machine::{Machine, args, kernel, parse};

/// What an operation leaves in memory and returns, on device, host and shared memory alike.
fn word(op: &str, old: u32, operands: &str) -> (u32, u32) {
    let mut results = Vec::new();
    for space in ["global", "host", "shared", "generic"] {
        let (pointer, suffix) = match space {
            "shared" => ("mov.u64 %rd2, s; st.shared.u32 [%rd2], %r1;", ".shared"),
            "generic" => ("mov.u64 %rd2, s; cvta.shared.u64 %rd2, %rd2; st.u32 [%rd2], %r1;", ""),
            _ => ("mov.u64 %rd2, %rd1; st.global.u32 [%rd2], %r1;", ".global"),
        };
        let reload = if space == "shared" { "ld.shared.u32 %r3, [s];" } else { "ld.u32 %r3, [%rd2];" };
        let text = kernel(
            ".param .u64 p, .param .u32 old",
            &format!(
                ".shared .u32 s; ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [old]; {pointer}\n\
                 atom{suffix}.{op} %r2, [%rd2], {operands}; {reload} st.global.v2.u32 [%rd1], {{%r3, %r2}}; ret;"
            ),
        );
        let mut machine = Machine::new();
        let p = if space == "host" { machine.host(16) } else { machine.bytes(16) };
        machine.launch(&parse(&text), 1, 1, 0, args![p, old]).unwrap();
        let got = machine.read(p, 2);
        results.push((got[0], got[1]));
    }
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{op}: {results:?}");
    assert_eq!(results[0].1, old, "{op} returns the old value");
    results[0]
}

#[test]
fn words_are_updated() {
    let new = |op, old, operands| word(op, old, operands).0;
    assert_eq!(new("add.u32", 5, "7"), 12);
    assert_eq!(new("add.s32", u32::MAX, "2"), 1);
    assert_eq!(new("min.u32", 5, "-1"), 5);
    assert_eq!(new("min.s32", 5, "-1"), u32::MAX);
    assert_eq!(new("max.u32", 5, "-1"), u32::MAX);
    assert_eq!(new("max.s32", 5, "-1"), 5);
    assert_eq!(new("and.b32", 0b1100, "10"), 0b1000);
    assert_eq!(new("or.b32", 0b1100, "10"), 0b1110);
    assert_eq!(new("xor.b32", 0b1100, "10"), 0b0110);
    assert_eq!(new("exch.b32", 1, "2"), 2);
    assert_eq!(new("cas.b32", 1, "1, 9"), 9);
    assert_eq!(new("cas.b32", 2, "1, 9"), 2);
    assert_eq!(new("inc.u32", 4, "5"), 5);
    assert_eq!(new("inc.u32", 5, "5"), 0);
    assert_eq!(new("dec.u32", 0, "5"), 5);
    assert_eq!(new("dec.u32", 9, "5"), 5);
    assert_eq!(new("dec.u32", 3, "5"), 2);
    assert_eq!(new("add.f32", 1.5f32.to_bits(), "0f3F800000"), 2.5f32.to_bits());
}

#[test]
fn longs_are_updated() {
    let mut machine = Machine::new();
    for (op, operands, old, want) in [
        ("add.u64", "7", u64::MAX, 6),
        ("min.s64", "3", (-5i64) as u64, (-5i64) as u64),
        ("max.u64", "3", 1 << 40, 1 << 40),
        ("and.b64", "-2", u64::MAX, u64::MAX - 1),
        ("xor.b64", "1", 1 << 40, (1 << 40) + 1),
        ("exch.b64", "5", 1, 5),
        ("cas.b64", "8, 9", 8, 9),
        ("add.f64", "0d3FF0000000000000", 0.5f64.to_bits(), 1.5f64.to_bits()),
    ] {
        for host in [false, true] {
            let p = if host { machine.host(16) } else { machine.bytes(16) };
            machine.write(p, &[old as u32, (old >> 32) as u32]);
            let text = kernel(
                ".param .u64 p",
                &format!(
                    "ld.param.u64 %rd1, [p]; atom.global.{op} %rd2, [%rd1], {operands}; st.global.u64 [%rd1+8], %rd2; ret;"
                ),
            );
            machine.launch(&parse(&text), 1, 1, 0, args![p]).unwrap();
            assert_eq!(machine.read_longs(p, 2), [want, old], "{op}");
        }
    }
}

#[test]
fn every_lane_takes_part_in_order() {
    let text = kernel(
        ".param .u64 p",
        "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; atom.global.add.u32 %r2, [%rd1], 3;\n\
         mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2; st.global.u32 [%rd2+4], %r2;\n\
         red.global.max.u32 [%rd1+400], %r1; red.relaxed.gpu.global.add.u32 [%rd1+404], 1;\n\
         atom.acq_rel.sys.global.add.u32 _, [%rd1+404], 1; ret;",
    );
    let mut machine = Machine::new();
    let p = machine.words(&[0; 102]);
    machine.launch(&parse(&text), 1, 70, 0, args![p]).unwrap();
    let got = machine.read(p, 102);
    assert_eq!(got[0], 210);
    assert_eq!(got[1..71], (0..70).map(|t| t * 3).collect::<Vec<_>>());
    assert_eq!(got[100..], [69, 140]);
}
