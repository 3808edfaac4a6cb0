//! A launch can be cut anywhere: budgets change neither its results nor its number of instructions.

use dacapo_sim::ptx::{Grid, Module, Progress};

use crate::machine::{Arg, BASIC, DECODE, Machine, Numbers, args, kernel, pack, parse};

/// Runs a kernel with a budget and returns how many runs it took and how many instructions.
fn run(
    machine: &mut Machine,
    module: &Module,
    name: &str,
    shape: (u32, u32, u32),
    args: &[Arg],
    budget: u64,
) -> (u64, u64) {
    let function = module.function(name).unwrap();
    let (blocks, threads, shared) = shape;
    let mut grid = Grid::new(function.clone(), [blocks, 1, 1], [threads, 1, 1], shared, pack(function, args));
    for runs in 1.. {
        match grid.run(machine, budget) {
            Progress::Done => return (runs, grid.instructions()),
            Progress::Running => {}
            Progress::Fault(fault) => panic!("{fault}"),
        }
    }
    unreachable!()
}

#[test]
fn any_budget_gives_the_same_result() {
    let (basic, decode) = (Module::parse(BASIC).unwrap(), Module::parse(DECODE).unwrap());
    let mut results = Vec::new();
    for budget in [1, 31, 32, 33, 1000, 4096, 100_003, u64::MAX] {
        let mut machine = Machine::new();
        let input = machine.floats(&Numbers(1).units(3000));
        let out = machine.floats(&[0.0; 64]);
        let sum = run(&mut machine, &basic, "sum_f32", (1, 256, 0), args![input, out, 3000u32], budget);
        let position = machine.words(&[0, 19]);
        let args = args![position, input, input, input, out, 2u32, 32u32, 20u32];
        let attention = run(&mut machine, &decode, "attention", (2, 128, 80), args, budget);
        assert!(budget > 4096 || sum.0 > 1, "the budget cut nothing");
        results.push((sum.1, attention.1, machine.read(out, 64)));
    }
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn any_budget_gives_the_same_order_of_spinning_threads() {
    // Threads of three blocks take a lock one after the other and log who had it.
    let text = kernel(
        ".param .u64 lock, .param .u64 log",
        "ld.param.u64 %rd1, [lock]; ld.param.u64 %rd2, [log]; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %tid.x;\n\
         mad.lo.u32 %r5, %r4, 1000, %r5;\n\
         SPIN: atom.global.cas.b32 %r1, [%rd1], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra SPIN;\n\
         ld.global.u32 %r2, [%rd2]; add.u32 %r2, %r2, 1; st.global.u32 [%rd2], %r2;\n\
         mul.wide.u32 %rd3, %r2, 4; add.u64 %rd3, %rd2, %rd3; st.global.u32 [%rd3], %r5;\n\
         atom.global.exch.b32 %r1, [%rd1], 0; ret;",
    );
    let function = parse(&text);
    let mut results = Vec::new();
    for budget in [1, 33, 5000, 16_384, 100_003, 1 << 20, u64::MAX] {
        let mut machine = Machine::new();
        let (lock, log) = (machine.words(&[0]), machine.words(&[0; 200]));
        let mut grid = Grid::new(function.clone(), [3, 1, 1], [64, 1, 1], 0, pack(&function, args![lock, log]));
        loop {
            match grid.run(&mut machine, budget) {
                Progress::Done => break,
                Progress::Running => {}
                Progress::Fault(fault) => panic!("{fault}"),
            }
        }
        results.push((grid.instructions(), machine.read(log, 200)));
    }
    assert_eq!(results[0].1[0], 192);
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_run_keeps_to_its_budget() {
    let module = Module::parse(BASIC).unwrap();
    let function = module.function("sum_f32").unwrap();
    let mut machine = Machine::new();
    let input = machine.floats(&Numbers(1).units(10_000));
    let out = machine.floats(&[0.0]);
    let mut grid = Grid::new(function.clone(), [1; 3], [256, 1, 1], 0, pack(function, args![input, out, 10_000u32]));
    let mut before = 0;
    while let Progress::Running = grid.run(&mut machine, 500) {
        let executed = grid.instructions() - before;
        assert!((500..532).contains(&executed), "{executed}");
        before = grid.instructions();
    }
}

#[test]
fn regions_are_asked_for_in_every_run_and_then_remembered() {
    let module = Module::parse(BASIC).unwrap();
    let function = module.function("sum_f32").unwrap();
    let mut machine = Machine::new();
    let input = machine.floats(&Numbers(1).units(10_000));
    let out = machine.floats(&[0.0]);
    machine.launch(function, 1, 256, 0, args![input, out, 10_000u32]).unwrap();
    assert_eq!(machine.lookups(), 2);
}
