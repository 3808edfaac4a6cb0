//! Functions that the system provides: `printf` and `assert`, in the form that NVRTC gives them.

use std::sync::Arc;

use dacapo_sim::ptx::{Fault, FaultKind, Grid, Module, Progress};

use crate::machine::{Machine, args, pack};

const HEAD: &str = ".version 8.0\n.target sm_70\n.address_size 64\n\
    .extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n\
    .extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n\
    .global .align 1 .b8 $format[19] = {91, 37, 100, 32, 37, 46, 49, 102, 32, 37, 115, 32, 37, 108, 120, 93, 10, 0};\n\
    .global .align 1 .b8 $word[4] = {111, 110, 101, 0};\n\
    .global .align 1 .b8 $condition[6] = {120, 32, 60, 32, 53, 0};\n\
    .global .align 1 .b8 $file[5] = {97, 46, 99, 117, 0};\n\
    .global .align 1 .b8 $function[9] = {118, 111, 105, 100, 32, 107, 40, 41, 0};\n";

/// Prints `[%d %.1f %s %lx]` with the thread's number, half of it, "one", and the number shifted up; keeps what `printf` returns.
const PRINT: &str = ".visible .entry k(.param .u64 out) {\n\
    .local .align 8 .b8 depot[32]; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f64 %fd<3>; .reg .pred %p;\n\
    mov.u32 %r1, %tid.x; setp.ne.u32 %p, %r1, 1;\n\
    cvt.rn.f64.u32 %fd1, %r1; mul.f64 %fd1, %fd1, 0d3FE0000000000000;\n\
    cvt.u64.u32 %rd1, %r1; shl.b64 %rd1, %rd1, 36; mov.u64 %rd2, $word; cvta.global.u64 %rd2, %rd2;\n\
    mov.u64 %rd3, depot; cvta.local.u64 %rd3, %rd3; mov.u64 %rd4, $format; cvta.global.u64 %rd4, %rd4;\n\
    st.u32 [%rd3], %r1; st.f64 [%rd3+8], %fd1; st.u64 [%rd3+16], %rd2; st.u64 [%rd3+24], %rd1;\n\
    mov.u32 %r2, 77;\n\
    { .param .b64 param0; st.param.b64 [param0+0], %rd4; .param .b64 param1; st.param.b64 [param1+0], %rd3;\n\
      .param .b32 retval0; st.param.b32 [retval0], %r2;\n\
      @%p call.uni (retval0), vprintf, (param0, param1); ld.param.b32 %r2, [retval0+0]; }\n\
    ld.param.u64 %rd5, [out]; mul.wide.u32 %rd6, %r1, 4; add.u64 %rd5, %rd5, %rd6; st.global.u32 [%rd5], %r2; ret; }";

/// Asserts that the thread's number is below five.
const ASSERT: &str = ".visible .entry k(.param .u64 out) {\n\
    .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p; mov.u32 %r1, %tid.x; setp.lt.u32 %p, %r1, 5; @%p bra $L1;\n\
    mov.u64 %rd1, $condition; mov.u64 %rd2, $file; mov.u64 %rd3, $function; mov.u64 %rd4, 1; mov.u32 %r2, 12;\n\
    { .param .b64 param0; st.param.b64 [param0+0], %rd1; .param .b64 param1; st.param.b64 [param1+0], %rd2;\n\
      .param .b32 param2; st.param.b32 [param2+0], %r2; .param .b64 param3; st.param.b64 [param3+0], %rd3;\n\
      .param .b64 param4; st.param.b64 [param4+0], %rd4;\n\
      call.uni __assertfail, (param0, param1, param2, param3, param4); }\n\
    $L1: ret; }";

/// Runs the kernel in slices; what it printed, how it ended, and its output buffer.
fn run(body: &str, threads: u32) -> (String, Result<(), Fault>, Vec<u32>) {
    let mut module = Module::parse(&format!("{HEAD}{body}")).unwrap_or_else(|error| panic!("{error}"));
    let mut machine = Machine::new();
    machine.link(&mut module);
    let out = machine.words(&vec![0; threads as usize]);
    let function = module.function("k").expect("kernel k");
    let params = pack(function, args![out]);
    let mut launch = Grid::new(Arc::clone(function), [1; 3], [threads, 1, 1], 0, params);
    let mut printed = Vec::new();
    let end = loop {
        let progress = launch.run(&mut machine, 100);
        printed.extend(launch.take_printed());
        match progress {
            Progress::Done => break Ok(()),
            Progress::Running => {}
            Progress::Fault(fault) => break Err(fault),
        }
    };
    (String::from_utf8(printed).unwrap(), end, machine.read(out, threads as usize))
}

#[test]
fn printf_formats_its_arguments_lane_by_lane_and_counts_them() {
    let (printed, end, counts) = run(PRINT, 4);
    assert_eq!(end, Ok(()));
    assert_eq!(printed, "[0 0.0 one 0]\n[2 1.0 one 2000000000]\n[3 1.5 one 3000000000]\n");
    assert_eq!(counts, [4, 77, 4, 4], "thread 1 does not call");
}

#[test]
fn a_format_that_is_null_or_unmapped_is_told_apart() {
    let (printed, end, counts) = run(&PRINT.replace("mov.u64 %rd4, $format;", "mov.u64 %rd4, 0;"), 3);
    assert_eq!((printed.as_str(), end), ("", Ok(())));
    assert_eq!(counts, [u32::MAX, 77, u32::MAX]);
    let (printed, end, _) = run(&PRINT.replace("mov.u64 %rd4, $format;", "mov.u64 %rd4, 64;"), 3);
    assert_eq!(printed, "");
    assert_eq!(end.unwrap_err().kind, FaultKind::OutOfBounds { address: 64, size: 1 });
}

#[test]
fn an_assertion_that_holds_is_silent_and_one_that_fails_names_its_condition() {
    let (printed, end, _) = run(ASSERT, 5);
    assert_eq!((printed.as_str(), end), ("", Ok(())));
    let (_, end, _) = run(ASSERT, 64);
    let fault = end.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Assertion);
    assert_eq!(fault.thread, [5, 0, 0]);
    assert_eq!(fault.detail.as_deref(), Some("`x < 5` in void k(), a.cu:12"));
    let text = fault.to_string();
    assert!(text.contains(": assertion failed: `x < 5` in void k(), a.cu:12 in `call.uni __assertfail"), "{text}");
}
