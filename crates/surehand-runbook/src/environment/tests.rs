use std::path::Path;

use serde_json::{Value, json};

use super::{Environment, child_environment, secrets};
use crate::{
    argv::Platform,
    manifest::{Manifest, parse_manifest},
};

fn manifest(folder: &Path, keys: Value) -> Manifest {
    let mut runbook = json!({"name": "t", "description": "d", "script": "a.sh", "interpreter": "sh"});
    if let (Some(runbook), Value::Object(keys)) = (runbook.as_object_mut(), keys) {
        runbook.extend(keys);
    }
    let document = json!({"version": 1, "runbooks": [runbook]});
    parse_manifest(&document.to_string(), &folder.join("runbooks.json")).unwrap()
}

fn server() -> Environment {
    Environment::new([
        ("PATH", "/bin"),
        ("HOME", "/root"),
        ("LC_ALL", "C"),
        ("TOKEN", "hunter22"),
        ("AWS_PROFILE", "ops"),
        ("SUREHAND_KEY", "k"),
        ("surehand_x", "k"),
        ("EMPTY", ""),
    ])
}

fn names(keys: Value) -> Vec<String> {
    let manifest = manifest(Path::new("/m"), keys);
    let runbook = &manifest.runbooks[0];
    let secrets = secrets(&manifest, runbook, &server()).unwrap();
    child_environment(&manifest, runbook, &server(), &secrets, Platform::Unix)
        .into_variables()
        .into_iter()
        .map(|(name, value)| format!("{}={}", name.display(), value.display()))
        .collect()
}

#[test]
fn fault_19_inheritance_can_be_narrowed_and_never_covers_our_own() {
    let all = names(json!({}));
    assert!(all.contains(&"TOKEN=hunter22".to_owned()));
    assert!(
        !all.iter()
            .any(|variable| variable.to_uppercase().starts_with("SUREHAND_"))
    );
    let basic = ["PATH=/bin", "HOME=/root", "LC_ALL=C"];
    assert_eq!(names(json!({"inheritEnv": []})), basic);
    assert_eq!(names(json!({"inheritEnv": false})), basic);
    let listed = names(json!({"inheritEnv": ["AWS_PROFILE", "SUREHAND_KEY"]}));
    assert_eq!(listed, ["PATH=/bin", "HOME=/root", "LC_ALL=C", "AWS_PROFILE=ops"]);
}

#[test]
fn env_and_secrets_lie_over_what_is_inherited() {
    let variables = names(json!({
        "inheritEnv": [], "env": {"HOME": "/over", "REF": "${HOME}", "E": ""}, "envFrom": {"PASSWORD": "env:TOKEN"}
    }));
    assert_eq!(
        variables,
        [
            "PATH=/bin",
            "LC_ALL=C",
            "E=",
            "HOME=/over",
            "REF=${HOME}",
            "PASSWORD=hunter22"
        ]
    );
}

#[test]
fn a_secret_that_is_missing_is_named_and_a_value_never() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("key"), "s3cret\n").unwrap();
    std::fs::write(folder.path().join("big"), "x".repeat(100_000)).unwrap();
    std::fs::write(folder.path().join("bad"), b"\xff").unwrap();
    std::fs::write(folder.path().join("nul"), "hunter22\0x").unwrap();
    let manifest = manifest(
        folder.path(),
        json!({"envFrom": {
            "A": "file:key", "B": "env:NOT_THERE", "C": "file:gone", "D": "file:big", "E": "file:bad",
            "F": "file:nul", "G": "env:EMPTY", "H": "file:."
        }}),
    );
    let Err(problems) = secrets(&manifest, &manifest.runbooks[0], &server()) else {
        panic!("they are missing");
    };
    assert_eq!(problems.len(), 7);
    assert!(
        problems[0].contains("secret B") && problems[0].contains("env:NOT_THERE is not set"),
        "{}",
        problems[0]
    );
    assert!(!problems.concat().contains("hunter22"));
    assert!(
        problems[1].contains("file:gone does not exist"),
        "{}",
        problems[1]
    );
    assert!(
        problems[2].contains("file:big is larger than 16 KiB"),
        "{}",
        problems[2]
    );
    assert!(!problems.concat().contains("os error"));
    let mut manifest = manifest;
    manifest.runbooks[0].env_from.retain(|name, _| name == "A");
    let found = secrets(&manifest, &manifest.runbooks[0], &server()).unwrap_or_default();
    assert_eq!(found[0].value, "s3cret");
}

#[test]
fn windows_needs_more_and_ignores_case() {
    let manifest = manifest(
        Path::new("/m"),
        json!({"inheritEnv": [], "env": {"path": "C:\\bin"}}),
    );
    let server = Environment::new([("Path", "C:\\x"), ("SYSTEMROOT", "C:\\Windows"), ("Other", "1")]);
    let child = child_environment(&manifest, &manifest.runbooks[0], &server, &[], Platform::Windows);
    let expected = Environment::new([("SYSTEMROOT", "C:\\Windows"), ("path", "C:\\bin")]);
    assert_eq!(child, expected);
}

#[cfg(target_os = "linux")]
#[test]
fn a_secret_is_read_from_a_file_only() {
    let folder = tempfile::tempdir().unwrap();
    crate::regular_file::make_pipe(&folder.path().join("pipe"));
    let manifest = manifest(
        folder.path(),
        json!({"envFrom": {"A": "file:pipe", "B": "file:/dev/zero"}}),
    );
    let Err(problems) = secrets(&manifest, &manifest.runbooks[0], &server()) else {
        panic!("they are no files");
    };
    assert!(problems[0].contains("file:pipe is a named pipe, not a file"));
    assert!(problems[1].contains("file:/dev/zero is a device, not a file"));
}
