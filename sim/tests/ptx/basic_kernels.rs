//! Every kernel of `kernels/basic.ptx` against the same computation in Rust, to the bit.

use dacapo_sim::ptx::{FaultKind, Grid, Module, Progress};

use crate::machine::{BASIC, Machine, Numbers, args, pack};

fn module() -> Module {
    Module::parse(BASIC).unwrap()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

#[test]
fn elementwise_kernels_touch_exactly_n_elements() {
    let module = module();
    let mut machine = Machine::new();
    for n in [0u32, 1, 31, 32, 33, 100, 1000] {
        let count = n as usize;
        let x = Numbers(1 + u64::from(n)).units(count + 1);
        let y = Numbers(77 + u64::from(n)).units(count + 1);
        let (a, b) = (machine.floats(&x), machine.floats(&y));
        let out = machine.floats(&vec![9.0; count + 1]);
        let blocks = n.div_ceil(128).max(1);

        let run = |machine: &mut Machine, name: &str, args: &[crate::machine::Arg]| {
            machine.launch(module.function(name).unwrap(), blocks, 128, 0, args).unwrap();
        };
        run(&mut machine, "add_f32", args![a, b, out, n]);
        let sums: Vec<f32> = x[..count].iter().zip(&y).map(|(x, y)| x + y).chain([9.0]).collect();
        assert_eq!(machine.read(out, count + 1), bits(&sums));

        run(&mut machine, "fill_f32", args![out, 2.5f32, n]);
        assert_eq!(machine.read(out, count + 1), bits(&[vec![2.5; count], vec![9.0]].concat()));

        run(&mut machine, "copy_u32", args![a, out, n]);
        assert_eq!(machine.read(out, count + 1), bits(&[&x[..count], &[9.0]].concat()));

        run(&mut machine, "scale_f32", args![out, 0.1f32, n]);
        let scaled: Vec<f32> = x[..count].iter().map(|x| x * 0.1).chain([9.0]).collect();
        assert_eq!(machine.read(out, count + 1), bits(&scaled));

        run(&mut machine, "saxpy_f32", args![1.7f32, a, b, n]);
        let saxpy: Vec<f32> = x[..count].iter().zip(&y).map(|(x, y)| 1.7 * x + y).chain([y[count]]).collect();
        assert_eq!(machine.read(b, count + 1), bits(&saxpy));
    }
}

#[test]
fn sums_are_added_in_the_documented_order() {
    let module = module();
    let sum = module.function("sum_f32").unwrap();
    let mut machine = Machine::new();
    for n in [0usize, 1, 255, 256, 257, 5000] {
        let values = Numbers(5 + n as u64).units(n);
        let input = machine.floats(&values);
        let out = machine.floats(&[0.0]);
        machine.launch(sum, 1, 256, 0, args![input, out, n as u32]).unwrap();
        let mut partial = [0f32; 256];
        for (i, value) in values.iter().enumerate() {
            partial[i % 256] += value;
        }
        let mut s = 128;
        while s > 0 {
            for t in 0..s {
                partial[t] += partial[t + s];
            }
            s /= 2;
        }
        assert_eq!(machine.read(out, 1), bits(&partial[..1]), "n = {n}");
    }
}

#[test]
fn counters_count_every_thread() {
    let module = module();
    let mut machine = Machine::new();
    let words = machine.words(&[u32::MAX]);
    machine.launch(module.function("increment_u32").unwrap(), 1, 1, 0, args![words]).unwrap();
    assert_eq!(machine.read(words, 1), [0]);
    machine.launch(module.function("increment_u32").unwrap(), 3, 100, 0, args![words]).unwrap();
    assert_eq!(machine.read(words, 1), [300]);
    let longs = machine.longs(&[u64::from(u32::MAX)]);
    machine.launch(module.function("increment_u64").unwrap(), 1, 1, 0, args![longs]).unwrap();
    assert_eq!(machine.read_longs(longs, 1), [1 << 32]);
}

#[test]
fn the_log_keeps_the_order_of_launches() {
    let module = module();
    let append = module.function("append_u32").unwrap();
    let mut machine = Machine::new();
    let (cursor, log) = (machine.words(&[0]), machine.words(&[0; 4]));
    for value in [7u32, 8, 9, 10] {
        machine.launch(append, 1, 1, 0, args![cursor, log, 3u32, value]).unwrap();
    }
    assert_eq!(machine.read(cursor, 1), [4]);
    assert_eq!(machine.read(log, 4), [7, 8, 9, 0]);
    machine.launch(module.function("store_u32").unwrap(), 1, 1, 0, args![log, 1234u32]).unwrap();
    assert_eq!(machine.read(log, 1), [1234]);
}

#[test]
fn spinning_ends_when_the_flag_is_set() {
    let module = module();
    let spin = module.function("spin_until").unwrap();
    let mut machine = Machine::new();
    let flag = machine.words(&[0]);
    let mut grid = Grid::new(spin.clone(), [1; 3], [1; 3], 0, pack(spin, args![flag]));
    for _ in 0..100 {
        assert!(matches!(grid.run(&mut machine, 1000), Progress::Running));
    }
    assert!(grid.instructions() >= 100_000);
    machine.write(flag, &[1]);
    assert!(matches!(grid.run(&mut machine, 1000), Progress::Done));
}

#[test]
fn faulty_kernels_fault_where_they_are_wrong() {
    let module = module();
    let mut machine = Machine::new();
    let line = |text: &str| BASIC.lines().position(|line| line.contains(text)).unwrap() + 1;

    let fault = machine.launch(module.function("trap").unwrap(), 2, 40, 0, &[]).unwrap_err();
    assert_eq!((fault.kind, fault.line), (FaultKind::Trap, line("\ttrap;")));
    assert_eq!((fault.block, fault.thread, &fault.instruction[..]), ([0; 3], [0; 3], "trap;"));

    let word = machine.words(&[5]);
    let store = module.function("store_out_of_bounds").unwrap();
    machine.launch(store, 1, 1, 0, args![word, 0u64]).unwrap();
    assert_eq!(machine.read(word, 1), [1]);
    let fault = machine.launch(store, 1, 1, 0, args![word, 4u64]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::OutOfBounds { address: word + 4, size: 4 });
    assert_eq!(fault.instruction, "st.global.u32 [%rd4], %r1;");
    let fault = machine.launch(store, 1, 1, 0, args![word, 2u64]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Misaligned { address: word + 2, size: 4 });
    let fault = machine.launch(store, 1, 1, 0, args![word, u64::MAX - word]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Misaligned { .. }), "{fault}");
}
