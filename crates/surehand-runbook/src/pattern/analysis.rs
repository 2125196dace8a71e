//! What can be said of a pattern without a value.

use super::{tree::Node, units::UnitSet};
use crate::values::is_refused;

/// Whether a pattern that begins with `^` and ends with `$` means it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchoring {
    /// Every match is of a whole value.
    Whole,
    /// The last `$` is a literal.
    EscapedEnd,
    /// `^a|b$`: an alternative lacks an anchor.
    SomeAlternatives,
}

pub(super) fn anchoring(root: &Node) -> Anchoring {
    let alternatives = root.alternatives();
    let anchored = |node: &Node| {
        let parts = node.parts();
        parts.first() == Some(&Node::Start) && parts.last() == Some(&Node::End)
    };
    if alternatives.iter().all(anchored) {
        Anchoring::Whole
    } else if alternatives.len() > 1 {
        Anchoring::SomeAlternatives
    } else {
        Anchoring::EscapedEnd
    }
}

/// The pattern as its author probably meant it: `^a|b$` becomes `^(?:a|b)$`. `bars` says where its top level
/// is parted.
pub(super) fn anchored_as_a_whole(text: &str, bars: &[usize]) -> String {
    let units: Vec<u16> = text.encode_utf16().collect();
    let mut alternatives = Vec::with_capacity(bars.len() + 1);
    let mut from = 0;
    for to in bars.iter().copied().chain([units.len()]) {
        let alternative = String::from_utf16_lossy(&units[from..to]);
        let inner = alternative.strip_prefix('^').unwrap_or(&alternative);
        let inner = match inner.strip_suffix('$') {
            // An even number of backslashes before it: a real anchor.
            Some(rest) if rest.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 0 => rest,
            _ => inner,
        };
        alternatives.push(inner.to_owned());
        from = to + 1;
    }
    format!("^(?:{})$", alternatives.join("|"))
}

/// Whether every text that may be sent at all (save perhaps the empty one) matches.
pub(super) fn accepts_everything(root: &Node) -> bool {
    root.alternatives()
        .iter()
        .any(|node| shortest_accepted(node).is_some_and(|shortest| shortest <= 1))
}

/// If the node accepts every text from some length on: that length.
fn shortest_accepted(node: &Node) -> Option<u64> {
    match node {
        Node::Start | Node::End => Some(0),
        Node::Repeat {
            node, min, max: None, ..
        } => is_any_unit(node).then_some(u64::from(*min)),
        Node::Group(_, node) => shortest_accepted(node),
        Node::Sequence(nodes) if nodes.iter().any(|node| !matches!(node, Node::Start | Node::End)) => {
            nodes.iter().map(shortest_accepted).sum()
        }
        Node::Alternatives(nodes) => nodes.iter().filter_map(shortest_accepted).min(),
        _ => None,
    }
}

fn is_any_unit(node: &Node) -> bool {
    match node {
        Node::Unit(set) => holds_all_that_may_be_sent(set),
        Node::Group(_, node) => is_any_unit(node),
        Node::Alternatives(nodes) => {
            let mut union = UnitSet::default();
            for node in nodes {
                let Node::Unit(set) = node else { return false };
                union.add(set);
            }
            holds_all_that_may_be_sent(&union.normalised())
        }
        _ => false,
    }
}

fn holds_all_that_may_be_sent(set: &UnitSet) -> bool {
    set.negated().ranges().iter().all(|&(first, last)| {
        (first..=last).all(|unit| char::from_u32(u32::from(unit)).is_some_and(is_refused))
    })
}

/// Whether an unbounded repetition can consist of another one and nothing else.
pub(super) fn nests_repetitions(root: &Node) -> bool {
    match root {
        Node::Repeat { node, max: None, .. } if is_repetition_alone(node) => true,
        Node::Repeat { node, .. } | Node::Group(_, node) | Node::Look { node, .. } => nests_repetitions(node),
        Node::Sequence(nodes) | Node::Alternatives(nodes) => nodes.iter().any(nests_repetitions),
        _ => false,
    }
}

fn is_repetition_alone(node: &Node) -> bool {
    match node {
        Node::Repeat { max: None, .. } => true,
        Node::Repeat { node, .. } | Node::Group(_, node) => is_repetition_alone(node),
        Node::Alternatives(nodes) => nodes.iter().any(is_repetition_alone),
        Node::Sequence(nodes) => (0..nodes.len()).any(|index| {
            is_repetition_alone(&nodes[index])
                && nodes
                    .iter()
                    .enumerate()
                    .all(|(other, node)| other == index || may_be_nothing(node))
        }),
        _ => false,
    }
}

fn may_be_nothing(node: &Node) -> bool {
    match node {
        Node::Unit(_) => false,
        Node::Repeat { node, min, .. } => *min == 0 || may_be_nothing(node),
        Node::Group(_, node) => may_be_nothing(node),
        Node::Sequence(nodes) => nodes.iter().all(may_be_nothing),
        Node::Alternatives(nodes) => nodes.iter().any(may_be_nothing),
        _ => true,
    }
}
