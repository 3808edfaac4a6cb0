//! Calls of device functions.

use crate::machine::{Machine, args, parse};

fn run(functions: &str, body: &str, threads: u32) -> Vec<u32> {
    let text = format!(
        ".version 8.0\n.target sm_70\n.address_size 64\n{functions}\n\
         .visible .entry k(.param .u64 out) {{ .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>;\n\
         mov.u32 %r1, %tid.x; {body}\n\
         ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r9; ret; }}"
    );
    let mut machine = Machine::new();
    let out = machine.words(&vec![0; threads as usize]);
    machine.launch(&parse(&text), 1, threads, 0, args![out]).unwrap_or_else(|fault| panic!("{fault}"));
    machine.read(out, threads as usize)
}

/// `collatz(n)`: the number of steps to 1, in the form that NVRTC gives functions that it does not inline.
const COLLATZ: &str = ".func (.param .b32 func_retval0) collatz(.param .b32 collatz_param_0) {\n\
    .reg .pred %p<4>; .reg .b32 %r<9>;\n\
    ld.param.u32 %r1, [collatz_param_0]; mov.u32 %r2, 0;\n\
    $L1: setp.lt.u32 %p1, %r1, 2; @%p1 bra $L3; and.b32 %r3, %r1, 1; setp.eq.u32 %p2, %r3, 0; add.u32 %r2, %r2, 1;\n\
    @%p2 bra $L2; mad.lo.u32 %r1, %r1, 3, 1; bra $L1; $L2: shr.u32 %r1, %r1, 1; bra $L1;\n\
    $L3: st.param.b32 [func_retval0+0], %r2; ret; }";

fn collatz(mut n: u32) -> u32 {
    let mut steps = 0;
    while n > 1 {
        n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

#[test]
fn parameters_and_results_go_through_parameter_memory() {
    let body = "{ .reg .b32 temp_param_reg; .param .b32 param0; st.param.b32 [param0+0], %r1; .param .b32 retval0;\n\
        call.uni (retval0), collatz, (param0); ld.param.b32 %r9, [retval0+0]; }";
    assert_eq!(run(COLLATZ, body, 50), (0..50).map(collatz).collect::<Vec<_>>());
}

#[test]
fn only_the_lanes_of_the_guard_call() {
    let body = "mov.u32 %r9, 99; setp.gt.u32 %p1, %r1, 20; .param .b32 a; .param .b32 r; st.param.b32 [a], %r1;\n\
        st.param.b32 [r], 0; @%p1 call (r), collatz, (a); ld.param.b32 %r2, [r]; selp.b32 %r9, %r2, %r9, %p1;";
    let want: Vec<u32> = (0..50).map(|t| if t > 20 { collatz(t) } else { 99 }).collect();
    assert_eq!(run(COLLATZ, body, 50), want);
}

#[test]
fn register_parameters_and_nested_calls() {
    let functions = ".func (.reg .u32 r) twice(.reg .u32 a) { add.u32 r, a, a; ret; }\n\
        .func (.reg .u32 r) four(.reg .u32 a) { .reg .u32 %r<3>; call (%r1), twice, (a); call (r), twice, (%r1); }\n\
        .func nothing { ret; }\n\
        .func early(.reg .u64 p, .reg .u32 v) { .reg .pred q; setp.lt.u32 q, v, 5; @q ret; red.global.add.u32 [p], 1; }";
    let body = "call (%r9), four, (%r1); call nothing; call (%r9), twice, (%r9); add.u32 %r9, %r9, 3;";
    assert_eq!(run(functions, body, 40), (0..40).map(|t| 8 * t + 3).collect::<Vec<_>>());
    let body = "mov.u32 %r9, 0; ld.param.u64 %rd5, [out]; call early, (%rd5, %r1); bar.sync 0;\n\
        setp.ne.u32 %p1, %r1, 0; @%p1 bra END; ld.global.u32 %r9, [%rd5]; END:";
    assert_eq!(run(functions, body, 40)[0], 35);
}

#[test]
fn structures_are_passed_by_value() {
    let functions = ".func (.param .align 8 .b8 r[8]) swap(.param .align 8 .b8 p[8]) { .reg .b32 %r<9>; .local .b32 l[4];\n\
        ld.param.v2.b32 {%r1, %r2}, [p]; st.local.u32 [l+4], %r1; ld.local.u32 %r3, [l+4];\n\
        st.param.v2.b32 [r], {%r2, %r3}; ret; }";
    let body = ".param .align 8 .b8 in[8]; .param .align 8 .b8 back[8]; add.u32 %r2, %r1, 50;\n\
        st.param.b32 [in], %r1; st.param.b32 [in+4], %r2; call (back), swap, (in);\n\
        ld.param.v2.b32 {%r3, %r4}, [back]; mad.lo.u32 %r9, %r3, 1000, %r4;";
    assert_eq!(run(functions, body, 33), (0..33).map(|t| (t + 50) * 1000 + t).collect::<Vec<_>>());
}
