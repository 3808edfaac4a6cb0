//! Special registers and the shape of a launch.

use dacapo_sim::ptx::{Grid, Progress};

use crate::machine::{Machine, args, kernel, pack, parse};

#[test]
fn threads_know_where_they_are() {
    let text = kernel(
        ".param .u64 out",
        "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;\n\
         mov.u32 %r4, %ntid.x; mov.u32 %r5, %ntid.y; mov.u32 %r6, %ntid.z;\n\
         mov.u32 %r7, %ctaid.x; mov.u32 %r8, %ctaid.y; mov.u32 %r9, %ctaid.z;\n\
         mov.u32 %r10, %nctaid.x; mov.u32 %r11, %nctaid.y;\n\
         mad.lo.u32 %r12, %r3, %r5, %r2; mad.lo.u32 %r12, %r12, %r4, %r1; mul.lo.u32 %r13, %r4, %r5; mul.lo.u32 %r13, %r13, %r6;\n\
         mad.lo.u32 %r14, %r9, %r11, %r8; mad.lo.u32 %r14, %r14, %r10, %r7; mad.lo.u32 %r14, %r14, %r13, %r12;\n\
         mul.wide.u32 %rd2, %r14, 4; add.u64 %rd1, %rd1, %rd2;\n\
         mad.lo.u32 %r15, %r9, 10, %r8; mad.lo.u32 %r15, %r15, 10, %r7; mad.lo.u32 %r15, %r15, 10, %r3;\n\
         mad.lo.u32 %r15, %r15, 10, %r2; mad.lo.u32 %r15, %r15, 10, %r1; st.global.u32 [%rd1], %r15; ret;",
    );
    let function = parse(&text);
    let mut machine = Machine::new();
    let (grid, block) = ([2u32, 3, 2], [5u32, 4, 3]);
    let total = (grid.iter().product::<u32>() * block.iter().product::<u32>()) as usize;
    let out = machine.words(&vec![0; total]);
    let mut launch = Grid::new(function.clone(), grid, block, 0, pack(&function, args![out]));
    assert!(matches!(launch.run(&mut machine, u64::MAX), Progress::Done));
    let mut want = Vec::new();
    for (bz, by, bx) in (0..2).flat_map(|z| (0..3).flat_map(move |y| (0..2).map(move |x| (z, y, x)))) {
        for (z, y, x) in (0..3).flat_map(|z| (0..4).flat_map(move |y| (0..5).map(move |x| (z, y, x)))) {
            want.push(bz * 100_000 + by * 10_000 + bx * 1000 + z * 100 + y * 10 + x);
        }
    }
    assert_eq!(machine.read(out, total), want);
}

/// The value of a 32-bit special register in each of 70 threads.
fn special(name: &str) -> Vec<u32> {
    let text = kernel(
        ".param .u64 out",
        &format!(
            "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;\n\
             mov.u32 %r2, {name}; st.global.u32 [%rd1], %r2; ret;"
        ),
    );
    let mut machine = Machine::new();
    let out = machine.words(&[0; 70]);
    machine.launch(&parse(&text), 1, 70, 48, args![out]).unwrap();
    machine.read(out, 70)
}

#[test]
fn lanes_and_warps_are_numbered() {
    let each = |f: fn(u32) -> u32| (0..70).map(f).collect::<Vec<u32>>();
    assert_eq!(special("%laneid"), each(|t| t % 32));
    assert_eq!(special("%warpid"), each(|t| t / 32));
    assert_eq!(special("%nwarpid"), each(|_| 3));
    assert_eq!(special("%smid"), each(|_| 0));
    assert_eq!(special("%lanemask_eq"), each(|t| 1 << (t % 32)));
    assert_eq!(special("%lanemask_lt"), each(|t| (1 << (t % 32)) - 1));
    assert_eq!(special("%lanemask_le"), each(|t| u32::MAX >> (31 - t % 32)));
    assert_eq!(special("%lanemask_gt"), each(|t| (u64::from(u32::MAX) << (t % 32 + 1)) as u32));
    assert_eq!(special("%lanemask_ge"), each(|t| u32::MAX << (t % 32)));
    assert_eq!(special("%dynamic_smem_size"), each(|_| 48));
    assert_eq!(special("%total_smem_size"), each(|_| 48));
}

#[test]
fn the_clock_counts_instructions() {
    let text = kernel(
        ".param .u64 out",
        "ld.param.u64 %rd1, [out]; mov.u64 %rd2, %clock64; mov.u32 %r1, %clock; mov.u64 %rd3, %globaltimer;\n\
         sub.u64 %rd3, %rd3, %rd2; st.global.u64 [%rd1], %rd3; ret;",
    );
    let mut machine = Machine::new();
    let out = machine.longs(&[0]);
    machine.launch(&parse(&text), 1, 1, 0, args![out]).unwrap();
    let passed = machine.read_longs(out, 1)[0];
    assert!((2..=6).contains(&passed), "{passed}");
}
