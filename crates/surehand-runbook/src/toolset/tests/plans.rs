//! What calls become.

use std::sync::Arc;

use serde_json::{Value, json};
use surehand_core::{Answer, Confirm, Lock};

use super::{Fixture, call, cx, options, plan};
use crate::toolset::Runbooks;

#[tokio::test]
async fn fault_24_refusals_have_one_form() {
    let fixture = Fixture::new(json!([
        {"name": "t", "params": {"s": {"type": "string", "flag": "-s", "pattern": "^a$", "required": true}}}
    ]));
    let error = plan(&fixture.toolset(), "t", json!({"s": "b", "x": 1}))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "Refused: t: s must match ^a$\nRefused: t: unknown argument \"x\"; the arguments are: s"
    );
}

#[tokio::test]
async fn fault_15_destructive_runbooks_hold_a_lock() {
    let fixture = Fixture::new(json!([
        {"name": "plain"},
        {"name": "wipe", "destructive": true},
        {"name": "three", "destructive": true, "concurrency": 3},
        {"name": "shared", "lock": "db"},
        {"name": "both", "concurrency": 2, "lock": "db"}
    ]));
    let toolset = fixture.toolset();
    let own = |name: &str, limit| Lock {
        key: format!("runbook:{}:{name}", fixture.path("runbooks.json").display()),
        limit,
    };
    let shared = || Lock {
        key: "lock:db".to_owned(),
        limit: 1,
    };
    for (name, locks) in [
        ("plain", vec![]),
        ("wipe", vec![own("wipe", 1)]),
        ("three", vec![own("three", 3)]),
        ("shared", vec![shared()]),
        ("both", vec![own("both", 2), shared()]),
    ] {
        assert_eq!(
            plan(&toolset, name, json!({})).await.unwrap().locks,
            locks,
            "{name}"
        );
    }
}

#[tokio::test]
async fn fault_19_secrets_are_in_no_plan_and_needed_at_the_call() {
    let param = json!({"s": {"type": "string", "flag": "-s", "pattern": "^[a-z0-9]+$"}});
    let fixture = Fixture::new(json!([
        {"name": "t", "envFrom": {"PASSWORD": "env:TOKEN"}, "params": param},
        {"name": "u", "envFrom": {"PASSWORD": "env:NOWHERE"}}
    ]));
    let toolset = fixture.toolset();
    let plan_with = plan(&toolset, "t", json!({"s": "hunter22"})).await.unwrap();
    assert!(!format!("{plan_with:?}").contains("hunter22"), "{plan_with:?}");
    assert!(
        plan_with.display.ends_with("-s [REDACTED]"),
        "{}",
        plan_with.display
    );
    let missing = plan(&toolset, "u", json!({})).await.unwrap_err().to_string();
    assert!(
        missing.contains("PASSWORD") && missing.contains("env:NOWHERE is not set"),
        "{missing}"
    );
}

#[tokio::test]
async fn fault_13_and_32_what_could_never_run_rightly_is_refused() {
    let fixture = Fixture::new(json!([
        {"name": "nul", "env": {"X": "a\0b"}},
        {"name": "eq", "env": {"A=B": "c"}},
        {"name": "fine"},
        {"name": "exe", "interpreter": "exe"}
    ]));
    let text = std::fs::read_to_string(fixture.path("runbooks.json")).unwrap();
    let mut document: Value = serde_json::from_str(&text).unwrap();
    document["interpreters"] = json!({"exe": "/bin/echo"});
    std::fs::write(fixture.path("runbooks.json"), document.to_string()).unwrap();
    let toolset = fixture.toolset();
    for (name, word) in [("nul", "NUL"), ("eq", "A=B"), ("exe", "/bin/echo")] {
        let refused = plan(&toolset, name, json!({})).await.unwrap_err().to_string();
        assert!(refused.starts_with(&format!("Refused: {name}: ")), "{refused}");
        assert!(refused.contains(word), "{refused}");
    }
    assert!(plan(&toolset, "fine", json!({})).await.is_ok());
}

#[tokio::test]
async fn the_digest_covers_what_decides_and_nothing_else() {
    let runbook = json!({"name": "t", "confirm": true, "env": {"A": "1"}, "params": {
        "s": {"type": "string", "flag": "-s", "pattern": "^[a-z]+$"}
    }});
    let fixture = Fixture::new(json!([runbook]));
    let digest = async |arguments| plan(&fixture.toolset(), "t", arguments).await.unwrap().digest;
    let first = digest(json!({"s": "a"})).await;
    assert_eq!(first.len(), 64);
    assert_eq!(digest(json!({"s": "a"})).await, first);
    assert_ne!(digest(json!({"s": "b"})).await, first);
    std::fs::write(fixture.path("a.sh"), "echo other\n").unwrap();
    let other_script = digest(json!({"s": "a"})).await;
    assert_ne!(other_script, first);
    let mut changed = runbook;
    changed["env"]["A"] = json!("2");
    fixture.write(json!([changed]));
    assert_ne!(digest(json!({"s": "a"})).await, other_script);
}

#[tokio::test]
async fn fault_18_a_pin_is_checked_at_load_at_the_call_and_before_the_run() {
    let fixture = Fixture::new(json!([{"name": "t"}]));
    let digest = hex::encode(crate::script::sha256(&fixture.path("a.sh")).unwrap());
    fixture.write(json!([{"name": "t", "sha256": digest}]));
    let toolset = fixture.toolset();
    let prepared = toolset.prepare(&cx(), call("t", json!({}))).await.unwrap();
    std::fs::write(fixture.path("a.sh"), "echo evil\n").unwrap();
    let late = (prepared.work)(cx()).await.unwrap_err().to_string();
    let early = plan(&toolset, "t", json!({})).await.unwrap_err().to_string();
    for refused in [late, early] {
        assert!(refused.starts_with("Refused: t: the script's bytes"), "{refused}");
        assert!(refused.contains(&digest), "{refused}");
    }
    let error = Runbooks::load(&[fixture.path("runbooks.json")], options()).unwrap_err();
    assert!(error.to_string().contains(&digest), "{error}");
}

#[tokio::test]
async fn a_script_that_changes_after_a_confirmation_does_not_run() {
    let fixture = Fixture::new(json!([{"name": "t", "confirm": true}]));
    let toolset = fixture.toolset();
    let prepared = toolset.prepare(&cx(), call("t", json!({}))).await.unwrap();
    assert_eq!(prepared.plan.confirm, Confirm::Person);
    std::fs::write(fixture.path("a.sh"), "echo something longer\n").unwrap();
    let refused = (prepared.work)(cx()).await.unwrap_err().to_string();
    assert!(
        refused.contains("changed after the call was confirmed"),
        "{refused}"
    );
}

#[tokio::test]
async fn tokens_go_to_the_plan() {
    let fixture = Fixture::new(json!([{"name": "t", "confirm": "token"}]));
    let plan = plan(&fixture.toolset(), "t", json!({"confirmToken": "abc"}))
        .await
        .unwrap();
    assert_eq!(plan.confirm, Confirm::Token);
    assert_eq!(plan.token.as_deref(), Some("abc"));
    assert!(plan.arguments.is_empty());
}

#[tokio::test]
async fn a_dry_run_says_what_would_be_done() {
    let fixture = Fixture::new(json!([
        {"name": "t", "dryRun": true, "timeoutSeconds": 7, "params": {"s": {"type": "string", "flag": "-s", "pattern": "^.*$"}}}
    ]));
    let root = fixture.folder.path().display().to_string();
    let expected = format!("DRY RUN — t would run:\n$ sh {root}/a.sh -s ''\ncwd: {root}\ntimeout: 7s");
    let toolset = fixture.toolset();
    let by_argument = call("t", json!({"dryRun": true, "s": ""}));
    let mut by_flag = call("t", json!({"s": ""}));
    by_flag.dry_run = true;
    for call in [by_argument, by_flag] {
        let prepared = toolset.prepare(&cx(), call).await.unwrap();
        assert!(prepared.plan.dry_run);
        let Answer::Done(outcome) = (prepared.work)(cx()).await.unwrap() else {
            panic!("a dry run is done at once");
        };
        assert_eq!(outcome.joined_text(), expected);
        assert!(!outcome.is_error);
    }
    assert!(
        !plan(&toolset, "t", json!({"dryRun": false}))
            .await
            .unwrap()
            .dry_run
    );
}

#[tokio::test(flavor = "current_thread")]
async fn fault_09_a_costly_pattern_does_not_keep_others_waiting() {
    let fixture = Fixture::new(json!([
        {"name": "t", "params": {"s": {"type": "string", "flag": "-s", "pattern": "^(?=a)(a+)+$"}}}
    ]));
    let toolset = fixture.toolset();
    let evil = json!({"s": format!("{}!", "a".repeat(40))});
    let slow = tokio::spawn({
        let toolset = Arc::clone(&toolset);
        async move { plan(&toolset, "t", evil).await.map(|plan| plan.display) }
    });
    tokio::task::yield_now().await;
    assert!(plan(&toolset, "t", json!({"s": "aaa"})).await.is_ok());
    let refused = slow.await.unwrap().unwrap_err().to_string();
    assert!(refused.contains("^(?=a)(a+)+$"), "{refused}");
    assert!(refused.contains("limit on work"), "{refused}");
}
