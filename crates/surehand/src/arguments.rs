//! Arguments as a person types them: `name=value`, typed by the tool's schema.

use serde_json::{Map, Number, Value};
use surehand_core::{Tool, nearest};

/// An argument that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ArgumentError {
    #[error("{0:?} is not of the form name=value")]
    NotAPair(String),
    #[error("{tool} has no parameter {name:?}{}", nearest.as_ref().map(|n| format!("; did you mean {n:?}?")).unwrap_or_default())]
    Unknown {
        tool: String,
        name: String,
        nearest: Option<String>,
    },
    #[error("{name} is given twice and takes one value")]
    Twice { name: String },
    #[error("{name} takes {wanted}, not {given:?}")]
    WrongType {
        name: String,
        wanted: &'static str,
        given: String,
    },
    #[error("the arguments are not a JSON object: {0}")]
    NotAnObject(String),
}

/// Reads `name=value` words. An array is given by repeating its name.
pub(crate) fn from_words(tool: &Tool, words: &[String]) -> Result<Map<String, Value>, ArgumentError> {
    let mut arguments = Map::new();
    for word in words {
        let (name, value) = word
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| ArgumentError::NotAPair(word.clone()))?;
        add(&mut arguments, kind_of(tool, name)?, name, value)?;
    }
    Ok(arguments)
}

/// Reads a JSON object. What stands in it is the tool's to check.
pub(crate) fn from_json(text: &str) -> Result<Map<String, Value>, ArgumentError> {
    serde_json::from_str(text).map_err(|error| ArgumentError::NotAnObject(error.to_string()))
}

/// What a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Boolean,
    Number,
    Array,
}

fn kind_of(tool: &Tool, name: &str) -> Result<Kind, ArgumentError> {
    let none = Map::new();
    let properties = tool
        .input_schema
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&none);
    let Some(schema) = properties.get(name) else {
        return Err(ArgumentError::Unknown {
            tool: tool.name.clone(),
            name: name.to_owned(),
            nearest: nearest(name, properties.keys().map(String::as_str)).map(str::to_owned),
        });
    };
    Ok(match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => Kind::Boolean,
        Some("number" | "integer") => Kind::Number,
        Some("array") => Kind::Array,
        _ => Kind::Text,
    })
}

fn add(arguments: &mut Map<String, Value>, kind: Kind, name: &str, text: &str) -> Result<(), ArgumentError> {
    let wrong = |wanted| ArgumentError::WrongType {
        name: name.to_owned(),
        wanted,
        given: text.to_owned(),
    };
    let value = match kind {
        Kind::Array => {
            if let Value::Array(items) = arguments.entry(name).or_insert_with(|| Value::Array(Vec::new())) {
                items.push(Value::String(text.to_owned()));
            }
            return Ok(());
        }
        Kind::Text => Value::String(text.to_owned()),
        Kind::Boolean => Value::Bool(text.parse().map_err(|_| wrong("true or false"))?),
        Kind::Number => {
            let number: Number = serde_json::from_str(text).map_err(|_| wrong("a number"))?;
            Value::Number(number)
        }
    };
    if arguments.insert(name.to_owned(), value).is_some() {
        return Err(ArgumentError::Twice {
            name: name.to_owned(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};
    use surehand_core::{Effects, Tool};

    use super::{from_json, from_words};

    fn tool() -> Tool {
        let Value::Object(schema) = json!({"type": "object", "properties": {
            "to": {"type": "string"},
            "dry_run": {"type": "boolean"},
            "count": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
        }}) else {
            unreachable!()
        };
        Tool {
            name: "deploy".to_owned(),
            title: None,
            description: String::new(),
            input_schema: Arc::new(schema),
            output_schema: None,
            effects: Effects::default(),
            toolset: "runbooks".to_owned(),
        }
    }

    fn read(words: &[&str]) -> Result<Value, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        from_words(&tool(), &words)
            .map(Value::Object)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_schema_says_what_a_value_is() {
        let words = ["to=a=b", "dry_run=true", "count=-3", "tags=x", "tags=1"];
        assert_eq!(
            read(&words).unwrap(),
            json!({"to": "a=b", "dry_run": true, "count": -3, "tags": ["x", "1"]})
        );
        assert_eq!(read(&["to="]).unwrap(), json!({"to": ""}));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (words, message) in [
            (&["to"][..], "\"to\" is not of the form name=value"),
            (&["=x"], "\"=x\" is not of the form name=value"),
            (
                &["dryRun=true"],
                "deploy has no parameter \"dryRun\"; did you mean \"dry_run\"?",
            ),
            (&["zzz=1"], "deploy has no parameter \"zzz\""),
            (&["to=a", "to=b"], "to is given twice and takes one value"),
            (&["dry_run=yes"], "dry_run takes true or false, not \"yes\""),
            (&["count=three"], "count takes a number, not \"three\""),
            (&["count=1e999"], "count takes a number, not \"1e999\""),
        ] {
            assert_eq!(read(words).unwrap_err(), message);
        }
    }

    #[test]
    fn json_must_be_an_object() {
        assert_eq!(Value::Object(from_json(r#"{"a":1}"#).unwrap()), json!({"a": 1}));
        for text in ["[1]", "{", "", "null"] {
            assert!(from_json(text).is_err(), "{text}");
        }
    }
}
