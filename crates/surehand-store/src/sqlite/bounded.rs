//! What a call was given and ran, within bounds: history is to be read, and an argument may be megabytes.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// How much of the arguments, of the command and of the command line as shown is kept, in bytes, each.
const MOST_BYTES: usize = 64 << 10;
/// How much of a client's name, and of its version, is kept, in bytes.
const MOST_NAME_BYTES: usize = 256;
/// The name that stands for the arguments that are left out.
const LEFT_OUT: &str = "...";

/// The text, cut where it is too long.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    cut(text, MOST_BYTES, |_| 1)
}

/// What a client calls itself, cut where it is too long for a name.
pub(super) fn name(text: &str) -> Cow<'_, str> {
    cut(text, MOST_NAME_BYTES, |_| 1)
}

/// The arguments, with what is too large in them cut.
pub(super) fn object(fields: &Map<String, Value>) -> Cow<'_, Map<String, Value>> {
    let mut left = MOST_BYTES;
    match sizes_of(fields.iter()) {
        whole if whole <= MOST_BYTES => Cow::Borrowed(fields),
        _ => Cow::Owned(fit_object(fields, &mut left)),
    }
}

/// The command, with what is too large in it cut.
pub(super) fn words(words: &[String]) -> Cow<'_, [String]> {
    let whole: usize = words.iter().map(|word| text_size(word)).sum();
    if whole <= MOST_BYTES {
        return Cow::Borrowed(words);
    }
    let mut left = MOST_BYTES;
    let mut kept = Vec::new();
    for (index, word) in words.iter().enumerate() {
        if left == 0 {
            kept.push(marker(words[index..].iter().map(|word| text_size(word)).sum()));
            break;
        }
        kept.push(fit_text(word, &mut left));
    }
    Cow::Owned(kept)
}

fn fit(value: &Value, left: &mut usize) -> Value {
    *left = left.saturating_sub(2);
    match value {
        Value::String(text) => Value::String(fit_text(text, left)),
        Value::Array(items) => {
            let mut kept = Vec::new();
            for (index, item) in items.iter().enumerate() {
                if *left == 0 {
                    kept.push(Value::String(marker(items[index..].iter().map(size_of).sum())));
                    break;
                }
                kept.push(fit(item, left));
            }
            Value::Array(kept)
        }
        Value::Object(fields) => Value::Object(fit_object(fields, left)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            *left = left.saturating_sub(size_of(value));
            value.clone()
        }
    }
}

fn fit_object(fields: &Map<String, Value>, left: &mut usize) -> Map<String, Value> {
    let mut kept = Map::new();
    for (index, (name, value)) in fields.iter().enumerate() {
        let name_size = text_size(name);
        if *left <= name_size {
            *left = 0;
            let rest = sizes_of(fields.iter().skip(index));
            kept.insert(LEFT_OUT.to_owned(), Value::String(marker(rest)));
            break;
        }
        *left -= name_size;
        kept.insert(name.clone(), fit(value, left));
    }
    kept
}

/// The beginning of the text for which there is room.
fn fit_text(text: &str, left: &mut usize) -> String {
    let kept = cut(text, *left, json_size);
    *left = left.saturating_sub(text_size(text));
    kept.into_owned()
}

/// The text, or as much of its beginning as takes `most` bytes and a word on the rest. A character takes its
/// own bytes times what `times` says.
fn cut(text: &str, most: usize, times: impl Fn(char) -> usize) -> Cow<'_, str> {
    let mut taken = 0;
    for (at, character) in text.char_indices() {
        taken += character.len_utf8() * times(character);
        if taken > most {
            return Cow::Owned(format!("{}{}", &text[..at], marker(text.len() - at)));
        }
    }
    Cow::Borrowed(text)
}

fn marker(bytes: usize) -> String {
    format!("... [{bytes} more bytes]")
}

/// How many bytes of JSON a byte of this character takes, at most.
fn json_size(character: char) -> usize {
    match character {
        '"' | '\\' => 2,
        character if character.is_ascii_control() => 6,
        _ => 1,
    }
}

/// What a text takes as JSON, at most.
fn text_size(text: &str) -> usize {
    3 + text
        .chars()
        .map(|character| character.len_utf8() * json_size(character))
        .sum::<usize>()
}

fn size_of(value: &Value) -> usize {
    2 + match value {
        Value::String(text) => text_size(text),
        Value::Array(items) => items.iter().map(size_of).sum(),
        Value::Object(fields) => sizes_of(fields.iter()),
        Value::Number(number) => number.to_string().len(),
        Value::Null | Value::Bool(_) => 5,
    }
}

fn sizes_of<'v>(fields: impl Iterator<Item = (&'v String, &'v Value)>) -> usize {
    fields.map(|(name, value)| text_size(name) + size_of(value)).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{MOST_BYTES, object, text, words};

    /// Room for the words on what is left out, at each level.
    const MARKERS: usize = 256;

    fn fields(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(fields) => fields,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn what_is_small_stays_as_it_is() {
        let small = fields(json!({"a": "x".repeat(1000), "b": [1, null, {"c": true}]}));
        assert_eq!(*object(&small), small);
        assert_eq!(text("ö"), "ö");
        let few = ["sh".to_owned(), "a b".to_owned()];
        assert_eq!(*words(&few), few);
    }

    #[test]
    fn a_huge_text_is_cut_between_characters_and_says_how_much_is_missing() {
        let huge = format!("a{}", "ö".repeat(MOST_BYTES));
        let kept = text(&huge);
        let (beginning, rest) = kept.split_once("... [").unwrap();
        assert!(
            huge.starts_with(beginning) && beginning.len() == MOST_BYTES - 1,
            "{}",
            beginning.len()
        );
        assert_eq!(rest, format!("{} more bytes]", huge.len() - beginning.len()));
    }

    #[test]
    fn huge_arguments_and_commands_stay_valid_and_small() {
        for huge in [
            json!({"a": "x".repeat(1 << 20), "b": "after"}),
            json!({"a": "\u{1}".repeat(1 << 20)}),
            json!({"a": vec!["word"; 100_000]}),
            json!({"a": {"b": [["\"".repeat(200_000)]]}}),
            Value::Object((0..50_000).map(|n| (format!("key{n}"), json!(n))).collect()),
        ] {
            let huge = fields(huge);
            let kept = serde_json::to_string(&object(&huge)).unwrap();
            assert!(kept.len() <= MOST_BYTES + MARKERS, "{}", kept.len());
            assert!(kept.len() > MOST_BYTES / 4, "{}", kept.len());
            assert!(kept.contains("more bytes]"));
        }
        let command: Vec<String> = ["sh", "a"]
            .map(str::to_owned)
            .into_iter()
            .chain(vec!["\\".repeat(70_000); 3])
            .collect();
        let kept = words(&command);
        assert_eq!(kept[..2], command[..2]);
        assert!(serde_json::to_string(&kept).unwrap().len() <= MOST_BYTES + MARKERS);
    }
}
