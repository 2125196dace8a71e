//! What is listed, and when.

use std::time::Duration;

use serde_json::{Value, json};
use surehand_core::CallError;

use super::{Fixture, cx, options, plan, toolset};
use crate::toolset::{LoadError, Runbooks};

#[tokio::test]
async fn tools_are_published_as_the_original_does_and_fault_33_with_defaults() {
    let fixture = Fixture::new(json!([
        {"name": "sync_all", "description": "  Syncs.\n", "destructive": true, "idempotent": true, "timeoutSeconds": 7,
         "params": {
            "s": {"type": "string", "flag": "--s", "pattern": "^[a-z ]*$", "default": "w d", "description": "Str."},
            "n": {"type": "number", "flag": "-n", "integer": true, "minimum": -2, "maximum": 3.5, "default": 3},
            "a": {"type": "array", "flag": "-a", "enum": ["x"], "maxItems": 2, "required": true},
            "b": {"type": "boolean", "flag": "-b", "description": ""}
         }},
        {"name": "none", "readOnly": true},
        {"name": "own", "dryRun": true, "confirm": "token"}
    ]));
    let listing = fixture.toolset().list(&cx(), None).await.unwrap();
    let tools = &listing.tools;
    assert_eq!(tools.len(), 3);
    assert_eq!(tools[0].title.as_deref(), Some("sync all"));
    assert_eq!(
        tools[0].description,
        "Syncs.\n\nRuns a.sh (sh); timeout 7s; destructive, idempotent."
    );
    assert_eq!(
        tools[1].description,
        "Does.\n\nRuns a.sh (sh); timeout 300s; read-only."
    );
    assert_eq!(
        Value::Object((*tools[0].input_schema).clone()),
        json!({
            "type": "object",
            "properties": {
                "s": {"type": "string", "pattern": "^[a-z ]*$", "description": "Str. Default: \"w d\".",
                      "default": "w d"},
                "n": {"type": "integer", "minimum": -2, "maximum": 3.5, "description": "Default: 3.", "default": 3},
                "a": {"type": "array", "items": {"type": "string", "enum": ["x"]}, "minItems": 1, "maxItems": 2},
                "b": {"type": "boolean"}
            },
            "required": ["a"],
            "additionalProperties": false,
            "$schema": "http://json-schema.org/draft-07/schema#"
        })
    );
    assert_eq!(tools[1].input_schema["additionalProperties"], json!(false));
    let own: Vec<_> = tools[2].input_schema["properties"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(own, ["dryRun", "confirmToken"]);
    assert!(fixture.toolset().list(&cx(), Some("x")).await.is_err());
}

#[tokio::test]
async fn fault_25_an_unknown_tool_is_no_result() {
    let fixture = Fixture::new(json!([{"name": "sync_repos"}]));
    let toolset = fixture.toolset();
    for name in ["sync_repo", "constructor", "", "__proto__"] {
        let error = plan(&toolset, name, json!({})).await.unwrap_err();
        let CallError::UnknownTool { nearest, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(nearest.is_some(), name == "sync_repo");
    }
}

#[tokio::test]
async fn two_manifests_with_one_tool_name_both_files_and_the_cure() {
    let (one, two) = (
        Fixture::new(json!([{"name": "t"}])),
        Fixture::new(json!([{"name": "t"}, {"name": "u"}])),
    );
    let paths = [one.path("runbooks.json"), two.path("runbooks.json")];
    let LoadError { errors } = Runbooks::load(&paths, options()).unwrap_err();
    let text = errors[0].format();
    for part in [
        &paths[0].display().to_string(),
        &paths[1].display().to_string(),
        "\"prefix\"",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let document = std::fs::read_to_string(&paths[1]).unwrap();
    std::fs::write(&paths[1], document.replacen('{', "{\"prefix\": \"two_\",", 1)).unwrap();
    let runbooks = Runbooks::load(&paths, options()).unwrap();
    let listing = toolset(&runbooks).list(&cx(), None).await.unwrap();
    let names: Vec<_> = listing.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["t", "two_t", "two_u"]);
}

#[test]
fn nothing_is_served_unless_everything_is_whole() {
    let fixture = Fixture::new(json!([{"name": "a"}, {"name": "b", "script": "gone.sh"}]));
    let path = fixture.path("runbooks.json");
    let error = Runbooks::load(&[path.clone(), fixture.path("other.json")], options()).unwrap_err();
    assert_eq!(error.errors.len(), 2, "{error}");
    assert_eq!(
        error.errors[0].format(),
        format!(
            "{}: refusing to start\n  - b: script not found: {}",
            path.display(),
            fixture.path("gone.sh").display()
        )
    );
}

#[tokio::test]
async fn fault_21_an_edited_manifest_is_served_and_a_bad_one_is_not() {
    let fixture = Fixture::new(json!([{"name": "one"}]));
    let runbooks = fixture.load();
    let toolset = toolset(&runbooks);
    let mut changes = toolset.changes().unwrap();
    let _watching = runbooks.watch().unwrap();
    let names = async || -> Vec<String> {
        let listing = toolset.list(&cx(), None).await.unwrap();
        listing.tools.into_iter().map(|tool| tool.name).collect()
    };
    fixture.write(json!([{"name": "one"}, {"name": "two"}]));
    let told = tokio::time::timeout(Duration::from_secs(10), changes.recv()).await;
    assert!(told.is_ok_and(|change| change.is_ok()));
    assert_eq!(names().await, ["one", "two"]);
    fixture.write(json!([{"name": "Bad"}]));
    let silent = tokio::time::timeout(Duration::from_millis(800), changes.recv()).await;
    assert!(silent.is_err(), "a bad manifest is no change");
    assert_eq!(names().await, ["one", "two"]);
    // Written in place, and whole only when the script comes.
    fixture.write(json!([{"name": "three", "script": "later.sh"}]));
    std::fs::write(fixture.path("later.sh"), "").unwrap();
    let told = tokio::time::timeout(Duration::from_secs(10), changes.recv()).await;
    assert!(told.is_ok_and(|change| change.is_ok()));
    assert_eq!(names().await, ["three"]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn fault_21_a_manifest_that_is_no_file_for_a_moment_stops_nothing() {
    let fixture = Fixture::new(json!([{"name": "one"}]));
    let runbooks = fixture.load();
    let toolset = toolset(&runbooks);
    let mut changes = toolset.changes().unwrap();
    let _watching = runbooks.watch().unwrap();
    let path = fixture.path("runbooks.json");
    let pipe = |path: &std::path::Path| {
        std::fs::remove_file(path).unwrap();
        crate::regular_file::make_pipe(path);
    };
    let endless = |path: &std::path::Path| {
        std::fs::File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
    };
    for (spoil, name) in [(&pipe as &dyn Fn(&std::path::Path), "two"), (&endless, "three")] {
        spoil(&path);
        // Long enough for the folder to have settled and the file to have been looked at.
        let silent = tokio::time::timeout(Duration::from_millis(800), changes.recv()).await;
        assert!(silent.is_err(), "it is no manifest");
        assert!(runbooks.reload().is_err());
        fixture.write(json!([{"name": name}]));
        let told = tokio::time::timeout(Duration::from_secs(10), changes.recv()).await;
        assert!(told.is_ok_and(|change| change.is_ok()));
        let listing = toolset.list(&cx(), None).await.unwrap();
        assert_eq!(listing.tools[0].name, name);
    }
}

#[test]
fn a_manifest_of_a_thousand_runbooks_loads_quickly() {
    let fixture = Fixture::new(json!([]));
    let runbooks: Vec<Value> = (0..1000)
        .map(|index| {
            json!({"name": format!("r{index}"), "params": {
                "s": {"type": "string", "flag": "--s", "pattern": "^[A-Za-z][A-Za-z0-9 _-]{0,40}$"}
            }})
        })
        .collect();
    fixture.write(runbooks.into());
    let begun = std::time::Instant::now();
    assert_eq!(fixture.load().count(), 1000);
    // Some milliseconds when optimised; this is to catch what grows with the square.
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}
