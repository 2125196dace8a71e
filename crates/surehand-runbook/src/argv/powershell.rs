//! Commands for PowerShell, which takes one text.
//!
//! `-File` can neither bind arrays nor set the console's encoding, so the script is called from a `-Command`.
//! Every value stands in single quotes, where PowerShell expands nothing.

use crate::values::Argument;

/// The command text that runs a script.
pub(super) fn command_text(script: &str, arguments: &[(Option<&str>, &Argument, Option<&str>)]) -> String {
    let mut call = format!("& {}", quoted(script));
    for (flag, argument, join) in arguments {
        let value = match argument {
            Argument::Boolean(false) => continue,
            Argument::Boolean(true) => None,
            Argument::Text(text) | Argument::Number(text) => Some(quoted(text)),
            Argument::List(items) if items.is_empty() => continue,
            Argument::List(items) => Some(match join {
                Some(join) => quoted(&items.join(join)),
                None => items
                    .iter()
                    .map(|item| quoted(item))
                    .collect::<Vec<_>>()
                    .join(","),
            }),
        };
        for token in [flag.map(str::to_owned), value].into_iter().flatten() {
            call.push(' ');
            call.push_str(&token);
        }
    }
    format!(
        "$ProgressPreference = 'SilentlyContinue'; [Console]::OutputEncoding = [System.Text.Encoding]::UTF8; \
         {call}; exit $LASTEXITCODE"
    )
}

/// A single-quoted string. PowerShell ends one at any of five characters, and reads two in a row as one.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for character in text.chars() {
        out.push(character);
        if is_quote(character) {
            out.push(character);
        }
    }
    out.push('\'');
    out
}

/// Whether PowerShell takes the character for a single quote.
pub(super) fn is_quote(character: char) -> bool {
    matches!(
        character,
        '\'' | '\u{2018}' | '\u{2019}' | '\u{201A}' | '\u{201B}'
    )
}
