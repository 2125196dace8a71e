//! What can go wrong with a store.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use surehand_core::{RunId, RunStatus};

use crate::PrivacyError;

/// A store cannot do what was asked of it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process holds the database.
    #[error("the history at {} is locked by another process", path.display())]
    Locked {
        /// The database.
        path: PathBuf,
    },
    /// The file is not whole, or no database at all.
    #[error("the history at {} is damaged: {detail}", path.display())]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// The file was made by a later version.
    #[error(
        "the history at {} was made by a newer version of Surehand (schema {found}, this one knows {known})",
        path.display()
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The latest that this version knows.
        known: i64,
    },
    /// The file is a database of something else.
    #[error("{} is not a history that Surehand made: {detail}", path.display())]
    Foreign {
        /// The database.
        path: PathBuf,
        /// What gives it away.
        detail: String,
    },
    /// The file may not be written.
    #[error("the history at {} may not be written: {detail}", path.display())]
    ReadOnly {
        /// The database.
        path: PathBuf,
        /// What the system said.
        detail: String,
    },
    /// The disk is full.
    #[error("there is no room left for the history at {}", path.display())]
    Full {
        /// The database.
        path: PathBuf,
    },
    /// The system failed to read or write.
    #[error("the history at {} cannot be read or written: {detail}", path.display())]
    Io {
        /// The database.
        path: PathBuf,
        /// What the system said.
        detail: String,
    },
    /// The file was moved, replaced or deleted while it was in use.
    #[error("the history at {} was moved or deleted while it was in use", path.display())]
    Moved {
        /// The database.
        path: PathBuf,
    },
    /// Others could read or change the state directory.
    #[error(transparent)]
    NotPrivate(#[from] PrivacyError),
    /// The database refused a statement, or an event makes no sense.
    #[error("the history at {} refused an entry: {detail}", path.display())]
    Refused {
        /// The database.
        path: PathBuf,
        /// Its reason.
        detail: String,
    },

    /// The text is not the beginning of a run id.
    #[error("{0:?} is not the beginning of a run id: at least 4 hexadecimal digits are needed")]
    BadPrefix(String),
    /// No run has such an id.
    #[error("there is no run {0}")]
    NoSuchRun(String),
    /// Several runs have ids that begin so.
    #[error("{prefix:?} stands for several runs: {}", listed(candidates, *more))]
    Ambiguous {
        /// The text.
        prefix: String,
        /// The newest of those runs.
        candidates: Vec<RunId>,
        /// Whether there are others.
        more: bool,
    },
    /// The run has ended and cannot be cancelled.
    #[error("run {id} has ended already ({})", status.as_str())]
    AlreadyEnded {
        /// The run.
        id: RunId,
        /// How it ended.
        status: RunStatus,
    },
    /// The run does not wait for a person.
    #[error("run {id} does not wait for approval: it is {}", status.as_str())]
    NotWaiting {
        /// The run.
        id: RunId,
        /// Its state.
        status: RunStatus,
    },
    /// A person said yes before.
    #[error("run {id} was approved already, by {by} at {at:.0}")]
    AlreadyApproved {
        /// The run.
        id: RunId,
        /// Who.
        by: String,
        /// When.
        at: Timestamp,
    },
    /// A person said no before.
    #[error("run {id} was rejected already, by {by} at {at:.0}")]
    AlreadyRejected {
        /// The run.
        id: RunId,
        /// Who.
        by: String,
        /// When.
        at: Timestamp,
    },
    /// Nobody spoke in time, or the yes was not taken up in time.
    #[error("the approval of run {id}, asked for at {asked_at:.0}, has expired")]
    ApprovalExpired {
        /// The run.
        id: RunId,
        /// When it was asked for.
        asked_at: Timestamp,
    },
}

/// Kinds of trouble with the store itself, as opposed to a request that cannot be met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// [`StoreError::Locked`].
    Locked,
    /// [`StoreError::Damaged`].
    Damaged,
    /// [`StoreError::Newer`].
    Newer,
    /// [`StoreError::Foreign`].
    Foreign,
    /// [`StoreError::ReadOnly`].
    ReadOnly,
    /// [`StoreError::Full`].
    Full,
    /// [`StoreError::Io`].
    Io,
    /// [`StoreError::Moved`].
    Moved,
    /// [`StoreError::NotPrivate`].
    NotPrivate,
    /// [`StoreError::Refused`].
    Refused,
}

impl Fault {
    /// Whether it can pass without anybody restarting this process.
    #[must_use]
    pub fn can_pass(self) -> bool {
        match self {
            Self::Locked | Self::ReadOnly | Self::Full | Self::Io | Self::Moved | Self::Refused => true,
            Self::Damaged | Self::Newer | Self::Foreign | Self::NotPrivate => false,
        }
    }
}

impl StoreError {
    /// The kind of trouble with the store; None where the request was at fault.
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        Some(match self {
            Self::Locked { .. } => Fault::Locked,
            Self::Damaged { .. } => Fault::Damaged,
            Self::Newer { .. } => Fault::Newer,
            Self::Foreign { .. } => Fault::Foreign,
            Self::ReadOnly { .. } => Fault::ReadOnly,
            Self::Full { .. } => Fault::Full,
            Self::Io { .. } => Fault::Io,
            Self::Moved { .. } => Fault::Moved,
            Self::NotPrivate(_) => Fault::NotPrivate,
            Self::Refused { .. } => Fault::Refused,
            _ => return None,
        })
    }

    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Locked { .. } => "end the program that holds it, or try again in a moment".to_owned(),
            Self::Damaged { path, .. } => format!(
                "nothing was changed; keep a copy, then move {} and its -wal and -shm files away: a new history begins at the next start",
                path.display()
            ),
            Self::Newer { .. } => {
                "nothing was changed; use the newer version, or another SUREHAND_STATE_DIR".to_owned()
            }
            Self::Foreign { .. } => {
                "nothing was changed; set SUREHAND_STATE_DIR to a directory that only Surehand uses"
                    .to_owned()
            }
            Self::ReadOnly { path, .. } => format!(
                "make {} and its directory writable for you, set SUREHAND_STATE_DIR to another directory, or use --no-history",
                path.display()
            ),
            Self::Full { .. } => "free some space; nothing that is recorded already is lost".to_owned(),
            Self::Io { .. } => {
                "look at the disk and at the directory, or set SUREHAND_STATE_DIR to another one".to_owned()
            }
            Self::Moved { .. } => "a new history begins in its place".to_owned(),
            Self::NotPrivate(error) => error.hint(),
            Self::Refused { .. } => "this is a fault of Surehand; please report it".to_owned(),
            Self::BadPrefix(_) | Self::NoSuchRun(_) => {
                "`surehand runs list` shows the runs and their ids".to_owned()
            }
            Self::Ambiguous { .. } => "give more of the id".to_owned(),
            Self::AlreadyApproved { .. } => {
                "make the same call again: the approval counts for five minutes and for that call alone"
                    .to_owned()
            }
            Self::ApprovalExpired { .. } => {
                "make the call again and approve the run it then names".to_owned()
            }
            Self::AlreadyEnded { .. } | Self::NotWaiting { .. } | Self::AlreadyRejected { .. } => {
                return None;
            }
        })
    }

    /// Sorts out what the database said (<https://www.sqlite.org/rescode.html>).
    pub(crate) fn from_sqlx(path: &Path, error: &sqlx::Error) -> Self {
        let path = path.to_owned();
        let detail = error.to_string();
        match error {
            sqlx::Error::Database(database) => {
                let code: i32 = database.code().and_then(|code| code.parse().ok()).unwrap_or(1);
                let detail = database.message().to_owned();
                match code & 0xff {
                    5 | 6 => Self::Locked { path },
                    3 | 8 | 23 => Self::ReadOnly { path, detail },
                    10 | 14 => Self::Io { path, detail },
                    11 | 26 => Self::Damaged { path, detail },
                    13 => Self::Full { path },
                    _ => Self::Refused { path, detail },
                }
            }
            sqlx::Error::Io(io) => match io.kind() {
                std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                    Self::ReadOnly { path, detail }
                }
                std::io::ErrorKind::StorageFull => Self::Full { path },
                _ => Self::Io { path, detail },
            },
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::ColumnNotFound(_) => {
                Self::Damaged { path, detail }
            }
            sqlx::Error::WorkerCrashed => Self::Io { path, detail },
            _ => Self::Refused { path, detail },
        }
    }
}

fn listed(candidates: &[RunId], more: bool) -> String {
    let ids: Vec<String> = candidates.iter().map(RunId::as_text).collect();
    format!("{}{}", ids.join(", "), if more { " and others" } else { "" })
}
