//! `surehand runs show`.

use clap::Args;
use jiff::Timestamp;
use surehand_core::RunStatus;
use surehand_store::{
    APPROVAL_VALID, APPROVAL_WAIT, ApprovalDecision, ApprovalRecord, RunRecord, SqliteStore,
};

use super::{find, words};
use crate::{cli::Common, errors::CliError, term};

/// Show one run
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The run's id, or the beginning of it
    id: String,

    /// As JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    pub(super) common: Common,
}

pub(super) async fn run(args: &ShowArgs, store: Option<&SqliteStore>) -> Result<(), CliError> {
    let (_, record) = find(store, &args.id).await?;
    if args.json {
        return term::out_json(&record);
    }
    term::out(&described(&record))
}

fn described(record: &RunRecord) -> String {
    let run = &record.summary;
    let mut lines = vec![
        ("run", run.id.as_text()),
        ("tool", run.tool.clone()),
        ("status", words::state(run)),
        ("command", run.display.clone()),
    ];
    let mut add = |name, value: Option<String>| lines.extend(value.map(|value| (name, value)));
    add("in", record.cwd.clone());
    add("error", run.error.clone());
    add(
        "arguments",
        (!record.arguments.is_empty())
            .then(|| serde_json::Value::Object(record.arguments.clone()).to_string()),
    );
    let client = record
        .client
        .as_ref()
        .map(|client| format!(" with {} {}", client.name, client.version))
        .unwrap_or_default();
    add(
        "by",
        Some(format!("{} over {}{client}", run.principal, run.channel)),
    );
    add("asked", Some(words::time(run.created_at)));
    add("started", run.started_at.map(words::time));
    add("ended", run.completed_at.map(words::time));
    add("took", run.duration_ms.map(words::duration));
    if let Some(cancel) = &run.cancel_requested {
        add(
            "cancelled by",
            Some(format!("{} at {}", cancel.by, words::time(cancel.at))),
        );
    }
    if let Some(approval) = &record.approval {
        for (name, value) in approval_lines(run.status, approval) {
            add(name, Some(value));
        }
    }
    for output in &record.outputs {
        let kept = if output.kept_bytes < output.total_bytes {
            format!(", the first {} kept", output.kept_bytes)
        } else {
            String::new()
        };
        add(
            output.stream.as_str(),
            Some(format!(
                "{} bytes{kept}, sha256 {}",
                output.total_bytes, output.sha256
            )),
        );
    }
    lines
        .iter()
        .map(|(name, value)| format!("{name:>12}  {}\n", term::plain(value)))
        .collect::<Vec<_>>()
        .concat()
}

/// Who decided what and when, and what may still come of it.
fn approval_lines(status: RunStatus, approval: &ApprovalRecord) -> Vec<(&'static str, String)> {
    let Some(decision) = approval.decision else {
        let until = approval.asked_at.saturating_add(APPROVAL_WAIT);
        return vec![(
            "approval",
            format!("nobody has decided; it waits until {}", at(until)),
        )];
    };
    let by = approval
        .decided_by
        .as_ref()
        .map(|by| format!(" by {by}"))
        .unwrap_or_default();
    let when = approval
        .decided_at
        .map(|when| format!(" at {}", words::time(when)))
        .unwrap_or_default();
    let why = approval
        .reason
        .as_ref()
        .map(|why| format!(": {why}"))
        .unwrap_or_default();
    let mut lines = vec![("approval", format!("{}{by}{when}{why}", decision.as_str()))];
    match (approval.taken_at, approval.decided_at) {
        // Given to a question just before the run, it was used at once.
        (Some(taken), decided) if decided != Some(taken) => lines.push(("used", words::time(taken))),
        (None, Some(decided)) if decision == ApprovalDecision::Approved && !status.is_final() => {
            let until = decided.saturating_add(APPROVAL_VALID);
            lines.push((
                "used",
                format!("not yet; the same call may come until {}", at(until)),
            ));
        }
        _ => {}
    }
    lines
}

/// A time that cannot be told is beyond all that matters.
fn at(time: Result<Timestamp, jiff::Error>) -> String {
    time.map_or_else(|_| "for ever".to_owned(), words::time)
}
