//! Exchange between the lanes of a warp.

use dacapo_sim::ptx::FaultKind;

use crate::machine::{Machine, args, kernel, parse};

/// Runs a body that computes `%r20` from the lane number `%r1` in one warp, and returns it for each lane.
fn run(body: &str) -> Vec<u32> {
    let text = kernel(
        ".param .u64 out",
        &format!(
            "mov.u32 %r1, %laneid; mov.u32 %r20, 0; mov.u32 %r19, -1;\n{body}\nDONE:\n\
             ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;\n\
             st.global.u32 [%rd1], %r20; ret;"
        ),
    );
    let mut machine = Machine::new();
    let out = machine.words(&[u32::MAX; 32]);
    machine.launch(&parse(&text), 1, 32, 0, args![out]).unwrap_or_else(|fault| panic!("{fault}"));
    machine.read(out, 32)
}

fn each(f: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..32).map(f).collect()
}

/// The result of a shuffle with the valid flag added as 1000.
fn shuffle(text: &str) -> Vec<u32> {
    run(&format!("add.u32 %r2, %r1, 100; {text} @%p1 add.u32 %r20, %r20, 1000;"))
}

#[test]
fn shuffles_move_values_between_lanes() {
    let got = shuffle("shfl.sync.bfly.b32 %r20|%p1, %r2, 5, 31, -1;");
    assert_eq!(got, each(|l| 1100 + (l ^ 5)));
    let got = shuffle("shfl.sync.up.b32 %r20|%p1, %r2, 3, 0, %r19;");
    assert_eq!(got, each(|l| if l >= 3 { 1100 + l - 3 } else { 100 + l }));
    let got = shuffle("shfl.sync.down.b32 %r20|%p1, %r2, 4, 31, %r19;");
    assert_eq!(got, each(|l| if l + 4 < 32 { 1100 + l + 4 } else { 100 + l }));
    let got = shuffle("shfl.sync.idx.b32 %r20|%p1, %r2, 9, 31, %r19;");
    assert_eq!(got, each(|_| 1109));
    // Sub-warps of eight lanes: 0x1800 | clamp.
    let got = shuffle("shfl.sync.down.b32 %r20|%p1, %r2, 1, 0x1807, %r19;");
    assert_eq!(got, each(|l| if l % 8 == 7 { 100 + l } else { 1101 + l }));
    let got = shuffle("shfl.sync.up.b32 %r20|%p1, %r2, 2, 0x1800, %r19;");
    assert_eq!(got, each(|l| if l % 8 < 2 { 100 + l } else { 1098 + l }));
    let got = shuffle("shfl.sync.idx.b32 %r20|%p1, %r2, %r1, 0x181f, %r19;");
    assert_eq!(got, each(|l| 1100 + l));
    let got = run("shfl.sync.idx.b32 %r20, %r1, 3, 31, -1;");
    assert_eq!(got, each(|_| 3));
}

#[test]
fn votes_count_members_only() {
    let ballot = run("setp.gt.u32 %p1, %r1, 20; vote.sync.ballot.b32 %r20, %p1, %r19;");
    assert_eq!(ballot, each(|_| 0xffe0_0000));
    let negated = run("setp.gt.u32 %p1, %r1, 20; vote.sync.ballot.b32 %r20, !%p1, %r19;");
    assert_eq!(negated, each(|_| 0x001f_ffff));
    for (test, mode, want) in [
        ("setp.lt.u32 %p1, %r1, 32;", "all", 1),
        ("setp.lt.u32 %p1, %r1, 31;", "all", 0),
        ("setp.eq.u32 %p1, %r1, 31;", "any", 1),
        ("setp.eq.u32 %p1, %r1, 32;", "any", 0),
        ("setp.eq.u32 %p1, %r1, 32;", "uni", 1),
        ("setp.eq.u32 %p1, %r1, 31;", "uni", 0),
    ] {
        let got = run(&format!("{test} vote.sync.{mode}.pred %p2, %p1, -1; selp.u32 %r20, 1, 0, %p2;"));
        assert_eq!(got, each(|_| want), "{mode} of {test}");
    }
    let half = run("setp.lt.u32 %p1, %r1, 16; setp.ne.u32 %p3, %r1, 3; @!%p1 bra DONE;\n\
         vote.sync.ballot.b32 %r20, %p3, 0xffff;");
    assert_eq!(half, each(|l| if l < 16 { 0xfff7 } else { 0 }));
}

#[test]
fn matches_find_equal_values() {
    let any = run("and.b32 %r2, %r1, 3; match.any.sync.b32 %r20, %r2, -1;");
    assert_eq!(any, each(|l| 0x1111_1111 << (l & 3)));
    let all = run("mov.u32 %r2, 5; match.all.sync.b32 %r20|%p1, %r2, -1; @!%p1 mov.u32 %r20, 1;");
    assert_eq!(all, each(|_| u32::MAX));
    let not = run("cvt.u64.u32 %rd3, %r1; match.all.sync.b64 %r20|%p1, %rd3, -1; @!%p1 add.u32 %r20, %r20, 1;");
    assert_eq!(not, each(|_| 1));
    let long =
        run("shr.u32 %r2, %r1, 4; cvt.u64.u32 %rd3, %r2; shl.b64 %rd3, %rd3, 40; match.any.sync.b64 %r20, %rd3, -1;");
    assert_eq!(long, each(|l| if l < 16 { 0xffff } else { 0xffff_0000 }));
}

#[test]
fn reductions_combine_all_members() {
    for (op, want) in [
        ("add.u32", (0..32).map(|l| l * 3).sum::<u32>()),
        ("min.u32", 0),
        ("max.u32", 93),
        ("min.s32", 0),
        ("max.s32", 93),
        ("or.b32", (0..32).fold(0, |a, l| a | (l * 3))),
        ("and.b32", 0),
        ("xor.b32", (0..32).fold(0, |a, l| a ^ (l * 3))),
    ] {
        let got = run(&format!("mul.lo.u32 %r2, %r1, 3; redux.sync.{op} %r20, %r2, -1;"));
        assert_eq!(got, each(|_| want), "{op}");
    }
}

#[test]
fn members_wait_for_each_other() {
    // The lanes reach the shuffle by ways of different length, and through different instructions.
    let got = run("mov.u32 %r2, %r1;\n\
         WORK: setp.eq.u32 %p1, %r2, 0; @%p1 bra READY; sub.u32 %r2, %r2, 1; bra WORK;\n\
         READY: and.b32 %r3, %r1, 1; setp.eq.u32 %p2, %r3, 0; @%p2 bra EVEN;\n\
         add.u32 %r4, %r1, 500; shfl.sync.bfly.b32 %r20, %r4, 1, 31, -1; bra DONE;\n\
         EVEN: add.u32 %r4, %r1, 900; shfl.sync.bfly.b32 %r20, %r4, 1, 31, -1;");
    assert_eq!(got, each(|l| if l & 1 == 0 { 501 + l } else { 899 + l }));
    // bar.warp.sync makes the lower half's stores visible to the upper half, whichever ran first.
    let got = run("{ .shared .b32 s[32]; .reg .u64 a; .reg .u32 o;\n\
         shl.b32 o, %r1, 2; cvt.u64.u32 a, o; mov.u64 %rd5, s; add.u64 a, a, %rd5;\n\
         setp.lt.u32 %p1, %r1, 16; @%p1 bra STORE; bra SYNC;\n\
         STORE: st.shared.u32 [a+64], %r1;\n\
         SYNC: bar.warp.sync -1; @%p1 bra END; ld.shared.u32 %r20, [a];\n\
         END: }");
    assert_eq!(got, each(|l| l.saturating_sub(16)));
}

#[test]
fn exited_lanes_are_not_waited_for() {
    let got = run("setp.gt.u32 %p1, %r1, 5; @%p1 exit; shfl.sync.bfly.b32 %r20, %r1, 1, 31, -1;");
    let want: Vec<u32> = each(|l| if l <= 5 { l ^ 1 } else { u32::MAX });
    assert_eq!(got, want);
}

#[test]
fn partial_groups_synchronise_apart() {
    let got = run("setp.lt.u32 %p1, %r1, 8; @%p1 bra LOW;\n\
         shfl.sync.idx.b32 %r20, %r1, 20, 31, 0xffffff00; bra DONE;\n\
         LOW: shfl.sync.idx.b32 %r20, %r1, 2, 31, 0xff;");
    assert_eq!(got, each(|l| if l < 8 { 2 } else { 20 }));
    // One instruction, two member masks.
    let got = run("setp.lt.u32 %p1, %r1, 8; selp.b32 %r2, 0xff, 0xffffff00, %p1; setp.ne.u32 %p2, %r1, 99;\n\
         vote.sync.ballot.b32 %r20, %p2, %r2;");
    assert_eq!(got, each(|l| if l < 8 { 0xff } else { 0xffff_ff00 }));
}

#[test]
fn a_lane_outside_of_its_mask_is_a_fault() {
    let text = kernel("", "mov.u32 %r1, 1;\nshfl.sync.idx.b32 %r2, %r1, 0, 31, 0x7fffffff;\nret;");
    let fault = Machine::new().launch(&parse(&text), 1, 32, 0, &[]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::NotAMember { members: 0x7fff_ffff });
    assert_eq!((fault.thread, fault.line), ([31, 0, 0], 8));
}

#[test]
fn members_that_never_come_are_a_deadlock() {
    let text = kernel(
        "",
        "mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 4;\n@%p1 bra OTHER;\nbar.warp.sync -1;\nret;\n\
         OTHER: vote.sync.any.pred %p2, %p1, -1;\nret;",
    );
    let fault = Machine::new().launch(&parse(&text), 1, 32, 0, &[]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Deadlock);
    assert_eq!((fault.thread, &fault.instruction[..]), ([0; 3], "vote.sync.any.pred %p2, %p1, -1;"));
}
