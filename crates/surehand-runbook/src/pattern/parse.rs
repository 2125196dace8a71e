//! From the text of a pattern to its tree: ECMA-262 section 22.2.1 with Annex B.1.2, no flags.

use std::sync::Arc;

use super::{tree::Node, units::UnitSet};

/// How deep groups may nest. Bounds the recursion of everything that walks a tree.
const DEEPEST: usize = 200;

/// A parsed pattern.
#[derive(Debug)]
pub(super) struct Parsed {
    /// The tree.
    pub(super) root: Node,
    /// How many capturing groups there are.
    pub(super) groups: usize,
    /// Where the alternatives of the top level are parted, in code units.
    pub(super) bars: Vec<usize>,
}

type Result<T> = std::result::Result<T, &'static str>;

/// Parses a pattern. The error says what is wrong in the words that people know from JavaScript engines.
pub(super) fn parse(text: &str) -> Result<Parsed> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let names = group_names(&units)?;
    let mut parser = Parser {
        units: &units,
        at: 0,
        opened: 0,
        named: names.iter().any(Option::is_some),
        names,
        bars: Vec::new(),
    };
    let root = parser.disjunction(0)?;
    if parser.at < units.len() {
        return Err("Unmatched ')'");
    }
    Ok(Parsed {
        root,
        groups: parser.names.len(),
        bars: parser.bars,
    })
}

/// The names of all capturing groups, in order. Known beforehand because `\2` and `\k` depend on them.
fn group_names(units: &[u16]) -> Result<Vec<Option<Vec<u16>>>> {
    let mut names: Vec<Option<Vec<u16>>> = Vec::new();
    let mut in_class = false;
    let mut at = 0;
    while at < units.len() {
        match (ascii(units[at]), in_class) {
            (b'\\', _) => at += 1,
            (b'[', false) => in_class = true,
            (b']', true) => in_class = false,
            (b'(', false) => {
                let next = |ahead: usize| units.get(at + ahead).copied().map_or(0, ascii);
                if next(1) != b'?' {
                    names.push(None);
                } else if next(2) == b'<' && !matches!(next(3), b'=' | b'!') {
                    let (name, _) = group_name(units, at + 3).ok_or("Invalid capture group name")?;
                    if names.iter().flatten().any(|other| *other == name) {
                        return Err("Duplicate capture group name");
                    }
                    names.push(Some(name));
                }
            }
            _ => {}
        }
        at += 1;
    }
    Ok(names)
}

/// The name that begins at `at` and ends with `>`, and where that is over.
fn group_name(units: &[u16], at: usize) -> Option<(Vec<u16>, usize)> {
    let length = units[at..].iter().position(|&unit| unit == u16::from(b'>'))?;
    let name = String::from_utf16(&units[at..at + length]).ok()?;
    let mut chars = name.chars();
    let first = chars.next()?;
    let fits = (first.is_alphabetic() || matches!(first, '$' | '_'))
        && chars.all(|c| c.is_alphanumeric() || matches!(c, '$' | '_' | '\u{200C}' | '\u{200D}'));
    fits.then(|| (units[at..at + length].to_vec(), at + length + 1))
}

/// A unit as ASCII; 0 (which is no syntax) if it is not.
fn ascii(unit: u16) -> u8 {
    u8::try_from(unit).ok().filter(u8::is_ascii).unwrap_or(0)
}

struct Parser<'a> {
    units: &'a [u16],
    at: usize,
    /// How many capturing groups have been opened.
    opened: usize,
    /// Whether any group has a name.
    named: bool,
    names: Vec<Option<Vec<u16>>>,
    bars: Vec<usize>,
}

/// One member of a character class.
enum Member {
    Unit(u16),
    Set(UnitSet),
}

impl Parser<'_> {
    fn peek(&self) -> u8 {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> u8 {
        self.units.get(self.at + ahead).copied().map_or(0, ascii)
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = text
            .bytes()
            .enumerate()
            .all(|(ahead, byte)| self.units.get(self.at + ahead) == Some(&u16::from(byte)));
        if found {
            self.at += text.len();
        }
        found
    }

    fn next(&mut self) -> Option<u16> {
        let unit = self.units.get(self.at).copied();
        self.at += usize::from(unit.is_some());
        unit
    }

    fn disjunction(&mut self, depth: usize) -> Result<Node> {
        if depth > DEEPEST {
            return Err("Regular expression too large");
        }
        let mut alternatives = vec![self.alternative(depth)?];
        while self.peek() == b'|' {
            if depth == 0 {
                self.bars.push(self.at);
            }
            self.at += 1;
            alternatives.push(self.alternative(depth)?);
        }
        Ok(if alternatives.len() == 1 {
            alternatives.remove(0)
        } else {
            Node::Alternatives(alternatives)
        })
    }

    fn alternative(&mut self, depth: usize) -> Result<Node> {
        let mut parts = Vec::new();
        while self.at < self.units.len() && !matches!(self.peek(), b'|' | b')') {
            parts.push(self.term(depth)?);
        }
        Ok(if parts.len() == 1 {
            parts.remove(0)
        } else {
            Node::Sequence(parts)
        })
    }

    fn term(&mut self, depth: usize) -> Result<Node> {
        let groups_before = self.opened;
        let atom = match self.peek() {
            b'^' => {
                self.at += 1;
                return Ok(Node::Start);
            }
            b'$' => {
                self.at += 1;
                return Ok(Node::End);
            }
            b'*' | b'+' | b'?' => return Err("Nothing to repeat"),
            b'{' if self.braces().is_some() => return Err("Nothing to repeat"),
            b'(' => {
                let (group, quantifiable) = self.group(depth)?;
                if !quantifiable {
                    return Ok(group);
                }
                group
            }
            b'[' => Node::Unit(Arc::new(self.class()?)),
            b'.' => {
                self.at += 1;
                Node::Unit(Arc::new(UnitSet::dot()))
            }
            b'\\' => {
                self.at += 1;
                match self.peek() {
                    letter @ (b'b' | b'B') => {
                        self.at += 1;
                        return Ok(Node::WordBoundary {
                            negated: letter == b'B',
                        });
                    }
                    _ => self.atom_escape()?,
                }
            }
            _ => one(self.next().ok_or("Nothing to repeat")?),
        };
        self.quantified(atom, groups_before)
    }

    fn quantified(&mut self, atom: Node, groups_before: usize) -> Result<Node> {
        let (min, max) = match self.peek() {
            b'*' => (0, None),
            b'+' => (1, None),
            b'?' => (0, Some(1)),
            b'{' => match self.braces() {
                Some((min, max, length)) => {
                    if max.is_some_and(|max| max < min) {
                        return Err("numbers out of order in {} quantifier");
                    }
                    self.at += length - 1;
                    (min, max)
                }
                None => return Ok(atom),
            },
            _ => return Ok(atom),
        };
        self.at += 1;
        let greedy = !self.eat("?");
        Ok(Node::Repeat {
            node: Box::new(atom),
            min,
            max,
            greedy,
            groups: groups_before + 1..self.opened + 1,
        })
    }

    /// The counted repetition that begins here, if one does: least, most, and its length. A `{` that begins
    /// none stands for itself.
    fn braces(&self) -> Option<(u32, Option<u32>, usize)> {
        let number = |from: usize| {
            let mut ahead = from;
            let mut value = 0_u32;
            while self.peek_at(ahead).is_ascii_digit() {
                value = value
                    .saturating_mul(10)
                    .saturating_add(u32::from(self.peek_at(ahead) - b'0'));
                ahead += 1;
            }
            (ahead > from).then_some((value, ahead))
        };
        let (min, mut ahead) = number(1)?;
        let mut max = Some(min);
        if self.peek_at(ahead) == b',' {
            ahead += 1;
            max = None;
            if let Some((value, after)) = number(ahead) {
                max = Some(value);
                ahead = after;
            }
        }
        (self.peek_at(ahead) == b'}').then_some((min, max, ahead + 1))
    }

    /// A group of any kind, and whether a quantifier may follow it.
    fn group(&mut self, depth: usize) -> Result<(Node, bool)> {
        let look = |behind, negated| {
            move |node| Node::Look {
                behind,
                negated,
                node: Box::new(node),
            }
        };
        if self.eat("(?:") {
            return Ok((self.group_body(depth)?, true));
        }
        if self.eat("(?=") {
            return Ok((look(false, false)(self.group_body(depth)?), true));
        }
        if self.eat("(?!") {
            return Ok((look(false, true)(self.group_body(depth)?), true));
        }
        if self.eat("(?<=") {
            return Ok((look(true, false)(self.group_body(depth)?), false));
        }
        if self.eat("(?<!") {
            return Ok((look(true, true)(self.group_body(depth)?), false));
        }
        if self.eat("(?<") {
            let (_, end) = group_name(self.units, self.at).ok_or("Invalid capture group name")?;
            self.at = end;
        } else if self.eat("(?") {
            return Err("Invalid group");
        } else {
            self.at += 1;
        }
        self.opened += 1;
        let number = self.opened;
        Ok((Node::Group(number, Box::new(self.group_body(depth)?)), true))
    }

    fn group_body(&mut self, depth: usize) -> Result<Node> {
        let node = self.disjunction(depth + 1)?;
        if self.eat(")") {
            Ok(node)
        } else {
            Err("Unterminated group")
        }
    }

    fn atom_escape(&mut self) -> Result<Node> {
        let Some(&unit) = self.units.get(self.at) else {
            return Err("\\ at end of pattern");
        };
        if let Some(set) = UnitSet::escape(unit) {
            self.at += 1;
            return Ok(Node::Unit(Arc::new(set)));
        }
        if self.peek() == b'k' && self.named {
            self.at += 1;
            if !self.eat("<") {
                return Err("Invalid named reference");
            }
            let (name, end) = group_name(self.units, self.at).ok_or("Invalid named reference")?;
            self.at = end;
            return self
                .names
                .iter()
                .position(|other| other.as_ref() == Some(&name))
                .map(|index| Node::BackReference(index + 1))
                .ok_or("Invalid named capture referenced");
        }
        if matches!(self.peek(), b'1'..=b'9') {
            let rest = self.units[self.at..].iter();
            let digits = rest.take_while(|unit| ascii(**unit).is_ascii_digit()).count();
            let number = (0..digits).fold(0_usize, |number, ahead| {
                number
                    .saturating_mul(10)
                    .saturating_add(usize::from(self.peek_at(ahead) - b'0'))
            });
            if number <= self.names.len() {
                self.at += digits;
                return Ok(Node::BackReference(number));
            }
        }
        Ok(one(self.character_escape(false)?))
    }

    /// The unit that an escape stands for, the backslash being behind us.
    fn character_escape(&mut self, in_class: bool) -> Result<u16> {
        let unit = self.next().ok_or("\\ at end of pattern")?;
        Ok(match ascii(unit) {
            b'f' => 0x0C,
            b'n' => 0x0A,
            b'r' => 0x0D,
            b't' => 0x09,
            b'v' => 0x0B,
            b'c' => {
                let letter = self.peek();
                if letter.is_ascii_alphabetic() || (in_class && (letter.is_ascii_digit() || letter == b'_')) {
                    self.at += 1;
                    u16::from(letter) % 32
                } else {
                    // The backslash stands for itself, and the `c` comes next.
                    self.at -= 1;
                    u16::from(b'\\')
                }
            }
            b'x' => self.hexadecimal(2).unwrap_or(unit),
            b'u' => self.hexadecimal(4).unwrap_or(unit),
            digit @ b'0'..=b'7' => self.octal(digit),
            b'k' if self.named => return Err("Invalid escape"),
            _ => unit,
        })
    }

    fn hexadecimal(&mut self, digits: usize) -> Option<u16> {
        let value = (0..digits).try_fold(0_u32, |value, ahead| {
            Some(value * 16 + char::from(self.peek_at(ahead)).to_digit(16)?)
        })?;
        self.at += digits;
        u16::try_from(value).ok()
    }

    /// A legacy octal escape: at most three digits, at most 0o377.
    fn octal(&mut self, first: u8) -> u16 {
        let mut value = u16::from(first - b'0');
        for _ in 0..2 {
            let digit = self.peek();
            if !matches!(digit, b'0'..=b'7') || value * 8 + u16::from(digit - b'0') > 0o377 {
                break;
            }
            value = value * 8 + u16::from(digit - b'0');
            self.at += 1;
        }
        value
    }

    fn class(&mut self) -> Result<UnitSet> {
        self.at += 1;
        let negated = self.eat("^");
        let mut set = UnitSet::default();
        loop {
            if self.at >= self.units.len() {
                return Err("Unterminated character class");
            }
            if self.eat("]") {
                break;
            }
            let first = self.member()?;
            if self.peek() == b'-' && self.at + 1 < self.units.len() && self.peek_at(1) != b']' {
                self.at += 1;
                match (first, self.member()?) {
                    (Member::Unit(first), Member::Unit(last)) if first > last => {
                        return Err("Range out of order in character class");
                    }
                    (Member::Unit(first), Member::Unit(last)) => set.add_range(first, last),
                    (first, last) => {
                        first.join(&mut set);
                        set.add_range(u16::from(b'-'), u16::from(b'-'));
                        last.join(&mut set);
                    }
                }
            } else {
                first.join(&mut set);
            }
        }
        let set = set.normalised();
        Ok(if negated { set.negated() } else { set })
    }

    fn member(&mut self) -> Result<Member> {
        let unit = self.next().ok_or("Unterminated character class")?;
        if unit != u16::from(b'\\') {
            return Ok(Member::Unit(unit));
        }
        let Some(&escaped) = self.units.get(self.at) else {
            return Err("\\ at end of pattern");
        };
        if let Some(set) = UnitSet::escape(escaped) {
            self.at += 1;
            return Ok(Member::Set(set));
        }
        if self.eat("b") {
            return Ok(Member::Unit(0x08));
        }
        self.character_escape(true).map(Member::Unit)
    }
}

impl Member {
    fn join(self, set: &mut UnitSet) {
        match self {
            Self::Unit(unit) => set.add_range(unit, unit),
            Self::Set(other) => set.add(&other),
        }
    }
}

fn one(unit: u16) -> Node {
    Node::Unit(Arc::new(UnitSet::one(unit)))
}
