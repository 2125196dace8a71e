//! JSON as people write it: comments and a byte-order mark are passed over, a key given twice is an error.

use std::fmt;

use serde::de::{self, Deserialize as _, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Parses a document. The error names line and column.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let plain = without_comments(text)?;
    let mut reader = serde_json::Deserializer::from_str(&plain);
    let value = Strict
        .deserialize(&mut reader)
        .map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    Ok(value)
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

/// Reads a [`Value`], refusing an object that has a key twice.
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(Strict)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key_seed(Key)? {
            if map.contains_key(&key) {
                return Err(de::Error::custom(format_args!("duplicate key {key:?}")));
            }
            let value = entries.next_value_seed(Strict)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = String;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        String::deserialize(deserializer)
    }
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

    #[test]
    fn keys_keep_their_order() {
        let value = parse(r#"{"z": 1, "a": 2, "m": 3}"#).unwrap();
        let keys: Vec<_> = value.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["z", "a", "m"]);
    }
}
