//! Damaged texts: parsing returns, and what it accepts runs without crashing.

use std::sync::Arc;

use dacapo_sim::ptx::{Function, Grid, Module, Progress};

use crate::machine::{BASIC, DECODE, Machine, Numbers};

/// Runs every kernel of a module for a bounded time, with arguments that are partly sensible.
fn run_all(module: &Module, machine: &mut Machine, buffer: u64) {
    for function in module.functions() {
        let function: Arc<Function> = Arc::clone(function);
        let mut params = Vec::new();
        for word in 0..function.param_bytes().div_ceil(8) {
            let value = if word % 2 == 0 { buffer } else { 0x0000_0007_0000_0021 };
            params.extend_from_slice(&value.to_le_bytes());
        }
        let mut grid = Grid::new(function, [3, 1, 1], [48, 1, 1], 256, params.into());
        for _ in 0..4 {
            if !matches!(grid.run(machine, 5_000), Progress::Running) {
                break;
            }
        }
    }
}

fn check(text: &[u8], machine: &mut Machine, buffer: u64) -> bool {
    let text = String::from_utf8_lossy(text);
    match Module::parse(&text) {
        Ok(mut module) => {
            module.link(|_| buffer);
            run_all(&module, machine, buffer);
            true
        }
        Err(error) => {
            assert!(error.line >= 1 && error.line <= text.lines().count() + 1, "{error}");
            assert!(error.instruction.len() < 1000);
            assert!(!error.to_string().contains('\n'));
            false
        }
    }
}

#[test]
fn truncated_texts_are_refused_or_run() {
    let mut machine = Machine::new();
    let buffer = machine.words(&[1; 4096]);
    for text in [BASIC, DECODE] {
        let mut accepted = 0;
        for length in (0..text.len()).step_by(97).chain(text.len() - 50..=text.len()) {
            accepted += u32::from(check(&text.as_bytes()[..length], &mut machine, buffer));
        }
        assert!(accepted > 0, "the whole text is accepted");
    }
}

#[test]
fn flipped_bytes_are_refused_or_run() {
    let mut machine = Machine::new();
    let buffer = machine.words(&[1; 4096]);
    let mut numbers = Numbers(42);
    let (mut accepted, mut refused) = (0, 0);
    for text in [BASIC, DECODE] {
        for _ in 0..400 {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..1 + numbers.next() % 3 {
                let mut at = numbers.next() as usize % bytes.len();
                if numbers.next().is_multiple_of(2) {
                    // Another digit: another register, offset or width, which is often accepted.
                    at = (at..bytes.len()).find(|i| bytes[*i].is_ascii_digit()).unwrap_or(at);
                    bytes[at] = b'0' + (numbers.next() % 10) as u8;
                    continue;
                }
                bytes[at] = match numbers.next() % 4 {
                    0 => bytes[at] ^ 1 << (numbers.next() % 8),
                    1 => b"0123456789{}[]();,.%$@!|<>+-\"\n"[numbers.next() as usize % 30],
                    2 => text.as_bytes()[numbers.next() as usize % text.len()],
                    _ => numbers.next() as u8,
                };
            }
            match check(&bytes, &mut machine, buffer) {
                true => accepted += 1,
                false => refused += 1,
            }
        }
    }
    assert!(accepted > 50 && refused > 50, "{accepted} accepted, {refused} refused");
}

#[test]
fn shuffled_lines_and_tokens_are_refused_or_run() {
    let mut machine = Machine::new();
    let buffer = machine.words(&[1; 4096]);
    let mut numbers = Numbers(7);
    let mut accepted = 0;
    for text in [BASIC, DECODE] {
        let lines: Vec<&str> = text.lines().collect();
        for _ in 0..200 {
            let mut lines = lines.clone();
            for _ in 0..1 + numbers.next() % 4 {
                let (a, b) = (numbers.next() as usize % lines.len(), numbers.next() as usize % lines.len());
                match numbers.next() % 3 {
                    0 => lines.swap(a, b),
                    1 => lines[a] = lines[b],
                    _ => drop(lines.remove(a)),
                }
            }
            accepted += u32::from(check(lines.join("\n").as_bytes(), &mut machine, buffer));
        }
    }
    assert!(accepted > 20, "{accepted} accepted");
}
