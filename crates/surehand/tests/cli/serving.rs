//! The server as a process: how it starts, follows edits and ends.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::project;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

#[test]
fn says_what_it_serves_and_answers_what_is_piped_in() {
    let ran = project()
        .runbook("hello", "echo hi", json!({}))
        .run([])
        .stdin(PING)
        .go()
        .exits(0)
        .says(concat!(
            "surehand ",
            env!("CARGO_PKG_VERSION"),
            ": serving 1 runbook(s) from {DIR}/runbooks.json\n"
        ));
    assert_eq!(ran.json(), json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
}

#[test]
fn a_piped_call_is_answered_though_its_input_has_ended() {
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hello","arguments":{}}}"#;
    let ran = project()
        .runbook("hello", "sleep 0.3; echo hi", json!({}))
        .run(["serve"])
        .stdin(call)
        .go()
        .exits(0);
    assert_eq!(ran.json()["result"]["structuredContent"]["stdout"], "hi\n");
}

#[test]
fn a_longer_drain_lets_a_longer_call_end() {
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow","arguments":{}}}"#;
    let project = project().runbook("slow", "sleep 3; echo hi", json!({}));
    let ran = project.run(["--drain", "10"]).stdin(call).go().exits(0);
    assert_eq!(ran.json()["result"]["isError"], false, "{ran:?}");
}

#[test]
fn without_a_manifest_it_serves_nothing_and_says_what_to_do() {
    let ran = project()
        .run([])
        .stdin(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
        .go()
        .exits(0)
        .says(concat!(
            "surehand ",
            env!("CARGO_PKG_VERSION"),
            ": serving no tools: there is no runbooks.json here\n\
             hint: `surehand init` writes a starter manifest; --manifest PATH names one elsewhere\n"
        ));
    assert_eq!(ran.json()["result"]["tools"], json!([]), "{ran:?}");
}

fn names(answer: &Value) -> Vec<String> {
    answer["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn an_edited_manifest_is_served_and_a_broken_one_is_not() {
    let mut project = project().runbook("one", "echo 1", json!({}));
    let mut session = project.serve([]).initialized();
    assert_eq!(names(&session.request("tools/list", &json!({}))), ["one"]);
    project = project.runbook("two", "echo 2", json!({}));
    session.notified("notifications/tools/list_changed");
    assert_eq!(names(&session.request("tools/list", &json!({}))), ["one", "two"]);
    assert_eq!(
        session.call("two", &json!({}))["structuredContent"]["stdout"],
        "2\n"
    );
    project = project.file("runbooks.json", "{ not json");
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(names(&session.request("tools/list", &json!({}))), ["one", "two"]);
    drop(project);
    let ended = session.close().exits(0);
    assert!(ended.stderr.contains("not valid JSON"), "{ended:?}");
}

#[cfg(target_os = "linux")]
mod ending {
    use testkit::{Project, Session, Signal, is_alive, send, until};

    use super::{Duration, Instant, json, project};

    const STUBBORN: &str = "trap '' TERM INT; echo $$ > pid; (setsid sleep 77 &) ; sleep 60";

    /// A server with a script that does not want to end, and the script's process.
    fn busy() -> (Project, Session, u32) {
        let project = project().runbook("stubborn", STUBBORN, json!({}));
        let mut session = project.serve([]).initialized();
        session.send_call("stubborn", &json!({}));
        let script = until(Duration::from_secs(10), || {
            std::fs::read_to_string(project.path("pid"))
                .ok()?
                .trim()
                .parse()
                .ok()
        })
        .expect("the script runs");
        assert!(is_alive(script));
        (project, session, script)
    }

    fn gone(script: u32) {
        until(Duration::from_secs(2), || (!is_alive(script)).then_some(())).expect("the script is gone");
    }

    fn status(project: &Project) -> String {
        let runs = project.run(["runs", "list", "--json"]).go().exits(0).json();
        runs["runs"][0]["status"].as_str().unwrap().to_owned()
    }

    #[test]
    fn a_signal_ends_server_and_scripts_and_history_knows() {
        for signal in [Signal::TERM, Signal::INT] {
            let (project, session, script) = busy();
            let before = Instant::now();
            send(session.process(), signal);
            session.ended().exits(0);
            assert!(
                before.elapsed() < Duration::from_secs(4),
                "{:?}",
                before.elapsed()
            );
            gone(script);
            assert_eq!(status(&project), "cancelled");
        }
    }

    #[test]
    fn a_second_signal_ends_it_at_once() {
        let (_project, session, script) = busy();
        send(session.process(), Signal::TERM);
        std::thread::sleep(Duration::from_millis(100));
        let before = Instant::now();
        send(session.process(), Signal::TERM);
        session.ended().exits(1);
        assert!(
            before.elapsed() < Duration::from_millis(700),
            "{:?}",
            before.elapsed()
        );
        gone(script);
    }

    #[test]
    fn a_client_that_goes_takes_its_scripts_along() {
        let (project, session, script) = busy();
        session.close().exits(0);
        gone(script);
        assert_eq!(status(&project), "cancelled");
    }

    #[test]
    fn a_killed_server_leaves_no_script_and_history_says_so() {
        let (project, session, script) = busy();
        // History is written beside the call, not before it.
        until(Duration::from_secs(5), || {
            let runs = project.run(["runs", "list", "--json"]).go().exits(0).json();
            (runs["runs"][0]["status"] == "running").then_some(())
        })
        .expect("the run is in history");
        send(session.process(), Signal::KILL);
        drop(session);
        gone(script);
        assert_eq!(status(&project), "failed");
    }

    #[test]
    fn a_withdrawn_call_ends_its_script() {
        let (project, mut session, script) = busy();
        // The handshake was the first request, the call the second.
        session.notify("notifications/cancelled", &json!({"requestId": 2}));
        until(Duration::from_secs(3), || (!is_alive(script)).then_some(())).expect("the script is gone");
        session.close().exits(0);
        assert_eq!(status(&project), "cancelled");
    }
}

#[test]
fn a_hundred_calls_at_once_are_all_answered() {
    let project = project().runbook("quick", "echo $$", json!({}));
    let mut session = project.serve([]).initialized();
    let ids: Vec<i64> = (0..100).map(|_| session.send_call("quick", &json!({}))).collect();
    for id in ids {
        let answer = session.answer(id);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
    session.close().exits(0);
}
