//! Loading, stage by stage.

mod disk;
mod rules;
mod schema;
mod shape;
mod warned;

use std::path::Path;

use serde_json::{Value, json};

use super::{Manifest, Problem, load_manifest, parse_manifest, validate_manifest};
use crate::{Environment, Platform, Surroundings};

fn places(problems: &[Problem]) -> Vec<&str> {
    problems.iter().map(|problem| problem.location.as_str()).collect()
}

/// A manifest with one runbook `t` that has these keys besides those that it needs.
fn with_runbook(keys: Value) -> Value {
    let mut runbook = json!({
        "name": "t", "description": "Does a thing.", "script": "a.sh", "interpreter": "bash"
    });
    if let (Some(runbook), Value::Object(keys)) = (runbook.as_object_mut(), keys) {
        runbook.extend(keys);
    }
    json!({"version": 1, "runbooks": [runbook]})
}

#[expect(clippy::needless_pass_by_value, reason = "calls read better so")]
fn with_params(params: Value) -> Value {
    with_runbook(json!({"params": params}))
}

fn valid(document: &Value) -> Manifest {
    parse_manifest(&document.to_string(), Path::new("/m/runbooks.json"))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn texts(document: &Value) -> Vec<String> {
    validate_manifest(document)
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// A folder with a manifest and a script `a.sh`.
fn on_disk(document: &Value) -> (tempfile::TempDir, Manifest) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runbooks.json");
    std::fs::write(folder.path().join("a.sh"), "echo hi\n").unwrap();
    std::fs::write(&path, document.to_string()).unwrap();
    let manifest = load_manifest(&path).unwrap();
    (folder, manifest)
}

fn surroundings(path: &str) -> Surroundings {
    Surroundings {
        environment: Environment::new([("PATH", path)]),
        platform: Platform::Unix,
    }
}
