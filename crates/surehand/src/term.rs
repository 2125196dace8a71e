//! Talking to the person at the terminal.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::errors::CliError;

/// Whether a person can be asked something: they see what we say and we see what they type.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
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

/// Asks a question whose answer is yes or no. Anything but a clear yes is no.
pub(crate) fn confirm(question: &str) -> Result<bool, CliError> {
    let lines: Vec<String> = question.lines().map(plain).collect();
    anstream::eprint!("{}\n[y/N] ", lines.join("\n"));
    // Standard error is not buffered; a failure to show the question shows in the answer.
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| CliError::Internal(format!("cannot read the answer: {error}")))?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn nothing_hidden_is_shown_as_such() {
        assert_eq!(plain("a b\u{1b}[2J\r\u{202e}ö"), "a b\\u{1b}[2J\\u{d}\\u{202e}ö");
    }
}
