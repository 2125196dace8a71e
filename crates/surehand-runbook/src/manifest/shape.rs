//! The third stage: keys, types and bounds.

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;

use super::{
    fields::{Fields, as_object, below, mismatch, non_empty, texts, type_name},
    hints,
    model::{
        Confine, Confirm, InheritEnv, Interpreter, Manifest, Runbook, SecretSource, default_output,
        default_timeout,
    },
    params::Params,
    problem::Problem,
    shape_params::params,
};

/// The largest tail that an answer may carry: beyond it no client can take the answer.
pub(crate) const MOST_OUTPUT_CHARS: u32 = 10_000_000;

/// A manifest of the right shape, and what the next stage must still look at.
pub(super) struct Shaped {
    pub(super) manifest: Manifest,
    /// Names under `interpreters` that are none.
    pub(super) unknown_interpreters: Vec<String>,
}

/// Reads a document.
pub(super) fn shape(document: &Value, path: &Path) -> Result<Shaped, Vec<Problem>> {
    let mut problems = Vec::new();
    let shaped = root(document, path, &mut problems);
    match shaped {
        Some(shaped) if problems.is_empty() => Ok(shaped),
        _ => Err(problems),
    }
}

/// Whether a text is a name of tools, runbooks and locks: `^[a-z][a-z0-9_]{0,63}$`.
pub(super) fn is_snake_case(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

fn root(document: &Value, path: &Path, problems: &mut Vec<Problem>) -> Option<Shaped> {
    let mut fields = Fields::of(document, "", problems)?;
    let schema = fields.string("$schema", problems).map(str::to_owned);
    let version = fields.get("version").and_then(Value::as_f64);
    if version != Some(1.0) {
        problems.push(Problem::new("version", "Invalid literal value, expected 1"));
    }
    let mut interpreters = BTreeMap::new();
    let mut unknown_interpreters = Vec::new();
    for (name, program) in fields.string_map("interpreters", problems) {
        non_empty(program, &below("interpreters", name), problems);
        match Interpreter::named(name) {
            Some(interpreter) => {
                interpreters.insert(interpreter, program.to_owned());
            }
            None => unknown_interpreters.push(name.to_owned()),
        }
    }
    let prefix = fields.string("prefix", problems).map(str::to_owned);
    if prefix.as_deref().is_some_and(|prefix| !is_snake_case(prefix)) {
        problems.push(Problem::new(
            "prefix",
            "prefix must be snake_case (^[a-z][a-z0-9_]{0,63}$)",
        ));
    }
    let inherit_env = inherit_env(&mut fields, problems).unwrap_or_default();
    let contain_scripts = fields.boolean("containScripts", problems).unwrap_or_default();
    let runbooks = runbooks(&mut fields, problems);
    fields.finish(problems);
    Some(Shaped {
        manifest: Manifest {
            schema,
            version: 1,
            interpreters,
            prefix,
            inherit_env,
            contain_scripts,
            runbooks,
            path: path.to_owned(),
        },
        unknown_interpreters,
    })
}

fn runbooks(fields: &mut Fields<'_>, problems: &mut Vec<Problem>) -> Vec<Runbook> {
    let Some(value) = fields.required("runbooks", problems) else {
        return Vec::new();
    };
    let Some(items) = value.as_array() else {
        mismatch("runbooks", "array", value, problems);
        return Vec::new();
    };
    if items.is_empty() {
        problems.push(Problem::new(
            "runbooks",
            "Array must contain at least 1 element(s)",
        ));
    }
    items
        .iter()
        .enumerate()
        .filter_map(|(index, item)| runbook(item, &below("runbooks", index), problems))
        .collect()
}

fn runbook(value: &Value, path: &str, problems: &mut Vec<Problem>) -> Option<Runbook> {
    let mut fields = Fields::of(value, path, problems)?;
    let name = match fields.required("name", problems) {
        Some(_) => fields.string("name", problems).unwrap_or("invalid").to_owned(),
        None => "missing".to_owned(),
    };
    if !is_snake_case(&name) {
        problems.push(Problem::new(
            fields.path("name"),
            "name must be snake_case (^[a-z][a-z0-9_]{0,63}$)",
        ));
    }
    let runbook = Runbook {
        name,
        description: fields.required_string("description", problems),
        script: fields.required_string("script", problems),
        interpreter: interpreter(&mut fields, problems),
        cwd: fields.string("cwd", problems).unwrap_or_default().to_owned(),
        timeout_seconds: fields
            .integer("timeoutSeconds", 1, 86_400, problems)
            .unwrap_or_else(default_timeout),
        max_output_chars: fields
            .integer("maxOutputChars", 1, MOST_OUTPUT_CHARS, problems)
            .unwrap_or_else(default_output),
        env: fields
            .string_map("env", problems)
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        env_from: env_from(&mut fields, problems),
        inherit_env: inherit_env(&mut fields, problems),
        read_only: fields.boolean("readOnly", problems).unwrap_or_default(),
        destructive: fields.boolean("destructive", problems).unwrap_or_default(),
        idempotent: fields.boolean("idempotent", problems).unwrap_or_default(),
        concurrency: fields.integer("concurrency", 1, u32::MAX, problems),
        lock: lock(&mut fields, problems),
        sha256: sha256(&mut fields, problems),
        confine: confine(&mut fields, problems),
        confirm: confirm(&mut fields, problems),
        dry_run: fields.boolean("dryRun", problems).unwrap_or_default(),
        params: match fields.get("params") {
            Some(value) => params(value, &fields.path("params"), problems),
            None => Params::default(),
        },
    };
    fields.finish(problems);
    Some(runbook)
}

fn interpreter(fields: &mut Fields<'_>, problems: &mut Vec<Problem>) -> Interpreter {
    let found = fields
        .required("interpreter", problems)
        .map(|value| (value, value.as_str().and_then(Interpreter::named)));
    if let Some((value, None)) = found {
        let names: Vec<String> = Interpreter::ALL
            .iter()
            .map(|interpreter| format!("'{}'", interpreter.as_str()))
            .collect();
        let expected = names.join(" | ");
        let message = match value.as_str() {
            Some(name) => format!(
                "Invalid enum value. Expected {expected}, received '{name}'{}",
                hints::interpreter(name)
            ),
            None => format!("Expected {expected}, received {}", type_name(value)),
        };
        problems.push(Problem::new(fields.path("interpreter"), message));
    }
    found
        .and_then(|(_, interpreter)| interpreter)
        .unwrap_or(Interpreter::Exe)
}

fn inherit_env(fields: &mut Fields<'_>, problems: &mut Vec<Problem>) -> Option<InheritEnv> {
    let path = fields.path("inheritEnv");
    match fields.get("inheritEnv")? {
        Value::Bool(true) => Some(InheritEnv::All),
        Value::Bool(false) => Some(InheritEnv::Only(Vec::new())),
        Value::Array(items) => Some(InheritEnv::Only(texts(items, &path, true, problems))),
        other => {
            mismatch(&path, "boolean or array of names", other, problems);
            None
        }
    }
}

fn env_from(fields: &mut Fields<'_>, problems: &mut Vec<Problem>) -> BTreeMap<String, SecretSource> {
    let path = fields.path("envFrom");
    let mut sources = BTreeMap::new();
    for (name, text) in fields.string_map("envFrom", problems) {
        let source = match text.split_once(':') {
            Some(("env", variable)) if !variable.is_empty() => SecretSource::Variable(variable.to_owned()),
            Some(("file", file)) if !file.is_empty() => SecretSource::File(file.to_owned()),
            _ => {
                // The text is not repeated: it may be the secret itself, put here by mistake.
                problems.push(Problem::new(
                    below(&path, name),
                    "must be \"env:NAME\" or \"file:PATH\"",
                ));
                continue;
            }
        };
        sources.insert(name.to_owned(), source);
    }
    sources
}

fn lock(fields: &mut Fields<'_>, problems: &mut Vec<Problem>) -> Option<String> {
    let name = fields.string("lock", problems)?;
    if !is_snake_case(name) {
        problems.push(Problem::new(
            fields.path("lock"),
            "lock must be snake_case (^[a-z][a-z0-9_]{0,63}$)",
        ));
    }
    Some(name.to_owned())
}

fn sha256(fields: &mut Fields<'_>, problems: &mut Vec<Problem>) -> Option<[u8; 32]> {
    let text = fields.string("sha256", problems)?;
    let mut digest = [0; 32];
    if hex::decode_to_slice(text, &mut digest).is_err() {
        problems.push(Problem::new(
            fields.path("sha256"),
            "sha256 must be 64 hexadecimal digits",
        ));
        return None;
    }
    Some(digest)
}

fn confine(fields: &mut Fields<'_>, problems: &mut Vec<Problem>) -> Option<Confine> {
    let path = fields.path("confine");
    let value = fields.get("confine")?;
    as_object(value, &path, problems)?;
    let mut inner = Fields::of(value, &path, problems)?;
    let confine = Confine {
        read: inner.strings("read", true, problems).unwrap_or_default(),
        write: inner.strings("write", true, problems).unwrap_or_default(),
        network: inner.boolean("network", problems).unwrap_or_default(),
    };
    inner.finish(problems);
    Some(confine)
}

fn confirm(fields: &mut Fields<'_>, problems: &mut Vec<Problem>) -> Confirm {
    let path = fields.path("confirm");
    match fields.get("confirm") {
        None | Some(Value::Bool(false)) => Confirm::No,
        Some(Value::Bool(true)) => Confirm::Person,
        Some(Value::String(word)) if word == "token" => Confirm::Token,
        Some(other) => {
            let received = other
                .as_str()
                .map_or_else(|| type_name(other).to_owned(), |word| format!("'{word}'"));
            problems.push(Problem::new(
                path,
                format!("Expected true, false or 'token', received {received}"),
            ));
            Confirm::No
        }
    }
}
