//! What is warned of.

use serde_json::json;

use super::{on_disk, places, surroundings, with_params, with_runbook};
use crate::manifest::warnings;

#[cfg(unix)]
#[test]
fn fault_14_what_will_not_start_is_warned_of() {
    use std::os::unix::fs::PermissionsExt as _;

    let (folder, manifest) = on_disk(
        &json!({"version": 1, "interpreters": {"python": "/no/such/python"}, "runbooks": [
            {"name": "a", "description": "d", "script": "a.sh", "interpreter": "python"},
            {"name": "b", "description": "d", "script": "a.sh", "interpreter": "exe"},
            {"name": "c", "description": "d", "script": "a.sh", "interpreter": "sh", "env": {"PATH": "/nowhere"}},
            {"name": "d", "description": "d", "script": "a.sh", "interpreter": "sh"},
        ]}),
    );
    let warned = warnings(&manifest, &surroundings("/usr/bin:/bin"));
    assert_eq!(places(&warned), ["a", "b", "c"]);
    assert!(warned[0].message.contains("/no/such/python"));
    assert!(warned[1].message.contains("chmod +x"));
    let script = folder.path().join("a.sh");
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(
        places(&warnings(&manifest, &surroundings("/usr/bin:/bin"))),
        ["a", "c"]
    );
}

#[test]
fn fault_12_required_with_a_default_is_warned_of() {
    let (_folder, manifest) = on_disk(&with_params(json!({
        "s": {"type": "string", "flag": "-s", "enum": ["x"], "default": "x", "required": true},
        "all": {"type": "string", "flag": "-a", "pattern": "^.*$"},
        "nested": {"type": "string", "flag": "-n", "pattern": "^(a+)+$"},
    })));
    let warned = warnings(&manifest, &surroundings("/usr/bin:/bin"));
    assert_eq!(places(&warned), ["t.params.s", "t.params.all", "t.params.nested"]);
}

#[test]
fn fault_19_variables_that_load_code_are_warned_of() {
    let (_folder, manifest) = on_disk(&with_runbook(json!({
        "env": {"BASH_ENV": "x", "FINE": "y", "LD_PRELOAD": "z"}, "envFrom": {"GIT_SSH_COMMAND": "env:G"}
    })));
    let warned = warnings(&manifest, &surroundings("/usr/bin:/bin"));
    assert_eq!(
        places(&warned),
        ["t.env.BASH_ENV", "t.env.LD_PRELOAD", "t.env.GIT_SSH_COMMAND"]
    );
}

#[test]
fn fault_13_impossible_variables_are_warned_of() {
    let (_folder, manifest) = on_disk(&with_runbook(json!({"env": {"A=B": "c", "": "x", "N": "a\0b"}})));
    let warned = warnings(&manifest, &surroundings("/usr/bin:/bin"));
    assert_eq!(warned.len(), 3);
    assert!(
        warned
            .iter()
            .all(|warning| warning.message.starts_with("every call will be refused"))
    );
}

#[test]
fn a_secret_that_is_in_no_file_is_warned_of() {
    let (folder, manifest) = on_disk(&with_runbook(json!({
        "envFrom": {"A": "file:there", "B": "file:gone", "C": "file:.", "D": "env:NOT_HERE"}
    })));
    std::fs::write(folder.path().join("there"), "s3cret").unwrap();
    let warned: Vec<String> = warnings(&manifest, &surroundings("/usr/bin:/bin"))
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        warned,
        [
            "t.envFrom.B: every call will be refused: file:gone does not exist",
            "t.envFrom.C: every call will be refused: file:. is a folder, not a file",
        ]
    );
}
