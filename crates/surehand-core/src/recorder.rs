//! What is remembered of a run.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Caller, RunId, StreamName};

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Waits for a slot or a lock.
    Scheduled,
    /// Waits for a person.
    PendingApproval,
    /// Is being carried out.
    Running,
    /// Ended well.
    Success,
    /// Ended badly.
    Failed,
    /// Was withdrawn.
    Cancelled,
    /// Took longer than it may.
    TimedOut,
}

impl RunStatus {
    /// All states.
    pub const ALL: [Self; 7] = [
        Self::Scheduled,
        Self::PendingApproval,
        Self::Running,
        Self::Success,
        Self::Failed,
        Self::Cancelled,
        Self::TimedOut,
    ];

    /// The state's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::PendingApproval => "pending_approval",
            Self::Running => "running",
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
        }
    }

    /// Whether nothing more will happen.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Self::Success | Self::Failed | Self::Cancelled | Self::TimedOut
        )
    }
}

/// The beginning of a run.
#[derive(Debug, Clone)]
pub struct RunStart {
    /// Its id.
    pub id: RunId,
    /// The toolset.
    pub toolset: String,
    /// The tool.
    pub tool: String,
    /// On whose behalf.
    pub caller: Caller,
    /// The arguments as used, secrets redacted.
    pub arguments: Map<String, Value>,
    /// The exact command, secrets redacted.
    pub command: Vec<String>,
    /// The command line as shown in the result.
    pub display: String,
    /// The command's working directory.
    pub cwd: Option<String>,
    /// [`RunStatus::Scheduled`] or [`RunStatus::Running`].
    pub status: RunStatus,
    /// When.
    pub at: Timestamp,
    /// What the person behind the caller said to the call, where it was asked.
    pub answer: Option<PersonAnswer>,
}

/// What a person said, through the client, to a call that was about to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonAnswer {
    /// What exactly was asked about (see [`crate::Plan::digest`]).
    pub digest: String,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// When it was answered.
    pub answered_at: Timestamp,
    /// Whether it was a yes.
    pub yes: bool,
}

/// What a process wrote to one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamRecord {
    /// Which stream.
    pub stream: StreamName,
    /// How many bytes the process wrote.
    pub total_bytes: u64,
    /// How many of them, from the beginning, are kept (cleaned of secrets).
    pub kept_bytes: u64,
    /// SHA-256, in hexadecimal, of what is kept.
    pub sha256: String,
    /// What is kept, where it is small enough to stand here; else it is in the file
    /// `stdout` or `stderr` of the run's folder.
    pub inline: Option<Vec<u8>>,
}

/// The end of a run.
#[derive(Debug, Clone)]
pub struct RunEnd {
    /// Which run.
    pub id: RunId,
    /// When.
    pub at: Timestamp,
    /// How.
    pub status: RunStatus,
    /// The exit code, where a process exited.
    pub exit_code: Option<i32>,
    /// The signal's name, where a signal ended it, for example `SIGKILL`.
    pub signal: Option<String>,
    /// What went wrong, one line.
    pub error: Option<String>,
    /// How long it took, in milliseconds, waiting excluded.
    pub duration_ms: u64,
}

/// Something that happened to a run.
#[derive(Debug, Clone)]
pub enum RunEvent {
    /// It came into being.
    Start(Box<RunStart>),
    /// It stopped waiting and began.
    Running {
        /// Which run.
        id: RunId,
        /// When.
        at: Timestamp,
    },
    /// One of its streams is complete.
    Output {
        /// Which run.
        id: RunId,
        /// What was written.
        record: StreamRecord,
    },
    /// It ended.
    End(Box<RunEnd>),
}

/// Remembers runs. Off the critical path: recording never blocks and never fails a call.
pub trait Recorder: Send + Sync {
    /// Takes note of an event. Events of one run arrive in order.
    fn record(&self, event: RunEvent);

    /// Where a run's large outputs may be written; None where nothing is kept. The folder may not exist yet.
    fn run_folder(&self, id: RunId) -> Option<PathBuf>;
}

/// Remembers nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoRecorder;

impl Recorder for NoRecorder {
    fn record(&self, _event: RunEvent) {}

    fn run_folder(&self, _id: RunId) -> Option<PathBuf> {
        None
    }
}
