//! `init` and `doctor`.

use serde_json::json;

use crate::project;

#[test]
fn init_writes_what_validates_and_runs() {
    let project = project();
    let ran = project.run(["init"]).go().exits(0).says("");
    assert!(
        ran.stdout
            .starts_with("Wrote:\n  {DIR}/runbooks.json\n  {DIR}/runbooks/hello.sh\n\nNext:\n"),
        "{ran:?}"
    );
    project.run(["validate"]).go().exits(0).says("");
    project
        .run(["call", "hello", "name=team"])
        .go()
        .exits(0)
        .prints("Hello, team!\n");
}

#[test]
fn init_overwrites_nothing() {
    let project = project().file("runbooks.json", "mine");
    project
        .run(["init"])
        .go()
        .exits(2)
        .prints("")
        .says("error: {DIR}/runbooks.json already exists — not overwriting it.\n");
    assert_eq!(
        std::fs::read_to_string(project.path("runbooks.json")).unwrap(),
        "mine"
    );
    assert!(!project.path("runbooks").exists());
}

#[test]
fn init_writes_where_it_is_told_to() {
    let project = project();
    project.run(["init", "--manifest", "a/b.json"]).go().exits(0);
    project.run(["validate", "--manifest", "a/b.json"]).go().exits(0);
    project
        .run(["init", "-m", "x.json", "-m", "y.json"])
        .go()
        .exits(2)
        .says("error: init writes one manifest; name only one\n");
}

fn state_of(findings: &serde_json::Value, what: &str) -> String {
    findings["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|finding| finding["what"] == what)
        .unwrap_or_else(|| panic!("nothing on {what}"))["state"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn doctor_tells_well_from_ill() {
    let project = project().runbook("hello", "echo hi", json!({}));
    let well = project.run(["doctor", "--json"]).go().exits(0).json();
    for what in ["sh", "state", "history", "manifest"] {
        assert_eq!(state_of(&well, what), "ok", "{well}");
    }
    std::fs::remove_file(project.path("hello.sh")).unwrap();
    let ill = project.run(["doctor", "--json"]).go().exits(1).json();
    assert_eq!(state_of(&ill, "manifest"), "problem");
    let ran = project.run(["doctor"]).go().exits(1);
    assert!(
        ran.stdout
            .contains("problem  manifest     {DIR}/runbooks.json: 1 problem(s)"),
        "{ran:?}"
    );
}

#[cfg(unix)]
#[test]
fn doctor_tries_the_state_folder() {
    use std::os::unix::fs::PermissionsExt;

    let project = project()
        .runbook("hello", "echo hi", json!({}))
        .file("in-the-way", "");
    let doctor = |folder: &str, code| {
        let ran = project
            .run(["doctor", "--state-dir", folder, "--json"])
            .go()
            .exits(code);
        let findings = ran.json();
        let of_state = findings["findings"].as_array().unwrap().iter();
        let state = of_state
            .clone()
            .find(|finding| finding["what"] == "state")
            .unwrap();
        (
            state["state"].as_str().unwrap().to_owned(),
            state["detail"].as_str().unwrap().to_owned(),
        )
    };
    let path = |name: &str| project.path(name).display().to_string();

    // Tried, and nothing left behind.
    assert_eq!(doctor(&path("a/b/state"), 0).0, "ok");
    assert!(!project.path("a").exists());
    std::fs::create_dir(project.path("mine")).unwrap();
    std::fs::set_permissions(project.path("mine"), PermissionsExt::from_mode(0o700)).unwrap();
    assert_eq!(doctor(&path("mine"), 0).0, "ok");
    assert_eq!(std::fs::read_dir(project.path("mine")).unwrap().count(), 0);

    let (state, detail) = doctor(&path("in-the-way/state"), 1);
    assert_eq!(state, "problem", "{detail}");
    assert!(detail.contains("SUREHAND_STATE_DIR"), "{detail}");
    std::fs::create_dir(project.path("open")).unwrap();
    std::fs::set_permissions(project.path("open"), PermissionsExt::from_mode(0o777)).unwrap();
    let (state, detail) = doctor(&path("open"), 1);
    assert_eq!(state, "problem", "{detail}");
    assert!(
        detail.contains("mode 0777") && detail.contains("chmod go-w"),
        "{detail}"
    );
    if cfg!(target_os = "linux") {
        let (state, detail) = doctor("/proc/nope", 1);
        assert_eq!(state, "problem", "{detail}");
    }
}

#[test]
fn doctor_finds_a_damaged_history() {
    let project = project().runbook("hello", "echo hi", json!({}));
    project.run(["call", "hello"]).go().exits(0);
    for entry in std::fs::read_dir(project.state()).unwrap() {
        let path = entry.unwrap().path();
        // The database and the log beside it, from which it could be mended.
        if path.is_file() {
            std::fs::write(&path, "not a database at all").unwrap();
        }
    }
    let ill = project.run(["doctor", "--json"]).go().exits(1).json();
    assert_eq!(state_of(&ill, "history"), "problem", "{ill}");
    // A damaged history stops no call.
    project.run(["call", "hello"]).go().exits(0).prints("hi\n");
}
