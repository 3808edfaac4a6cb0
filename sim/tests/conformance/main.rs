//! The rules of the driver, as recorded on two H200 with driver 580 (CUDA 13.0): same calls, same codes, same states.
//!
//! Scenarios are text (`*.txt`; the language is described in [`script`]) and one big table (`matrix.txt`: one call while a stream
//! captures, in each mode, from the capturing thread and from another). A capture in the global mode forbids calls of every
//! thread of the process, so the tests of this binary take turns.

#[path = "../common/mod.rs"]
mod common;
mod graphs;
mod matrix;
mod script;
mod streams;
mod world;

use parking_lot::Mutex;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

macro_rules! scripts {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                let _turn = ONE_AT_A_TIME.lock();
                script::run_all(stringify!($name), include_str!(concat!(stringify!($name), ".txt")));
            }
        )*
    };
}
scripts!(begin_and_end forks events legacy_stream threads memory_nodes graphs updates contexts two_devices device_faults);

#[test]
fn one_call_while_a_stream_captures() {
    let _turn = ONE_AT_A_TIME.lock();
    matrix::run(include_str!("matrix.txt"));
}
