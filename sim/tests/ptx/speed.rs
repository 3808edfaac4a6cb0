//! How fast the interpreter is. Run with `cargo test --release -p dacapo-sim --test ptx speed -- --ignored --nocapture`.

use std::time::{Duration, Instant};

use dacapo_sim::ptx::Module;

use crate::machine::{DECODE, Machine, Numbers, args};

#[test]
#[ignore = "measures time"]
fn speed_of_matvec() {
    let module = Module::parse(DECODE).unwrap();
    let matvec = module.function("matvec").unwrap();
    let mut machine = Machine::new();
    let (rows, cols) = (352u32, 128u32);
    let w = machine.floats(&Numbers(1).units((rows * cols) as usize));
    let x = machine.floats(&Numbers(2).units(cols as usize));
    let out = machine.floats(&vec![0.0; rows as usize]);
    let start = Instant::now();
    let (mut instructions, mut launches) = (0, 0);
    while start.elapsed() < Duration::from_secs(2) {
        instructions += machine.launch(matvec, rows.div_ceil(4), 128, 0, args![w, x, out, rows, cols]).unwrap();
        launches += 1;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "matvec {rows}x{cols}: {:.0} million thread-instructions/s, {:.1} us a launch",
        instructions as f64 / seconds / 1e6,
        seconds / f64::from(launches) * 1e6
    );
}
