//! What results say.

use std::time::Duration;

use serde_json::{Map, Value, json};
use surehand_core::{Confirm, Outcome, Plan, Redactor, RunId, RunStatus};
use surehand_exec::{Captured, Ended, Finished, StartError, StartErrorKind};

use crate::toolset::result::{Told, outcome};

fn told() -> Told {
    let plan = Plan {
        toolset: "runbooks".to_owned(),
        tool: "t".to_owned(),
        display: "bash /m/a.sh".to_owned(),
        command: vec!["bash".to_owned(), "/m/a.sh".to_owned()],
        cwd: Some("/m".to_owned()),
        effects: surehand_core::Effects::default(),
        locks: Vec::new(),
        confirm: Confirm::No,
        token: None,
        arguments: Map::new(),
        digest: String::new(),
        dry_run: false,
    };
    Told::of(&plan, &plan.display, &Redactor::default())
}

fn finished(ended: Ended) -> Finished {
    Finished {
        ended,
        timed_out: false,
        cancelled: false,
        left_behind: 0,
        unconfirmed: false,
        duration: Duration::from_millis(1_249),
        stdout: Captured::default(),
        stderr: Captured::default(),
    }
}

fn captured(text: &str, dropped_chars: u64) -> Captured {
    Captured {
        text: text.to_owned(),
        dropped_chars,
        ..Captured::default()
    }
}

fn result(finished: &Finished) -> Outcome {
    let id = RunId::generate();
    outcome(
        &told(),
        finished,
        Duration::from_secs(3),
        &id,
        &Redactor::default(),
    )
}

#[test]
fn results_have_the_known_layout() {
    let mut run = finished(Ended::Exited(3));
    run.stdout = captured("\n  out \n\n", 0);
    run.stderr = captured("tail", 30);
    let outcome = result(&run);
    assert_eq!(
        outcome.joined_text(),
        "t: exit 3 (1.2s)\n$ bash /m/a.sh\n\n--- stdout ---\n\n  out\n\n--- stderr (first 30 chars dropped — \
         showing the tail) ---\ntail"
    );
    assert!(outcome.is_error);
    assert_eq!(outcome.status, RunStatus::Failed);
    assert_eq!(outcome.error.as_deref(), Some("exit 3"));
    let structured = Value::Object(outcome.structured.unwrap());
    assert_eq!(structured["exit_code"], json!(3));
    assert_eq!(structured["signal"], Value::Null);
    assert_eq!(structured["stdout"], json!("\n  out \n\n"));
    assert_eq!(structured["dropped_stderr_chars"], json!(30));
    assert_eq!(structured["duration_ms"], json!(1249));
    assert_eq!(structured["command"], json!(["bash", "/m/a.sh"]));
    let keys: Vec<_> = structured
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        keys,
        [
            "exit_code",
            "signal",
            "timed_out",
            "duration_ms",
            "stdout",
            "stderr",
            "dropped_stdout_chars",
            "dropped_stderr_chars",
            "run_id",
            "command",
            "cwd"
        ]
    );
    let quiet = result(&finished(Ended::Exited(0)));
    assert_eq!(quiet.joined_text(), "t: exit 0 (1.2s)\n$ bash /m/a.sh");
    assert!(!quiet.is_error);
    let mut blank = finished(Ended::Exited(0));
    blank.stdout = captured(" \n\u{feff}", 60);
    assert!(
        result(&blank)
            .joined_text()
            .ends_with("(first 60 chars dropped — showing the tail) ---\n")
    );
}

#[test]
fn fault_11_a_signal_is_no_failed_start() {
    let outcome = result(&finished(Ended::Signaled(9)));
    assert_eq!(
        outcome.joined_text(),
        "t: killed by signal SIGKILL (1.2s)\n$ bash /m/a.sh"
    );
    assert_eq!(outcome.structured.unwrap()["signal"], json!("SIGKILL"));
}

#[test]
fn fault_13_and_14_a_failed_start_keeps_the_layout_and_tells_the_cause() {
    for (kind, word) in [
        (StartErrorKind::NotFound, "ENOENT"),
        (StartErrorKind::Denied, "EACCES"),
        (StartErrorKind::TooBig, "E2BIG"),
    ] {
        let cause = "the working directory /m/w does not exist".to_owned();
        let outcome = result(&finished(Ended::NotStarted(StartError {
            kind,
            cause: cause.clone(),
        })));
        assert_eq!(
            outcome.joined_text(),
            format!(
                "t: did not start (1.2s)\n$ bash /m/a.sh\n\n--- stderr ---\n\nfailed to start bash: spawn bash {word}"
            )
        );
        assert!(outcome.is_error);
        assert_eq!(outcome.error, Some(format!("did not start: {cause}")));
        assert_eq!(outcome.structured.unwrap()["start_error"], json!(cause));
    }
}

#[test]
fn other_ends_say_what_happened() {
    let mut run = finished(Ended::Exited(0));
    run.timed_out = true;
    let timed_out = result(&run);
    assert!(
        timed_out
            .joined_text()
            .starts_with("t: TIMED OUT after 3s and was killed (1.2s)")
    );
    assert!(timed_out.is_error);
    assert_eq!(timed_out.status, RunStatus::TimedOut);
    run.timed_out = false;
    run.cancelled = true;
    let cancelled = result(&run);
    assert_eq!(cancelled.status, RunStatus::Cancelled);
    assert_eq!(cancelled.structured.unwrap()["cancelled"], json!(true));
    let lost = result(&finished(Ended::Lost));
    assert!(lost.is_error && lost.joined_text().contains("not known"));
}

#[test]
fn fault_03_processes_left_behind_are_told_of() {
    let mut run = finished(Ended::Exited(0));
    run.left_behind = 2;
    let outcome = result(&run);
    assert_eq!(
        outcome.joined_text(),
        "t: exit 0 (1.2s)\n$ bash /m/a.sh\n\n(2 background process(es) were still running when the script ended; \
         they were ended with it)"
    );
    assert_eq!(outcome.structured.unwrap()["left_behind"], json!(2));
}
