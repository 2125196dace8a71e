//! Characters that no text may hold, whatever its pattern says.
//!
//! A double quote and control characters break out of quoting or of a line. The others make a value look
//! like something else than it is, to the person who confirms it or reads the history: line and paragraph
//! separators, bidirectional controls, and characters that cannot be seen: those that Unicode calls default
//! ignorable (UAX #44, `Default_Ignorable_Code_Point`) and interlinear annotation. U+200C and U+200D (the
//! zero-width non-joiner and joiner) and the variation selectors U+FE00 to U+FE0F and U+E0100 to U+E01EF are
//! accepted because Persian, Indic scripts, Japanese names and emoji are not spelled without them.
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
        '\u{00AD}'
        | '\u{034F}'
        | '\u{115F}'..='\u{1160}'
        | '\u{17B4}'..='\u{17B5}'
        | '\u{180B}'..='\u{180F}'
        | '\u{200B}'
        | '\u{2800}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206A}'..='\u{206F}'
        | '\u{3164}'
        | '\u{FEFF}'
        | '\u{FFA0}'
        | '\u{FFF0}'..='\u{FFFB}'
        | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E00FF}'
        | '\u{E01F0}'..='\u{E0FFF}' => Some("invisible characters"),
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
            '\u{AD}',
            '\u{34F}',
            '\u{61C}',
            '\u{115F}',
            '\u{1160}',
            '\u{17B4}',
            '\u{17B5}',
            '\u{180B}',
            '\u{180E}',
            '\u{180F}',
            '\u{2061}',
            '\u{2064}',
            '\u{206A}',
            '\u{206F}',
            '\u{3164}',
            '\u{FFA0}',
            '\u{FFF9}',
            '\u{FFFB}',
            '\u{1D173}',
            '\u{E0001}',
        ] {
            assert!(is_refused(character), "{character:?}");
        }
        for character in [
            'a',
            '\'',
            '’',
            'é',
            '\u{200C}',
            '\u{200D}',
            '\u{FFFD}',
            '🎉',
            '\u{A0}',
            '`',
            '$',
            '\u{FE00}',
            '\u{FE0F}',
            '\u{E0100}',
            '한',
            'ᄀ',
            'ក',
            'ᠠ',
            '\u{FFFC}',
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
