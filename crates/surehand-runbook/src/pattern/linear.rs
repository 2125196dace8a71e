//! The machine for regular patterns: all possible states side by side, one pass over the value.
//!
//! (Thompson 1968; each unit of the value costs at most one visit to each instruction.)

use super::{
    Fit,
    budget::Budget,
    program::{Instruction, Program},
    units::is_word,
};

pub(super) fn fits(program: &Program, input: &[u16], budget: &mut Budget) -> Fit {
    let mut machine = Machine {
        program: program.instructions(),
        input,
        seen: vec![usize::MAX; program.instructions().len()],
        pending: Vec::new(),
        accepted: false,
    };
    let mut states = Vec::new();
    let mut next = Vec::new();
    if !machine.enter(0, 0, &mut states, budget) {
        return Fit::Unknown;
    }
    for (at, &unit) in input.iter().enumerate() {
        if states.is_empty() {
            return Fit::No;
        }
        machine.accepted = false;
        for state in states.drain(..) {
            if let Instruction::Unit { set, .. } = &machine.program[state]
                && set.contains(unit)
                && !machine.enter(state + 1, at + 1, &mut next, budget)
            {
                return Fit::Unknown;
            }
        }
        std::mem::swap(&mut states, &mut next);
    }
    if machine.accepted { Fit::Yes } else { Fit::No }
}

struct Machine<'a> {
    program: &'a [Instruction],
    input: &'a [u16],
    /// For each instruction, the last position at which it was entered.
    seen: Vec<usize>,
    pending: Vec<usize>,
    /// The end was reached at the current position.
    accepted: bool,
}

impl Machine<'_> {
    /// Follows everything that goes over no unit, and adds to `states` what waits for one. False when the
    /// budget is spent.
    fn enter(&mut self, address: usize, at: usize, states: &mut Vec<usize>, budget: &mut Budget) -> bool {
        self.pending.push(address);
        while let Some(address) = self.pending.pop() {
            if std::mem::replace(&mut self.seen[address], at) == at {
                continue;
            }
            if !budget.spend(1) {
                return false;
            }
            match &self.program[address] {
                Instruction::Unit { .. } => states.push(address),
                Instruction::Split(first, second) => self.pending.extend([*second, *first]),
                Instruction::Jump(target) => self.pending.push(*target),
                Instruction::Start if at == 0 => self.pending.push(address + 1),
                Instruction::End if at == self.input.len() => self.pending.push(address + 1),
                Instruction::WordBoundary { negated } if at_boundary(self.input, at) != *negated => {
                    self.pending.push(address + 1);
                }
                Instruction::Accept => self.accepted = true,
                // Assertions that do not hold; and what a regular program has not got.
                _ => {}
            }
        }
        true
    }
}

/// Whether a word begins or ends at this position.
pub(super) fn at_boundary(input: &[u16], at: usize) -> bool {
    let before = at > 0 && is_word(input[at - 1]);
    let after = input.get(at).copied().is_some_and(is_word);
    before != after
}
