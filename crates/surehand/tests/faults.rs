//! Faults of the original that only show in the whole program. Each test is named for its number in the list that
//! `docs/compatibility.md` follows; others stand in the crates.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{Project, Signal, is_alive, send, until};

fn project() -> Project {
    Project::new(env!("CARGO_BIN_EXE_surehand"))
}

/// The process ids that a script wrote to this file.
fn pids(project: &Project, count: usize) -> Vec<u32> {
    let path = project.path("pids");
    until(Duration::from_secs(10), || {
        let text = fs::read_to_string(&path).ok()?;
        let pids: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        (pids.len() == count && text.ends_with('\n')).then_some(pids)
    })
    .expect("the script writes its process ids")
}

fn all_dead(pids: &[u32]) -> bool {
    until(Duration::from_secs(3), || {
        (!pids.iter().any(|pid| is_alive(*pid))).then_some(())
    })
    .is_some()
}

/// Two processes: one ignores SIGTERM in a session of its own.
const STUBBORN: &str = "echo $$ >> pids\n\
    setsid sh -c 'trap \"\" TERM HUP; echo $$ >> pids; while :; do sleep 1; done' &\n\
    while :; do sleep 1; done\n";

#[test]
fn fault_01_the_whole_tree_is_killed() {
    let project = project().runbook("t", STUBBORN, json!({"timeoutSeconds": 1}));
    let result = project.serve([]).initialized().call("t", &json!({}));
    assert_eq!(result["structuredContent"]["timed_out"], true, "{result}");
    assert!(all_dead(&pids(&project, 2)));
}

#[test]
fn fault_02_the_answer_comes_within_timeout_and_two_seconds() {
    let project = project().runbook("t", STUBBORN, json!({"timeoutSeconds": 1}));
    let mut session = project.serve([]).initialized();
    let begun = Instant::now();
    session.call("t", &json!({}));
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[test]
fn fault_03_a_background_child_does_not_hold_the_answer_up() {
    let project = project().runbook("t", "sleep 60 & echo $! > pids; echo done", json!({}));
    let begun = Instant::now();
    let result = project.serve([]).initialized().call("t", &json!({}));
    assert!(begun.elapsed() < Duration::from_secs(2));
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("still running when the script ended"), "{text}");
    assert!(all_dead(&pids(&project, 1)));
}

#[test]
fn fault_04_no_script_outlives_its_client() {
    let project = project().runbook("t", STUBBORN, json!({}));
    let mut session = project.serve([]).initialized();
    session.send_call("t", &json!({}));
    let pids = pids(&project, 2);
    let begun = Instant::now();
    session.close().exits(0);
    assert!(begun.elapsed() < Duration::from_secs(4));
    assert!(all_dead(&pids));
}

#[test]
fn fault_04_no_script_outlives_its_server() {
    for signal in [Signal::TERM, Signal::INT, Signal::KILL] {
        let project = project().runbook("t", STUBBORN, json!({}));
        let mut session = project.serve([]).initialized();
        session.send_call("t", &json!({}));
        let pids = pids(&project, 2);
        send(session.process(), signal);
        assert!(all_dead(&pids), "after {signal:?}");
    }
}

#[test]
fn fault_05_a_cancelled_call_is_dead_and_unanswered() {
    let project = project().runbook("t", STUBBORN, json!({}));
    let mut session = project.serve([]).initialized();
    let id = session.send_call("t", &json!({}));
    let pids = pids(&project, 2);
    session.notify("notifications/cancelled", &json!({"requestId": id}));
    assert!(all_dead(&pids));
    session.request("ping", &json!({}));
    assert!(!session.is_answered(id));
}

#[test]
fn fault_15_a_hundred_calls_share_sixteen_places() {
    let script = "echo + >> log; sleep 0.2; echo - >> log; echo $2";
    let keys = json!({"params": {"n": {"type": "number", "flag": "-n", "integer": true}}});
    let project = project().runbook("t", script, keys);
    let mut session = project.serve([]).initialized();
    let ids: Vec<i64> = (0..100)
        .map(|n| session.send_call("t", &json!({"n": n})))
        .collect();
    for (n, id) in ids.into_iter().enumerate() {
        let answer = session.answer(id);
        assert_eq!(
            answer["result"]["structuredContent"]["stdout"],
            format!("{n}\n"),
            "{answer}"
        );
    }
    let (mut running, mut most) = (0, 0);
    for line in fs::read_to_string(project.path("log")).unwrap().lines() {
        running += if line == "+" { 1 } else { -1 };
        most = most.max(running);
    }
    assert!((2..=16).contains(&most), "{most} at once");
}

#[test]
fn fault_15_a_destructive_runbook_never_overlaps_itself_in_two_servers_either() {
    let project = project().runbook(
        "t",
        "echo s >> log; sleep 0.3; echo e >> log",
        json!({"destructive": true}),
    );
    let mut sessions: Vec<_> = (0..2).map(|_| project.serve([]).initialized()).collect();
    let ids: Vec<Vec<i64>> = sessions
        .iter_mut()
        .map(|session| (0..2).map(|_| session.send_call("t", &json!({}))).collect())
        .collect();
    for (session, ids) in sessions.iter_mut().zip(ids) {
        for id in ids {
            session.answer(id);
        }
    }
    assert_eq!(
        fs::read_to_string(project.path("log")).unwrap(),
        "s\ne\n".repeat(4)
    );
}

#[test]
fn fault_15_a_destructive_runbook_never_overlaps_itself_without_a_state_folder_either() {
    let project = project().runbook(
        "t",
        "echo s >> log; sleep 0.5; echo e >> log",
        json!({"destructive": true}),
    );
    let call = || {
        let call = project
            .run(["call", "t"])
            .without("HOME")
            .without("SUREHAND_STATE_DIR");
        call.env("TMPDIR", &project.folder().display().to_string())
            .go()
            .exits(0);
    };
    std::thread::scope(|scope| {
        scope.spawn(call);
        scope.spawn(call);
    });
    assert_eq!(
        fs::read_to_string(project.path("log")).unwrap(),
        "s\ne\n".repeat(2)
    );
}

#[test]
fn fault_16_progress_carries_the_scripts_last_line() {
    let project = project().runbook("t", "for i in 1 2 3; do echo step $i; sleep 0.5; done", json!({}));
    let mut session = project.serve([]).initialized();
    let params = json!({"name": "t", "arguments": {}, "_meta": {"progressToken": "p"}});
    let id = session.send("tools/call", &params);
    let report = session.notified("notifications/progress");
    assert_eq!(report["params"]["progressToken"], "p");
    let message = report["params"]["message"].as_str().unwrap();
    assert!(message.contains("step"), "{report}");
    session.answer(id);
}

#[test]
fn fault_22_bad_lines_are_answered_and_the_session_goes_on() {
    let large = "x".repeat(11 << 20);
    let lines = [
        "{nonsense".to_owned(),
        "[]".to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{large}"}}}}"#),
        r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#.to_owned(),
    ];
    let ran = project()
        .runbook("t", "true", json!({}))
        .run([])
        .stdin(lines.join("\n"))
        .go()
        .exits(0);
    let answers: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let codes: Vec<&Value> = answers.iter().map(|answer| &answer["error"]["code"]).collect();
    assert_eq!(codes[..2], [&json!(-32700), &json!(-32600)], "{answers:?}");
    assert!(answers[..2].iter().all(|answer| answer["id"].is_null()));
    for id in [1, 2] {
        assert!(
            answers.contains(&json!({"jsonrpc": "2.0", "id": id, "result": {}})),
            "{answers:?}"
        );
    }
}

#[test]
fn fault_32_the_verb_counts_wherever_it_stands_and_unknown_options_are_errors() {
    let project = project().runbook("t", "true", json!({}));
    let ran = project
        .run(["--manifest", "runbooks.json", "validate"])
        .go()
        .exits(0);
    assert!(
        ran.stdout.contains("OK — 1 runbook(s) ready to serve."),
        "{ran:?}"
    );
    let ran = project.run(["--frobnicate"]).go().exits(2);
    assert!(ran.stderr.contains("--frobnicate"), "{ran:?}");
}

#[test]
fn fault_33_defaults_are_published_and_every_schema_is_closed() {
    let script = "true";
    let keys = json!({"params": {"s": {"type": "string", "flag": "-s", "enum": ["a", "b"], "default": "a"}}});
    let project = project()
        .runbook("with", script, keys)
        .runbook("without", script, json!({}));
    let answer = project.serve([]).initialized().request("tools/list", &json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 2);
    for tool in tools {
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
    }
    assert_eq!(tools[0]["inputSchema"]["properties"]["s"]["default"], "a");
}

#[test]
fn fault_35_every_call_is_in_the_history() {
    let keys = json!({"params": {"n": {"type": "number", "flag": "-n"}}});
    let project = project().runbook("t", "echo out; echo err >&2; exit 3", keys);
    project.run(["call", "t", "n=5"]).go().exits(1);
    let runs = project.run(["runs", "list", "--json"]).go().exits(0).json();
    let id = runs["runs"][0]["id"].as_str().unwrap().to_owned();
    let run = project.run(["runs", "show", &id, "--json"]).go().exits(0).json();
    assert_eq!(run["tool"], "t");
    assert_eq!(run["status"], "failed");
    assert_eq!(run["exit_code"], 3);
    assert_eq!(run["arguments"], json!({"n": 5}));
    let command = run["command"].as_array().unwrap();
    assert_eq!(command[2..], [json!("-n"), json!("5")], "{run}");
    assert!(
        run["duration_ms"].is_u64() && run["principal"].is_string(),
        "{run}"
    );
    assert_eq!(
        run["outputs"][0]["sha256"].as_str().map(str::len),
        Some(64),
        "{run}"
    );
    let logs = project.run(["runs", "logs", &id]).go().exits(0);
    assert_eq!((logs.stdout.as_str(), logs.stderr.as_str()), ("out\n", "err\n"));
}
