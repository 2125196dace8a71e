//! The bounded end of a text.

/// Keeps the last units of a text and counts what came before.
#[derive(Debug)]
pub(crate) struct Tail {
    text: String,
    /// In UTF-16 code units.
    limit: usize,
    dropped: u64,
}

impl Tail {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            text: String::new(),
            limit,
            dropped: 0,
        }
    }

    pub(crate) fn push(&mut self, text: &str) {
        // What is far before the new end need not be copied. ASCII has one unit a byte, so the cut is exact.
        if text.len() > self.limit * 2 && text.is_ascii() {
            let cut = text.len() - self.limit;
            self.dropped += units(&self.text) + cut as u64;
            self.text.clear();
            self.text.push_str(&text[cut..]);
            return;
        }
        self.text.push_str(text);
        // Trimming seldom, and then by much, makes the cost of a byte constant.
        if self.text.len() > self.limit * 4 + (64 << 10) {
            self.trim();
        }
    }

    /// The unfinished line at the end.
    pub(crate) fn line(&self) -> &str {
        &self.text[self.line_start()..]
    }

    /// Removes the unfinished line at the end and gives it.
    pub(crate) fn take_line(&mut self) -> String {
        self.text.split_off(self.line_start())
    }

    /// The last line with something in it.
    pub(crate) fn last_line(&self) -> &str {
        self.text.trim_end().rsplit('\n').next().unwrap_or_default()
    }

    fn line_start(&self) -> usize {
        self.text.rfind('\n').map_or(0, |at| at + 1)
    }

    /// The end of the text, and how many units came before it. A character of two units is not cut.
    pub(crate) fn finish(mut self) -> (String, u64) {
        self.trim();
        (self.text, self.dropped)
    }

    fn trim(&mut self) {
        let surplus = units(&self.text).saturating_sub(self.limit as u64);
        if surplus == 0 {
            return;
        }
        let mut removed = 0;
        let cut = self
            .text
            .char_indices()
            .find(|(_, character)| {
                if removed >= surplus {
                    return true;
                }
                removed += character.len_utf16() as u64;
                false
            })
            .map_or(self.text.len(), |(at, _)| at);
        self.text.drain(..cut);
        self.dropped += removed;
    }
}

/// The length of a text in UTF-16 code units: one for each character, one more for those of four bytes.
fn units(text: &str) -> u64 {
    let count = |wanted: fn(u8) -> bool| text.bytes().filter(|byte| wanted(*byte)).count() as u64;
    if text.is_ascii() {
        return text.len() as u64;
    }
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
        assert_eq!(units("a🎉é"), 4);
    }
}
