//! `surehand call`.

use serde_json::json;

use crate::project;

#[test]
fn output_goes_where_the_script_sent_it_and_the_end_to_standard_error() {
    project()
        .runbook("both", "echo out; echo err >&2; echo more", json!({}))
        .run(["call", "both"])
        .go()
        .exits(0)
        .prints("out\nmore\n")
        .says("err\nboth: exit 0 ({T})\n$ sh {DIR}/both.sh\n");
}

#[test]
fn a_script_that_fails() {
    project()
        .runbook("bad", "echo sorry >&2; exit 7", json!({}))
        .run(["call", "bad"])
        .go()
        .exits(1)
        .prints("")
        .says("sorry\nbad: exit 7 ({T})\n$ sh {DIR}/bad.sh\n");
}

#[test]
fn a_script_that_says_nothing() {
    project()
        .runbook("mute", ":", json!({}))
        .run(["call", "mute"])
        .go()
        .exits(0)
        .prints("mute: exit 0 ({T})\n$ sh {DIR}/mute.sh\n")
        .says("");
}

#[test]
fn much_output_is_all_there_and_in_order() {
    let project = project().runbook("much", "seq 1 200000", json!({}));
    let ran = project.run(["call", "much"]).go().exits(0);
    let expected: String = (1..=200_000)
        .map(|n| format!("{n}\n"))
        .collect::<Vec<_>>()
        .concat();
    assert!(ran.stdout == expected, "{} bytes", ran.stdout.len());
}

fn with_parameters() -> testkit::Project {
    let params = json!({
        "to": {"type": "string", "flag": "--to", "enum": ["test", "live"]},
        "count": {"type": "number", "flag": "-n", "integer": true},
        "force": {"type": "boolean", "flag": "--force"},
        "tags": {"type": "array", "positional": true, "pattern": "^[a-z]+$"},
    });
    project().runbook("show", "echo \"$@\"", json!({"params": params}))
}

#[test]
fn arguments_are_typed_by_the_schema() {
    with_parameters()
        .run([
            "call",
            "show",
            "to=live",
            "count=3",
            "force=true",
            "tags=a",
            "tags=b",
        ])
        .go()
        .exits(0)
        .prints("--to live -n 3 --force a b\n");
}

#[test]
fn arguments_may_be_json() {
    for flag in ["--args", "--json"] {
        with_parameters()
            .run(["call", "show", flag, r#"{"to": "test", "tags": ["x"]}"#])
            .go()
            .exits(0)
            .prints("--to test x\n");
    }
}

#[test]
fn arguments_that_do_not_fit() {
    let hint = "hint: `surehand tools` shows what each tool takes\n";
    for (words, message) in [
        (
            &["tag=a"][..],
            "show has no parameter \"tag\"; did you mean \"tags\"?",
        ),
        (&["live"], "\"live\" is not of the form name=value"),
        (&["count=many"], "count takes a number, not \"many\""),
        (
            &["--args", "[]"],
            "the arguments are not a JSON object: invalid type: sequence, expected a map at line 1 column 0",
        ),
    ] {
        let words = ["call", "show"].into_iter().chain(words.iter().copied());
        with_parameters()
            .run(words)
            .go()
            .exits(2)
            .prints("")
            .says(&format!("error: {message}\n{hint}"));
    }
    let ran = with_parameters()
        .run(["call", "show", "to=moon"])
        .go()
        .exits(2)
        .prints("");
    assert!(
        ran.stderr.starts_with("error: Refused: show: to must be one of"),
        "{ran:?}"
    );
}

#[test]
fn an_unknown_tool() {
    with_parameters().run(["call", "shwo"]).go().exits(2).prints("").says(
        "error: unknown tool \"shwo\"; did you mean \"show\"?\nhint: `surehand tools` shows what can be called\n",
    );
}

#[test]
fn a_dry_run_runs_nothing_and_leaves_no_trace() {
    let project = project().runbook("touch", "touch touched", json!({}));
    let text = "DRY RUN — touch would run:\n$ sh {DIR}/touch.sh\ncwd: {DIR}\ntimeout: 300s\n";
    project
        .run(["call", "touch", "--dry-run"])
        .go()
        .exits(0)
        .prints(text)
        .says("");
    project
        .run(["--dry-run", "call", "touch"])
        .go()
        .exits(0)
        .prints(text);
    project
        .run(["call", "touch"])
        .env("RUNBOOK_MCP_DRY_RUN", "1")
        .go()
        .exits(0)
        .prints(text);
    assert!(!project.path("touched").exists());
    project.run(["runs", "list"]).go().exits(0).prints("No runs.\n");
}

#[test]
fn what_may_mean_a_dry_run_is_no_run() {
    let project = project().runbook("touch", "touch touched", json!({}));
    for value in ["true", "yes", "01"] {
        project
            .run(["call", "touch"])
            .env("RUNBOOK_MCP_DRY_RUN", value)
            .go()
            .exits(2)
            .prints("")
            .says(&format!(
                "error: RUNBOOK_MCP_DRY_RUN is \"{value}\", which is neither a yes nor a no\n\
                 hint: RUNBOOK_MCP_DRY_RUN=1 makes every call a dry run; unset it to run for real\n"
            ));
    }
    assert!(!project.path("touched").exists());
    project
        .run(["call", "touch"])
        .env("RUNBOOK_MCP_DRY_RUN", "false")
        .go()
        .exits(0);
    assert!(project.path("touched").exists());
}

#[test]
fn where_there_is_no_manifest_that_is_said() {
    for words in [&["call", "hello"][..], &["tools"], &["tools", "--json"]] {
        project()
            .run(words.iter().copied())
            .go()
            .exits(2)
            .prints("")
            .says(
                "error: there is no runbooks.json in {DIR}\n\
             hint: `surehand init` writes a starter manifest; --manifest PATH names one elsewhere\n",
            );
    }
}

#[test]
fn without_a_usable_state_folder_calls_go_on_at_once_with_one_warning() {
    let project = project()
        .runbook("hello", "echo hi", json!({}))
        .file("in-the-way", "");
    let below_a_file = project.path("in-the-way/state").display().to_string();
    for folder in [below_a_file.as_str(), "/proc/nope"] {
        if folder == "/proc/nope" && !cfg!(target_os = "linux") {
            continue;
        }
        let started = std::time::Instant::now();
        let ran = project
            .run(["call", "hello", "--state-dir", folder])
            .go()
            .exits(0)
            .prints("hi\n");
        let took = started.elapsed();
        let lines: Vec<&str> = ran
            .stderr
            .lines()
            .filter(|line| !line.contains("hello"))
            .collect();
        assert!(
            lines.len() == 2 && lines[0].starts_with("warning: ") && lines[1].starts_with("hint: "),
            "{ran:?}"
        );
        assert!(
            ran.stderr.contains("/proc/nope") || ran.stderr.contains("in-the-way"),
            "{ran:?}"
        );
        // Not the second for which writing is waited for where it may yet come about.
        assert!(took < std::time::Duration::from_millis(900), "{took:?}");
    }
}

#[test]
fn no_history_leaves_no_state() {
    let project = project().runbook("hello", "echo hi", json!({}));
    project
        .run(["call", "hello", "--no-history"])
        .go()
        .exits(0)
        .prints("hi\n");
    assert!(!project.state().exists());
}

#[test]
fn without_a_place_for_history_calls_go_on() {
    let ran = project()
        .runbook("hello", "echo hi", json!({}))
        .run(["call", "hello"])
        .without("HOME")
        .without("SUREHAND_STATE_DIR")
        .go()
        .exits(0)
        .prints("hi\n");
    assert!(
        ran.stderr
            .starts_with("warning: there is no folder for the history: runs will not be remembered\n"),
        "{ran:?}"
    );
}

#[test]
fn a_destructive_runbook_is_refused_where_its_lock_cannot_be_kept() {
    let project = project().runbook("wipe", "echo wiped", json!({"destructive": true}));
    std::fs::create_dir(project.state()).unwrap();
    std::fs::write(project.state().join("locks"), "in the way").unwrap();
    let ran = project
        .run(["call", "wipe", "--no-history"])
        .go()
        .exits(1)
        .prints("");
    assert!(
        ran.stderr
            .contains("the lock folder {STATE}/locks cannot be used"),
        "{ran:?}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_call_leaves_no_process() {
    use std::time::Duration;

    use testkit::{Signal, is_alive, send, until};

    let project = project().runbook("long", "echo $$ > pid; trap '' TERM; sleep 60", json!({}));
    let session = project.serve(["call", "long"]);
    let script: u32 = until(Duration::from_secs(10), || {
        std::fs::read_to_string(project.path("pid"))
            .ok()?
            .trim()
            .parse()
            .ok()
    })
    .expect("the script runs");
    assert!(is_alive(script));
    send(session.process(), Signal::INT);
    session.ended().exits(1);
    until(Duration::from_secs(2), || (!is_alive(script)).then_some(())).expect("the script is gone");
    let runs = project.run(["runs", "list", "--json"]).go().exits(0).json();
    assert_eq!(runs["runs"][0]["status"], "cancelled", "{runs}");
}

#[test]
fn a_reader_that_goes_away_does_not_hide_that_the_script_failed() {
    let project = project().runbook("loud", "seq 1 100000; exit 5", json!({}));
    let ran = project.run(["call", "loud"]).to_a_reader_that_leaves().exits(1);
    // It depends on which is noticed first.
    assert!(
        ran.stderr.contains("loud: exit 5 ({T})\n") || ran.stderr.contains("loud: was cancelled"),
        "{ran:?}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_reader_that_goes_away_ends_the_run() {
    use std::time::{Duration, Instant};

    for script in [
        "echo $$ > pid; sleep 60",
        "echo $$ > pid; while :; do echo y; done",
    ] {
        let project = project().runbook("endless", script, json!({}));
        let started = Instant::now();
        let ran = project
            .run(["call", "endless"])
            .to_a_reader_that_leaves()
            .exits(1);
        assert!(started.elapsed() < Duration::from_secs(10), "{ran:?}");
        assert!(
            ran.stderr
                .starts_with("warning: nobody reads the output any more\nendless: was cancelled"),
            "{ran:?}"
        );
        let script: u32 = std::fs::read_to_string(project.path("pid"))
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        assert!(!testkit::is_alive(script));
        let runs = project.run(["runs", "list", "--json"]).go().exits(0).json();
        assert_eq!(runs["runs"][0]["status"], "cancelled", "{runs}");
    }
}

#[cfg(unix)]
#[test]
fn a_closed_terminal_ends_call_and_server_as_a_termination_does() {
    use std::time::Duration;

    use testkit::{Signal, send, until};

    let project = project().runbook("long", "echo out; touch started; sleep 60", json!({}));
    let session = project.serve(["call", "long"]);
    until(Duration::from_secs(10), || {
        project.path("started").exists().then_some(())
    })
    .expect("it runs");
    send(session.process(), Signal::HUP);
    session.ended().exits(1);
    let runs = project.run(["runs", "list", "--json"]).go().exits(0).json();
    assert_eq!(runs["runs"][0]["status"], "cancelled", "{runs}");

    let session = project.serve([]).initialized();
    send(session.process(), Signal::HUP);
    session.ended().exits(0);
}

#[test]
fn a_destructive_runbook_does_not_overlap_itself_in_another_process() {
    let script = "echo start >> log; sleep 0.3; echo end >> log";
    let project = project().runbook("wipe", script, json!({"destructive": true}));
    std::thread::scope(|scope| {
        for history in [&[][..], &["--no-history"], &[]] {
            let words = ["call", "wipe"].into_iter().chain(history.iter().copied());
            let call = project.run(words);
            scope.spawn(|| call.go().exits(0));
        }
    });
    let log = std::fs::read_to_string(project.path("log")).unwrap();
    assert_eq!(log, "start\nend\n".repeat(3));
}
