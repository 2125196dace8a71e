//! The manifest format for editors and for people, made from the types.

use std::fmt::Write as _;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::model::Manifest;

/// The JSON Schema (draft 2020-12) of `runbooks.json`.
#[must_use]
pub fn manifest_schema() -> Value {
    let schema = SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<Manifest>();
    let mut value = schema.to_value();
    tidy(&mut value);
    value
}

/// Optional keys are written as such in a manifest, never as null; where shared keys were merged into an object,
/// nothing but its own keys is allowed either; sizes of Rust's integers and ends of source lines say nothing.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(map) => {
            without_null(map);
            map.shift_remove("format");
            if let Some(Value::String(description)) = map.get_mut("description") {
                *description = description.replace('\n', " ");
            }
            if map.shift_remove("unevaluatedProperties").is_some() {
                map.insert("additionalProperties".to_owned(), false.into());
            }
            map.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

fn without_null(map: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            map.insert("type".to_owned(), only);
        }
    }
    if map.get("default").is_some_and(Value::is_null) {
        map.shift_remove("default");
    }
    if let Some(Value::Array(options)) = map.get_mut("anyOf") {
        options.retain(|option| option.get("type").and_then(Value::as_str) != Some("null"));
        if let [Value::Object(only)] = options.as_slice() {
            let only = only.clone();
            map.shift_remove("anyOf");
            for (key, value) in only {
                map.entry(key).or_insert(value);
            }
        }
    }
}

/// The manifest format as a page of Markdown.
#[must_use]
pub fn manifest_reference() -> String {
    let schema = manifest_schema();
    let mut page = String::from(
        "# Manifest reference\n\nThis page is generated from the types that read `runbooks.json`. Comments \
         (`//` and `/* */`) and a byte-order mark are accepted; unknown keys and keys given twice are not.\n",
    );
    object(&mut page, "The manifest", &schema);
    for (name, title) in [("Runbook", "A runbook"), ("Confine", "`confine`")] {
        if let Some(definition) = schema.pointer(&format!("/$defs/{name}")) {
            object(&mut page, title, definition);
        }
    }
    let kinds = schema.pointer("/$defs/Param/oneOf").and_then(Value::as_array);
    for kind in kinds.into_iter().flatten() {
        let name = kind
            .pointer("/properties/type/const")
            .and_then(Value::as_str)
            .unwrap_or_default();
        object(&mut page, &format!("A parameter of type `{name}`"), kind);
    }
    page
}

fn object(page: &mut String, title: &str, schema: &Value) {
    // Writing to a string cannot fail.
    let _ = write!(page, "\n## {title}\n\n{}\n", description(schema));
    page.push_str("\n| key | required | type | default | meaning |\n|---|---|---|---|---|\n");
    let required = |key: &str| {
        schema
            .get("required")
            .and_then(Value::as_array)
            .is_some_and(|keys| keys.iter().any(|required| required == key))
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    for (key, property) in properties.into_iter().flatten() {
        let default = property
            .get("default")
            .map_or_else(String::new, |default| format!("`{default}`"));
        let _ = writeln!(
            page,
            "| `{key}` | {} | {} | {default} | {} |",
            if required(key) { "yes" } else { "no" },
            cell(&kind(property)),
            cell(&description(property)),
        );
    }
}

fn description(schema: &Value) -> String {
    schema
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// What may stand there, in a few words.
fn kind(schema: &Value) -> String {
    if let Some(constant) = schema.get("const") {
        return format!("`{constant}`");
    }
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        let choices: Vec<String> = choices.iter().map(|choice| format!("`{choice}`")).collect();
        return choices.join(", ");
    }
    if let Some(options) = schema
        .get("oneOf")
        .or(schema.get("anyOf"))
        .and_then(Value::as_array)
    {
        let options: Vec<String> = options.iter().map(kind).collect();
        return options.join(" or ");
    }
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let name = reference.rsplit('/').next().unwrap_or(reference);
        return name.to_lowercase();
    }
    let mut text = match schema.get("type").and_then(Value::as_str) {
        Some("array") => format!("list of {}", schema.get("items").map_or_else(String::new, kind)),
        Some("object") => match schema.get("additionalProperties") {
            Some(values @ Value::Object(_)) => format!("map of names to {}", kind(values)),
            _ => "object".to_owned(),
        },
        Some(kind) => kind.to_owned(),
        None => "any".to_owned(),
    };
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        let _ = write!(text, " matching `{pattern}`");
    }
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(least), Some(most)) => {
            let _ = write!(text, " from {least} to {most}");
        }
        (Some(least), None) => {
            let _ = write!(text, " from {least}");
        }
        _ => {}
    }
    text
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
