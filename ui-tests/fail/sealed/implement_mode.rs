//! rule: the driver has three capture modes

use dacapo::Mode;

#[derive(Clone, Copy)]
struct Exclusive;

impl Mode for Exclusive {}

fn main() {}
