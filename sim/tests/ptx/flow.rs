//! Branches: lanes of a warp that go different ways and meet again.

use crate::machine::{Machine, args, kernel, parse};

/// Runs a body that computes `%r20` from the thread number `%r1`, in one block, and returns it for each thread.
fn run(threads: u32, body: &str) -> Vec<u32> {
    let text = kernel(
        ".param .u64 out",
        &format!(
            "mov.u32 %r1, %tid.x; mov.u32 %r20, 0;\n{body}\nDONE:\n\
             ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;\n\
             st.global.u32 [%rd1], %r20; ret;"
        ),
    );
    let mut machine = Machine::new();
    let out = machine.words(&vec![u32::MAX; threads as usize]);
    machine.launch(&parse(&text), 1, threads, 0, args![out]).unwrap_or_else(|fault| panic!("{fault}"));
    machine.read(out, threads as usize)
}

fn each(threads: u32, f: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..threads).map(f).collect()
}

#[test]
fn nested_branches_split_and_meet() {
    let got = run(
        70,
        "and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra EVEN;\n\
         and.b32 %r2, %r1, 2; setp.eq.u32 %p1, %r2, 0; @%p1 bra ODD_LOW;\n\
         add.u32 %r20, %r20, 100; bra.uni ODD_END;\n\
         ODD_LOW: add.u32 %r20, %r20, 200;\n\
         ODD_END: add.u32 %r20, %r20, 7; bra END;\n\
         EVEN: setp.gt.u32 %p2, %r1, 40; @!%p2 bra END; mov.u32 %r20, 5;\n\
         END: add.u32 %r20, %r20, 1000;",
    );
    let want = each(70, |t| match (t & 1, t & 2) {
        (0, _) if t > 40 => 1005,
        (0, _) => 1000,
        (_, 0) => 1207,
        _ => 1107,
    });
    assert_eq!(got, want);
}

#[test]
fn loops_may_run_a_different_number_of_times_in_each_lane() {
    let got = run(
        64,
        "mov.u32 %r2, %r1;\n\
         NEXT: setp.eq.u32 %p1, %r2, 0; @%p1 bra END;\n\
         add.u32 %r20, %r20, %r2; sub.u32 %r2, %r2, 1; bra NEXT;\n\
         END:",
    );
    assert_eq!(got, each(64, |t| t * (t + 1) / 2));
}

#[test]
fn lanes_reconverge_where_their_ways_join() {
    let got = run(
        32,
        "setp.lt.u32 %p1, %r1, 10; @%p1 bra SKIP; add.u32 %r20, %r20, 0;\n\
         SKIP: activemask.b32 %r20;",
    );
    assert_eq!(got, each(32, |_| u32::MAX));
    let got = run(32, "setp.lt.u32 %p1, %r1, 10; @%p1 activemask.b32 %r20; @!%p1 bra DONE; activemask.b32 %r20;");
    assert_eq!(got, each(32, |t| if t < 10 { 0x3ff } else { 0 }));
}

#[test]
fn threads_may_exit_early() {
    let text = kernel(
        ".param .u64 out",
        "mov.u32 %r1, %tid.x; rem.u32 %r2, %r1, 3; setp.eq.u32 %p1, %r2, 1; @%p1 exit;\n\
         setp.eq.u32 %p1, %r2, 2; @%p1 ret;\n\
         ld.param.u64 %rd1, [out]; atom.global.add.u32 %r3, [%rd1], 1; ret;",
    );
    let mut machine = Machine::new();
    let out = machine.words(&[0]);
    machine.launch(&parse(&text), 2, 100, 0, args![out]).unwrap();
    assert_eq!(machine.read(out, 1), [2 * 34]);
}

#[test]
fn indexed_branches_use_their_table() {
    let got = run(
        40,
        "and.b32 %r2, %r1, 3;\n\
         TABLE: .branchtargets ZERO, ONE, TWO, ONE;\n\
         brx.idx %r2, TABLE;\n\
         TWO: add.u32 %r20, %r20, 2;\n\
         ONE: add.u32 %r20, %r20, 1;\n\
         ZERO: add.u32 %r20, %r20, 10;",
    );
    assert_eq!(got, each(40, |t| [10, 11, 13, 11][(t & 3) as usize]));
}

#[test]
fn names_are_local_to_blocks() {
    let got = run(
        33,
        "{ .reg .b32 x; mov.u32 x, 5; { .reg .b32 x; mov.u32 x, 7; add.u32 %r20, %r20, x; } add.u32 %r20, %r20, x; }\n\
         { .reg .b32 %r<3>; mov.u32 %r2, 100; L: add.u32 %r20, %r20, %r2; }\n\
         { L: add.u32 %r20, %r20, 1000; setp.lt.u32 %p1, %r20, 2500; @%p1 bra L; }\n\
         { bra OUT; } add.u32 %r20, %r20, 1;\n\
         OUT:",
    );
    assert_eq!(got, each(33, |_| 3112));
}

#[test]
fn guards_leave_other_lanes_alone() {
    let got = run(
        32,
        "mov.u32 %r20, 1; setp.lt.u32 %p1, %r1, 8; setp.gt.u32 %p2, %r1, 20;\n\
         @%p1 mov.u32 %r20, 2; @!%p1 add.u32 %r20, %r20, 5; @%p2 mul.lo.u32 %r20, %r20, 10;",
    );
    assert_eq!(
        got,
        each(32, |t| if t < 8 {
            2
        } else if t > 20 {
            60
        } else {
            6
        })
    );
}

#[test]
fn a_lane_that_spins_does_not_starve_its_warp() {
    // A lock within one warp: whoever holds it has to get on although the others spin at smaller positions.
    let text = kernel(
        ".param .u64 lock, .param .u64 count",
        "ld.param.u64 %rd1, [lock]; ld.param.u64 %rd2, [count];\n\
         SPIN: atom.global.cas.b32 %r1, [%rd1], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra SPIN;\n\
         membar.gl; ld.volatile.global.u32 %r2, [%rd2]; add.u32 %r2, %r2, 1; st.volatile.global.u32 [%rd2], %r2; membar.gl;\n\
         atom.global.exch.b32 %r1, [%rd1], 0; ret;",
    );
    let mut machine = Machine::new();
    let (lock, count) = (machine.words(&[0]), machine.words(&[0]));
    machine.launch(&parse(&text), 3, 64, 0, args![lock, count]).unwrap();
    assert_eq!(machine.read(count, 1), [192]);
}

#[test]
fn blocks_may_wait_for_blocks_that_run_beside_them() {
    // Every block but the last one of eight waits for the block after it.
    let text = kernel(
        ".param .u64 flags",
        "ld.param.u64 %rd1, [flags]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;\n\
         mov.u32 %r2, %nctaid.x; sub.u32 %r2, %r2, 1; setp.eq.u32 %p1, %r1, %r2; @%p1 bra SET;\n\
         SPIN: ld.volatile.global.u32 %r3, [%rd3+4]; setp.eq.u32 %p1, %r3, 0; @%p1 bra SPIN;\n\
         SET: st.global.u32 [%rd3], 1; ret;",
    );
    let mut machine = Machine::new();
    let flags = machine.words(&[0; 8]);
    machine.launch(&parse(&text), 8, 1, 0, args![flags]).unwrap();
    assert_eq!(machine.read(flags, 8), [1; 8]);
}
