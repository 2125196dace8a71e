//! Characters that no text may hold, whatever its pattern says.
//!
//! A double quote and control characters break out of quoting or of a line. The others make a value look
//! like something else than it is, to the person who confirms it or reads the history: line and paragraph
//! separators, bidirectional controls, and characters that cannot be seen. U+200C and U+200D (the zero-width
//! non-joiner and joiner) are accepted because Persian, Indic scripts and emoji are not spelled without them.
//! Unpaired surrogates need no check: no Rust string holds one, and the reader of JSON refuses them.

/// Whether a character is refused.
pub(crate) fn is_refused(character: char) -> bool {
    character == '"' || character.is_control() || hidden(character).is_some()
}

/// What is wrong with a text's characters, as the end of a sentence that begins with the parameter's name.
pub(crate) fn refused_character(text: &str) -> Option<String> {
    let character = text.chars().find(|character| is_refused(*character))?;
    Some(match hidden(character) {
        Some(kind) => format!("must not contain {kind} (U+{:04X})", u32::from(character)),
        None => "must not contain double quotes or control characters".to_owned(),
    })
}

fn hidden(character: char) -> Option<&'static str> {
    match character {
        '\u{2028}' | '\u{2029}' => Some("line separators"),
        '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => {
            Some("bidirectional controls")
        }
        '\u{200B}'
        | '\u{2060}'..='\u{2064}'
        | '\u{FEFF}'
        | '\u{FFF9}'..='\u{FFFB}'
        | '\u{E0000}'..='\u{E007F}' => Some("invisible characters"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_refused, refused_character};

    #[test]
    fn fault_17_characters_that_deceive_are_refused() {
        for character in [
            '"',
            '\0',
            '\n',
            '\u{1F}',
            '\u{7F}',
            '\u{85}',
            '\u{9B}',
            '\u{2028}',
            '\u{2029}',
            '\u{202E}',
            '\u{2066}',
            '\u{200F}',
            '\u{200B}',
            '\u{2060}',
            '\u{FEFF}',
            '\u{E0041}',
        ] {
            assert!(is_refused(character), "{character:?}");
        }
        for character in [
            'a', '\'', '’', 'é', '\u{200C}', '\u{200D}', '\u{FFFD}', '🎉', '\u{A0}', '`', '$',
        ] {
            assert!(!is_refused(character), "{character:?}");
        }
    }

    #[test]
    fn the_message_names_what_cannot_be_seen() {
        assert_eq!(
            refused_character("a\"b").unwrap(),
            "must not contain double quotes or control characters"
        );
        assert_eq!(
            refused_character("a\u{202E}b").unwrap(),
            "must not contain bidirectional controls (U+202E)"
        );
        assert_eq!(refused_character("ab"), None);
    }
}
