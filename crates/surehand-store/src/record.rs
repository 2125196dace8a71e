//! What is read from a store.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use surehand_core::{ClientInfo, RunId, RunStatus, StreamName};

use crate::ProcessIdentity;

/// A run, as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Its id.
    pub id: RunId,
    /// The toolset.
    pub toolset: String,
    /// The tool.
    pub tool: String,
    /// On whose behalf.
    pub principal: String,
    /// The way the call arrived ([`surehand_core::Channel::as_str`]).
    pub channel: String,
    /// The command line as shown in the result.
    pub display: String,
    /// Its state.
    pub status: RunStatus,
    /// When it came into being. Times are kept to the millisecond.
    pub created_at: Timestamp,
    /// When it stopped waiting and began.
    pub started_at: Option<Timestamp>,
    /// When it ended; for an interrupted run, when that was found out.
    pub completed_at: Option<Timestamp>,
    /// How long it took, in milliseconds, waiting excluded; None for a run that was interrupted or never began.
    pub duration_ms: Option<u64>,
    /// The exit code, where a process exited.
    pub exit_code: Option<i32>,
    /// The signal's name, where a signal ended it.
    pub signal: Option<String>,
    /// What went wrong, one line.
    pub error: Option<String>,
    /// Somebody's wish that it be cancelled, whether fulfilled or not.
    pub cancel_requested: Option<CancelRequest>,
}

/// Somebody's wish that a run be cancelled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelRequest {
    /// When.
    pub at: Timestamp,
    /// Whose.
    pub by: String,
}

/// A run, whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// What a list shows of it.
    #[serde(flatten)]
    pub summary: RunSummary,
    /// The client program, where it said.
    pub client: Option<ClientInfo>,
    /// The arguments as used, secrets redacted.
    pub arguments: Map<String, Value>,
    /// The exact command, secrets redacted.
    pub command: Vec<String>,
    /// The command's working directory.
    pub cwd: Option<String>,
    /// The process that carries it out, or did.
    pub owner: ProcessIdentity,
    /// The approval it waits or waited for.
    pub approval: Option<ApprovalRecord>,
    /// What it wrote, by stream. A stream is missing until it is complete.
    pub outputs: Vec<OutputSummary>,
}

/// How an approval came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalDecision {
    /// A person said yes.
    Approved,
    /// A person said no.
    Rejected,
    /// Nobody said anything in time, or the yes was not taken up in time.
    Expired,
    /// The waiting run was cancelled.
    Cancelled,
}

impl ApprovalDecision {
    /// The decision's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A run's approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRecord {
    /// What it is bound to besides principal and tool ([`surehand_core::Plan::digest`]).
    pub digest: String,
    /// When it was asked for.
    pub asked_at: Timestamp,
    /// How it came out; None while nobody has spoken.
    pub decision: Option<ApprovalDecision>,
    /// When it came out.
    pub decided_at: Option<Timestamp>,
    /// Who decided.
    pub decided_by: Option<String>,
    /// Why, in the words of whoever decided.
    pub reason: Option<String>,
    /// When the approved call was carried out.
    pub taken_at: Option<Timestamp>,
}

/// How much a run wrote to one stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputSummary {
    /// Which stream.
    pub stream: StreamName,
    /// How many bytes the process wrote.
    pub total_bytes: u64,
    /// How many of them, from the beginning, are kept.
    pub kept_bytes: u64,
    /// SHA-256, in hexadecimal, of what is kept.
    pub sha256: String,
}

/// What a run wrote to one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// How much.
    pub summary: OutputSummary,
    /// What is kept of it.
    pub content: OutputContent,
}

/// Where the kept part of a stream is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputContent {
    /// Here.
    Inline(Vec<u8>),
    /// In this file.
    File(PathBuf),
}

/// Which runs to list. Conditions add up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFilter {
    /// Only runs in one of these states; empty: in any.
    pub statuses: Vec<RunStatus>,
    /// Only runs of this tool.
    pub tool: Option<String>,
    /// Only runs that [`RunStatus::Failed`] or [`RunStatus::TimedOut`].
    pub failed_only: bool,
    /// Only runs that came into being at this time or later.
    pub since: Option<Timestamp>,
    /// Only runs with a lesser id than this: [`Page::next`] of the page before.
    pub before: Option<RunId>,
    /// At most so many runs; 0 counts as 1, more than [`RunFilter::MAX_LIMIT`] as that.
    pub limit: u32,
}

impl RunFilter {
    /// The most runs on one page.
    pub const MAX_LIMIT: u32 = 1_000;
}

impl Default for RunFilter {
    /// The newest 50 runs of any kind.
    fn default() -> Self {
        Self {
            statuses: Vec::new(),
            tool: None,
            failed_only: false,
            since: None,
            before: None,
            limit: 50,
        }
    }
}

/// Some runs, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// The runs.
    pub runs: Vec<RunSummary>,
    /// Goes into [`RunFilter::before`] for the next page; None on the last one.
    pub next: Option<RunId>,
}
