//! Loads and stores: widths, vectors, state spaces, generic addresses, memory that the host shares.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    thread,
};

use dacapo_sim::ptx::{Grid, Progress};

use crate::machine::{Machine, args, kernel, pack, parse};

fn run(params: &str, body: &str, machine: &mut Machine, threads: u32, shared: u32, args: &[crate::machine::Arg]) {
    let function = parse(&kernel(params, body));
    machine.launch(&function, 1, threads, shared, args).unwrap_or_else(|fault| panic!("{fault}"));
}

#[test]
fn narrow_loads_extend_and_narrow_stores_cut() {
    let mut machine = Machine::new();
    let input = machine.words(&[0x8182_8384, 0xffff_fff0]);
    let out = machine.longs(&[0; 8]);
    run(
        ".param .u64 in, .param .u64 out",
        "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];\n\
         ld.global.u8 %r1, [%rd1+3]; st.global.u32 [%rd2], %r1;\n\
         ld.global.s8 %r1, [%rd1+3]; st.global.u32 [%rd2+8], %r1;\n\
         ld.global.s8 %rs1, [%rd1+3]; cvt.u32.u16 %r1, %rs1; st.global.u32 [%rd2+16], %r1;\n\
         ld.global.s16 %rd3, [%rd1+2]; st.global.u64 [%rd2+24], %rd3;\n\
         ld.global.s32 %rd3, [%rd1+4]; st.global.u64 [%rd2+32], %rd3;\n\
         ld.global.u32 %rd3, [%rd1+4]; st.global.u64 [%rd2+40], %rd3;\n\
         mov.u32 %r1, 0x12345678; st.global.u16 [%rd2+50], %r1; st.global.u8 [%rd2+49], %r1; st.global.b8 [%rd2+57], %rd3;\n\
         ret;",
        &mut machine,
        1,
        0,
        args![input, out],
    );
    let want =
        [0x81, 0xffff_ff81, 0xff81, 0xffff_ffff_ffff_8182, 0xffff_ffff_ffff_fff0, 0xffff_fff0, 0x5678_7800, 0xf000];
    assert_eq!(machine.read_longs(out, 8), want);
}

#[test]
fn vectors_move_neighbouring_elements() {
    let mut machine = Machine::new();
    let words: Vec<u32> = (0..160).collect();
    let (input, out) = (machine.words(&words), machine.words(&[0; 160]));
    run(
        ".param .u64 in, .param .u64 out",
        "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 16;\n\
         add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3; setp.lt.u32 %p1, %r1, 36; @!%p1 bra WIDE;\n\
         ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1]; st.global.v4.u32 [%rd2], {%r5, %r4, %r3, %r2}; ret;\n\
         WIDE: ld.global.v2.u64 {%rd4, %rd5}, [%rd1]; st.global.v2.u64 [%rd2], {%rd5, %rd4};\n\
         ld.global.v2.u32 {%r6, _}, [%rd1]; mov.u32 %r7, 7; st.global.v2.b32 [%rd2+8], {%r6, %r7};\n\
         ld.global.v4.u8 {%rs1, %rs2, %rs3, %rs4}, [%rd1+4]; st.global.v4.u8 [%rd2+4], {%rs4, %rs3, %rs2, %rs1}; ret;",
        &mut machine,
        40,
        0,
        args![input, out],
    );
    let mut want = Vec::new();
    for t in 0..40u32 {
        let w = 4 * t;
        want.extend(if t < 36 { [w + 3, w + 2, w + 1, w] } else { [w + 2, (w + 1).swap_bytes(), w, 7] });
    }
    assert_eq!(machine.read(out, 160), want);
}

#[test]
fn shared_memory_is_static_dynamic_and_per_block() {
    let mut machine = Machine::new();
    let out = machine.words(&[0; 6]);
    let text = ".version 8.0\n.target sm_70\n.address_size 64\n.extern .shared .align 16 .b8 dynamic[];\n\
        .shared .align 8 .b32 common[2];\n\
        .visible .entry k(.param .u64 out) {\n\
        .reg .b32 %r<9>; .reg .b64 %rd<9>; .shared .b8 own; .shared .align 4 .u32 word;\n\
        ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, %r1, 12; add.u64 %rd1, %rd1, %rd2;\n\
        ld.shared.u32 %r2, [word]; add.u32 %r2, %r2, 5; st.shared.u32 [word], %r2; st.shared.u32 [dynamic+4], %r2;\n\
        st.shared.u32 [common+4], 77; st.shared.u8 [own], 3;\n\
        mov.u64 %rd3, dynamic; ld.shared.u32 %r3, [%rd3+4]; st.global.u32 [%rd1], %r3;\n\
        cvt.u32.u64 %r4, %rd3; st.global.u32 [%rd1+4], %r4; mov.u32 %r6, dynamic; ld.shared.u32 %r5, [%r6+4];\n\
        mov.u64 %rd4, common; ld.shared.u32 %r7, [%rd4+4]; add.u32 %r5, %r5, %r7; st.global.u32 [%rd1+8], %r5; ret; }";
    let function = parse(text);
    assert_eq!(function.static_shared_bytes(), 16);
    machine.launch(&function, 2, 1, 64, args![out]).unwrap();
    assert_eq!(machine.read(out, 6), [5, 16, 82, 5, 16, 82]);
}

#[test]
fn local_memory_belongs_to_each_thread() {
    let mut machine = Machine::new();
    let out = machine.words(&[0; 70]);
    run(
        ".param .u64 out",
        ".local .align 8 .b8 __local_depot0[24]; .reg .b64 %SP, %SPL;\n\
         mov.u64 %SPL, __local_depot0; cvta.local.u64 %SP, %SPL; mov.u32 %r1, %tid.x;\n\
         add.u64 %rd1, %SP, 8; st.u32 [%rd1], %r1; st.local.u32 [%SPL+12], 1000; bar.sync 0;\n\
         add.u64 %rd2, %SPL, 8; ld.local.u32 %r2, [%rd2]; ld.u32 %r3, [%rd1+4]; add.u32 %r2, %r2, %r3;\n\
         ld.param.u64 %rd3, [out]; mul.wide.u32 %rd4, %r1, 4; add.u64 %rd3, %rd3, %rd4; st.global.u32 [%rd3], %r2; ret;",
        &mut machine,
        70,
        0,
        args![out],
    );
    assert_eq!(machine.read(out, 70), (1000..1070).collect::<Vec<_>>());
}

#[test]
fn generic_addresses_reach_every_space() {
    let mut machine = Machine::new();
    let out = machine.words(&[11, 0]);
    run(
        ".param .u64 out, .param .align 8 .b8 block[16]",
        ".shared .u32 s; .local .u32 l;\n\
         ld.param.u64 %rd1, [out]; mov.u64 %rd2, s; cvta.shared.u64 %rd2, %rd2; st.u32 [%rd2], 20;\n\
         mov.u64 %rd3, l; cvta.local.u64 %rd3, %rd3; st.u32 [%rd3], 300;\n\
         mov.b64 %rd4, block; cvta.param.u64 %rd4, %rd4; ld.u32 %r4, [%rd4+8]; mov.b64 %rd5, block; ld.param.u32 %r5, [%rd5+12];\n\
         ld.u32 %r1, [%rd1]; ld.u32 %r2, [%rd2]; ld.u32 %r3, [%rd3];\n\
         add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4; add.u32 %r1, %r1, %r5;\n\
         // One access, lanes in different spaces.\n\
         mov.u32 %r6, %laneid; setp.eq.u32 %p1, %r6, 0; selp.b64 %rd6, %rd1, %rd2, %p1; @%p1 st.u32 [%rd6+4], %r1;\n\
         ld.u32 %r7, [%rd6]; setp.eq.u32 %p2, %r7, 20; vote.sync.ballot.b32 %r8, %p2, -1;\n\
         @%p1 st.u32 [%rd1], %r8; ret;",
        &mut machine,
        32,
        0,
        &[out.into(), crate::machine::Arg::Bytes([0, 0, 4000, 50000])],
    );
    assert_eq!(machine.read(out, 2), [0xffff_fffe, 54331]);
}

#[test]
fn qualifiers_are_understood() {
    let mut machine = Machine::new();
    let out = machine.words(&[5, 0]);
    run(
        ".param .u64 .ptr .global .align 4 out",
        "ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd1, %rd1;\n\
         ld.volatile.global.u32 %r1, [%rd1]; ld.global.nc.u32 %r2, [%rd1]; ld.relaxed.gpu.global.u32 %r3, [%rd1];\n\
         ld.acquire.sys.global.u32 %r4, [%rd1]; ld.global.cg.u32 %r5, [%rd1]; ld.global.L1::no_allocate.u32 %r6, [%rd1];\n\
         ld.weak.global.ca.L2::128B.u32 %r7, [%rd1]; ldu.global.u32 %r8, [%rd1]; ld.global.nc.L1::evict_last.u32 %r9, [%rd1];\n\
         add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4; add.u32 %r1, %r1, %r5;\n\
         add.u32 %r1, %r1, %r6; add.u32 %r1, %r1, %r7; add.u32 %r1, %r1, %r8; add.u32 %r1, %r1, %r9;\n\
         membar.gl; membar.sys; fence.acq_rel.gpu; fence.sc.sys; prefetch.global.L2 [%rd1]; prefetchu.L1 [%rd1]; nanosleep.u32 20;\n\
         st.release.gpu.global.u32 [%rd1+4], %r1; st.volatile.global.u32 [%rd1], 1; st.global.wt.u32 [%rd1], 2;\n\
         st.relaxed.sys.global.u32 [%rd1], 3; ret;",
        &mut machine,
        1,
        0,
        args![out],
    );
    assert_eq!(machine.read(out, 2), [3, 45]);
}

#[test]
fn short_parameters_are_continued_with_zeros() {
    let mut machine = Machine::new();
    let out = machine.words(&[9, 9]);
    let text = kernel(
        ".param .u64 out, .param .u32 x, .param .u32 y",
        "ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [x]; ld.param.u32 %r2, [y]; st.global.v2.u32 [%rd1], {%r1, %r2}; ret;",
    );
    let function = parse(&text);
    let params = [out.to_le_bytes().to_vec(), 7u32.to_le_bytes().to_vec()].concat();
    let mut grid = Grid::new(function, [1; 3], [1; 3], 0, params.into());
    assert!(matches!(grid.run(&mut machine, u64::MAX), Progress::Done));
    assert_eq!(machine.read(out, 2), [7, 0]);
}

#[test]
fn host_memory_is_shared_with_running_threads() {
    // The kernel waits for the host, adds to what the host wrote, and tells the host; a hundred times.
    let text = kernel(
        ".param .u64 p",
        "ld.param.u64 %rd1, [p]; mov.u32 %r1, 0;\n\
         ROUND: add.u32 %r1, %r1, 1;\n\
         WAIT: ld.acquire.sys.global.u32 %r2, [%rd1]; setp.ne.u32 %p1, %r2, %r1; @%p1 bra WAIT;\n\
         ld.global.u32 %r3, [%rd1+8]; add.u32 %r3, %r3, 1; st.global.u32 [%rd1+8], %r3;\n\
         atom.global.add.u32 %r4, [%rd1+12], 2;\n\
         st.release.sys.global.u32 [%rd1+4], %r1; setp.lt.u32 %p1, %r1, 100; @%p1 bra ROUND; ret;",
    );
    let function = parse(&text);
    let mut machine = Machine::new();
    let page = machine.host(16);
    let word = |index: u64| {
        // SAFETY: the buffer lives until the machine is dropped, below, and everybody uses atomics on it.
        unsafe { AtomicU32::from_ptr(std::ptr::with_exposed_provenance_mut((page + 4 * index) as usize)) }
    };
    let mut grid = Grid::new(function.clone(), [1; 3], [1; 3], 0, pack(&function, args![page]));
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=100 {
                word(2).fetch_add(10, Ordering::Relaxed);
                word(3).fetch_add(1, Ordering::Relaxed);
                // Pairs with the kernel's acquire load, as its release store pairs with the load below.
                word(0).store(round, Ordering::Release);
                while word(1).load(Ordering::Acquire) != round {
                    thread::yield_now();
                }
            }
        });
        while let Progress::Running = grid.run(&mut machine, 10_000) {
            thread::yield_now();
        }
    });
    assert_eq!((word(2).load(Ordering::Relaxed), word(3).load(Ordering::Relaxed)), (1100, 300));
}
