//! Reading the keys of one JSON object, so that every problem is found and has its place.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::{hints, problem::Problem};

/// The keys of one object. Whatever was not asked for when [`Fields::finish`] is called is unknown.
pub(super) struct Fields<'v> {
    map: &'v Map<String, Value>,
    path: String,
    known: Vec<&'static str>,
}

/// The name of a value's type, as messages call it.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The path of a key below `path`.
pub(super) fn below(path: &str, key: impl std::fmt::Display) -> String {
    if path.is_empty() {
        key.to_string()
    } else {
        format!("{path}.{key}")
    }
}

/// Says that a value has the wrong type.
pub(super) fn mismatch(path: &str, expected: &str, value: &Value, problems: &mut Vec<Problem>) {
    problems.push(Problem::new(
        path,
        format!("Expected {expected}, received {}", type_name(value)),
    ));
}

/// The value as an object.
pub(super) fn as_object<'v>(
    value: &'v Value,
    path: &str,
    problems: &mut Vec<Problem>,
) -> Option<&'v Map<String, Value>> {
    let map = value.as_object();
    if map.is_none() {
        let place = if path.is_empty() { "(root)" } else { path };
        mismatch(place, "object", value, problems);
    }
    map
}

/// A text that is not empty.
pub(super) fn non_empty(text: &str, path: &str, problems: &mut Vec<Problem>) {
    if text.is_empty() {
        problems.push(Problem::new(path, "String must contain at least 1 character(s)"));
    }
}

impl<'v> Fields<'v> {
    pub(super) fn of(value: &'v Value, path: &str, problems: &mut Vec<Problem>) -> Option<Self> {
        as_object(value, path, problems).map(|map| Self {
            map,
            path: path.to_owned(),
            known: Vec::new(),
        })
    }

    pub(super) fn path(&self, key: &str) -> String {
        below(&self.path, key)
    }

    /// The value of a key.
    pub(super) fn get(&mut self, key: &'static str) -> Option<&'v Value> {
        self.known.push(key);
        self.map.get(key)
    }

    /// The value of a key that must be there.
    pub(super) fn required(&mut self, key: &'static str, problems: &mut Vec<Problem>) -> Option<&'v Value> {
        let value = self.get(key);
        if value.is_none() {
            problems.push(Problem::new(self.path(key), "Required"));
        }
        value
    }

    fn typed<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        problems: &mut Vec<Problem>,
        read: impl FnOnce(&'v Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.get(key)?;
        let typed = read(value);
        if typed.is_none() {
            mismatch(&self.path(key), expected, value, problems);
        }
        typed
    }

    pub(super) fn string(&mut self, key: &'static str, problems: &mut Vec<Problem>) -> Option<&'v str> {
        self.typed(key, "string", problems, Value::as_str)
    }

    /// A text that must be there and not be empty.
    pub(super) fn required_string(&mut self, key: &'static str, problems: &mut Vec<Problem>) -> String {
        if self.required(key, problems).is_none() {
            return String::new();
        }
        let Some(text) = self.string(key, problems) else {
            return String::new();
        };
        non_empty(text, &self.path(key), problems);
        text.to_owned()
    }

    pub(super) fn boolean(&mut self, key: &'static str, problems: &mut Vec<Problem>) -> Option<bool> {
        self.typed(key, "boolean", problems, Value::as_bool)
    }

    pub(super) fn number(&mut self, key: &'static str, problems: &mut Vec<Problem>) -> Option<f64> {
        self.typed(key, "number", problems, Value::as_f64)
    }

    /// A whole number from `least` to `most`.
    pub(super) fn integer(
        &mut self,
        key: &'static str,
        least: u32,
        most: u32,
        problems: &mut Vec<Problem>,
    ) -> Option<u32> {
        let number = self.number(key, problems)?;
        let mut complain = |message: String| problems.push(Problem::new(below(&self.path, key), message));
        if number.fract() != 0.0 {
            complain("Expected integer, received float".to_owned());
        }
        if number < f64::from(least) {
            complain(if least == 1 {
                "Number must be greater than 0".to_owned()
            } else {
                format!("Number must be greater than or equal to {least}")
            });
        }
        if number > f64::from(most) {
            complain(format!("Number must be less than or equal to {most}"));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "what does not fit was complained of, and the manifest is not used"
        )]
        Some(number as u32)
    }

    /// An array of texts, none of them empty if `filled`.
    pub(super) fn strings(
        &mut self,
        key: &'static str,
        filled: bool,
        problems: &mut Vec<Problem>,
    ) -> Option<Vec<String>> {
        let items = self.typed(key, "array", problems, Value::as_array)?;
        Some(texts(items, &self.path(key), filled, problems))
    }

    /// A map from names to texts.
    pub(super) fn string_map(
        &mut self,
        key: &'static str,
        problems: &mut Vec<Problem>,
    ) -> Vec<(&'v str, &'v str)> {
        let Some(value) = self.get(key) else {
            return Vec::new();
        };
        let path = self.path(key);
        let Some(map) = as_object(value, &path, problems) else {
            return Vec::new();
        };
        map.iter()
            .filter_map(|(name, value)| {
                let text = value.as_str();
                if text.is_none() {
                    mismatch(&below(&path, name), "string", value, problems);
                }
                text.map(|text| (name.as_str(), text))
            })
            .collect()
    }

    /// Reports the keys that nobody asked for.
    pub(super) fn finish(self, problems: &mut Vec<Problem>) {
        let unknown: Vec<&str> = self
            .map
            .keys()
            .map(String::as_str)
            .filter(|key| !self.known.contains(key))
            .collect();
        if unknown.is_empty() {
            return;
        }
        let quoted: Vec<String> = unknown.iter().map(|key| format!("'{key}'")).collect();
        let mut message = format!("Unrecognized key(s) in object: {}", quoted.join(", "));
        for key in unknown {
            if let Some(near) = hints::key(key, &self.known) {
                // Writing to a string cannot fail.
                let _ = write!(message, "; for '{key}', did you mean '{near}'?");
            }
        }
        let place = if self.path.is_empty() {
            "(root)".to_owned()
        } else {
            self.path
        };
        problems.push(Problem::new(place, message));
    }
}

/// The items of an array as texts.
pub(super) fn texts(items: &[Value], path: &str, filled: bool, problems: &mut Vec<Problem>) -> Vec<String> {
    let mut texts = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let place = below(path, index);
        match item.as_str() {
            Some(text) => {
                if filled {
                    non_empty(text, &place, problems);
                }
                texts.push(text.to_owned());
            }
            None => mismatch(&place, "string", item, problems),
        }
    }
    texts
}
