//! Terminal output as plain text.
//!
//! Invalid UTF-8 becomes U+FFFD, a byte-order mark at the start goes, escape sequences (ECMA-48) go, a line
//! that was rewritten after a carriage return stands once, in its last form, and other control characters
//! become visible.

use crate::tail::Tail;

/// A line that is rewritten longer than this is taken as it is.
const LONGEST_REWRITTEN: usize = 1 << 16;
/// An escape sequence longer than this is not one.
const LONGEST_SEQUENCE: usize = 4096;

/// Is called with each finished line.
pub(crate) type LineEnded = Box<dyn FnMut(&str) + Send>;

/// Cleans one stream, piece by piece, into a [`Tail`].
pub(crate) struct Cleaner {
    tail: Tail,
    /// The beginning of a character that the last piece cut.
    cut: Vec<u8>,
    state: State,
    sequence: String,
    at_start: bool,
    carriage_return: bool,
    rewriting: Option<Rewriting>,
    line_ended: Option<LineEnded>,
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

/// The unfinished line while a cursor moves in it.
struct Rewriting {
    line: Vec<char>,
    column: usize,
}

impl Cleaner {
    /// `line_ended` is called with each finished line.
    pub(crate) fn new(tail: Tail, line_ended: Option<LineEnded>) -> Self {
        Self {
            tail,
            cut: Vec::new(),
            state: State::Text,
            sequence: String::new(),
            at_start: true,
            carriage_return: false,
            rewriting: None,
            line_ended,
        }
    }

    pub(crate) fn feed(&mut self, piece: &[u8]) {
        if self.cut.is_empty() {
            if self.is_simple() && is_plain_ascii(piece) {
                self.plain(piece);
            } else {
                self.decode(piece);
            }
        } else {
            let mut joined = std::mem::take(&mut self.cut);
            joined.extend_from_slice(piece);
            self.decode(&joined);
        }
    }

    /// What the stream says just now: the line at its end, or the one before if that is empty.
    pub(crate) fn latest_line(&self) -> String {
        match &self.rewriting {
            Some(rewriting) if !rewriting.line.is_empty() => rewriting.line.iter().collect(),
            _ => self.tail.last_line().into_owned(),
        }
    }

    /// The end of the text, and how many UTF-16 code units came before it.
    pub(crate) fn finish(mut self) -> (String, u64) {
        if !self.cut.is_empty() {
            self.text("\u{fffd}");
        }
        self.append_rewritten();
        if let Some(line_ended) = &mut self.line_ended
            && !self.tail.is_at_line_start()
        {
            line_ended(&self.tail.line());
        }
        self.tail.finish()
    }

    fn decode(&mut self, mut bytes: &[u8]) {
        loop {
            match std::str::from_utf8(bytes) {
                Ok(text) => return self.text(text),
                Err(error) => {
                    let (valid, rest) = bytes.split_at(error.valid_up_to());
                    if let Ok(text) = std::str::from_utf8(valid) {
                        self.text(text);
                    }
                    let Some(invalid) = error.error_len() else {
                        self.cut = rest.to_vec();
                        return;
                    };
                    self.text("\u{fffd}");
                    bytes = &rest[invalid..];
                }
            }
        }
    }

    fn text(&mut self, mut text: &str) {
        if text.is_empty() {
            return;
        }
        if std::mem::take(&mut self.at_start) {
            text = text.strip_prefix('\u{feff}').unwrap_or(text);
        }
        if self.is_simple() && self.line_ended.is_none() && is_plain(text.as_bytes()) {
            return self.tail.push(text);
        }
        for character in text.chars() {
            self.character(character);
        }
    }

    /// Whether no earlier character decides what the next means.
    fn is_simple(&self) -> bool {
        self.state == State::Text && !self.carriage_return && self.rewriting.is_none()
    }

    /// ASCII that means just itself.
    fn plain(&mut self, text: &[u8]) {
        self.at_start &= text.is_empty();
        let Some(line_ended) = &mut self.line_ended else {
            return self.tail.push_ascii(text);
        };
        for part in text.split_inclusive(|byte| *byte == b'\n') {
            if let Some(end) = part.strip_suffix(b"\n") {
                if self.tail.is_at_line_start() {
                    line_ended(&String::from_utf8_lossy(end));
                } else {
                    self.tail.push_ascii(end);
                    line_ended(&self.tail.line());
                    self.tail.push_ascii(b"\n");
                    continue;
                }
            }
            self.tail.push_ascii(part);
        }
    }

    fn character(&mut self, character: char) {
        match self.state {
            State::Text => self.printed(character),
            State::Escape => {
                self.state = match character {
                    '[' => State::Control,
                    ']' | 'P' | 'X' | '^' | '_' => State::String,
                    ' '..='/' => State::EscapeIntermediate,
                    _ => State::Text,
                }
            }
            State::EscapeIntermediate => {
                if !(' '..='/').contains(&character) {
                    self.state = State::Text;
                }
            }
            State::Control => self.control(character),
            State::String | State::StringEscape => {
                self.sequence.push(character);
                self.state = match (self.state, character) {
                    (_, '\u{7}') | (State::StringEscape, '\\') => State::Text,
                    (_, '\u{1b}') => State::StringEscape,
                    _ if self.sequence.len() > LONGEST_SEQUENCE => State::Text,
                    _ => State::String,
                };
                if self.state == State::Text {
                    self.sequence.clear();
                }
            }
        }
    }

    fn printed(&mut self, character: char) {
        if std::mem::take(&mut self.carriage_return) && character != '\n' && character != '\r' {
            self.rewriting().column = 0;
        }
        match character {
            '\u{1b}' => self.state = State::Escape,
            '\n' => self.end_line(),
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
    }

    /// A character of a control sequence. Only those that rewrite the line are carried out.
    fn control(&mut self, character: char) {
        match character {
            '@'..='~' => {
                self.state = State::Text;
                let sequence = std::mem::take(&mut self.sequence);
                let number = sequence.parse::<usize>().ok();
                match character {
                    'K' => self.erase(number.unwrap_or(0)),
                    'G' => self.rewriting().column = number.unwrap_or(1).clamp(1, LONGEST_REWRITTEN) - 1,
                    _ => {}
                }
            }
            '\u{1b}' => {
                self.sequence.clear();
                self.state = State::Escape;
            }
            ' '..='?' if self.sequence.len() < LONGEST_SEQUENCE => self.sequence.push(character),
            _ => {
                self.sequence.clear();
                self.state = State::Text;
                self.printed(character);
            }
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
            None => self.tail.push(character.encode_utf8(&mut [0; 4])),
            Some(Rewriting { line, column }) => {
                if *column >= line.len() {
                    line.resize(*column, ' ');
                    line.push(character);
                } else {
                    line[*column] = character;
                }
                *column += 1;
                if line.len() > LONGEST_REWRITTEN {
                    self.append_rewritten();
                }
            }
        }
    }

    fn end_line(&mut self) {
        self.append_rewritten();
        if let Some(line_ended) = &mut self.line_ended {
            line_ended(&self.tail.line());
        }
        self.tail.push("\n");
    }

    fn rewriting(&mut self) -> &mut Rewriting {
        let tail = &mut self.tail;
        self.rewriting.get_or_insert_with(|| {
            let line: Vec<char> = tail.take_line().chars().collect();
            Rewriting {
                column: line.len(),
                line,
            }
        })
    }

    fn append_rewritten(&mut self) {
        if let Some(rewriting) = self.rewriting.take() {
            self.tail.push(&rewriting.line.iter().collect::<String>());
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

    fn clean(text: &[u8]) -> String {
        let whole = clean_in_pieces(text, usize::MAX);
        for size in 1..8 {
            assert_eq!(clean_in_pieces(text, size), whole, "in pieces of {size}");
        }
        whole
    }

    fn clean_in_pieces(text: &[u8], size: usize) -> String {
        let mut cleaner = Cleaner::new(Tail::new(1000), None);
        for piece in text.chunks(size.min(text.len().max(1))) {
            cleaner.feed(piece);
        }
        cleaner.finish().0
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
    fn a_line_is_reported_once_and_in_its_last_form() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let mut cleaner = Cleaner::new(
            Tail::new(10),
            Some(Box::new(move |line: &str| sender.send(line.to_owned()).unwrap())),
        );
        for piece in [&b"on"[..], b"e\ntw", b"o\n\n1%\r", b"2%\nend"] {
            cleaner.feed(piece);
        }
        assert_eq!(cleaner.latest_line(), "end");
        cleaner.finish();
        assert_eq!(
            receiver.iter().collect::<Vec<_>>(),
            ["one", "two", "", "2%", "end"]
        );
    }
}
