//! The bounded end of a text.

use std::borrow::Cow;

/// Keeps the last units of a text and counts what came before.
#[derive(Debug)]
pub(crate) struct Tail {
    /// UTF-8. As bytes, so that ASCII, which is checked already, need not be checked again.
    text: Vec<u8>,
    /// The length of `text` in UTF-16 code units.
    units: u64,
    /// The longest end that is kept, in UTF-16 code units.
    limit: usize,
    dropped: u64,
}

impl Tail {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            text: Vec::new(),
            units: 0,
            limit,
            dropped: 0,
        }
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
        self.units += units(text.as_bytes());
        self.trim_seldom();
    }

    /// Appends what is known to be ASCII.
    pub(crate) fn push_ascii(&mut self, text: &[u8]) {
        if text.len() >= self.limit {
            // Nothing of what is there will be kept. A byte of ASCII is one unit.
            let cut = text.len() - self.limit;
            self.dropped += self.units + cut as u64;
            self.text.clear();
            self.text.extend_from_slice(&text[cut..]);
            self.units = self.limit as u64;
            return;
        }
        self.text.extend_from_slice(text);
        self.units += text.len() as u64;
        self.trim_seldom();
    }

    /// The last line with something in it.
    pub(crate) fn last_line(&self) -> Cow<'_, str> {
        let text = self.text.trim_ascii_end();
        let start = text
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        String::from_utf8_lossy(&text[start..])
    }

    /// The end of the text, and how many units came before it. A character of two units is not cut.
    pub(crate) fn finish(mut self) -> (String, u64) {
        self.trim();
        let text = String::from_utf8(self.text)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        (text, self.dropped)
    }

    /// Trimming seldom, and then by much, makes the cost of a byte constant.
    fn trim_seldom(&mut self) {
        if self.text.len() > self.limit * 4 + (64 << 10) {
            self.trim();
        }
    }

    fn trim(&mut self) {
        let surplus = self.units.saturating_sub(self.limit as u64);
        if self.units == self.text.len() as u64 {
            // All ASCII: a byte is a unit.
            self.text.drain(
                ..usize::try_from(surplus)
                    .unwrap_or(usize::MAX)
                    .min(self.text.len()),
            );
            self.units -= surplus;
            self.dropped += surplus;
            return;
        }
        let (mut cut, mut removed) = (0, 0);
        while removed < surplus && cut < self.text.len() {
            let length = match self.text[cut] {
                0..0xc0 => 1,
                0xc0..0xe0 => 2,
                0xe0..0xf0 => 3,
                0xf0.. => 4,
            };
            removed += if length == 4 { 2 } else { 1 };
            cut += length;
        }
        self.text.drain(..cut.min(self.text.len()));
        self.units -= removed;
        self.dropped += removed;
    }
}

/// The length of UTF-8 in UTF-16 code units: one for each character, one more for those of four bytes.
fn units(text: &[u8]) -> u64 {
    if text.is_ascii() {
        return text.len() as u64;
    }
    let count = |wanted: fn(u8) -> bool| text.iter().filter(|byte| wanted(**byte)).count() as u64;
    count(|byte| byte & 0xc0 != 0x80) + count(|byte| byte >= 0xf0)
}

#[cfg(test)]
mod tests {
    use super::{Tail, units};

    fn tail(limit: usize, pieces: &[&str]) -> (String, u64) {
        let mut tail = Tail::new(limit);
        for piece in pieces {
            tail.push(piece);
        }
        tail.finish()
    }

    #[test]
    fn keeps_the_end_and_counts_the_rest() {
        assert_eq!(tail(5, &["abcdefgh"]), ("defgh".to_owned(), 3));
        assert_eq!(tail(5, &["abc", "defgh"]), ("defgh".to_owned(), 3));
        assert_eq!(tail(5, &["abc"]), ("abc".to_owned(), 0));
        assert_eq!(tail(0, &["abc"]), (String::new(), 3));
        let long = "0123456789".repeat(100_000);
        assert_eq!(tail(3, &[&long, "x"]), ("89x".to_owned(), 999_998));
        assert_eq!(tail(3, &[&"é".repeat(1_000_000)]), ("ééé".to_owned(), 999_997));
    }

    #[test]
    fn fault_27_the_cap_does_not_cut_a_surrogate_pair() {
        assert_eq!(tail(4, &["🎉🎉B"]), ("🎉B".to_owned(), 2));
        assert_eq!(units("a🎉é".as_bytes()), 4);
    }
}
