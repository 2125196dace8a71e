//! The first three stages.

use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{places, texts, valid, with_params, with_runbook};
use crate::{
    Surroundings,
    manifest::{InheritEnv, Stage, load_manifest, parse_manifest, validate_manifest, warnings},
};

#[test]
fn the_shape_is_checked_with_a_place_for_every_problem() {
    assert_eq!(texts(&json!([])), ["(root): Expected object, received array"]);
    assert_eq!(
        texts(&json!({})),
        ["version: Invalid literal value, expected 1", "runbooks: Required"]
    );
    assert_eq!(
        texts(&json!({"version": 1, "runbooks": []})),
        ["runbooks: Array must contain at least 1 element(s)"]
    );
    let several = texts(
        &json!({"version": 1, "extra": 1, "interpreters": {"bash": ""}, "runbooks": [
            {"name": "Hello", "description": "", "interpreter": "zsh", "timeoutSeconds": 0, "maxOutputChars": 1.5},
            "none",
            {"name": "c", "description": "d", "script": "a", "interpreter": "sh", "timeoutSeconds": 86_401,
             "env": {"A": 1}, "readOnly": "yes", "params": [], "bogus": 1, "cwd": null}
        ]}),
    );
    assert_eq!(
        several,
        [
            "interpreters.bash: String must contain at least 1 character(s)",
            "runbooks.0.name: name must be snake_case (^[a-z][a-z0-9_]{0,63}$)",
            "runbooks.0.description: String must contain at least 1 character(s)",
            "runbooks.0.script: Required",
            "runbooks.0.interpreter: Invalid enum value. Expected 'powershell' | 'pwsh' | 'bash' | 'sh' | 'node' \
             | 'python' | 'exe', received 'zsh'; for any other, make the script executable, begin it with #!, and \
             write 'exe'",
            "runbooks.0.timeoutSeconds: Number must be greater than 0",
            "runbooks.0.maxOutputChars: Expected integer, received float",
            "runbooks.1: Expected object, received string",
            "runbooks.2.cwd: Expected string, received null",
            "runbooks.2.timeoutSeconds: Number must be less than or equal to 86400",
            "runbooks.2.env.A: Expected string, received number",
            "runbooks.2.readOnly: Expected boolean, received string",
            "runbooks.2.params: Expected object, received array",
            "runbooks.2: Unrecognized key(s) in object: 'bogus'",
            "(root): Unrecognized key(s) in object: 'extra'",
        ]
    );
}

#[test]
fn an_unknown_key_names_the_nearest_known_one() {
    assert_eq!(
        texts(&with_runbook(json!({"timeoutSecond": 5}))),
        [
            "runbooks.0: Unrecognized key(s) in object: 'timeoutSecond'; for 'timeoutSecond', did you mean \
          'timeoutSeconds'?"
        ]
    );
    assert_eq!(
        texts(&with_params(json!({"a": {"type": "bolean", "flag": "-a"}}))),
        [
            "runbooks.0.params.a.type: Invalid discriminator value. Expected 'boolean' | 'string' | 'number' | \
          'array'; did you mean 'boolean'?"
        ]
    );
}

#[test]
fn words_of_other_formats_are_understood() {
    assert_eq!(
        texts(&with_runbook(
            json!({"timeout": 5, "args": {}, "interpreter": "Python"})
        )),
        [
            "runbooks.0.interpreter: Invalid enum value. Expected 'powershell' | 'pwsh' | 'bash' | 'sh' | 'node' | \
             'python' | 'exe', received 'Python'; did you mean 'python'?",
            "runbooks.0: Unrecognized key(s) in object: 'timeout', 'args'; for 'timeout', did you mean \
             'timeoutSeconds'?; for 'args', did you mean 'params'?",
        ]
    );
    assert_eq!(
        texts(&with_params(json!({"a": {"type": "integer", "flag": "-a"}}))),
        [
            "runbooks.0.params.a.type: Invalid discriminator value. Expected 'boolean' | 'string' | 'number' | \
             'array'; write \"type\": \"number\" with \"integer\": true"
        ]
    );
    let mut document = with_runbook(json!({}));
    document["interpreters"] = json!({"bsh": "/bin/bash"});
    assert_eq!(
        texts(&document),
        [
            "interpreters.bsh: unknown interpreter (expected one of powershell, pwsh, bash, sh, node, python, exe); did \
             you mean 'bash'?"
        ]
    );
}

#[test]
fn params_are_checked_by_their_type() {
    let problems = validate_manifest(&with_params(json!({
        "1a": {"type": "boolean", "flag": "-a"},
        "b": {"type": "boolean", "flag": "b", "pattern": "^a$"},
        "c": {"type": "string", "flag": "--c_d", "enum": [], "default": 1},
        "d": {"type": "array", "flag": "-d", "enum": ["", 2], "maxItems": 0, "join": "", "default": ["a", 1]},
        "e": {"type": "number", "flag": "-e", "minimum": "1", "integer": 1},
        "f": 7
    })));
    assert_eq!(
        places(&problems),
        [
            "runbooks.0.params.1a",
            "runbooks.0.params.b.flag",
            "runbooks.0.params.b",
            "runbooks.0.params.c.flag",
            "runbooks.0.params.c.enum",
            "runbooks.0.params.c.default",
            "runbooks.0.params.d.enum.0",
            "runbooks.0.params.d.enum.1",
            "runbooks.0.params.d.join",
            "runbooks.0.params.d.maxItems",
            "runbooks.0.params.d.default.1",
            "runbooks.0.params.e.integer",
            "runbooks.0.params.e.minimum",
            "runbooks.0.params.f",
        ]
    );
}

#[test]
fn new_keys_are_checked() {
    let problems = validate_manifest(&with_runbook(json!({
        "concurrency": 0, "lock": "A", "sha256": "abc", "inheritEnv": "yes", "confirm": "please", "dryRun": 1,
        "envFrom": {"A": "literal", "B": "env:", "C": 3}, "confine": {"read": [""], "net": true}
    })));
    assert_eq!(
        places(&problems),
        [
            "runbooks.0.envFrom.C",
            "runbooks.0.envFrom.A",
            "runbooks.0.envFrom.B",
            "runbooks.0.inheritEnv",
            "runbooks.0.concurrency",
            "runbooks.0.lock",
            "runbooks.0.sha256",
            "runbooks.0.confine.read.0",
            "runbooks.0.confine",
            "runbooks.0.confirm",
            "runbooks.0.dryRun",
        ]
    );
    assert!(
        !format!("{problems:?}").contains("literal"),
        "a misplaced secret is not repeated"
    );
    let manifest = valid(&with_runbook(json!({
        "concurrency": 3, "lock": "db", "sha256": "00".repeat(32), "inheritEnv": ["X"], "confirm": "token",
        "dryRun": true, "envFrom": {"A": "env:B", "C": "file:secret"}, "confine": {"read": ["."], "network": true}
    })));
    let runbook = &manifest.runbooks[0];
    assert_eq!(
        manifest.inherited(runbook),
        &InheritEnv::Only(vec!["X".to_owned()])
    );
    assert_eq!(runbook.env_from["C"].to_string(), "file:secret");
}

#[test]
fn fault_20_the_output_limit_has_a_maximum() {
    assert_eq!(
        texts(&with_runbook(json!({"maxOutputChars": 400_000_000}))),
        ["runbooks.0.maxOutputChars: Number must be less than or equal to 10000000"]
    );
    let manifest = valid(&with_runbook(json!({"maxOutputChars": 2_000_000})));
    let warned = warnings(&manifest, &Surroundings::of_process());
    assert!(
        warned
            .iter()
            .any(|warning| warning.message.contains("maxOutputChars"))
    );
}

#[test]
fn stages_do_not_mix_and_each_has_its_form() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runbooks.json");
    let label = path.display();
    let missing = load_manifest(&path).unwrap_err();
    assert_eq!(missing.stage, Stage::Read);
    assert_eq!(
        missing.format(),
        format!("cannot read manifest {label}: ENOENT: no such file or directory, open '{label}'")
    );
    let is_folder = load_manifest(folder.path()).unwrap_err();
    assert!(
        is_folder
            .format()
            .ends_with("EISDIR: illegal operation on a directory, read")
    );
    std::fs::write(&path, b"{\n\xff}").unwrap();
    assert!(
        load_manifest(&path)
            .unwrap_err()
            .format()
            .contains("not valid UTF-8 (line 2")
    );
    std::fs::write(&path, "{\"version\": 1,\n \"runbooks\": [}").unwrap();
    let bad = load_manifest(&path).unwrap_err();
    assert_eq!(bad.stage, Stage::Json);
    assert!(
        bad.format().starts_with(&format!("{label}: not valid JSON — ")),
        "{bad}"
    );
    assert!(bad.format().contains("line 2 column 15"), "{bad}");
    std::fs::write(&path, "[]").unwrap();
    assert_eq!(
        load_manifest(&path).unwrap_err().format(),
        format!("{label}: invalid manifest\n  - (root): Expected object, received array")
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_manifest_that_is_no_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("runbooks.json");
    crate::regular_file::make_pipe(&pipe);
    for (path, words) in [
        (pipe.as_path(), "it is a named pipe, not a file"),
        (Path::new("/dev/zero"), "it is a device, not a file"),
    ] {
        let error = load_manifest(path).unwrap_err();
        assert_eq!(error.stage, Stage::Read);
        assert_eq!(
            error.format(),
            format!("cannot read manifest {}: {words}", path.display())
        );
    }
    let large = folder.path().join("large.json");
    std::fs::File::create(&large).unwrap().set_len(1 << 40).unwrap();
    let error = load_manifest(&large).unwrap_err().format();
    assert!(error.ends_with("it is larger than 16 MiB"), "{error}");
}

fn any_json() -> impl Strategy<Value = Value> {
    let keys = prop::sample::select(vec![
        "version",
        "runbooks",
        "name",
        "description",
        "script",
        "interpreter",
        "params",
        "type",
        "flag",
        "pattern",
        "enum",
        "default",
        "env",
        "envFrom",
        "confine",
        "confirm",
        "minimum",
        "maxItems",
        "join",
        "p",
        "x",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(vec![
            "bash", "string", "array", "number", "boolean", "^a$", "--x", "", "t", "env:A"
        ])
        .prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..8).prop_map(|entries| Value::Object(
                entries
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect()
            )),
        ]
    })
}

proptest! {
    #[test]
    fn any_document_is_judged(document in any_json()) {
        let _ = validate_manifest(&document);
        let _ = validate_manifest(&json!({"version": 1, "runbooks": [document]}));
        let _ = validate_manifest(&with_params(json!({"p": document})));
        let _ = validate_manifest(&with_runbook(document));
    }

    #[test]
    fn any_text_is_judged(text in "[{}\\[\\]\":,/*\\\\ \n a1.-]{0,40}") {
        let _ = parse_manifest(&text, Path::new("/m/runbooks.json"));
    }
}
