//! JSON that says one thing only.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value, map::Entry};

/// Of a key that stands twice, so much is shown, in characters.
const SHOWN: usize = 64;

/// Reads a document in which no object has a key twice. RFC 8259 (section 4) leaves it open which of the two
/// counts; whoever checked the one and carries out the other has checked nothing.
///
/// # Errors
/// When it is not JSON, has a number that cannot be held, or has a key twice, which the error then names.
/// Line and column are those of the text.
pub fn parse_strict(text: &str) -> serde_json::Result<Value> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
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
        while let Some(key) = entries.next_key::<String>()? {
            match map.entry(key) {
                Entry::Vacant(place) => {
                    place.insert(entries.next_value_seed(Strict)?);
                }
                Entry::Occupied(place) => {
                    let key: String = place.key().chars().take(SHOWN).collect();
                    return Err(de::Error::custom(format_args!("duplicate key {key:?}")));
                }
            }
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::parse_strict;

    #[test]
    fn a_key_given_twice_is_an_error_that_names_it() {
        for (text, problem) in [
            ("{\"x\": {\"a\": 1,\n \"a\": 2}}", "duplicate key \"a\" at line 2"),
            (r#"[{"é": 1, "\u00e9": 1}]"#, "duplicate key \"é\" at line 1"),
            (
                r#"{"__proto__": 1, "__proto__": 1}"#,
                "duplicate key \"__proto__\"",
            ),
        ] {
            let error = parse_strict(text).unwrap_err().to_string();
            assert!(error.starts_with(problem), "{error}");
        }
        let long = "k".repeat(100_000);
        let error = parse_strict(&format!("{{\"{long}\":1,\"{long}\":2}}")).unwrap_err();
        assert!(error.to_string().len() < 200);
        assert!(parse_strict(r#"{"a": {"a": 1}, "b": [{"a": 1}, {"a": 1}]}"#).is_ok());
    }

    #[test]
    fn keys_keep_their_order() {
        let value = parse_strict(r#"{"z": 1, "a": 2, "m": 3}"#).unwrap();
        let keys: Vec<_> = value.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["z", "a", "m"]);
    }

    proptest! {
        #[test]
        fn what_has_no_key_twice_reads_as_ever(text in r#"[{}\[\]":, a1.e\-tnul]{0,30}"#) {
            let usual = serde_json::from_str::<Value>(&text);
            match parse_strict(&text) {
                Ok(value) => prop_assert_eq!(value, usual.unwrap()),
                Err(error) => prop_assert!(usual.is_err() || error.to_string().starts_with("duplicate key")),
            }
        }
    }
}
