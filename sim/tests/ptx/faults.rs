//! Mistakes of kernels: what, where, and in which thread.

use dacapo_sim::ptx::{Fault, FaultKind, Grid, Progress};

use crate::machine::{Machine, args, kernel, pack, parse};

/// Runs a body of which line 7 of the text is the first, with a buffer of 64 words.
fn fault(body: &str) -> (Fault, u64) {
    let mut machine = Machine::new();
    let buffer = machine.words(&[0; 64]);
    let function =
        parse(&kernel(".param .u64 p", &format!("ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x;\n{body}\nret;")));
    (machine.launch(&function, 2, 64, 0, args![buffer]).unwrap_err(), buffer)
}

#[test]
fn accesses_outside_of_buffers_name_address_line_and_thread() {
    // Thread 40 and those after it go beyond.
    let (fault, buffer) = fault(
        "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2;\nadd.u64 %rd2, %rd2, 96;\n\tst.global.u32\t[%rd2],  %r1; // here",
    );
    assert_eq!(fault.kind, FaultKind::OutOfBounds { address: buffer + 256, size: 4 });
    assert_eq!((fault.line, &fault.instruction[..]), (10, "st.global.u32 [%rd2], %r1;"));
    assert_eq!((fault.block, fault.thread), ([0; 3], [40, 0, 0]));
    let text = fault.to_string();
    assert!(text.starts_with("ptx line 10: out-of-bounds access of 4 bytes at 0x"), "{text}");
    assert!(text.ends_with("in `st.global.u32 [%rd2], %r1;`, block [0, 0, 0], thread [40, 0, 0]"), "{text}");
}

#[test]
fn every_kind_of_access_is_checked() {
    let check = |body: &str, kind: FaultKind| assert_eq!(fault(body).0.kind, kind, "{body}");
    let outside = |address, size| FaultKind::OutOfBounds { address, size };
    let misaligned = |address, size| FaultKind::Misaligned { address, size };
    let base = fault("trap;").1;
    check("ld.global.u32 %r2, [0];", outside(0, 4));
    check("ld.global.u8 %r2, [%rd1+256];", outside(base + 256, 1));
    check("ld.global.u64 %rd2, [%rd1+252];", misaligned(base + 252, 8));
    check("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1+248];", misaligned(base + 248, 16));
    check("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1+256];", outside(base + 256, 16));
    check("ld.global.u32 %r2, [%rd1+-4];", outside(base - 4, 4));
    check("st.global.u16 [%rd1+1], %r1;", misaligned(base + 1, 2));
    check("st.u32 [%rd1+1000], %r1;", outside(base + 1000, 4));
    check("atom.global.add.u32 %r2, [%rd1+256], 1;", outside(base + 256, 4));
    check("atom.global.add.u64 %rd2, [%rd1+4], 1;", misaligned(base + 4, 8));
    check("mov.u64 %rd2, -8; ld.u32 %r2, [%rd2];", outside(u64::MAX - 7, 4));
    check("mov.u64 %rd2, -4; ld.global.u32 %r2, [%rd2];", outside(u64::MAX - 3, 4));
    check("ld.shared.u32 %r2, [0];", outside(0, 4));
    check(".shared .u32 s; st.shared.u32 [s+4], %r1;", outside(4, 4));
    check(
        ".shared .u32 s; mov.u64 %rd2, s; cvta.shared.u64 %rd2, %rd2; ld.u64 %rd3, [%rd2];",
        outside(0xffff_f000_0000_0000, 8),
    );
    check(".local .u32 l; st.local.u32 [l+4], %r1;", outside(4, 4));
    check("ld.local.u32 %r2, [16];", outside(16, 4));
    check("mov.u64 %rd2, p; ld.param.u32 %r2, [%rd2+8];", outside(8, 4));
    check("ld.param.u32 %r2, [p+8];", outside(8, 4));
    check("st.param.u32 [p], %r1;", outside(0, 4));
}

#[test]
fn faults_in_part_of_a_warp_name_the_first_thread() {
    let body = "setp.gt.u32 %p1, %r1, 36; mov.u32 %r2, %ctaid.x; setp.eq.and.u32 %p1, %r2, 1, %p1;\n@%p1 trap;";
    let (fault, _) = fault(body);
    assert_eq!((fault.kind, fault.line), (FaultKind::Trap, 9));
    assert_eq!((fault.block, fault.thread), ([1, 0, 0], [37, 0, 0]));
    let (fault, _) = self::fault("and.b32 %r2, %r1, 31; T: .branchtargets A, B; brx.idx %r2, T; A: B: ret;");
    assert_eq!((fault.kind, fault.thread), (FaultKind::BranchIndex { index: 2 }, [2, 0, 0]));
}

#[test]
fn threads_are_named_in_three_dimensions() {
    let text = kernel(
        "",
        "mov.u32 %r1, %tid.z; mov.u32 %r2, %tid.y; mov.u32 %r3, %ctaid.y; mad.lo.u32 %r1, %r1, 10, %r2; mad.lo.u32 %r1, %r3, 100, %r1;\n\
         setp.eq.u32 %p1, %r1, 112; @%p1 trap; ret;",
    );
    let function = parse(&text);
    let mut grid = Grid::new(function, [2, 2, 1], [8, 3, 4], 0, Box::default());
    let Progress::Fault(fault) = grid.run(&mut Machine::new(), u64::MAX) else { panic!("no fault") };
    assert_eq!((fault.block, fault.thread), ([0, 1, 0], [0, 2, 1]));
}

#[test]
fn what_ran_before_a_fault_stays_done() {
    let mut machine = Machine::new();
    let buffer = machine.words(&[0; 64]);
    let text = kernel(".param .u64 p", "ld.param.u64 %rd1, [p]; red.global.add.u32 [%rd1], 1; trap;");
    let function = parse(&text);
    let mut grid = Grid::new(function.clone(), [4, 1, 1], [64, 1, 1], 0, pack(&function, args![buffer]));
    assert!(matches!(grid.run(&mut machine, u64::MAX), Progress::Fault(_)));
    assert_eq!(machine.read(buffer, 1), [32]);
    assert!(matches!(grid.run(&mut machine, u64::MAX), Progress::Done), "a launch that faulted is over");
    assert_eq!(machine.read(buffer, 1), [32]);
}

#[test]
fn launches_beyond_the_resources_fault() {
    let function = parse(&kernel("", ".local .b8 l[400000]; ret;"));
    let small = parse(&kernel("", "ret;"));
    let run = |function: &std::sync::Arc<_>, block: [u32; 3], shared| {
        Grid::new(std::sync::Arc::clone(function), [1; 3], block, shared, Box::default()).run(&mut Machine::new(), 1000)
    };
    for (function, block, shared, fits) in [
        (&small, [1024, 1, 1], 0, true),
        (&small, [1025, 1, 1], 0, false),
        (&small, [0, 1, 1], 0, false),
        (&small, [u32::MAX; 3], 0, false),
        (&small, [1, 1, 1], u32::MAX, false),
        (&function, [512, 1, 1], 0, true),
        (&function, [512, 1, 8], 0, false),
    ] {
        let progress = run(function, block, shared);
        let refused = matches!(&progress, Progress::Fault(fault) if fault.kind == FaultKind::Resources);
        assert_eq!(refused, !fits, "{block:?} {shared}: {progress:?}");
    }
    let mut none = Grid::new(small, [0, 1, 1], [1; 3], 0, Box::default());
    assert!(matches!(none.run(&mut Machine::new(), 1), Progress::Done));
}
