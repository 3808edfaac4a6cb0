//! Exchange between the lanes of a warp, once all members have arrived.
//!
//! Members may have arrived at different places of the code; each place has its own registers for operands and results.

use crate::ptx::{
    op::{Collective, CollectiveKind, Reduction},
    registers::{ALL, LANES, Mask, Registers, lanes},
};

/// Lanes that arrived together, and the instruction they arrived at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) collective: Collective,
    pub(super) mask: Mask,
}

/// What the lanes bring.
struct Contributions {
    values: [u64; LANES],
    b: [u32; LANES],
    c: [u32; LANES],
}

/// Exchanges values between all lanes of the arrivals. All have the same kind and the same member mask.
pub(super) fn exchange(registers: &mut Registers, arrivals: &[Arrival]) {
    let Some(first) = arrivals.first() else { return };
    let kind = first.collective.kind;
    if kind == CollectiveKind::Wait {
        return;
    }
    let present = arrivals.iter().fold(0, |mask, arrival| mask | arrival.mask);
    let brought = gather(registers, arrivals);
    match kind {
        CollectiveKind::ShuffleUp
        | CollectiveKind::ShuffleDown
        | CollectiveKind::ShuffleButterfly
        | CollectiveKind::ShuffleIndex => shuffle(registers, arrivals, &brought, kind, present),
        CollectiveKind::VoteAll | CollectiveKind::VoteAny | CollectiveKind::VoteUniform | CollectiveKind::Ballot => {
            vote(registers, arrivals, &brought, kind, present)
        }
        CollectiveKind::MatchAny | CollectiveKind::MatchAnyLong => {
            for arrival in arrivals {
                for lane in lanes(arrival.mask) {
                    let same = |other: &usize| brought.values[*other] == brought.values[lane];
                    let mask = lanes(present).filter(same).fold(0, |mask, other| mask | 1 << other);
                    registers.words[usize::from(arrival.collective.d)][lane] = mask;
                }
            }
        }
        CollectiveKind::MatchAll | CollectiveKind::MatchAllLong => {
            let mut values = lanes(present).map(|lane| brought.values[lane]);
            let first = values.next();
            let same = values.all(|value| Some(value) == first);
            broadcast(registers, arrivals, if same { present } else { 0 }, same);
        }
        CollectiveKind::Reduce(reduction) => {
            let values = lanes(present).map(|lane| brought.values[lane] as u32);
            let value = values.reduce(|a, b| combine(reduction, a, b)).unwrap_or(0);
            broadcast(registers, arrivals, value, false);
        }
        CollectiveKind::Wait => {}
    }
}

fn gather(registers: &Registers, arrivals: &[Arrival]) -> Contributions {
    let mut brought = Contributions { values: [0; LANES], b: [0; LANES], c: [0; LANES] };
    for Arrival { collective, mask } in arrivals {
        let here = |lane: usize| mask & (1 << lane) != 0;
        let word = |slot: u16| &registers.words[usize::from(slot)];
        let Collective { kind, a, b, c, .. } = *collective;
        match kind {
            CollectiveKind::MatchAnyLong | CollectiveKind::MatchAllLong => {
                let values = &registers.longs[usize::from(a)];
                for lane in (0..LANES).filter(|lane| here(*lane)) {
                    brought.values[lane] = values[lane];
                }
            }
            CollectiveKind::VoteAll
            | CollectiveKind::VoteAny
            | CollectiveKind::VoteUniform
            | CollectiveKind::Ballot => {
                let values = registers.predicates[usize::from(a)];
                for lane in (0..LANES).filter(|lane| here(*lane)) {
                    brought.values[lane] = u64::from(values >> lane & 1);
                }
            }
            _ => {
                let (a, b, c) = (word(a), word(b), word(c));
                for lane in (0..LANES).filter(|lane| here(*lane)) {
                    brought.values[lane] = a[lane].into();
                    brought.b[lane] = b[lane];
                    brought.c[lane] = c[lane];
                }
            }
        }
    }
    brought
}

fn shuffle(
    registers: &mut Registers,
    arrivals: &[Arrival],
    brought: &Contributions,
    kind: CollectiveKind,
    present: Mask,
) {
    for Arrival { collective, mask } in arrivals {
        let mut inside = 0;
        for lane in lanes(*mask) {
            let own = lane as u32;
            let amount = brought.b[lane] & 31;
            let clamp = brought.c[lane] & 31;
            let segment = brought.c[lane] >> 8 & 31;
            let lowest = own & segment;
            let highest = lowest | clamp & !segment;
            let (source, valid) = match kind {
                CollectiveKind::ShuffleUp => {
                    let source = own.wrapping_sub(amount);
                    (source, source as i32 >= highest as i32)
                }
                CollectiveKind::ShuffleDown => (own + amount, own + amount <= highest),
                CollectiveKind::ShuffleButterfly => (own ^ amount, own ^ amount <= highest),
                _ => {
                    let source = lowest | amount & !segment;
                    (source, source <= highest)
                }
            };
            // Reading a lane that does not take part is undefined; here it reads its own value.
            let source = if valid && present >> source & 1 != 0 { source as usize } else { lane };
            registers.words[usize::from(collective.d)][lane] = brought.values[source] as u32;
            inside |= Mask::from(valid) << lane;
        }
        set_predicate(registers, collective, *mask, inside);
    }
}

fn vote(registers: &mut Registers, arrivals: &[Arrival], brought: &Contributions, kind: CollectiveKind, present: Mask) {
    let ballot = lanes(present).fold(0, |mask, lane| mask | (brought.values[lane] as Mask) << lane);
    match kind {
        CollectiveKind::Ballot => broadcast(registers, arrivals, ballot, false),
        kind => {
            let holds = match kind {
                CollectiveKind::VoteAll => ballot == present,
                CollectiveKind::VoteAny => ballot != 0,
                _ => ballot == 0 || ballot == present,
            };
            for Arrival { collective, mask } in arrivals {
                set_predicate(registers, collective, *mask, if holds { ALL } else { 0 });
            }
        }
    }
}

/// Gives every lane the same word and the same predicate.
fn broadcast(registers: &mut Registers, arrivals: &[Arrival], value: u32, holds: bool) {
    for Arrival { collective, mask } in arrivals {
        for lane in lanes(*mask) {
            registers.words[usize::from(collective.d)][lane] = value;
        }
        set_predicate(registers, collective, *mask, if holds { ALL } else { 0 });
    }
}

fn set_predicate(registers: &mut Registers, collective: &Collective, mask: Mask, bits: Mask) {
    let out = &mut registers.predicates[usize::from(collective.p)];
    *out = *out & !mask | bits & mask;
}

fn combine(reduction: Reduction, a: u32, b: u32) -> u32 {
    match reduction {
        Reduction::Add => a.wrapping_add(b),
        Reduction::MinUnsigned => a.min(b),
        Reduction::MinSigned => (a as i32).min(b as i32) as u32,
        Reduction::MaxUnsigned => a.max(b),
        Reduction::MaxSigned => (a as i32).max(b as i32) as u32,
        Reduction::And => a & b,
        Reduction::Or => a | b,
        Reduction::Xor => a ^ b,
    }
}
