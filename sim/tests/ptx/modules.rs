//! What a module says about itself, and its variables.

use dacapo_sim::ptx::{Module, Param};

use crate::machine::{Machine, args};

#[test]
fn modules_are_shared_and_launches_move_between_threads() {
    fn shared<T: Send + Sync>() {}
    fn moved<T: Send>() {}
    shared::<Module>();
    shared::<dacapo_sim::ptx::Function>();
    shared::<dacapo_sim::ptx::ParseError>();
    shared::<dacapo_sim::ptx::Fault>();
    moved::<dacapo_sim::ptx::Grid>();
}

#[test]
fn functions_describe_themselves() {
    let text = ".version 8.0\n.target sm_90, debug\n.address_size 64\n\
        .visible .entry first(.param .u8 a, .param .u64 b, .param .align 16 .b8 c[20], .param .f32 d)\n\
        .maxntid 64, 2, 1 .minnctapersm 2 { .shared .align 16 .b8 s[24]; .local .align 8 .b8 l[12]; .reg .b32 %r<3>; mov.u32 %r1, 5; ret; }\n\
        .entry second() .reqntid 128 { ret; }\n.weak .entry third { exit; }\n.func unused() { ret; }";
    let module = Module::parse(text).unwrap();
    let names: Vec<&str> = module.functions().iter().map(|f| f.name()).collect();
    assert_eq!(names, ["first", "second", "third"]);
    let first = module.function("first").unwrap();
    let param = |offset, size, align| Param { offset, size, align };
    assert_eq!(first.params(), [param(0, 1, 1), param(8, 8, 8), param(16, 20, 16), param(36, 4, 4)]);
    assert_eq!((first.param_bytes(), first.static_shared_bytes(), first.local_bytes()), (40, 24, 12));
    assert_eq!(first.max_threads_per_block(), Some(128));
    assert!(first.register_count() >= 1);
    assert_eq!(module.function("second").unwrap().max_threads_per_block(), Some(128));
    assert_eq!(module.function("third").unwrap().max_threads_per_block(), None);
    assert!(module.function("unused").is_none());
}

const VARIABLES: &str = ".version 8.0\n.target sm_70\n.address_size 64\n\
    .global .align 4 .u32 counter = 41;\n\
    .const .align 4 .f32 table[4] = {0f3F800000, 2.5, -0f40400000};\n\
    .global .align 8 .u64 pointers[3] = {table, generic(counter), counter+4};\n\
    .global .align 1 .b8 text[6] = {104, 105, 0xFF};\n\
    .global .align 8 .f64 wide = 0d3FF8000000000000;\n\
    .global .s32 negative = -2;\n\
    .extern .global .u32 elsewhere;\n\
    .visible .entry k(.param .u64 out) { .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<4>;\n\
    ld.param.u64 %rd1, [out]; ld.global.u32 %r1, [counter]; add.u32 %r1, %r1, 1; st.global.u32 [counter], %r1;\n\
    ld.const.f32 %f1, [table+4]; mov.u64 %rd2, table; ld.const.f32 %f2, [%rd2+8]; add.f32 %f1, %f1, %f2; st.global.f32 [%rd1], %f1;\n\
    ld.global.u64 %rd3, [pointers+8]; ld.u32 %r2, [%rd3]; st.global.u32 [%rd1+4], %r2;\n\
    mov.u64 %rd4, counter; cvta.global.u64 %rd4, %rd4; atom.add.u32 %r3, [%rd4], 10; st.global.u32 [%rd1+8], %r3; ret; }";

#[test]
fn variables_have_sizes_and_initial_bytes() {
    let mut module = Module::parse(VARIABLES).unwrap();
    let sizes: Vec<(String, u64, u64, bool)> =
        module.globals().iter().map(|g| (g.name().to_owned(), g.size(), g.align(), g.is_constant())).collect();
    let want = [
        ("counter", 4, 4, false),
        ("table", 16, 4, true),
        ("pointers", 24, 8, false),
        ("text", 6, 1, false),
        ("wide", 8, 8, false),
        ("negative", 4, 4, false),
    ];
    assert_eq!(sizes, want.map(|(name, size, align, constant)| (name.to_owned(), size, align, constant)));
    let mut next = 0x1000;
    module.link(|_| {
        next += 0x1000;
        next
    });
    let initial = |index: usize| module.globals()[index].initial();
    assert_eq!(initial(0), 41u32.to_le_bytes());
    assert_eq!(initial(1), [1f32, 2.5, -3.0].map(f32::to_le_bytes).concat());
    assert_eq!(initial(2), [0x3000u64, 0x2000, 0x2004].map(u64::to_le_bytes).concat());
    assert_eq!(initial(3), [104, 105, 255]);
    assert_eq!(initial(4), 1.5f64.to_le_bytes());
    assert_eq!(initial(5), (-2i32).to_le_bytes());
}

#[test]
fn kernels_reach_linked_variables() {
    let mut module = Module::parse(VARIABLES).unwrap();
    let mut machine = Machine::new();
    let bases = machine.link(&mut module);
    let out = machine.words(&[0; 3]);
    machine.launch(module.function("k").unwrap(), 1, 1, 0, args![out]).unwrap();
    assert_eq!(machine.read(out, 3), [(2.5f32 - 3.0).to_bits(), 42, 42]);
    assert_eq!(machine.read(bases[0], 1), [52]);
}

#[test]
fn debug_information_is_skipped() {
    let text = ".version 8.0\n.target sm_70\n.address_size 64\n.file 1 \"/some/where.cu\"\n\
        .visible .entry k() {\n.loc 1 3 1\n.reg .b32 %r<2>;\n.loc 1 4 9, function_name $L__info, inlined_at 1 2 3\n\
        mov.u32 %r1, 1; // comment\n/* two\nlines */ .pragma \"nounroll\";\nret;\n}\n\
        .section .debug_abbrev {\n.b8 1\n.b8 17\n{ .b32 $L__x }\n}\n.section .debug_loc { }\n";
    assert!(Module::parse(text).is_ok());
}
