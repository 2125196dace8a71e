//! Which manifest is used.

use serde_json::json;

use crate::project;

const HELLO: &str = "echo hello";

#[test]
fn validate_shows_what_agents_get() {
    project()
        .runbook("hello", HELLO, json!({}))
        .run(["validate"])
        .go()
        .exits(0)
        .prints(
            "\n  {DIR}/runbooks.json\n\n  hello  [sh]  hello.sh\n      $ sh {DIR}/hello.sh\n\n  \
             OK — 1 runbook(s) ready to serve.\n\n",
        )
        .says("");
}

#[test]
fn the_manifest_may_be_named_before_the_command() {
    let project = project().runbook("hello", HELLO, json!({}));
    let renamed = project.path("other.json");
    std::fs::rename(project.path("runbooks.json"), &renamed).unwrap();
    let listing = project.run(["validate", "-m", "other.json"]).go().exits(0).stdout;
    assert!(listing.contains("{DIR}/other.json"));
    project
        .run(["--manifest", "other.json", "validate"])
        .go()
        .exits(0)
        .prints(&listing);
    project
        .run(["validate"])
        .env("RUNBOOK_MCP_MANIFEST", "other.json")
        .go()
        .exits(0)
        .prints(&listing);
}

#[test]
fn a_flag_comes_before_the_environment_and_an_empty_variable_is_none() {
    let project = project().runbook("hello", HELLO, json!({}));
    for (words, value) in [
        (&["validate", "-m", "runbooks.json"][..], "/no/such.json"),
        (&["validate"], ""),
    ] {
        project
            .run(words.iter().copied())
            .env("RUNBOOK_MCP_MANIFEST", value)
            .go()
            .exits(0);
    }
}

#[test]
fn a_manifest_that_is_not_there() {
    project().run(["validate"]).go().exits(2).prints("").says(
        "cannot read manifest {DIR}/runbooks.json: ENOENT: no such file or directory, open \
         '{DIR}/runbooks.json'\nhint: `surehand init` writes a starter manifest; --manifest PATH names one elsewhere\n",
    );
    for words in [
        &["validate", "-m", "/no/such.json"][..],
        &["-m", "/no/such.json"],
        &["tools", "-m", "/no/such.json"],
    ] {
        project().run(words.iter().copied()).go().exits(2).prints("").says(
            "cannot read manifest /no/such.json: ENOENT: no such file or directory, open '/no/such.json'\n",
        );
    }
}

#[test]
fn problems_on_disk() {
    let project = project().runbook("hello", HELLO, json!({}));
    std::fs::remove_file(project.path("hello.sh")).unwrap();
    let ran = project.run(["validate"]).go().exits(2);
    assert_eq!(
        ran.stderr,
        "1 problem(s) on disk\n  - hello: script not found: {DIR}/hello.sh\n"
    );
    assert!(ran.stdout.contains("$ sh {DIR}/hello.sh"));
    // A server fails closed.
    project
        .run([])
        .go()
        .exits(2)
        .prints("")
        .says("{DIR}/runbooks.json: refusing to start\n  - hello: script not found: {DIR}/hello.sh\n");
}

#[test]
fn tools_as_an_agent_sees_them() {
    let keys = json!({"destructive": true, "params": {
        "to": {"type": "string", "flag": "--to", "enum": ["test", "live"], "required": true},
        "tags": {"type": "array", "positional": true, "pattern": "^[a-z]+$"},
    }});
    let project = project().runbook("deploy", HELLO, keys);
    let ran = project.run(["tools"]).go().exits(0).says("");
    assert_eq!(
        ran.stdout,
        "deploy(to: string, tags?: array)\n  For a test.\n  Runs deploy.sh (sh); timeout 300s; destructive.\n"
    );
    project.run(["--list-tools"]).go().exits(0).prints(&ran.stdout);
    let json = project.run(["tools", "--json"]).go().exits(0).says("").stdout;
    insta::assert_snapshot!("tools_json", json);
    project
        .run(["--list-tools", "--json"])
        .go()
        .exits(0)
        .prints(&json);
}

#[test]
fn two_manifests_are_served_as_one_and_may_not_share_a_name() {
    let project = project().runbook("hello", HELLO, json!({}));
    std::fs::copy(project.path("runbooks.json"), project.path("again.json")).unwrap();
    let two = ["tools", "-m", "runbooks.json", "-m", "again.json"];
    let ran = project.run(two).go().exits(2).prints("");
    for word in ["hello", "{DIR}/runbooks.json", "{DIR}/again.json", "prefix"] {
        assert!(ran.stderr.contains(word), "{word}: {ran:?}");
    }
    let other = json!({"version": 1, "prefix": "other_", "runbooks": [
        {"name": "hello", "description": "x", "script": "hello.sh", "interpreter": "sh"},
    ]});
    std::fs::write(project.path("again.json"), other.to_string()).unwrap();
    let names: Vec<String> = project
        .run(["tools", "--json", "-m", "runbooks.json", "-m", "again.json"])
        .go()
        .exits(0)
        .json()["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["hello", "other_hello"]);
}
