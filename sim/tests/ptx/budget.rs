//! A launch can be cut anywhere: budgets change neither its results nor its number of instructions.

use dacapo_sim::ptx::{Grid, Module, Progress};

use crate::machine::{Arg, BASIC, DECODE, Machine, Numbers, args, pack};

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
