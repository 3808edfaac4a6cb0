//! Barriers of a block.

use dacapo_sim::ptx::{FaultKind, Grid, Progress};

use crate::machine::{Machine, args, kernel, pack, parse};

/// Runs a body with the thread number in `%r1`, a pointer to output in `%rd1` and one to this thread's word in `%rd2`.
fn run(threads: u32, body: &str) -> Vec<u32> {
    let text = kernel(
        ".param .u64 out",
        &format!(
            "mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [out];\n\
             mul.wide.u32 %rd3, %r1, 4; add.u64 %rd2, %rd1, %rd3;\n{body}\nret;"
        ),
    );
    let mut machine = Machine::new();
    let out = machine.words(&vec![0; threads as usize]);
    machine.launch(&parse(&text), 1, threads, 0, args![out]).unwrap_or_else(|fault| panic!("{fault}"));
    machine.read(out, threads as usize)
}

#[test]
fn threads_wait_for_the_whole_block() {
    // Each thread reads what a thread of another warp wrote before the barrier, many times over.
    let body = "mov.u32 %r5, %ntid.x; mov.u32 %r9, 0; mov.u32 %r8, 10;\n\
        ROUND: add.u32 %r6, %r1, 37; rem.u32 %r6, %r6, %r5; mul.wide.u32 %rd4, %r6, 4; add.u64 %rd4, %rd1, %rd4;\n\
        st.global.u32 [%rd2], %r9; bar.sync 0; ld.global.u32 %r7, [%rd4]; bar.sync 0;\n\
        setp.ne.u32 %p1, %r7, %r9; @%p1 trap;\n\
        add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, %r8; @%p1 bra ROUND;";
    assert_eq!(run(200, body), vec![9; 200]);
}

#[test]
fn exited_threads_count_as_arrived() {
    let body = "rem.u32 %r2, %r1, 5; setp.eq.u32 %p1, %r2, 0; @%p1 bra OUT; setp.gt.u32 %p1, %r1, 90; @%p1 exit;\n\
        bar.sync 0; st.global.u32 [%rd2], 1;\nOUT:";
    let want: Vec<u32> = (0..128).map(|t| u32::from(t % 5 != 0 && t <= 90)).collect();
    assert_eq!(run(128, body), want);
    // The last thread exits while all others wait already.
    let body = "setp.ne.u32 %p1, %r1, 100; @%p1 bra WAIT; mov.u32 %r3, 5000;\n\
        WORK: sub.u32 %r3, %r3, 1; setp.ne.u32 %p2, %r3, 0; @%p2 bra WORK; ret;\n\
        WAIT: bar.sync 3; st.global.u32 [%rd2], 1;";
    let want: Vec<u32> = (0..101).map(|t| u32::from(t != 100)).collect();
    assert_eq!(run(101, body), want);
}

#[test]
fn diverged_lanes_meet_at_a_barrier() {
    let body = "and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra EVEN;\n\
        bar.sync 0; mov.u32 %r4, 1; bra END;\n\
        EVEN: barrier.sync 0; mov.u32 %r4, 2;\n\
        END: st.global.u32 [%rd2], %r4;";
    let want: Vec<u32> = (0..64).map(|t| if t % 2 == 0 { 2 } else { 1 }).collect();
    assert_eq!(run(64, body), want);
}

#[test]
fn named_barriers_count_the_threads_they_are_told() {
    // Warps 0 and 1 exchange through barrier 1 while warp 2 arrives at barrier 2, for which warp 3 waits.
    let body = "shr.u32 %r2, %r1, 5; setp.ge.u32 %p1, %r2, 2; @%p1 bra UPPER;\n\
        st.global.u32 [%rd2], %r1; bar.sync 1, 64; xor.b32 %r3, %r1, 32; mul.wide.u32 %rd4, %r3, 4;\n\
        add.u64 %rd4, %rd1, %rd4; ld.global.u32 %r4, [%rd4]; bar.sync 1, 64; st.global.u32 [%rd2], %r4; ret;\n\
        UPPER: setp.eq.u32 %p2, %r2, 3; @%p2 bra WAIT; st.global.u32 [%rd2], 7; bar.arrive 2, 64; ret;\n\
        WAIT: bar.sync 2, 64; ld.global.u32 %r4, [%rd2+-128]; st.global.u32 [%rd2], %r4;";
    let want: Vec<u32> = (0..128).map(|t| if t < 64 { t ^ 32 } else { 7 }).collect();
    assert_eq!(run(128, body), want);
}

#[test]
fn barriers_reduce_predicates() {
    let body = "setp.lt.u32 %p1, %r1, 70; bar.red.popc.u32 %r3, 0, %p1; bar.red.popc.u32 %r4, 0, !%p1;\n\
        bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 0, %p1; barrier.cta.red.and.aligned.pred %p4, 0, 96, %p5;\n\
        selp.u32 %r5, 1000, 0, %p2; selp.u32 %r6, 10000, 0, %p3; mad.lo.u32 %r7, %r4, 100, %r3;\n\
        add.u32 %r7, %r7, %r5; add.u32 %r7, %r7, %r6; st.global.u32 [%rd2], %r7;";
    assert_eq!(run(96, body), vec![70 + 26 * 100 + 10000; 96]);
}

#[test]
fn a_barrier_that_cannot_open_is_a_deadlock() {
    // The other warp waits at a different barrier.
    let text = kernel(
        "",
        "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 32;\n@%p1 bra A;\nbar.sync 1;\nret;\nA: bar.sync 2;\nret;",
    );
    let function = parse(&text);
    let fault = Machine::new().launch(&function, 3, 64, 0, &[]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Deadlock);
    assert_eq!((fault.line, fault.block, fault.thread), (12, [0; 3], [0; 3]));
    let text = kernel("", "bar.sync 0, 64;\nret;");
    let fault = Machine::new().launch(&parse(&text), 1, 32, 0, &[]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Deadlock);
}

#[test]
fn barriers_that_make_no_sense_are_refused() {
    for body in ["bar.sync 16;", "bar.sync 0, 33;", "bar.sync 0, 0;", "bar.sync %r9, 32;"] {
        let text = kernel("", &format!("mov.u32 %r9, %tid.x; {body}\nret;"));
        let fault = Machine::new().launch(&parse(&text), 1, 64, 0, &[]).unwrap_err();
        assert_eq!(fault.kind, FaultKind::InvalidBarrier, "{body}");
    }
    // The two warps disagree about how many threads meet.
    let text =
        kernel("", "mov.u32 %r9, %tid.x; setp.lt.u32 %p1, %r9, 32;\n@%p1 bar.sync 0, 64;\n@!%p1 bar.sync 0;\nret;");
    let fault = Machine::new().launch(&parse(&text), 1, 64, 0, &[]).unwrap_err();
    assert_eq!((fault.kind, fault.line, fault.thread), (FaultKind::InvalidBarrier, 9, [32, 0, 0]));
}

#[test]
fn a_budget_may_end_between_arrivals() {
    let text = kernel(
        ".param .u64 out",
        "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0;\n\
         mov.u32 %r3, %r1; W: setp.eq.u32 %p2, %r3, 0; @%p2 bra S; sub.u32 %r3, %r3, 1; bra W;\n\
         S: bar.sync 0; @%p1 st.global.u32 [%rd1], 1; ret;",
    );
    let function = parse(&text);
    let mut counts = Vec::new();
    for budget in [1, 7, 100, u64::MAX] {
        let mut machine = Machine::new();
        let out = machine.words(&[0]);
        let mut grid = Grid::new(function.clone(), [1; 3], [100, 1, 1], 0, pack(&function, args![out]));
        while !matches!(grid.run(&mut machine, budget), Progress::Done) {}
        assert_eq!(machine.read(out, 1), [1]);
        counts.push(grid.instructions());
    }
    assert!(counts.windows(2).all(|pair| pair[0] == pair[1]), "{counts:?}");
}
