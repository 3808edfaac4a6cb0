//! rule: which states rest is the driver's to say

use dacapo::Resting;

struct Paused;

impl Resting for Paused {}

fn main() {}
