//! A runbook as the tool that agents see.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use surehand_core::{Effects, Tool};

use crate::{
    manifest::{CONFIRM_TOKEN, Confirm, DRY_RUN, Manifest, NumberParam, Param, Runbook, TextRule, resolve},
    values::to_ecmascript,
};

/// The toolset's name.
pub(crate) const TOOLSET: &str = "runbooks";

/// The tool that a runbook becomes.
pub(crate) fn tool(manifest: &Manifest, runbook: &Runbook) -> Tool {
    let name = manifest.tool_name(runbook);
    Tool {
        title: Some(name.replace('_', " ")),
        name,
        description: description(manifest, runbook),
        input_schema: Arc::new(input_schema(runbook)),
        output_schema: None,
        effects: effects(runbook),
        toolset: TOOLSET.to_owned(),
    }
}

/// What a runbook may do, as its manifest declares it.
pub(crate) fn effects(runbook: &Runbook) -> Effects {
    Effects {
        read_only: runbook.read_only,
        destructive: runbook.destructive,
        idempotent: runbook.idempotent,
        open_world: false,
    }
}

fn description(manifest: &Manifest, runbook: &Runbook) -> String {
    let script = resolve(manifest.folder(), &runbook.script);
    let hints: Vec<&str> = [
        (runbook.read_only, "read-only"),
        (runbook.destructive, "destructive"),
        (runbook.idempotent, "idempotent"),
    ]
    .into_iter()
    .filter_map(|(is, hint)| is.then_some(hint))
    .collect();
    let hints = if hints.is_empty() {
        String::new()
    } else {
        format!("; {}", hints.join(", "))
    };
    format!(
        "{}\n\nRuns {} ({}); timeout {}s{hints}.",
        runbook.description.trim(),
        script.file_name().unwrap_or(script.as_os_str()).display(),
        runbook.interpreter.as_str(),
        runbook.timeout_seconds,
    )
}

fn input_schema(runbook: &Runbook) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, param) in runbook.params.iter() {
        properties.insert(name.to_owned(), Value::Object(property(param)));
        if param.common().required {
            required.push(Value::from(name));
        }
    }
    if runbook.dry_run {
        properties.insert(
            DRY_RUN.to_owned(),
            json!({
                "type": "boolean",
                "description": "Show the command instead of running it. Default: false.",
                "default": false,
            }),
        );
    }
    if runbook.confirm == Confirm::Token {
        properties.insert(
            CONFIRM_TOKEN.to_owned(),
            json!({
                "type": "string",
                "description": "The one-time token that the first call with the same arguments answers with.",
            }),
        );
    }
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), Value::Array(required));
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    schema.insert(
        "$schema".to_owned(),
        "http://json-schema.org/draft-07/schema#".into(),
    );
    schema
}

fn property(param: &Param) -> Map<String, Value> {
    let mut schema = Map::new();
    let default = match param {
        Param::Boolean(param) => {
            schema.insert("type".to_owned(), "boolean".into());
            param.default.map(Value::Bool)
        }
        Param::String(param) => {
            schema = text_schema(&param.rule);
            param.default.clone().map(Value::String)
        }
        Param::Number(param) => {
            schema = number_schema(param);
            param.default.clone().map(as_ecmascript_writes)
        }
        Param::Array(param) => {
            schema.insert("type".to_owned(), "array".into());
            schema.insert("items".to_owned(), Value::Object(text_schema(&param.rule)));
            if param.least() > 0 {
                schema.insert("minItems".to_owned(), param.least().into());
            }
            if let Some(most) = param.max_items {
                schema.insert("maxItems".to_owned(), most.into());
            }
            param.default.clone().map(Value::from)
        }
    };
    let own = param
        .common()
        .description
        .clone()
        .filter(|description| !description.is_empty());
    let told = default.as_ref().map(|default| format!("Default: {default}."));
    let description: Vec<String> = [own, told].into_iter().flatten().collect();
    if !description.is_empty() {
        schema.insert("description".to_owned(), description.join(" ").into());
    }
    if let Some(default) = default {
        schema.insert("default".to_owned(), default);
    }
    schema
}

fn text_schema(rule: &TextRule) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "string".into());
    match (&rule.choices, &rule.pattern) {
        (Some(choices), _) => schema.insert("enum".to_owned(), choices.clone().into()),
        (None, Some(pattern)) => schema.insert("pattern".to_owned(), pattern.as_str().into()),
        (None, None) => None,
    };
    schema
}

fn number_schema(param: &NumberParam) -> Map<String, Value> {
    let mut schema = Map::new();
    let kind = if param.integer { "integer" } else { "number" };
    schema.insert("type".to_owned(), kind.into());
    for (key, bound) in [("minimum", param.minimum), ("maximum", param.maximum)] {
        if let Some(number) = bound.and_then(serde_json::Number::from_f64) {
            schema.insert(key.to_owned(), as_ecmascript_writes(number));
        }
    }
    schema
}

/// A number as a JavaScript program would put it into JSON: 3, not 3.0.
fn as_ecmascript_writes(number: serde_json::Number) -> Value {
    number
        .as_f64()
        .and_then(|double| serde_json::from_str(&to_ecmascript(double)).ok())
        .map_or(Value::Number(number), Value::Number)
}
