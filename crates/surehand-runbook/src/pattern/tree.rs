//! What a pattern says.

use std::sync::Arc;

use super::units::UnitSet;

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    /// One code unit of a set.
    Unit(Arc<UnitSet>),
    /// One after another.
    Sequence(Vec<Node>),
    /// One of several, the first that leads to a match.
    Alternatives(Vec<Node>),
    /// A capturing group, by its number from 1.
    Group(usize, Box<Node>),
    /// Repetition.
    Repeat {
        node: Box<Node>,
        min: u32,
        /// None: without end.
        max: Option<u32>,
        greedy: bool,
        /// The numbers of the groups inside, which each repetition forgets.
        groups: std::ops::Range<usize>,
    },
    /// `^`
    Start,
    /// `$`
    End,
    /// `\b`, or `\B` if negated.
    WordBoundary { negated: bool },
    /// What a group matched before; nothing if it has not.
    BackReference(usize),
    /// Look-around.
    Look {
        behind: bool,
        negated: bool,
        node: Box<Node>,
    },
}

impl Node {
    /// The alternatives at this level; the node itself if it is not a choice.
    pub(super) fn alternatives(&self) -> &[Node] {
        match self {
            Self::Alternatives(nodes) => nodes,
            node => std::slice::from_ref(node),
        }
    }

    /// The parts of a sequence; the node itself if it is not one.
    pub(super) fn parts(&self) -> &[Node] {
        match self {
            Self::Sequence(nodes) => nodes,
            node => std::slice::from_ref(node),
        }
    }
}
