//! JSON as people write it: comments and a byte-order mark are passed over, a key given twice is an error.

use serde_json::Value;
use surehand_core::parse_strict;

/// Parses a document. The error names line and column.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let plain = without_comments(text)?;
    parse_strict(&plain).map_err(|error| error.to_string())
}

/// The same text with blanks in place of `//` and `/* */` comments, so that lines and columns stay.
fn without_comments(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(['"', '/']) {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let length = if rest.starts_with('"') {
            let length = string_length(rest);
            out.push_str(&rest[..length]);
            length
        } else if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            blank(&rest[..length], &mut out);
            length
        } else if rest.starts_with("/*") {
            let Some(length) = rest.find("*/").map(|end| end + 2).filter(|length| *length >= 4) else {
                let line = out.matches('\n').count() + 1;
                return Err(format!("the comment that begins on line {line} has no end"));
            };
            blank(&rest[..length], &mut out);
            length
        } else {
            out.push('/');
            1
        };
        rest = &rest[length..];
    }
    out.push_str(rest);
    Ok(out)
}

/// The length of the string that begins here, quotes included; of the whole rest if it has no end.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (index, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

fn blank(comment: &str, out: &mut String) {
    out.extend(comment.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::parse;

    #[test]
    fn fault_23_comments_and_a_byte_order_mark_are_accepted() {
        let text =
            "\u{FEFF}// runbooks.json\n{ \"a\": /* one */ 1, // two\r\n \"b//\\\"\": \"/* no */\" } /**/";
        assert_eq!(parse(text), Ok(json!({"a": 1, "b//\"": "/* no */"})));
        assert!(parse("{} /* open").unwrap_err().contains("line 1"));
        assert!(parse("{} /*/").unwrap_err().contains("no end"));
        assert!(parse("/ 1").is_err());
    }

    #[test]
    fn errors_keep_line_and_column() {
        let error = parse("// c\n{\"version\": 1,\n /* \n */ \"runbooks\": [}").unwrap_err();
        assert!(error.ends_with("at line 4 column 18"), "{error}");
        assert!(parse("{\"a\": 1,}").unwrap_err().contains("trailing comma"));
        assert!(parse("{} {}").unwrap_err().contains("trailing characters"));
    }

    #[test]
    fn a_key_given_twice_is_an_error_that_names_it() {
        let error = parse("{\"x\": {\"a\": 1,\n \"a\": 2}}").unwrap_err();
        assert!(error.starts_with("duplicate key \"a\" at line 2"), "{error}");
    }
}
