//! The command line as people see it.
//!
//! It can be pasted into a POSIX shell and then means the same command. Where the original's way of writing it
//! (a JSON string) means the same to a shell, it is kept; PowerShell commands keep it in any case, because
//! people compare them.

/// One line for a command.
pub(crate) fn line(command: &[String], powershell: bool) -> String {
    joined(command, |argument| {
        if powershell {
            as_json_where_needed(argument)
        } else {
            for_shell(argument)
        }
    })
}

/// As [`line`], but with nothing in place of an empty argument: the original's results and listing are like
/// that, and compared word for word. The exact command stands beside it.
pub(crate) fn compatible_line(command: &[String], powershell: bool) -> String {
    joined(command, |argument| {
        if powershell || argument.is_empty() {
            as_json_where_needed(argument)
        } else {
            for_shell(argument)
        }
    })
}

fn joined(command: &[String], quoted: impl Fn(&String) -> String) -> String {
    command.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// What the original wraps.
fn is_wrapped(character: char) -> bool {
    character.is_whitespace()
        || character == '\u{FEFF}'
        || matches!(
            character,
            '"' | '\'' | '$' | '&' | ';' | '|' | '<' | '>' | '(' | ')' | '\\'
        )
}

fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn as_json_where_needed(argument: &str) -> String {
    if argument.contains(is_wrapped) {
        json_string(argument)
    } else {
        argument.to_owned()
    }
}

fn for_shell(argument: &str) -> String {
    // Inside double quotes these still mean something to a shell, or JSON writes them as no shell reads them.
    let needs_single = |c: char| matches!(c, '$' | '`' | '!') || c.is_control();
    let needs_quotes = |c: char| matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '~' | '#' | '^');
    if argument.is_empty() || argument.contains(needs_single) {
        format!("'{}'", argument.replace('\'', "'\\''"))
    } else if argument.contains(is_wrapped) {
        json_string(argument)
    } else if argument.contains(needs_quotes) {
        format!("'{argument}'")
    } else {
        argument.to_owned()
    }
}
