//! Keeping secrets out of everything that is shown or stored.
//!
//! Secrets are found by value. A secret of several lines is found whole and line by line; one that was
//! escaped for JSON is found as well; one of fewer than [`SHORT`] bytes is only found as a whole word, since
//! it would otherwise black out everything.

use std::{collections::BTreeSet, sync::Arc};

use aho_corasick::{AhoCorasick, Input, MatchKind};
use serde_json::{Map, Value};

/// What stands in place of a secret.
pub const REDACTED: &str = "[REDACTED]";

/// Values shorter than this many bytes are only matched as whole words.
const SHORT: usize = 4;
/// Lines of a secret shorter than this many bytes are not secrets by themselves (`{`, `-----`).
const SHORTEST_LINE: usize = 6;

/// Finds the values of secrets.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    inner: Option<Arc<Inner>>,
}

#[derive(Debug)]
struct Inner {
    needles: Vec<Vec<u8>>,
    search: AhoCorasick,
}

impl Redactor {
    /// A redactor for these values. Empty values are passed over.
    ///
    /// # Panics
    /// When the values together are too large for a search automaton: gigabytes, more than the kernel takes as
    /// environment. To go on without redacting them would be worse.
    #[must_use]
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut needles = BTreeSet::new();
        for secret in secrets {
            let whole = secret.trim_end_matches(['\r', '\n']);
            add_forms(&mut needles, whole);
            if whole.contains(['\r', '\n']) {
                for line in whole.split(['\r', '\n']).map(str::trim) {
                    if line.len() >= SHORTEST_LINE {
                        add_forms(&mut needles, line);
                    }
                }
            }
        }
        if needles.is_empty() {
            return Self::default();
        }
        let needles: Vec<Vec<u8>> = needles.into_iter().collect();
        match AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&needles)
        {
            Ok(search) => Self {
                inner: Some(Arc::new(Inner { needles, search })),
            },
            Err(error) => panic!("secrets too large to search for: {error}"),
        }
    }

    /// Whether there is nothing to find.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.is_none()
    }

    /// `text` without secrets.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        let mut out = Vec::with_capacity(text.len());
        let mut stream = self.stream();
        stream.feed(text.as_bytes(), &mut out);
        stream.finish(&mut out);
        // Secrets and their replacement are UTF-8, so what is left is UTF-8 too.
        String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// `value` without secrets in any string or key.
    #[must_use]
    pub fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => Value::Array(items.iter().map(|item| self.value(item)).collect()),
            Value::Object(map) => Value::Object(self.map(map)),
            other => other.clone(),
        }
    }

    /// `map` without secrets in any string or key.
    #[must_use]
    pub fn map(&self, map: &Map<String, Value>) -> Map<String, Value> {
        map.iter()
            .map(|(key, value)| (self.text(key), self.value(value)))
            .collect()
    }

    /// Redacts bytes that arrive in pieces.
    #[must_use]
    pub fn stream(&self) -> RedactorStream {
        RedactorStream {
            inner: self.inner.clone(),
            pending: Vec::new(),
            before: None,
        }
    }
}

fn add_forms(needles: &mut BTreeSet<Vec<u8>>, text: &str) {
    if text.is_empty() {
        return;
    }
    needles.insert(text.as_bytes().to_vec());
    let quoted = Value::String(text.to_owned()).to_string();
    let quoted = &quoted[1..quoted.len() - 1];
    needles.insert(quoted.as_bytes().to_vec());
    // As programs write JSON that must be ASCII.
    let mut ascii = String::new();
    for character in quoted.chars() {
        if character.is_ascii() {
            ascii.push(character);
        } else {
            let mut units = [0; 2];
            ascii.extend(
                character
                    .encode_utf16(&mut units)
                    .iter()
                    .map(|unit| format!("\\u{unit:04x}")),
            );
        }
    }
    // As some escape what HTML would take for markup.
    let html = ascii
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026");
    needles.insert(ascii.into_bytes());
    needles.insert(html.into_bytes());
    // As a shell shows the words of a command (`set -x`).
    needles.insert(text.replace('\'', r"'\''").into_bytes());
}

/// The state of a redaction between two pieces of input.
#[derive(Debug)]
pub struct RedactorStream {
    inner: Option<Arc<Inner>>,
    pending: Vec<u8>,
    before: Option<u8>,
}

impl RedactorStream {
    /// Takes the next piece and appends to `out` what is certain: everything but an end that may be the
    /// beginning of a secret.
    pub fn feed(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let Some(inner) = self.inner.clone() else {
            out.extend_from_slice(piece);
            return;
        };
        self.pending.extend_from_slice(piece);
        let undecided = inner.undecided_from(&self.pending);
        self.release(&inner, undecided, out);
    }

    /// Appends what was held back.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        if let Some(inner) = self.inner.clone() {
            let end = self.pending.len();
            self.release(&inner, end, out);
        }
    }

    /// Emits everything before `until`, and a secret that begins before it whole.
    fn release(&mut self, inner: &Inner, until: usize, out: &mut Vec<u8>) {
        let mut at = 0;
        while at < until {
            let found = inner.search.find(Input::new(&self.pending).range(at..));
            let Some(found) = found.filter(|found| found.start() < until) else {
                break;
            };
            let end = inner.covered_to(&self.pending, found.start(), found.end());
            if end > until && until < self.pending.len() {
                // Another secret may begin in this one, and it is not all there yet.
                self.emit(at, found.start(), out);
                self.pending.drain(..found.start());
                return;
            }
            self.emit(at, found.start(), out);
            if found.len() >= SHORT || self.is_word(found.start(), found.end()) {
                out.extend_from_slice(REDACTED.as_bytes());
                self.before = Some(b']');
                at = end;
            } else {
                self.emit(found.start(), found.start() + 1, out);
                at = found.start() + 1;
            }
        }
        if at < until {
            self.emit(at, until, out);
            at = until;
        }
        self.pending.drain(..at);
    }

    fn emit(&mut self, from: usize, to: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.pending[from..to]);
        if to > from {
            self.before = Some(self.pending[to - 1]);
        }
    }

    fn is_word(&self, start: usize, end: usize) -> bool {
        let before = if start == 0 {
            self.before
        } else {
            Some(self.pending[start - 1])
        };
        let after = self.pending.get(end).copied();
        let wordy = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte >= 0x80);
        !wordy(before) && !wordy(after)
    }
}

impl Inner {
    /// Where the secrets end that begin in `start..end` or in one another.
    fn covered_to(&self, bytes: &[u8], start: usize, end: usize) -> usize {
        let (mut at, mut end) = (start + 1, end);
        while at < end {
            let longest = self
                .needles
                .iter()
                .filter(|needle| needle.len() >= SHORT && bytes[at..].starts_with(needle))
                .map(Vec::len)
                .max();
            end = end.max(at + longest.unwrap_or(0));
            at += 1;
        }
        end
    }

    /// Where the end of `bytes` begins that may yet turn out to be a secret.
    fn undecided_from(&self, bytes: &[u8]) -> usize {
        let longest = self.needles.iter().map(Vec::len).max().unwrap_or(0);
        let earliest = bytes.len().saturating_sub(longest);
        (earliest..bytes.len())
            .find(|&start| {
                let tail = &bytes[start..];
                self.needles.iter().any(|needle| {
                    // A short value is a secret only as a word, so its right neighbour must be known.
                    (needle.len() > tail.len() || (needle.len() == tail.len() && needle.len() < SHORT))
                        && needle.starts_with(tail)
                })
            })
            .unwrap_or(bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{REDACTED, Redactor};

    fn in_pieces(redactor: &Redactor, text: &str, size: usize) -> String {
        let mut out = Vec::new();
        let mut stream = redactor.stream();
        for piece in text.as_bytes().chunks(size.max(1)) {
            stream.feed(piece, &mut out);
        }
        stream.finish(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn finds_a_secret_across_pieces() {
        let redactor = Redactor::new(["hunter2"]);
        for size in 1..12 {
            assert_eq!(
                in_pieces(&redactor, "a hunter2b hunter", size),
                format!("a {REDACTED}b hunter")
            );
        }
    }

    #[test]
    fn a_secret_of_several_lines_is_found_line_by_line() {
        let redactor = Redactor::new(["-----BEGIN KEY-----\nabcdefgh\n}\n"]);
        assert_eq!(redactor.text("x abcdefgh } y"), format!("x {REDACTED} }} y"));
        assert_eq!(redactor.text("-----BEGIN KEY-----\nabcdefgh\n}"), REDACTED);
        assert_eq!(redactor.text(r"-----BEGIN KEY-----\nabcdefgh\n}"), REDACTED);
    }

    #[test]
    fn a_secret_of_one_character_does_not_black_out_everything() {
        let redactor = Redactor::new(["a", ""]);
        for size in 1..6 {
            assert_eq!(
                in_pieces(&redactor, "a banana is a!", size),
                format!("{REDACTED} banana is {REDACTED}!")
            );
        }
    }

    #[test]
    fn the_longer_of_two_secrets_wins() {
        let redactor = Redactor::new(["abcd", "abcdef"]);
        for size in 1..8 {
            assert_eq!(
                in_pieces(&redactor, "abcdefabcd", size),
                format!("{REDACTED}{REDACTED}")
            );
        }
    }

    #[test]
    fn only_what_may_be_a_secret_is_held_back() {
        let redactor = Redactor::new(["hunter2"]);
        let mut out = Vec::new();
        let mut stream = redactor.stream();
        stream.feed(b"ready hun", &mut out);
        assert_eq!(out, b"ready ");
    }

    #[test]
    fn secrets_that_overlap_leave_nothing() {
        let redactor = Redactor::new(["abcdef", "cdefgh", "ghijkl"]);
        for size in 1..14 {
            assert_eq!(
                in_pieces(&redactor, "x abcdefghijkl y", size),
                format!("x {REDACTED} y")
            );
            assert_eq!(in_pieces(&redactor, "abcdefgz", size), format!("{REDACTED}gz"));
        }
    }

    #[test]
    fn a_secret_is_found_as_programs_quote_it() {
        let redactor = Redactor::new(["pä'ss\"wörd"]);
        for form in [
            "pä'ss\"wörd",
            "p\\u00e4'ss\\\"w\\u00f6rd",
            "pä'ss\\\"wörd",
            "pä'\\''ss\"wörd",
        ] {
            assert_eq!(redactor.text(form), REDACTED, "{form}");
        }
    }

    proptest! {
        #[test]
        fn no_secret_survives_any_cut(
            secret in "[a-c]{4,8}", before in "[a-d ]{0,20}", after in "[a-d ]{0,20}", size in 1_usize..9
        ) {
            let redactor = Redactor::new([secret.as_str()]);
            let text = format!("{before}{secret}{after}");
            let whole = redactor.text(&text);
            prop_assert_eq!(in_pieces(&redactor, &text, size), whole.clone());
            let rest = whole.replace(REDACTED, "#");
            prop_assert!(!rest.contains(&secret));
        }
    }
}
