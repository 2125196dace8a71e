//! Talking to the person at the terminal.

use std::{
    fmt::Display,
    io::{self, BufRead, IsTerminal, Write},
};

use crate::{errors::CliError, live};

/// A line on standard error. Where nobody reads it any more, there is nobody to tell.
pub(crate) fn say(line: impl Display) {
    live::beside_spinner(|| {
        let _ = writeln!(anstream::stderr(), "{line}");
    });
}

/// Whether a person can be asked something: they see what we say and we see what they type.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// How many characters a line of the terminal takes; 80 where it does not tell.
pub(crate) fn columns() -> usize {
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(rustix::stdio::stderr())
        && size.ws_col > 0
    {
        return size.ws_col.into();
    }
    80
}

/// Writes what was asked for. A reader that has gone is no fault (see [`CliError::report`]).
pub(crate) fn out(text: &str) -> Result<(), CliError> {
    let mut stdout = anstream::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(CliError::Output)
}

/// The same for JSON: indented, with a line end.
pub(crate) fn out_json(value: &impl serde::Serialize) -> Result<(), CliError> {
    let mut text =
        serde_json::to_string_pretty(value).map_err(|error| CliError::Internal(error.to_string()))?;
    text.push('\n');
    out(&text)
}

/// Bytes as a terminal may be given them, piece by piece: what would move its cursor, colour it or do worse is
/// shown as a sign (`␛` for the escape character). Line ends and tabs stay.
#[derive(Debug, Default)]
pub(crate) struct Visible {
    /// The beginning of a character whose rest is in the next piece.
    begun: Vec<u8>,
}

impl Visible {
    pub(crate) fn piece(&mut self, bytes: &[u8]) -> String {
        self.begun.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.begun) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            // An error before the end says nothing about the end.
            Err(_) => self.begun.len() - begun_at_end(&self.begun),
            Ok(_) => self.begun.len(),
        };
        let rest = self.begun.split_off(whole);
        let piece = std::mem::replace(&mut self.begun, rest);
        shown(&piece)
    }

    /// What is left when there is no next piece.
    pub(crate) fn end(&mut self) -> String {
        shown(&std::mem::take(&mut self.begun))
    }
}

/// How many bytes at the end are the beginning of a character that is not whole.
fn begun_at_end(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    (0..tail.len())
        .find(|at| {
            std::str::from_utf8(&tail[*at..])
                .is_err_and(|error| error.error_len().is_none() && error.valid_up_to() == 0)
        })
        .map_or(0, |at| tail.len() - at)
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .chars()
        .map(|character| match character {
            '\n' | '\t' => character,
            // The signs of the first 32 stand in one row, in the same order (Unicode, Control Pictures).
            '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(character)).unwrap_or('\u{fffd}'),
            '\u{7f}' => '\u{2421}',
            _ if character.is_control() => '\u{fffd}',
            _ => character,
        })
        .collect()
}

/// `text` on one line and without anything that would change how a terminal shows what is around it: what
/// cannot be seen is spelled out. For texts that come from elsewhere.
pub(crate) fn plain(text: &str) -> String {
    text.chars()
        .flat_map(|character| {
            let hidden = character.is_control()
                || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
            let spelled = hidden.then(|| character.escape_unicode());
            spelled.into_iter().flatten().chain((!hidden).then_some(character))
        })
        .collect()
}

/// What a person answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answered {
    Yes,
    /// Anything that is no clear yes.
    No,
    /// The end of input (Ctrl-D).
    Nothing,
}

/// Asks a question whose answer is yes or no.
pub(crate) fn confirm(question: &str) -> Result<Answered, CliError> {
    let lines: Vec<String> = question.lines().map(plain).collect();
    let unheard = |error| CliError::Internal(format!("cannot ask at the terminal: {error}"));
    write!(anstream::stderr(), "{}\n[y/N] ", lines.join("\n")).map_err(unheard)?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(unheard)?;
    if !answer.ends_with('\n') {
        // The cursor still stands behind the question.
        say("");
    }
    Ok(match answer.trim().to_ascii_lowercase().as_str() {
        _ if answer.is_empty() => Answered::Nothing,
        "y" | "yes" => Answered::Yes,
        _ => Answered::No,
    })
}

#[cfg(test)]
mod tests {
    use super::{Visible, plain};

    #[test]
    fn nothing_hidden_is_shown_as_such() {
        assert_eq!(plain("a b\u{1b}[2J\r\u{202e}ö"), "a b\\u{1b}[2J\\u{d}\\u{202e}ö");
    }

    #[test]
    fn a_terminal_is_given_nothing_that_it_would_obey() {
        let mut visible = Visible::default();
        assert_eq!(visible.piece(b"a\tb\x1b[2J\r\n\x7f\0"), "a\tb␛[2J␍\n␡␀");
        // The one-character form of the control sequence introducer.
        assert_eq!(visible.piece("\u{9b}31m".as_bytes()), "\u{fffd}31m");
        assert_eq!(visible.end(), "");
    }

    #[test]
    fn characters_may_be_split_between_pieces() {
        let text = "aö€😀z\u{9b}";
        for size in 1..5 {
            let mut visible = Visible::default();
            let mut all: String = text
                .as_bytes()
                .chunks(size)
                .map(|piece| visible.piece(piece))
                .collect();
            all.push_str(&visible.end());
            assert_eq!(all, "aö€😀z\u{fffd}", "{size}");
        }
        let mut visible = Visible::default();
        assert_eq!(visible.piece(b"x\xff\xe2\x82"), "x\u{fffd}");
        assert_eq!(visible.piece(b"\xac"), "€");
        assert_eq!(visible.piece(b"\xc3"), "");
        assert_eq!(visible.end(), "\u{fffd}");
    }
}
