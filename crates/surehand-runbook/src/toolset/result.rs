//! What the agent gets back.

use std::{fmt::Write as _, time::Duration};

use serde_json::{Map, Value, json};
use surehand_core::{Outcome, Plan, Redactor, RunId, RunStatus};
use surehand_exec::{Captured, Ended, Finished};

use crate::argv::Invocation;

/// What results say of a call, secrets blacked out.
#[derive(Debug, Clone)]
pub(super) struct Told {
    tool: String,
    /// The command line for dry runs.
    display: String,
    /// The command line for results.
    headline: String,
    command: Vec<String>,
    cwd: String,
}

impl Told {
    pub(super) fn of(plan: &Plan, headline: &str, redactor: &Redactor) -> Self {
        Self {
            tool: plan.tool.clone(),
            display: plan.display.clone(),
            headline: redactor.text(headline),
            command: plan.command.clone(),
            cwd: plan.cwd.clone().unwrap_or_default(),
        }
    }
}

/// The result of a call that only shows its command.
pub(super) fn dry_run_outcome(told: &Told, invocation: &Invocation) -> Outcome {
    let seconds = invocation.timeout.as_secs();
    let structured = json!({
        "dry_run": true,
        "command": told.command,
        "cwd": told.cwd,
        "timeout_seconds": seconds,
    });
    Outcome {
        structured: structured.as_object().cloned(),
        ..Outcome::text(format!(
            "DRY RUN — {} would run:\n$ {}\ncwd: {}\ntimeout: {seconds}s",
            told.tool, told.display, told.cwd
        ))
    }
}

/// The result of a call that was carried out, well or badly.
pub(super) fn outcome(
    told: &Told,
    finished: &Finished,
    timeout: Duration,
    run: &RunId,
    redactor: &Redactor,
) -> Outcome {
    let ending = Ending::of(finished, timeout);
    let start_error = match &finished.ended {
        Ended::NotStarted(error) => Some(redactor.text(&error.cause)),
        _ => None,
    };
    let mut text = format!(
        "{}: {} ({:.1}s)\n$ {}",
        told.tool,
        ending.status,
        finished.duration.as_secs_f64(),
        told.headline
    );
    section(
        &mut text,
        "stdout",
        &finished.stdout.text,
        finished.stdout.dropped_chars,
    );
    let stderr = stderr_shown(told, finished);
    section(&mut text, "stderr", &stderr, finished.stderr.dropped_chars);
    if finished.left_behind > 0 {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n\n({} background process(es) were still running when the script ended; they were ended with it)",
            finished.left_behind
        );
    }
    if finished.unconfirmed {
        text.push_str("\n\n(not every process of the script could be seen to end: one may still be running)");
    }
    let error = ending.run_status != RunStatus::Success;
    Outcome {
        structured: Some(structured(told, finished, run, start_error.as_deref())),
        is_error: error,
        status: ending.run_status,
        error: error.then(|| match start_error {
            Some(cause) => format!("{}: {cause}", ending.status),
            None if finished.unconfirmed => {
                format!("{}; not every process could be seen to end", ending.status)
            }
            None => ending.status,
        }),
        ..Outcome::text(text)
    }
}

/// How a run ended, in words.
struct Ending {
    status: String,
    run_status: RunStatus,
}

impl Ending {
    fn of(finished: &Finished, timeout: Duration) -> Self {
        let ended = |status: String, run_status| Self { status, run_status };
        if finished.timed_out {
            return ended(
                format!("TIMED OUT after {}s and was killed", seconds(timeout)),
                RunStatus::TimedOut,
            );
        }
        if finished.cancelled {
            return ended("was cancelled and killed".to_owned(), RunStatus::Cancelled);
        }
        match &finished.ended {
            Ended::Exited(0) => ended("exit 0".to_owned(), RunStatus::Success),
            Ended::Exited(code) => ended(format!("exit {code}"), RunStatus::Failed),
            Ended::Signaled(number) => ended(
                format!("killed by signal {}", signal_name(*number)),
                RunStatus::Failed,
            ),
            Ended::NotStarted(_) => ended("did not start".to_owned(), RunStatus::Failed),
            Ended::Lost => ended(
                "was killed because the process that watched it died; how far it came is not known"
                    .to_owned(),
                RunStatus::Failed,
            ),
        }
    }
}

/// Whole seconds as such.
fn seconds(timeout: Duration) -> String {
    if timeout.subsec_millis() == 0 {
        timeout.as_secs().to_string()
    } else {
        format!("{:.1}", timeout.as_secs_f64())
    }
}

/// What the script wrote, or why it never did, in the words that the original uses.
fn stderr_shown(told: &Told, finished: &Finished) -> String {
    let Ended::NotStarted(error) = &finished.ended else {
        return finished.stderr.text.clone();
    };
    let program = told.command.first().map_or("", String::as_str);
    format!(
        "{}\nfailed to start {program}: spawn {program} {}",
        finished.stderr.text,
        error.kind.errno_name()
    )
}

/// Adds a stream's section, if there is anything to show.
fn section(text: &mut String, name: &str, content: &str, dropped: u64) {
    let shown = content.trim_end_matches(|c: char| c.is_whitespace() || c == '\u{FEFF}');
    if shown.is_empty() && dropped == 0 {
        return;
    }
    let note = if dropped > 0 {
        format!(" (first {dropped} chars dropped — showing the tail)")
    } else {
        String::new()
    };
    // Writing to a string cannot fail.
    let _ = write!(text, "\n\n--- {name}{note} ---\n{shown}");
}

fn structured(
    told: &Told,
    finished: &Finished,
    run: &RunId,
    start_error: Option<&str>,
) -> Map<String, Value> {
    let (exit_code, signal) = match &finished.ended {
        Ended::Exited(code) => (Some(*code), None),
        Ended::Signaled(number) => (None, Some(signal_name(*number))),
        Ended::NotStarted(_) | Ended::Lost => (None, None),
    };
    let stream = |captured: &Captured| Value::from(captured.text.as_str());
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
    put("exit_code", exit_code.into());
    put("signal", signal.into());
    put("timed_out", finished.timed_out.into());
    put(
        "duration_ms",
        u64::try_from(finished.duration.as_millis())
            .unwrap_or(u64::MAX)
            .into(),
    );
    put("stdout", stream(&finished.stdout));
    put("stderr", stream(&finished.stderr));
    put("dropped_stdout_chars", finished.stdout.dropped_chars.into());
    put("dropped_stderr_chars", finished.stderr.dropped_chars.into());
    put("run_id", run.as_text().into());
    put("command", told.command.clone().into());
    put("cwd", told.cwd.as_str().into());
    if let Some(cause) = start_error {
        put("start_error", cause.into());
    }
    if finished.left_behind > 0 {
        put("left_behind", finished.left_behind.into());
    }
    if finished.unconfirmed {
        put("unconfirmed", true.into());
    }
    if finished.cancelled {
        put("cancelled", true.into());
    }
    map
}

/// A signal's name (signal(7)); the numbers above 6 that differ between systems are named for Linux only.
fn signal_name(number: i32) -> String {
    let everywhere = match number {
        1 => Some("SIGHUP"),
        2 => Some("SIGINT"),
        3 => Some("SIGQUIT"),
        4 => Some("SIGILL"),
        5 => Some("SIGTRAP"),
        6 => Some("SIGABRT"),
        8 => Some("SIGFPE"),
        9 => Some("SIGKILL"),
        11 => Some("SIGSEGV"),
        13 => Some("SIGPIPE"),
        14 => Some("SIGALRM"),
        15 => Some("SIGTERM"),
        24 => Some("SIGXCPU"),
        25 => Some("SIGXFSZ"),
        _ => None,
    };
    let linux = match number {
        7 => Some("SIGBUS"),
        10 => Some("SIGUSR1"),
        12 => Some("SIGUSR2"),
        31 => Some("SIGSYS"),
        _ => None,
    };
    everywhere
        .or(linux.filter(|_| cfg!(target_os = "linux")))
        .map_or_else(|| format!("number {number}"), str::to_owned)
}
