//! MCP clients that others wrote list and call over stdio.
//!
//! `cargo xtask test` installs them and says where they are. A test whose client is not there says so; under
//! `CI=true` that is a failure.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

const MANIFEST: &str = r#"{
  "version": 1,
  "runbooks": [{
    "name": "greet",
    "description": "Greets slowly.",
    "script": "greet.sh",
    "interpreter": "sh",
    "params": {"name": {"type": "string", "flag": "--name", "pattern": "^[a-z]+$"}}
  }]
}"#;
const SCRIPT: &str = "echo one; sleep 1.2; echo \"hello $2\"\n";

/// Where a client is, if it is installed.
fn installed(variable: &str) -> Option<PathBuf> {
    let found = env::var_os(variable).map(PathBuf::from);
    if found.is_none() {
        assert!(
            env::var_os("CI").is_none_or(|value| value != "true"),
            "{variable} is not set: run the tests with `cargo xtask test`"
        );
        eprintln!("skipped: {variable} is not set; `cargo xtask test` installs the client");
    }
    found
}

fn serves(client: &mut Command) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("runbooks.json"), MANIFEST).unwrap();
    fs::write(folder.path().join("greet.sh"), SCRIPT).unwrap();
    let output = client
        .args(["greet", r#"{"name": "ann"}"#])
        .arg(env!("CARGO_BIN_EXE_surehand"))
        .arg("--manifest")
        .arg(folder.path().join("runbooks.json"))
        .env("SUREHAND_STATE_DIR", folder.path().join("state"))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let said: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"));
    assert_eq!(said["tools"], serde_json::json!(["greet"]));
    assert_eq!(
        said["result"]["structuredContent"]["stdout"], "one\nhello ann\n",
        "{said}"
    );
    let text = said["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("greet: exit 0 (") && text.ends_with("--- stdout ---\none\nhello ann"),
        "{text}"
    );
    assert!(
        said["unknown"]["refused"]
            .as_str()
            .is_some_and(|text| text.contains("no_such_tool")),
        "{said}"
    );
    assert!(
        said["progress"]
            .as_array()
            .is_some_and(|reports| !reports.is_empty()),
        "{said}"
    );
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/clients")
        .join(name)
}

fn python(variable: &str) {
    if let Some(python) = installed(variable) {
        serves(Command::new(python).arg(script("client.py")));
    }
}

fn node(which: &str) {
    if let Some(modules) = installed("SUREHAND_TEST_NODE_MODULES") {
        serves(
            Command::new("node")
                .arg(script("client.mjs"))
                .arg(which)
                .env("NODE_MODULES", modules),
        );
    }
}

#[test]
fn the_python_sdk_1_lists_and_calls() {
    python("SUREHAND_TEST_PYTHON1");
}

#[test]
fn the_python_sdk_2_lists_and_calls() {
    python("SUREHAND_TEST_PYTHON2");
}

#[test]
fn the_typescript_sdk_1_lists_and_calls() {
    node("sdk");
}

#[test]
fn the_typescript_client_2_lists_and_calls() {
    node("client");
}
