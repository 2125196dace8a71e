//! Terminal output as plain text.
//!
//! Invalid UTF-8 becomes U+FFFD, a byte-order mark at the start goes, escape sequences (ECMA-48) go, a line
//! that was rewritten after a carriage return stands once, in its last form, and other control characters
//! become visible.

use std::borrow::Cow;

/// A line that grows longer than this is passed on in parts; what was passed on is not rewritten.
const LONGEST_LINE: usize = 1 << 14;
/// An escape sequence longer than this is none: what it held is shown.
const LONGEST_SEQUENCE: usize = 4096;

/// Takes in plain text, piece by piece.
pub(crate) trait Sink {
    /// Text that is known to be ASCII.
    fn ascii(&mut self, text: &[u8]);
    /// Any other text.
    fn text(&mut self, text: &str);
}

/// Cleans one stream, piece by piece.
pub(crate) struct Cleaner {
    /// The unfinished line, while it is only added to.
    line: String,
    /// The unfinished line, while a cursor moves in it.
    rewriting: Option<Rewriting>,
    /// The beginning of a character that the last piece cut.
    cut: Vec<u8>,
    state: State,
    sequence: String,
    at_start: bool,
    carriage_return: bool,
    continued: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Text,
    /// After ESC.
    Escape,
    /// After ESC and intermediate bytes: one final byte follows.
    EscapeIntermediate,
    /// A control sequence: parameters, then a final byte.
    Control,
    /// A string up to BEL or ESC `\`.
    String,
    /// ESC within such a string.
    StringEscape,
}

struct Rewriting {
    line: Vec<char>,
    column: usize,
}

impl Cleaner {
    pub(crate) fn new() -> Self {
        Self {
            line: String::new(),
            rewriting: None,
            cut: Vec::new(),
            state: State::Text,
            sequence: String::new(),
            at_start: true,
            carriage_return: false,
            continued: false,
        }
    }

    /// Takes a piece and passes on what is finished: whole lines.
    pub(crate) fn feed(&mut self, piece: &[u8], sink: &mut impl Sink) {
        if self.cut.is_empty() {
            if self.is_simple() && is_plain_ascii(piece) {
                self.plain(piece, sink);
            } else {
                self.decode(piece, sink);
            }
        } else {
            let mut joined = std::mem::take(&mut self.cut);
            joined.extend_from_slice(piece);
            self.decode(&joined, sink);
        }
    }

    /// Whether the beginning of the unfinished line was passed on already.
    pub(crate) fn is_continued(&self) -> bool {
        self.continued
    }

    /// The unfinished line as it stands now.
    pub(crate) fn line(&self) -> Cow<'_, str> {
        match &self.rewriting {
            Some(rewriting) => rewriting.line.iter().collect::<String>().into(),
            None => self.line.as_str().into(),
        }
    }

    /// Passes on the unfinished line. Nothing may follow.
    pub(crate) fn finish(&mut self, sink: &mut impl Sink) {
        if !self.cut.is_empty() {
            self.text("\u{fffd}", sink);
        }
        self.end_sequence();
        self.pass_on(sink);
    }

    fn decode(&mut self, mut bytes: &[u8], sink: &mut impl Sink) {
        loop {
            match std::str::from_utf8(bytes) {
                Ok(text) => return self.text(text, sink),
                Err(error) => {
                    let (valid, rest) = bytes.split_at(error.valid_up_to());
                    if let Ok(text) = std::str::from_utf8(valid) {
                        self.text(text, sink);
                    }
                    let Some(invalid) = error.error_len() else {
                        self.cut = rest.to_vec();
                        return;
                    };
                    self.text("\u{fffd}", sink);
                    bytes = &rest[invalid..];
                }
            }
        }
    }

    fn text(&mut self, mut text: &str, sink: &mut impl Sink) {
        if text.is_empty() {
            return;
        }
        if std::mem::take(&mut self.at_start) {
            text = text.strip_prefix('\u{feff}').unwrap_or(text);
        }
        if self.is_simple() && is_plain(text.as_bytes()) {
            let end = text.rfind('\n').map_or(0, |at| at + 1);
            if end > 0 {
                self.pass_on(sink);
                sink.text(&text[..end]);
                self.continued = false;
            }
            self.line.push_str(&text[end..]);
            return self.limit(sink);
        }
        for character in text.chars() {
            self.character(character, sink);
        }
    }

    /// Whether no earlier character decides what the next means.
    fn is_simple(&self) -> bool {
        self.state == State::Text && !self.carriage_return && self.rewriting.is_none()
    }

    /// ASCII that means just itself.
    fn plain(&mut self, text: &[u8], sink: &mut impl Sink) {
        self.at_start &= text.is_empty();
        // A line that is too long as it is goes on without being copied first.
        let end = if text.len() > LONGEST_LINE {
            text.len()
        } else {
            memchr::memrchr(b'\n', text).map_or(0, |at| at + 1)
        };
        if end > 0 {
            self.pass_on(sink);
            sink.ascii(&text[..end]);
            self.continued = !text[..end].ends_with(b"\n");
        }
        self.line.push_str(&String::from_utf8_lossy(&text[end..]));
        self.limit(sink);
    }

    fn character(&mut self, character: char, sink: &mut impl Sink) {
        match self.state {
            State::Text => self.printed(character, sink),
            State::Escape => {
                self.state = match character {
                    '[' => State::Control,
                    ']' | 'P' | 'X' | '^' | '_' => State::String,
                    ' '..='/' => State::EscapeIntermediate,
                    '\n' | '\r' => return self.interrupted(character, sink),
                    _ => State::Text,
                }
            }
            State::EscapeIntermediate => {
                if !(' '..='/').contains(&character) {
                    self.state = State::Text;
                }
            }
            State::Control => self.control(character, sink),
            State::String | State::StringEscape => match (self.state, character) {
                (_, '\u{7}') | (State::StringEscape, '\\') => {
                    self.sequence.clear();
                    self.state = State::Text;
                }
                (_, '\u{1b}') => self.state = State::StringEscape,
                // No terminal title holds a line end, and none is so long: it was never ended. What it took in was
                // meant to be read.
                (_, '\n' | '\r') => self.interrupted(character, sink),
                _ if self.sequence.len() > LONGEST_SEQUENCE => self.interrupted(character, sink),
                _ => {
                    self.sequence.push(character);
                    self.state = State::String;
                }
            },
        }
    }

    /// A sequence that turns out to be none: shows what it took in, and this character.
    fn interrupted(&mut self, character: char, sink: &mut impl Sink) {
        self.end_sequence();
        self.printed(character, sink);
    }

    fn end_sequence(&mut self) {
        if self.state != State::Text {
            self.state = State::Text;
            for taken in std::mem::take(&mut self.sequence).chars() {
                self.put(if taken.is_control() { '\u{fffd}' } else { taken });
            }
        }
    }

    fn printed(&mut self, character: char, sink: &mut impl Sink) {
        if std::mem::take(&mut self.carriage_return) && character != '\n' && character != '\r' {
            self.rewriting().column = 0;
        }
        match character {
            '\u{1b}' => self.state = State::Escape,
            '\n' => {
                self.pass_on(sink);
                sink.ascii(b"\n");
                self.continued = false;
            }
            '\r' => self.carriage_return = true,
            '\u{8}' => {
                let rewriting = self.rewriting();
                rewriting.column = rewriting.column.saturating_sub(1);
            }
            '\u{7}' => {}
            '\t' => self.put('\t'),
            '\0'..='\u{1f}' => self.put(char::from_u32(0x2400 + u32::from(character)).unwrap_or('\u{fffd}')),
            '\u{7f}' => self.put('\u{2421}'),
            '\u{80}'..='\u{9f}' => self.put('\u{fffd}'),
            other => self.put(other),
        }
        self.limit(sink);
    }

    /// A character of a control sequence. Only those that rewrite the line are carried out.
    fn control(&mut self, character: char, sink: &mut impl Sink) {
        match character {
            '@'..='~' => {
                self.state = State::Text;
                let sequence = std::mem::take(&mut self.sequence);
                let number = sequence.parse::<usize>().ok();
                match character {
                    'K' => self.erase(number.unwrap_or(0)),
                    'G' => self.rewriting().column = number.unwrap_or(1).clamp(1, LONGEST_LINE) - 1,
                    _ => {}
                }
            }
            '\u{1b}' => {
                self.sequence.clear();
                self.state = State::Escape;
            }
            ' '..='?' if self.sequence.len() < LONGEST_SEQUENCE => self.sequence.push(character),
            _ => self.interrupted(character, sink),
        }
    }

    fn erase(&mut self, which: usize) {
        // A carriage return that waits for its successor has moved the cursor.
        if std::mem::take(&mut self.carriage_return) {
            self.rewriting().column = 0;
        }
        let rewriting = self.rewriting();
        let column = rewriting.column;
        match which {
            0 => rewriting.line.truncate(column),
            1 => rewriting
                .line
                .iter_mut()
                .take(column + 1)
                .for_each(|at| *at = ' '),
            _ => rewriting.line.clear(),
        }
    }

    fn put(&mut self, character: char) {
        match &mut self.rewriting {
            None => self.line.push(character),
            Some(Rewriting { line, column }) => {
                if *column >= line.len() {
                    line.resize(*column, ' ');
                    line.push(character);
                } else {
                    line[*column] = character;
                }
                *column += 1;
            }
        }
    }

    fn rewriting(&mut self) -> &mut Rewriting {
        let line = &mut self.line;
        self.rewriting.get_or_insert_with(|| {
            let line: Vec<char> = std::mem::take(line).chars().collect();
            Rewriting {
                column: line.len(),
                line,
            }
        })
    }

    /// Keeps the unfinished line short enough to be held.
    fn limit(&mut self, sink: &mut impl Sink) {
        let length = self
            .rewriting
            .as_ref()
            .map_or(self.line.len(), |rewriting| rewriting.line.len());
        if length > LONGEST_LINE {
            self.pass_on(sink);
            self.continued = true;
        }
    }

    fn pass_on(&mut self, sink: &mut impl Sink) {
        if let Some(rewriting) = self.rewriting.take() {
            sink.text(&rewriting.line.iter().collect::<String>());
        }
        if !self.line.is_empty() {
            sink.text(&self.line);
            self.line.clear();
        }
    }
}

/// Whether every byte stands for itself: printable ASCII, a tab or a line end.
#[expect(
    clippy::needless_bitwise_bool,
    reason = "a lazy operator would be a jump for every byte"
)]
fn is_plain_ascii(bytes: &[u8]) -> bool {
    none_is(bytes, |byte| {
        (byte.wrapping_sub(0x20) >= 0x5f) & (byte != b'\n') & (byte != b'\t')
    })
}

/// Whether every byte of UTF-8 stands for itself. 0xc2 begins the control characters U+0080 to U+009F, and a few
/// others that are then looked at one by one.
#[expect(
    clippy::needless_bitwise_bool,
    reason = "a lazy operator would be a jump for every byte"
)]
fn is_plain(bytes: &[u8]) -> bool {
    none_is(bytes, |byte| {
        (byte < 0x20) & (byte != b'\n') & (byte != b'\t') | (byte == 0x7f) | (byte == 0xc2)
    })
}

/// Whether no byte is odd. One test a byte and no early exit within a block, so that the compiler can do many
/// bytes at once.
fn none_is(bytes: &[u8], odd: impl Fn(u8) -> bool) -> bool {
    bytes
        .chunks(4096)
        .all(|block| block.iter().fold(0, |found, byte| found | u8::from(odd(*byte))) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Out(String);

    impl Sink for Out {
        fn ascii(&mut self, text: &[u8]) {
            self.text(std::str::from_utf8(text).unwrap());
        }

        fn text(&mut self, text: &str) {
            self.0.push_str(text);
        }
    }

    fn clean(text: &[u8]) -> String {
        let whole = clean_in_pieces(text, usize::MAX);
        for size in 1..8 {
            assert_eq!(clean_in_pieces(text, size), whole, "in pieces of {size}");
        }
        whole
    }

    fn clean_in_pieces(text: &[u8], size: usize) -> String {
        let (mut cleaner, mut out) = (Cleaner::new(), Out::default());
        for piece in text.chunks(size.min(text.len().max(1))) {
            cleaner.feed(piece, &mut out);
        }
        cleaner.finish(&mut out);
        out.0
    }

    #[test]
    fn fault_34_ansi_and_carriage_return_progress_are_folded() {
        assert_eq!(clean(b"progress 1\rprogress 2\r\n"), "progress 2\n");
        assert_eq!(clean(b"50%\r100%\rok"), "ok0%");
        assert_eq!(clean(b"50%\r100%\x1b[K\rdone\x1b[K\n"), "done\n");
        assert_eq!(clean(b"\x1b[31mred\x1b[0m\x00nul\x07"), "red\u{2400}nul");
        assert_eq!(clean(b"\x1b]0;title\x07x\x1b]8;;http://a\x1b\\y"), "xy");
        assert_eq!(clean(b"a\r\nb\r\n"), "a\nb\n");
        assert_eq!(clean(b"ab\x08c"), "ac");
        assert_eq!(clean(b"one\ntwo\x1b[2K\x1b[1Gthree\n"), "one\nthree\n");
        assert_eq!(clean(b"x\x1b(By"), "xy");
        assert_eq!(clean(b"a\r\r\nb"), "a\nb");
    }

    #[test]
    fn invalid_utf8_is_made_visible() {
        assert_eq!(clean(b"a\xffb\xc3"), "a\u{fffd}b\u{fffd}");
        assert_eq!(clean("é🎉 \u{9b}x".as_bytes()), "é🎉 \u{fffd}x");
        assert_eq!(clean("\u{feff}x\u{feff}".as_bytes()), "x\u{feff}");
    }

    #[test]
    fn a_sequence_that_never_ends_swallows_nothing() {
        assert_eq!(
            clean(b"\x1b]0;title\nERROR: rm failed\n"),
            "0;title\nERROR: rm failed\n"
        );
        assert_eq!(clean(b"\x1bPabc"), "abc");
        let long = format!("\x1b_{}", "x".repeat(10_000));
        assert_eq!(clean_in_pieces(long.as_bytes(), 100).len(), 10_000);
        assert_eq!(clean(b"\x1b[12\nnext"), "12\nnext");
    }

    #[test]
    fn lines_of_any_length_pass() {
        for (piece, count) in [("x", 200_000), ("é", 100_000), ("ab\n", 50_000)] {
            let text = piece.repeat(count);
            for size in [1000, 70_001, 1 << 20] {
                assert_eq!(clean_in_pieces(text.as_bytes(), size), text);
            }
        }
    }
}
