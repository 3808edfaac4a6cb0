//! Telling a kernel that waits for something in memory from one that computes.

use std::collections::HashSet;

use crate::ptx;

/// How many states of a kernel are remembered: one that needs more of them to come round counts as computing.
const REMEMBERED: usize = 1 << 10;
/// From one look at a kernel's state to the next: at least so many turns, and one for so many bytes, so that looking
/// costs little in comparison with running. Always a power of two, as the turns of warps and blocks are: else all of
/// these come round together only after many looks.
const TURNS: usize = 16;
const BYTES_A_TURN: usize = 32 << 10;
/// A state of more bytes is not looked at: such a kernel counts as computing.
const MOST_BYTES: usize = 4 << 20;

/// The states that a kernel was in at the ends of some of its turns.
///
/// A kernel that is in a state that it was in before has read the same values as then, so it will go on so until memory
/// changes. (It may have written something meanwhile that it has yet to read. To take that for waiting does no harm:
/// the kernel still gets its turns, with a pause in between while nothing else moves.)
#[derive(Debug, Default)]
pub(super) struct Spin {
    seen: HashSet<u64>,
    /// Turns until the next look.
    pause: usize,
    circling: bool,
}

impl Spin {
    /// The kernel has had a turn: whether it was going in a circle when last looked at.
    pub(super) fn watch(&mut self, grid: &ptx::Grid) -> bool {
        if self.pause > 0 {
            self.pause -= 1;
            return self.circling;
        }
        let bytes = grid.state_bytes();
        self.pause = (bytes / BYTES_A_TURN).max(TURNS).next_power_of_two() - 1;
        self.circling = bytes <= MOST_BYTES && self.repeats(grid.fingerprint());
        self.circling
    }

    /// Whether the kernel was in this state before.
    fn repeats(&mut self, state: u64) -> bool {
        if self.seen.contains(&state) {
            return true;
        }
        if self.seen.len() == REMEMBERED {
            self.seen.clear();
        }
        self.seen.insert(state);
        false
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ptx;

    #[test]
    fn a_state_repeats_when_it_was_there_before() {
        let mut spin = Spin::default();
        let got: Vec<bool> = [1, 2, 3, 2, 3, 4, 1].into_iter().map(|state| spin.repeats(state)).collect();
        assert_eq!(got, [false, false, false, true, true, false, true]);
    }

    /// Bytes at device address 4096.
    struct Flat(Vec<u8>);

    // SAFETY: the bytes belong to the value that is borrowed mutably for as long as a grid runs on it, so they stay and
    // nobody else touches them.
    unsafe impl ptx::Memory for Flat {
        fn region(&mut self, address: u64) -> Option<ptx::Region> {
            let len = self.0.len() as u64;
            let region = ptx::Region { base: 4096, len, data: self.0.as_mut_ptr(), host_shared: false };
            (4096..4096 + len).contains(&address).then_some(region)
        }
    }

    /// How many of `turns` it takes until a launch of `body` repeats itself, if it does.
    fn turns_to_repeat(turns: u32, body: &str, blocks: u32, threads: u32) -> Option<u32> {
        let text = format!(
            ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{{\n.reg .b64 %a<4>;\n.reg .b32 %r<4>;\n\
             .reg .pred %p;\nmov.u64 %a1, 4096;\n{body}\nret;\n}}\n"
        );
        let module = ptx::Module::parse(&text).expect("a kernel");
        let function = Arc::clone(module.function("k").expect("it is there"));
        let mut grid = ptx::Grid::new(function, [blocks, 1, 1], [threads, 1, 1], 0, Box::default());
        let (mut memory, mut spin) = (Flat(vec![0; 64]), Spin::default());
        (1..=turns).find(|_| {
            let progress = grid.run(&mut memory, 1 << 16);
            assert!(matches!(progress, ptx::Progress::Running), "{progress:?}");
            spin.watch(&grid)
        })
    }

    #[test]
    fn kernels_that_wait_repeat_themselves_and_kernels_that_compute_do_not() {
        let wait = "LOOK: ld.volatile.global.u32 %r1, [%a1]; setp.eq.u32 %p, %r1, 0; @%p bra LOOK;";
        let lock = "LOOK: atom.global.cas.b32 %r1, [%a1], 1, 0; setp.eq.u32 %p, %r1, 0; @%p bra LOOK;";
        let one_of_many = "mov.u32 %r1, %tid.x; setp.ne.u32 %p, %r1, 0; @%p bra JOIN;\n\
                           LOOK: ld.volatile.global.u32 %r1, [%a1]; setp.eq.u32 %p, %r1, 0; @%p bra LOOK;\n\
                           JOIN: bar.sync 0;";
        let shapes = [(40, 256), (4, 1024), (1, 1), (1, 33), (3, 64)];
        for (body, shapes) in [(wait, &shapes[..]), (lock, &shapes[2..]), (one_of_many, &shapes[2..])] {
            for &(blocks, threads) in shapes {
                let turns = turns_to_repeat(2_000, body, blocks, threads);
                assert!(turns.is_some(), "{blocks} blocks of {threads} threads: {body}");
            }
        }
        let count = "AGAIN: add.u64 %a2, %a2, 1; bra AGAIN;";
        assert_eq!(turns_to_repeat(100, count, 1, 1), None);
        assert_eq!(turns_to_repeat(100, count, 4, 256), None);
        let watch = "AGAIN: mov.u64 %a2, %clock64; bra AGAIN;";
        assert_eq!(turns_to_repeat(100, watch, 1, 32), None);
    }

    #[test]
    fn only_so_many_states_are_remembered() {
        let mut spin = Spin::default();
        assert!((0..9000).all(|state| !spin.repeats(state)));
        assert!(!spin.repeats(0), "long forgotten");
        assert!(spin.repeats(8999));
    }
}
