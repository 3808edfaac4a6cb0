//! A warp: 32 lanes that execute each instruction together as long as they agree where to go.
//!
//! Lanes that went different ways form groups, each with its own position. The group with the smallest position runs;
//! groups that meet become one again, so lanes reconverge where their ways join. Groups that wait for lanes of other
//! groups are parked.
//!
//! 1. Every live lane is in exactly one group: the running one, a ready one, or a parked one.
//! 2. What runs depends on what ran before, not on where a budget ended: a run that was cut goes on with the same group.
//! 3. A turn is a bounded number of instructions. Every other turn goes to another group than the one with the smallest
//!    position, so that lanes which spin at a small position cannot starve the lane they wait for.

use super::{
    LaneFault, Surroundings,
    collective::{self, Arrival},
    existing,
    special::Reader,
};
use crate::ptx::{
    fault::FaultKind,
    op::{Barrier, BarrierKind, Collective, Instr, Op},
    registers::{LANES, Mask, Registers, Value, lanes},
};

/// Thread-instructions in a turn of a warp.
const TURN: u64 = 1 << 14;

/// Lanes at the same position.
#[derive(Debug, Clone, Copy, Hash)]
struct Group {
    position: u32,
    mask: Mask,
}

/// What a parked group waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Waiting {
    /// The members of a warp-wide instruction.
    Members(Mask),
    /// A barrier of the block.
    Barrier(u32),
}

#[derive(Debug, Clone, Copy, Hash)]
struct Parked {
    group: Group,
    waiting: Waiting,
}

/// Why a warp stopped running.
#[derive(Debug)]
pub(super) enum Stop {
    /// The budget is spent.
    Budget,
    /// The turn is over.
    Turn,
    /// No lane can go on by itself.
    Blocked,
    /// Lanes arrived at a barrier.
    Arrived(Arrived),
    /// Lanes have exited, so that barriers may be complete.
    Exited,
    Fault(WarpFault),
}

/// Lanes that arrived at a barrier. They are parked, unless they only announce themselves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrived {
    pub(super) id: u32,
    pub(super) expected: Option<u32>,
    pub(super) lanes: u32,
    /// How many of them hold the predicate of a reduction.
    pub(super) holding: u32,
    /// The first of them, and where they are.
    pub(super) lane: usize,
    pub(super) position: u32,
}

/// A fault, the lane that made it, and the position of the instruction.
#[derive(Debug, Clone, Copy)]
pub(super) struct WarpFault {
    pub(super) kind: FaultKind,
    pub(super) lane: usize,
    pub(super) position: u32,
}

#[derive(Debug, Default, Hash)]
pub(super) struct Warp {
    registers: Registers,
    /// The number within the block.
    index: u32,
    live: Mask,
    /// The running group; an empty mask when there is none.
    position: u32,
    mask: Mask,
    /// Where the running group meets another one, so that the choice has to be made again.
    meeting: u32,
    ready: Vec<Group>,
    parked: Vec<Parked>,
    /// What is left of the turn.
    turn: u64,
    /// Whether this turn goes to another group than the first.
    fair: bool,
    /// Where the search for a fair group begins.
    cursor: u32,
}

impl Warp {
    /// Prepares the warp for a new block. `threads` is how many of the block's threads it and later warps have.
    pub(super) fn reset(&mut self, registers: &Registers, index: u32, threads: u32) {
        self.registers.reset_to(registers);
        self.index = index;
        self.live = existing(threads);
        self.position = 0;
        self.mask = self.live;
        self.meeting = u32::MAX;
        self.ready.clear();
        self.parked.clear();
        self.turn = TURN;
        self.fair = false;
        self.cursor = 0;
    }

    /// About how many bytes of state it has.
    pub(super) fn state_bytes(&self) -> usize {
        size_of_val(&*self.registers.words) + size_of_val(&*self.registers.longs)
    }

    pub(super) fn live(&self) -> u32 {
        self.live.count_ones()
    }

    /// Whether a lane can go on.
    pub(super) fn can_run(&self) -> bool {
        self.mask != 0 || !self.ready.is_empty()
    }

    /// Ends the turn: the next one goes to another group if there is one.
    pub(super) fn end_turn(&mut self) {
        self.turn = TURN;
        self.set_aside();
        self.fair = !self.fair && self.ready.len() > 1;
    }

    /// The first lane that waits for others, and where.
    pub(super) fn first_waiting(&self) -> Option<(usize, u32)> {
        let lane = |parked: &Parked| parked.group.mask.trailing_zeros() as usize;
        self.parked.iter().map(|parked| (lane(parked), parked.group.position)).min()
    }

    /// Lets the lanes go on that wait at a barrier. `arrived` and `holding` are the threads that arrived and those whose
    /// predicate held.
    pub(super) fn release(&mut self, code: &[Instr], id: u32, arrived: u32, holding: u32) {
        for index in (0..self.parked.len()).rev() {
            let Parked { group, waiting } = self.parked[index];
            if waiting != Waiting::Barrier(id) {
                continue;
            }
            self.parked.swap_remove(index);
            if let Some(Op::Barrier(barrier)) = code.get(group.position as usize).map(|instr| instr.op) {
                deliver(&mut self.registers, &barrier, group.mask, arrived, holding);
            }
            self.ready.push(Group { position: group.position + 1, ..group });
        }
        self.set_aside();
    }

    /// Puts the running group among the ready ones.
    fn set_aside(&mut self) {
        if self.mask != 0 {
            self.ready.push(Group { position: self.position, mask: self.mask });
            self.mask = 0;
        }
    }

    /// Chooses the group to run and merges it with others at its position; false when no group is ready.
    fn choose(&mut self) -> bool {
        self.set_aside();
        let Some(smallest) = self.ready.iter().map(|group| group.position).min() else { return false };
        // Of the groups beyond the first, the one with the next lane in turn.
        let distance = |group: &&Group| group.mask.rotate_right(self.cursor).trailing_zeros();
        let others = self.ready.iter().filter(|group| self.fair && group.position != smallest);
        let chosen = others.min_by_key(distance).map(|group| group.position);
        self.position = chosen.unwrap_or(smallest);
        let together = self.ready.iter().filter(|group| group.position == self.position);
        self.mask = together.fold(0, |mask, group| mask | group.mask);
        self.ready.retain(|group| group.position != self.position);
        self.meeting = u32::MAX;
        if chosen.is_some() {
            let lane = self.mask.rotate_right(self.cursor).trailing_zeros() + self.cursor;
            self.cursor = (lane + 1) % LANES as u32;
        } else if let Some(next) = self.ready.iter().map(|group| group.position).min() {
            self.meeting = next;
        }
        true
    }

    /// Runs until something stops it. Adds the thread-instructions executed to `spent`, which may pass `budget` by one
    /// instruction of the warp.
    pub(super) fn run(&mut self, surroundings: &mut Surroundings<'_, '_>, budget: u64, spent: &mut u64) -> Stop {
        let function = surroundings.function;
        let code = &function.code[..];
        let limit = budget.min(self.turn);
        let mut used = 0;
        let stop = loop {
            if used >= limit {
                break if used >= self.turn { Stop::Turn } else { Stop::Budget };
            }
            if (self.mask == 0 || self.position >= self.meeting) && !self.choose() {
                break Stop::Blocked;
            }
            let Some(instr) = code.get(self.position as usize) else {
                // Lowering ends the code with an exit, so nothing gets here.
                self.exit(code, self.mask);
                break Stop::Exited;
            };
            used += u64::from(self.mask.count_ones());
            let active = self.mask & (self.registers.predicates[usize::from(instr.guard)] ^ instr.flip);
            if active == 0 {
                self.position += 1;
                continue;
            }
            let result = match &instr.op {
                Op::Alu(run, slots) => {
                    run(&mut self.registers, slots, active);
                    Ok(())
                }
                Op::Load(access) => surroundings.load(&mut self.registers, access, active),
                Op::Store(access) => surroundings.store(&self.registers, access, active),
                Op::Parameter(parameter) => surroundings.parameter(&mut self.registers, parameter, active),
                Op::Branch(target) => {
                    self.branch(active, *target);
                    continue;
                }
                Op::Special(special, d) => {
                    let clock = surroundings.executed + *spent + used;
                    let reader = Reader { warp: self.index, active, clock };
                    surroundings.special(&mut self.registers, *special, *d, active, reader);
                    Ok(())
                }
                Op::Atomic(atomic) => surroundings.atomic(&mut self.registers, atomic, active),
                Op::Collective(collective) => match self.meet(code, collective, active) {
                    Ok(()) => continue,
                    Err(fault) => Err(fault),
                },
                Op::Barrier(barrier) => match self.arrive(barrier, active) {
                    Ok(arrived) => break Stop::Arrived(arrived),
                    Err(fault) => Err(fault),
                },
                Op::BranchTable { index, table } => {
                    let targets = function.tables.get(*table as usize).map_or(&[][..], |t| t);
                    match self.branch_table(*index, targets, active) {
                        Ok(()) => continue,
                        Err(fault) => Err(fault),
                    }
                }
                Op::System(index) => match function.system.get(*index as usize) {
                    Some(call) => surroundings.system(*call, active),
                    None => Ok(()),
                },
                Op::Exit => {
                    self.exit(code, active);
                    break Stop::Exited;
                }
                Op::Trap => Err(LaneFault { lane: active.trailing_zeros() as usize, kind: FaultKind::Trap }),
                Op::Fence => {
                    // Pairs with the fences or acquire and release operations of host threads on the same memory.
                    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
                    Ok(())
                }
                Op::Nothing => Ok(()),
            };
            if let Err(LaneFault { lane, kind }) = result {
                break Stop::Fault(WarpFault { kind, lane, position: self.position });
            }
            self.position += 1;
        };
        self.turn -= used.min(self.turn);
        *spent += used;
        stop
    }

    /// Sends the lanes of `taken` to `target` and the others on.
    fn branch(&mut self, taken: Mask, target: u32) {
        if taken == self.mask {
            self.position = target;
            return;
        }
        self.ready.push(Group { position: target, mask: taken });
        self.position += 1;
        self.mask &= !taken;
        if !self.fair {
            // The choice is made again at once if the other group is first.
            self.meeting = self.meeting.min(target);
        }
    }

    fn branch_table(&mut self, index: u16, targets: &[u32], active: Mask) -> Result<(), LaneFault> {
        let indices = self.registers.words[usize::from(index)];
        if let Some(lane) = lanes(active).find(|lane| indices[*lane] as usize >= targets.len()) {
            return Err(LaneFault { lane, kind: FaultKind::BranchIndex { index: indices[lane] } });
        }
        for lane in lanes(active) {
            self.ready.push(Group { position: targets[indices[lane] as usize], mask: 1 << lane });
        }
        self.mask &= !active;
        self.position += 1;
        self.meeting = 0;
        Ok(())
    }

    /// Ends lanes. Those that waited for them may go on.
    fn exit(&mut self, code: &[Instr], exiting: Mask) {
        self.live &= !exiting;
        self.mask &= !exiting;
        self.position += 1;
        let waiting: Vec<Mask> = self
            .parked
            .iter()
            .filter_map(|parked| match parked.waiting {
                Waiting::Members(members) => Some(members),
                Waiting::Barrier(_) => None,
            })
            .collect();
        for members in waiting {
            self.complete(code, members);
        }
    }

    /// Lanes arrive at a warp-wide instruction.
    fn meet(&mut self, code: &[Instr], collective: &Collective, active: Mask) -> Result<(), LaneFault> {
        let members = self.registers.words[usize::from(collective.members)];
        if let Some(lane) = lanes(active).find(|lane| members[*lane] >> lane & 1 == 0) {
            return Err(LaneFault { lane, kind: FaultKind::NotAMember { members: members[lane] } });
        }
        let first = members[active.trailing_zeros() as usize & (LANES - 1)];
        if first & self.live == active && lanes(active).all(|lane| members[lane] == first) {
            collective::exchange(&mut self.registers, &[Arrival { collective: *collective, mask: active }]);
            self.position += 1;
            return Ok(());
        }
        // Some members are still elsewhere: wait for them, apart for each member mask.
        let mut left = active;
        while left != 0 {
            let members_here = members[left.trailing_zeros() as usize];
            let together = lanes(left).filter(|lane| members[*lane] == members_here);
            let mask = together.fold(0, |mask, lane| mask | 1 << lane);
            let group = Group { position: self.position, mask };
            self.parked.push(Parked { group, waiting: Waiting::Members(members_here) });
            left &= !mask;
        }
        self.mask &= !active;
        self.position += 1;
        for lane in lanes(active) {
            self.complete(code, members[lane]);
        }
        // Groups may have become ready at smaller positions.
        self.meeting = 0;
        Ok(())
    }

    /// Executes the warp-wide instructions with these members for which all members have arrived.
    fn complete(&mut self, code: &[Instr], members: Mask) {
        let instruction = |parked: &Parked| match code.get(parked.group.position as usize) {
            Some(instr) => match instr.op {
                Op::Collective(collective) if parked.waiting == Waiting::Members(members) => Some(collective),
                _ => None,
            },
            None => None,
        };
        let Some(kind) = self.parked.iter().find_map(instruction).map(|collective| collective.kind) else { return };
        let arrivals: Vec<Arrival> = self
            .parked
            .iter()
            .filter_map(|parked| Some(Arrival { collective: instruction(parked)?, mask: parked.group.mask }))
            .filter(|arrival| arrival.collective.kind == kind)
            .collect();
        let present = arrivals.iter().fold(0, |mask, arrival| mask | arrival.mask);
        if members & self.live & !present != 0 {
            return;
        }
        collective::exchange(&mut self.registers, &arrivals);
        for index in (0..self.parked.len()).rev() {
            let parked = self.parked[index];
            if instruction(&parked).is_some_and(|collective| collective.kind == kind) {
                self.parked.swap_remove(index);
                self.ready.push(Group { position: parked.group.position + 1, ..parked.group });
            }
        }
    }

    /// Lanes arrive at a barrier of the block.
    fn arrive(&mut self, barrier: &Barrier, active: Mask) -> Result<Arrived, LaneFault> {
        let first = active.trailing_zeros() as usize & (LANES - 1);
        let word = |slot: u16, lane: usize| self.registers.words[usize::from(slot)][lane];
        let id = word(barrier.id, first);
        let expected = barrier.count.map(|slot| word(slot, first));
        let invalid = |lane| Err(LaneFault { lane, kind: FaultKind::InvalidBarrier });
        if id > 15 || expected.is_some_and(|count| count == 0 || count % LANES as u32 != 0) {
            return invalid(first);
        }
        let differs =
            |lane: &usize| word(barrier.id, *lane) != id || barrier.count.map(|slot| word(slot, *lane)) != expected;
        if let Some(lane) = lanes(active).find(differs) {
            return invalid(lane);
        }
        let holding = (self.registers.predicates[usize::from(barrier.a)] & active).count_ones();
        let arrived =
            Arrived { id, expected, lanes: active.count_ones(), holding, lane: first, position: self.position };
        if barrier.kind != BarrierKind::Arrive {
            let group = Group { position: self.position, mask: active };
            self.parked.push(Parked { group, waiting: Waiting::Barrier(id) });
            self.mask &= !active;
        }
        self.position += 1;
        Ok(arrived)
    }
}

/// Gives the lanes of `mask` the result of a barrier that `arrived` threads reached, `holding` of them with the predicate.
fn deliver(registers: &mut Registers, barrier: &Barrier, mask: Mask, arrived: u32, holding: u32) {
    match barrier.kind {
        BarrierKind::Sync | BarrierKind::Arrive => {}
        BarrierKind::Count => u32::store(registers, barrier.d, mask, |_| holding),
        BarrierKind::And => bool::store(registers, barrier.d, mask, |_| holding == arrived),
        BarrierKind::Or => bool::store(registers, barrier.d, mask, |_| holding > 0),
    }
}
