//! How fast the interpreter is:
//!
//! ```text
//! cargo test --release -p dacapo-sim --test ptx speed -- --ignored --nocapture --test-threads 1
//! ```

#![allow(clippy::print_stdout, reason = "the numbers are the point")]

use std::time::{Duration, Instant};

use dacapo_sim::ptx::Module;

use crate::machine::{Arg, DECODE, Machine, Numbers, args};

/// Runs `work`, which returns how many thread-instructions it executed, for two seconds.
fn measure(name: &str, mut work: impl FnMut() -> u64) {
    let (mut instructions, mut rounds) = (0, 0);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(2) {
        instructions += work();
        rounds += 1;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{name}: {:.0} million thread-instructions/s, {:.2} million in {:.2} ms",
        instructions as f64 / seconds / 1e6,
        instructions as f64 / f64::from(rounds) / 1e6,
        seconds / f64::from(rounds) * 1e3
    );
}

#[test]
#[ignore = "measures time"]
fn speed_of_matvec() {
    let module = Module::parse(DECODE).unwrap();
    let matvec = module.function("matvec").unwrap();
    let mut machine = Machine::new();
    for (rows, cols) in [(352u32, 128u32), (128, 352), (64, 4096)] {
        let w = machine.floats(&Numbers(1).units((rows * cols) as usize));
        let x = machine.floats(&Numbers(2).units(cols as usize));
        let out = machine.floats(&vec![0.0; rows as usize]);
        measure(&format!("matvec {rows} x {cols}"), || {
            machine.launch(matvec, rows.div_ceil(4), 128, 0, args![w, x, out, rows, cols]).unwrap()
        });
    }
}

/// One token of a model with 4 layers, width 128, 4 heads, hidden size 352, vocabulary 256, at the last of 256 positions.
#[test]
#[ignore = "measures time"]
fn speed_of_a_decode_step() {
    const WIDTH: u32 = 128;
    const HIDDEN: u32 = 352;
    const HEADS: u32 = 4;
    const CONTEXT: u32 = 256;
    const VOCABULARY: u32 = 256;
    let module = Module::parse(DECODE).unwrap();
    let mut machine = Machine::new();
    let mut numbers = Numbers(1);
    let mut random = |machine: &mut Machine, count: u32| machine.floats(&numbers.units(count as usize));
    let input = machine.words(&[65, CONTEXT - 1]);
    let table = random(&mut machine, VOCABULARY * WIDTH);
    let square = random(&mut machine, WIDTH * WIDTH);
    let up = random(&mut machine, HIDDEN * WIDTH);
    let norm = random(&mut machine, WIDTH);
    let angles = random(&mut machine, CONTEXT * WIDTH / HEADS);
    let (keys, values) = (random(&mut machine, CONTEXT * WIDTH), random(&mut machine, CONTEXT * WIDTH));
    let [x, y, q, k, v, mixed] = [(); 6].map(|()| random(&mut machine, WIDTH));
    let (gate, high) = (random(&mut machine, HIDDEN), random(&mut machine, HIDDEN));
    let logits = random(&mut machine, VOCABULARY);
    let token = machine.words(&[0]);
    let counter = machine.longs(&[0]);

    measure("decode step", || {
        let mut executed = 0;
        let mut launch = |name: &str, grid: u32, block: u32, shared: u32, args: &[Arg]| {
            executed += machine.launch(module.function(name).unwrap(), grid, block, shared, args).unwrap();
        };
        let (dim, half) = (WIDTH / HEADS, WIDTH / HEADS / 2);
        launch("embed", 1, 128, 0, args![input, table, x, WIDTH]);
        for _ in 0..4 {
            launch("rms_norm", 1, 128, 0, args![x, norm, y, WIDTH, 1e-5f32]);
            for out in [q, k, v] {
                launch("matvec", WIDTH / 4, 128, 0, args![square, y, out, WIDTH, WIDTH]);
            }
            let rope = args![input, q, k, v, angles, keys, values, HEADS, dim, CONTEXT];
            launch("rope_and_store", HEADS, half, 0, rope);
            let attention = args![input, q, keys, values, mixed, HEADS, dim, CONTEXT];
            launch("attention", HEADS, 128, 4 * CONTEXT, attention);
            launch("matvec_add", WIDTH / 4, 128, 0, args![square, mixed, x, WIDTH, WIDTH]);
            launch("rms_norm", 1, 128, 0, args![x, norm, y, WIDTH, 1e-5f32]);
            for out in [gate, high] {
                launch("matvec", HIDDEN / 4, 128, 0, args![up, y, out, HIDDEN, WIDTH]);
            }
            launch("silu_mul", HIDDEN.div_ceil(128), 128, 0, args![gate, high, gate, HIDDEN]);
            launch("matvec_add", WIDTH / 4, 128, 0, args![up, gate, x, WIDTH, HIDDEN]);
        }
        launch("rms_norm", 1, 128, 0, args![x, norm, y, WIDTH, 1e-5f32]);
        launch("matvec", VOCABULARY / 4, 128, 0, args![table, y, logits, VOCABULARY, WIDTH]);
        launch("argmax", 1, 128, 0, args![logits, token, VOCABULARY]);
        launch("count_step", 1, 1, 0, args![counter]);
        executed
    });
}
