//! From the tree of a pattern to instructions.

use std::sync::Arc;

use super::{parse::Parsed, tree::Node, units::UnitSet};

/// How many instructions a pattern may become: counted repetitions are written out.
pub(super) const MOST_STEPS: usize = 100_000;

/// One instruction. Addresses are indices into the program.
#[derive(Debug)]
pub(super) enum Instruction {
    /// Go over one unit of the set: to the right, or to the left inside a look-behind.
    Unit { set: Arc<UnitSet>, back: bool },
    /// Try the first address, then the other.
    Split(usize, usize),
    /// Go on there.
    Jump(usize),
    /// Remember the position in this slot.
    Save(usize),
    /// Forget these slots.
    Forget(std::ops::Range<usize>),
    /// Fail unless the position has moved since it was saved in this slot: a repetition of nothing is none.
    Moved(usize),
    /// `^`
    Start,
    /// `$`
    End,
    /// `\b` or `\B`
    WordBoundary { negated: bool },
    /// What the group matched before.
    BackReference { group: usize, back: bool },
    /// Look-around whose own instructions follow and whose end is at `after`.
    Look { negated: bool, after: usize },
    /// The end, of the whole or of a look-around.
    Accept,
}

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Program {
    instructions: Vec<Instruction>,
    slots: usize,
    regular: bool,
}

impl Program {
    /// Compiles; None if the program would be too large.
    pub(super) fn compile(parsed: &Parsed) -> Option<Self> {
        let regular = is_regular(&parsed.root);
        let mut compiler = Compiler {
            instructions: Vec::new(),
            slots: 2 * (parsed.groups + 1),
            regular,
            back: false,
        };
        compiler.node(&parsed.root)?;
        compiler.emit(Instruction::Accept)?;
        Some(Self {
            instructions: compiler.instructions,
            slots: compiler.slots,
            regular,
        })
    }

    pub(super) fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// How many positions the program remembers: two for each group, one for each open repetition.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// Whether there is neither look-around nor back reference.
    pub(super) fn is_regular(&self) -> bool {
        self.regular
    }
}

fn is_regular(node: &Node) -> bool {
    match node {
        Node::Unit(_) | Node::Start | Node::End | Node::WordBoundary { .. } => true,
        Node::Sequence(nodes) | Node::Alternatives(nodes) => nodes.iter().all(is_regular),
        Node::Group(_, node) | Node::Repeat { node, .. } => is_regular(node),
        Node::BackReference(_) | Node::Look { .. } => false,
    }
}

struct Compiler {
    instructions: Vec<Instruction>,
    slots: usize,
    /// A regular program is only asked whether it matches, so it need not remember anything.
    regular: bool,
    /// Inside a look-behind everything runs from right to left.
    back: bool,
}

impl Compiler {
    fn emit(&mut self, instruction: Instruction) -> Option<usize> {
        (self.instructions.len() < MOST_STEPS).then(|| {
            self.instructions.push(instruction);
            self.instructions.len() - 1
        })
    }

    fn here(&self) -> usize {
        self.instructions.len()
    }

    fn node(&mut self, node: &Node) -> Option<()> {
        match node {
            Node::Unit(set) => {
                let back = self.back;
                self.emit(Instruction::Unit {
                    set: Arc::clone(set),
                    back,
                })?;
            }
            Node::Sequence(nodes) if self.back => nodes.iter().rev().try_for_each(|node| self.node(node))?,
            Node::Sequence(nodes) => nodes.iter().try_for_each(|node| self.node(node))?,
            Node::Alternatives(nodes) => self.alternatives(nodes)?,
            Node::Group(_, node) if self.regular => self.node(node)?,
            Node::Group(number, node) => {
                let (first, second) = if self.back {
                    (2 * number + 1, 2 * number)
                } else {
                    (2 * number, 2 * number + 1)
                };
                self.emit(Instruction::Save(first))?;
                self.node(node)?;
                self.emit(Instruction::Save(second))?;
            }
            Node::Repeat {
                node,
                min,
                max,
                greedy,
                groups,
            } => {
                let slots = 2 * groups.start..2 * groups.end;
                self.repeat(node, *min, *max, *greedy, &slots)?;
            }
            Node::Start => {
                self.emit(Instruction::Start)?;
            }
            Node::End => {
                self.emit(Instruction::End)?;
            }
            Node::WordBoundary { negated } => {
                self.emit(Instruction::WordBoundary { negated: *negated })?;
            }
            Node::BackReference(group) => {
                let (group, back) = (*group, self.back);
                self.emit(Instruction::BackReference { group, back })?;
            }
            Node::Look {
                behind,
                negated,
                node,
            } => {
                let look = self.emit(Instruction::Jump(0))?;
                let outer = std::mem::replace(&mut self.back, *behind);
                self.node(node)?;
                self.back = outer;
                self.emit(Instruction::Accept)?;
                self.instructions[look] = Instruction::Look {
                    negated: *negated,
                    after: self.here(),
                };
            }
        }
        Some(())
    }

    fn alternatives(&mut self, nodes: &[Node]) -> Option<()> {
        let mut jumps = Vec::with_capacity(nodes.len());
        for (index, node) in nodes.iter().enumerate() {
            if index + 1 == nodes.len() {
                self.node(node)?;
                break;
            }
            let split = self.emit(Instruction::Jump(0))?;
            self.node(node)?;
            jumps.push(self.emit(Instruction::Jump(0))?);
            self.instructions[split] = Instruction::Split(split + 1, self.here());
        }
        let end = self.here();
        for jump in jumps {
            self.instructions[jump] = Instruction::Jump(end);
        }
        Some(())
    }

    fn repeat(
        &mut self,
        node: &Node,
        min: u32,
        max: Option<u32>,
        greedy: bool,
        groups: &std::ops::Range<usize>,
    ) -> Option<()> {
        for _ in 0..min {
            self.once(node, None, groups)?;
        }
        let mark = self.slots;
        if !self.regular {
            self.slots += 1;
        }
        let choose = |body: usize, end: usize| {
            if greedy {
                Instruction::Split(body, end)
            } else {
                Instruction::Split(end, body)
            }
        };
        match max {
            None => {
                let split = self.emit(Instruction::Jump(0))?;
                self.once(node, Some(mark), groups)?;
                self.emit(Instruction::Jump(split))?;
                self.instructions[split] = choose(split + 1, self.here());
            }
            Some(max) => {
                let mut splits = Vec::new();
                for _ in min..max {
                    splits.push(self.emit(Instruction::Jump(0))?);
                    self.once(node, Some(mark), groups)?;
                }
                let end = self.here();
                for split in splits {
                    self.instructions[split] = choose(split + 1, end);
                }
            }
        }
        Some(())
    }

    /// One repetition. With a `mark`, one that goes over nothing fails.
    fn once(&mut self, node: &Node, mark: Option<usize>, groups: &std::ops::Range<usize>) -> Option<()> {
        let before = self.here();
        let mark = mark.filter(|_| !self.regular);
        if let Some(mark) = mark {
            self.emit(Instruction::Save(mark))?;
        }
        if !self.regular && !groups.is_empty() {
            self.emit(Instruction::Forget(groups.clone()))?;
        }
        self.node(node)?;
        if let Some(mark) = mark {
            self.emit(Instruction::Moved(mark))?;
        }
        // A body without instructions would let a huge count loop here without ever reaching the limit.
        if self.here() == before {
            self.emit(Instruction::Jump(before + 1))?;
        }
        Some(())
    }
}
