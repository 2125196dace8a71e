//! Calls that a person has to release.

use serde_json::json;
use testkit::Project;

use crate::project;

fn guarded() -> Project {
    let params = json!({"to": {"type": "string", "positional": true, "enum": ["test", "live"]}});
    project().runbook(
        "deploy",
        "echo deployed to $1",
        json!({"confirm": true, "params": params}),
    )
}

/// Calls it and gives the id of the run that waits.
fn wait(project: &Project) -> String {
    let ran = project
        .run(["call", "deploy", "to=live"])
        .go()
        .exits(3)
        .prints("");
    assert!(
        ran.stderr.starts_with("pending_approval: deploy did not run"),
        "{ran:?}"
    );
    let waiting = project
        .run(["runs", "list", "--status", "pending_approval", "--json"])
        .go()
        .exits(0)
        .json();
    waiting["runs"][0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_released_call_runs_once_under_its_id() {
    let project = guarded();
    let id = wait(&project);
    assert_eq!(wait(&project), id);
    let ran = project.run(["runs", "approve", &id]).go().exits(0).says("");
    assert_eq!(
        ran.stdout,
        "Approved: deploy\n$ sh {DIR}/deploy.sh live\n\
         It has not run yet: the same call must come again within five minutes.\n"
    );
    // It is good for these arguments and no others.
    project.run(["call", "deploy", "to=test"]).go().exits(3);
    project
        .run(["call", "deploy", "to=live"])
        .go()
        .exits(0)
        .prints("deployed to live\n");
    let run = project.run(["runs", "show", &id, "--json"]).go().exits(0).json();
    assert_eq!(run["status"], "success", "{run}");
    project.run(["call", "deploy", "to=live"]).go().exits(3);
}

#[test]
fn a_rejected_call_does_not_run() {
    let project = guarded();
    let id = wait(&project);
    project
        .run(["runs", "reject", &id, "--reason", "not today", "--json"])
        .go()
        .exits(0);
    let run = project.run(["runs", "show", &id, "--json"]).go().exits(0).json();
    assert_eq!(run["status"], "cancelled", "{run}");
    assert!(run["error"].as_str().unwrap().contains("not today"), "{run}");
    project.run(["runs", "approve", &id]).go().exits(2);
    project.run(["call", "deploy", "to=live"]).go().exits(3);
}

#[test]
fn without_history_nobody_can_release_it_so_it_is_refused() {
    let ran = guarded()
        .run(["call", "deploy", "to=live", "--no-history"])
        .go()
        .exits(3)
        .prints("");
    assert!(
        ran.stderr
            .starts_with("error: not allowed: deploy needs a person's confirmation"),
        "{ran:?}"
    );
}

#[test]
fn an_agent_is_told_to_have_it_released() {
    let project = guarded();
    let mut session = project.serve([]).initialized();
    let result = session.call("deploy", &json!({"to": "live"}));
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(result["structuredContent"]["status"], "pending_approval");
    let id = result["structuredContent"]["run_id"].as_str().unwrap().to_owned();
    project.run(["runs", "approve", &id]).go().exits(0);
    let result = session.call("deploy", &json!({"to": "live"}));
    assert_eq!(result["isError"], false, "{result}");
    assert_eq!(result["structuredContent"]["run_id"], id.as_str());
    session.close().exits(0);
}

#[test]
fn a_command_line_has_no_use_for_a_token_and_says_so() {
    let project = project().runbook("wipe", "touch wiped", json!({"confirm": "token"}));
    for words in [&["call", "wipe"][..], &["call", "wipe", "confirmToken=0123"]] {
        project.run(words.iter().copied()).go().exits(3).prints("").says(
            "error: not allowed: wipe has to be confirmed, and a token for that is good only within one session \
             with a server; call it at a terminal, where it is asked for, or through an MCP client\n",
        );
    }
    assert!(!project.path("wiped").exists());
}

#[test]
fn a_run_tells_how_its_approval_came_out() {
    let project = guarded();
    let show = |id: &str| project.run(["runs", "show", id]).go().exits(0).says("").stdout;
    let has = |shown: &str, words: &str| {
        let found = shown.lines().any(|line| line.trim_start().starts_with(words));
        assert!(found, "{words:?}: {shown}");
    };
    let id = wait(&project);
    has(&show(&id), "approval  nobody has decided; it waits until 20");
    project.run(["runs", "approve", &id]).go().exits(0);
    let approved = show(&id);
    has(&approved, "approval  approved by ada at 20");
    has(&approved, "used  not yet; the same call may come until 20");
    project.run(["call", "deploy", "to=live"]).go().exits(0);
    let used = show(&id);
    has(&used, "approval  approved by ada at 20");
    has(&used, "used  20");

    let id = wait(&project);
    project
        .run(["runs", "reject", &id, "--reason", "not today"])
        .go()
        .exits(0);
    let rejected = show(&id);
    has(&rejected, "approval  rejected by ada at 20");
    assert!(rejected.contains(": not today\n"), "{rejected}");
}

#[test]
fn a_token_confirms_the_same_call_once() {
    let project = project().runbook("wipe", "echo wiped", json!({"confirm": "token"}));
    let mut session = project.serve([]).initialized();
    let first = session.call("wipe", &json!({}));
    assert_eq!(first["isError"], true, "{first}");
    let token = first["structuredContent"]["confirm_token"].clone();
    let second = session.call("wipe", &json!({"confirmToken": token}));
    assert_eq!(second["structuredContent"]["stdout"], "wiped\n", "{second}");
    let third = session.call("wipe", &json!({"confirmToken": token}));
    assert_eq!(third["isError"], true, "{third}");
    session.close().exits(0);
}
