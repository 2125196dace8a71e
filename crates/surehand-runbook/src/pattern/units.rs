//! Sets of UTF-16 code units.

/// A set of UTF-16 code units, as sorted, disjoint, inclusive ranges.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct UnitSet {
    ranges: Vec<(u16, u16)>,
}

/// The line ends of ECMA-262 section 12.3, which `.` does not match.
const LINE_ENDS: &[(u16, u16)] = &[(0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)];
const DIGITS: &[(u16, u16)] = &[(0x30, 0x39)];
const WORD: &[(u16, u16)] = &[(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)];
/// White space and line ends of ECMA-262 sections 12.2 and 12.3.
const SPACE: &[(u16, u16)] = &[
    (0x09, 0x0D),
    (0x20, 0x20),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
];

impl UnitSet {
    pub(super) fn one(unit: u16) -> Self {
        Self {
            ranges: vec![(unit, unit)],
        }
    }

    /// What `.` matches.
    pub(super) fn dot() -> Self {
        Self::of(LINE_ENDS).negated()
    }

    /// What `\d`, `\D`, `\s`, `\S`, `\w` or `\W` matches, by its letter.
    pub(super) fn escape(letter: u16) -> Option<Self> {
        let letter = u8::try_from(letter).ok()?;
        let set = Self::of(match letter.to_ascii_lowercase() {
            b'd' => DIGITS,
            b's' => SPACE,
            b'w' => WORD,
            _ => return None,
        });
        Some(if letter.is_ascii_uppercase() {
            set.negated()
        } else {
            set
        })
    }

    fn of(ranges: &[(u16, u16)]) -> Self {
        Self {
            ranges: ranges.to_vec(),
        }
    }

    pub(super) fn add_range(&mut self, first: u16, last: u16) {
        self.ranges.push((first, last));
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.ranges.extend_from_slice(&other.ranges);
    }

    /// Sorts and joins ranges after additions.
    pub(super) fn normalised(mut self) -> Self {
        self.ranges.sort_unstable();
        let mut joined: Vec<(u16, u16)> = Vec::with_capacity(self.ranges.len());
        for (first, last) in self.ranges {
            match joined.last_mut() {
                Some(before) if u32::from(first) <= u32::from(before.1) + 1 => before.1 = before.1.max(last),
                _ => joined.push((first, last)),
            }
        }
        Self { ranges: joined }
    }

    /// Everything that is not in this set, which must be normalised.
    pub(super) fn negated(&self) -> Self {
        let mut ranges = Vec::with_capacity(self.ranges.len() + 1);
        let mut next = 0_u32;
        for &(first, last) in &self.ranges {
            if u32::from(first) > next
                && let Ok(start) = u16::try_from(next)
            {
                ranges.push((start, first - 1));
            }
            next = u32::from(last) + 1;
        }
        if let Ok(start) = u16::try_from(next) {
            ranges.push((start, u16::MAX));
        }
        Self { ranges }
    }

    pub(super) fn contains(&self, unit: u16) -> bool {
        match self.ranges.as_slice() {
            [(first, last)] => (*first..=*last).contains(&unit),
            ranges => ranges
                .binary_search_by(|&(first, last)| {
                    if last < unit {
                        std::cmp::Ordering::Less
                    } else if first > unit {
                        std::cmp::Ordering::Greater
                    } else {
                        std::cmp::Ordering::Equal
                    }
                })
                .is_ok(),
        }
    }

    /// The ranges, sorted and disjoint.
    pub(super) fn ranges(&self) -> &[(u16, u16)] {
        &self.ranges
    }
}

/// Whether `\b` counts the unit as part of a word.
pub(super) fn is_word(unit: u16) -> bool {
    u8::try_from(unit).is_ok_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
