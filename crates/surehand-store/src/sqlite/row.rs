//! From rows to records.

use std::str::FromStr;

use jiff::Timestamp;
use sqlx::{Row, sqlite::SqliteRow};
use surehand_core::{ClientInfo, RunId, RunStatus, StreamName};

use crate::{
    ApprovalDecision, ApprovalRecord, CancelRequest, OutputSummary, ProcessIdentity, RunRecord, RunSummary,
};

/// The columns that [`summary`] reads: nothing that can be large but the command line as shown.
pub(super) const SUMMARY_COLUMNS: &str = "id, toolset, tool, principal, channel, display, status, created_at, \
     started_at, completed_at, duration_ms, exit_code, signal, error, cancel_requested_at, cancel_requested_by";

pub(super) fn summary(row: &SqliteRow) -> Result<RunSummary, sqlx::Error> {
    let cancel_requested = match optional::<Timestamp>(row, "cancel_requested_at")? {
        Some(at) => Some(CancelRequest {
            at,
            by: row
                .try_get::<Option<String>, _>("cancel_requested_by")?
                .unwrap_or_default(),
        }),
        None => None,
    };
    Ok(RunSummary {
        id: parsed(row, "id")?,
        toolset: row.try_get("toolset")?,
        tool: row.try_get("tool")?,
        principal: row.try_get("principal")?,
        channel: row.try_get("channel")?,
        display: row.try_get("display")?,
        status: status(row)?,
        created_at: parsed(row, "created_at")?,
        started_at: optional(row, "started_at")?,
        completed_at: optional(row, "completed_at")?,
        duration_ms: row.try_get::<Option<i64>, _>("duration_ms")?.map(to_count),
        exit_code: row.try_get("exit_code")?,
        signal: row.try_get("signal")?,
        error: row.try_get("error")?,
        cancel_requested,
    })
}

pub(super) fn record(
    row: &SqliteRow,
    approval: Option<ApprovalRecord>,
    outputs: Vec<OutputSummary>,
) -> Result<RunRecord, sqlx::Error> {
    let client = row
        .try_get::<Option<String>, _>("client_name")?
        .map(|name| {
            let version = row
                .try_get::<Option<String>, _>("client_version")?
                .unwrap_or_default();
            Ok::<_, sqlx::Error>(ClientInfo { name, version })
        })
        .transpose()?;
    Ok(RunRecord {
        summary: summary(row)?,
        client,
        arguments: json(row, "arguments")?,
        command: json(row, "command")?,
        cwd: row.try_get("cwd")?,
        owner: owner(row)?,
        approval,
        outputs,
    })
}

pub(super) fn owner(row: &SqliteRow) -> Result<ProcessIdentity, sqlx::Error> {
    let pid: i64 = row.try_get("owner_pid")?;
    Ok(ProcessIdentity {
        pid: u32::try_from(pid).map_err(|error| malformed("owner_pid", error))?,
        started: row.try_get::<i64, _>("owner_started")?.cast_unsigned(),
        boot: row.try_get("owner_boot")?,
        namespace: row.try_get::<i64, _>("owner_namespace")?.cast_unsigned(),
    })
}

pub(super) fn approval(row: &SqliteRow) -> Result<ApprovalRecord, sqlx::Error> {
    Ok(ApprovalRecord {
        digest: row.try_get("digest")?,
        asked_at: parsed(row, "asked_at")?,
        decision: decision(row)?,
        decided_at: optional(row, "decided_at")?,
        decided_by: row.try_get("decided_by")?,
        reason: row.try_get("reason")?,
        taken_at: optional(row, "taken_at")?,
    })
}

pub(super) fn output(row: &SqliteRow) -> Result<OutputSummary, sqlx::Error> {
    let name: String = row.try_get("stream")?;
    let stream = [StreamName::Stdout, StreamName::Stderr]
        .into_iter()
        .find(|stream| stream.as_str() == name)
        .ok_or_else(|| malformed("stream", format!("{name:?} is no stream")))?;
    Ok(OutputSummary {
        stream,
        total_bytes: to_count(row.try_get("total_bytes")?),
        kept_bytes: to_count(row.try_get("kept_bytes")?),
        sha256: row.try_get("sha256")?,
    })
}

pub(super) fn status(row: &SqliteRow) -> Result<RunStatus, sqlx::Error> {
    let name: String = row.try_get("status")?;
    RunStatus::ALL
        .into_iter()
        .find(|status| status.as_str() == name)
        .ok_or_else(|| malformed("status", format!("{name:?} is no status")))
}

fn decision(row: &SqliteRow) -> Result<Option<ApprovalDecision>, sqlx::Error> {
    let Some(name) = row.try_get::<Option<String>, _>("decision")? else {
        return Ok(None);
    };
    [
        ApprovalDecision::Approved,
        ApprovalDecision::Rejected,
        ApprovalDecision::Expired,
        ApprovalDecision::Cancelled,
    ]
    .into_iter()
    .find(|decision| decision.as_str() == name)
    .map(Some)
    .ok_or_else(|| malformed("decision", format!("{name:?} is no decision")))
}

/// An id that stands alone in a row.
pub(super) fn id(text: &str) -> Result<RunId, sqlx::Error> {
    text.parse().map_err(|error| malformed("id", error))
}

fn parsed<T>(row: &SqliteRow, column: &str) -> Result<T, sqlx::Error>
where
    T: FromStr,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    let text: &str = row.try_get(column)?;
    text.parse().map_err(|error: T::Err| malformed(column, error))
}

fn optional<T>(row: &SqliteRow, column: &str) -> Result<Option<T>, sqlx::Error>
where
    T: FromStr,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    row.try_get::<Option<&str>, _>(column)?
        .map(|text| text.parse().map_err(|error: T::Err| malformed(column, error)))
        .transpose()
}

fn json<T: serde::de::DeserializeOwned>(row: &SqliteRow, column: &str) -> Result<T, sqlx::Error> {
    serde_json::from_str(row.try_get(column)?).map_err(|error| malformed(column, error))
}

fn malformed(
    column: &str,
    source: impl Into<Box<dyn std::error::Error + Send + Sync + 'static>>,
) -> sqlx::Error {
    sqlx::Error::ColumnDecode {
        index: column.to_owned(),
        source: source.into(),
    }
}

fn to_count(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or(0)
}
