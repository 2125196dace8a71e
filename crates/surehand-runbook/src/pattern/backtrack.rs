//! The machine for patterns with look-around and back references: one state at a time, with a way back.
//!
//! This is the matching of ECMA-262 section 22.2.2, with the choices on a stack of our own instead of in
//! continuations. It can take exponential time, so each step is paid for.

use super::{
    Fit,
    budget::Budget,
    linear::at_boundary,
    program::{Instruction, Program},
};

/// What one step costs, in steps of the linear machine: it also bounds the memory of the stack.
const COST: u64 = 20;

/// A slot that remembers nothing.
const NOTHING: usize = usize::MAX;

pub(super) fn fits(program: &Program, input: &[u16], budget: &mut Budget) -> Fit {
    let mut machine = Machine {
        program: program.instructions(),
        input,
        slots: vec![NOTHING; program.slots()],
        stack: Vec::new(),
        budget,
    };
    match machine.run(0, 0, true) {
        Ok(true) => Fit::Yes,
        Ok(false) => Fit::No,
        Err(Spent) => Fit::Unknown,
    }
}

/// The budget ran out.
struct Spent;

enum Frame {
    /// Another way to go on.
    Choice { address: usize, at: usize },
    /// A slot's value from before.
    Restore { slot: usize, value: usize },
}

struct Machine<'a> {
    program: &'a [Instruction],
    input: &'a [u16],
    slots: Vec<usize>,
    stack: Vec<Frame>,
    budget: &'a mut Budget,
}

impl Machine<'_> {
    /// Runs from here to an `Accept`; to one at the end of the value if it must be `whole`. Recursion is as
    /// deep as look-arounds nest in the pattern.
    fn run(&mut self, address: usize, at: usize, whole: bool) -> Result<bool, Spent> {
        let base = self.stack.len();
        let (mut address, mut at) = (address, at);
        loop {
            if !self.budget.spend(COST) {
                return Err(Spent);
            }
            let next = match &self.program[address] {
                Instruction::Accept if !whole || at == self.input.len() => {
                    if !whole {
                        self.commit(base);
                    }
                    return Ok(true);
                }
                Instruction::Accept => None,
                Instruction::Unit { set, back } => step(self.input, at, *back)
                    .filter(|(unit, _)| set.contains(*unit))
                    .map(|(_, to)| (address + 1, to)),
                Instruction::Split(first, second) => {
                    self.stack.push(Frame::Choice { address: *second, at });
                    Some((*first, at))
                }
                Instruction::Jump(target) => Some((*target, at)),
                Instruction::Save(slot) => {
                    self.set(*slot, at);
                    Some((address + 1, at))
                }
                Instruction::Forget(slots) => {
                    for slot in slots.clone() {
                        self.set(slot, NOTHING);
                    }
                    Some((address + 1, at))
                }
                Instruction::Moved(slot) => (self.slots[*slot] != at).then_some((address + 1, at)),
                Instruction::Start => (at == 0).then_some((address + 1, at)),
                Instruction::End => (at == self.input.len()).then_some((address + 1, at)),
                Instruction::WordBoundary { negated } => {
                    (at_boundary(self.input, at) != *negated).then_some((address + 1, at))
                }
                Instruction::BackReference { group, back } => {
                    self.repeated(*group, at, *back)?.map(|to| (address + 1, to))
                }
                Instruction::Look { negated, after } => {
                    let before = self.stack.len();
                    let found = self.run(address + 1, at, false)?;
                    if found && *negated {
                        self.undo(before);
                    }
                    (found != *negated).then_some((*after, at))
                }
            };
            match next.or_else(|| self.back_up(base)) {
                Some(state) => (address, at) = state,
                None => return Ok(false),
            }
        }
    }

    /// The most recent choice above `base` that is still open, with the slots as they were then.
    fn back_up(&mut self, base: usize) -> Option<(usize, usize)> {
        while self.stack.len() > base {
            match self.stack.pop()? {
                Frame::Choice { address, at } => return Some((address, at)),
                Frame::Restore { slot, value } => self.slots[slot] = value,
            }
        }
        None
    }

    /// Puts all slots back to what they were when the stack was this high.
    fn undo(&mut self, base: usize) {
        while self.stack.len() > base {
            if let Some(Frame::Restore { slot, value }) = self.stack.pop() {
                self.slots[slot] = value;
            }
        }
    }

    /// A look-around that has matched is not tried again, but what it remembered can still be undone.
    fn commit(&mut self, base: usize) {
        let above = self.stack.split_off(base);
        let kept = above
            .into_iter()
            .filter(|frame| matches!(frame, Frame::Restore { .. }));
        self.stack.extend(kept);
    }

    fn set(&mut self, slot: usize, value: usize) {
        let before = std::mem::replace(&mut self.slots[slot], value);
        self.stack.push(Frame::Restore { slot, value: before });
    }

    /// Goes over what the group matched before; where that ends, or None if it is not there.
    fn repeated(&mut self, group: usize, at: usize, back: bool) -> Result<Option<usize>, Spent> {
        let (start, end) = (self.slots[2 * group], self.slots[2 * group + 1]);
        if start == NOTHING || end == NOTHING {
            return Ok(Some(at));
        }
        let length = end - start;
        if !self.budget.spend(length as u64) {
            return Err(Spent);
        }
        let from = if back { at.checked_sub(length) } else { Some(at) };
        Ok(from
            .filter(|&from| self.input.get(from..from + length) == Some(&self.input[start..end]))
            .map(|from| if back { from } else { from + length }))
    }
}

/// The unit in this direction, and the position behind it.
fn step(input: &[u16], at: usize, back: bool) -> Option<(u16, usize)> {
    if back {
        let to = at.checked_sub(1)?;
        Some((input[to], to))
    } else {
        Some((*input.get(at)?, at + 1))
    }
}
