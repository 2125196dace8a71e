//! What came of a run.

use std::{path::PathBuf, time::Duration};

/// The end of a run.
#[derive(Debug, Clone)]
pub struct Finished {
    /// How the process ended.
    pub ended: Ended,
    /// The timeout passed and the tree was killed.
    pub timed_out: bool,
    /// The run was withdrawn and the tree was killed.
    pub cancelled: bool,
    /// How many processes were still alive when the command itself had ended by itself; they were killed.
    pub left_behind: u32,
    /// Something kept the tree from being ended in time, or from being seen to end: a process of it may live.
    pub unconfirmed: bool,
    /// From start to end.
    pub duration: Duration,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It exited with this code.
    Exited(i32),
    /// It was ended by this signal, by number.
    Signaled(i32),
    /// It never ran.
    NotStarted(StartError),
    /// It was killed with its tree because its reaper or the spawner died; how it ended is not known.
    Lost,
}

/// Why a process never ran.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct StartError {
    /// The kind of fault.
    pub kind: StartErrorKind,
    /// The precise cause, for example `the working directory /x does not exist`.
    pub cause: String,
}

/// A kind of fault on starting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartErrorKind {
    /// The program, its `#!` interpreter, or the working directory does not exist (ENOENT).
    NotFound,
    /// It exists and may not be executed (EACCES).
    Denied,
    /// Arguments and environment are too large for the kernel (E2BIG).
    TooBig,
    /// Anything else, by errno.
    Other(i32),
}

impl StartErrorKind {
    /// The kind of an errno.
    #[must_use]
    pub fn from_errno(errno: i32) -> Self {
        match errno {
            ENOENT => Self::NotFound,
            EACCES => Self::Denied,
            E2BIG => Self::TooBig,
            other => Self::Other(other),
        }
    }

    /// The errno of a kind.
    #[must_use]
    pub fn errno(self) -> i32 {
        match self {
            Self::NotFound => ENOENT,
            Self::Denied => EACCES,
            Self::TooBig => E2BIG,
            Self::Other(errno) => errno,
        }
    }

    /// The name that programmers know the kind by, for example `ENOENT`.
    #[must_use]
    pub fn errno_name(self) -> String {
        match self {
            Self::NotFound => "ENOENT".to_owned(),
            Self::Denied => "EACCES".to_owned(),
            Self::TooBig => "E2BIG".to_owned(),
            Self::Other(0) => "refused".to_owned(),
            Self::Other(ENOTDIR) => "ENOTDIR".to_owned(),
            Self::Other(errno) => format!("errno {errno}"),
        }
    }
}

// The same numbers on Linux, macOS and the BSDs (errno(3)).
const ENOENT: i32 = 2;
const E2BIG: i32 = 7;
const EACCES: i32 = 13;
const ENOTDIR: i32 = 20;

/// One stream of a run.
#[derive(Debug, Clone, Default)]
pub struct Captured {
    /// The end of the stream as text: valid UTF-8 (U+FFFD for what was not), a byte-order mark at the start
    /// dropped, escape sequences removed, lines rewritten by carriage returns folded.
    pub text: String,
    /// How many UTF-16 code units of such text came before `text`.
    pub dropped_chars: u64,
    /// How many bytes the process wrote.
    pub total_bytes: u64,
    /// How many bytes from the beginning are kept, after filtering.
    pub kept_bytes: u64,
    /// SHA-256 of what is kept.
    pub sha256: [u8; 32],
    /// What is kept, where it is small.
    pub inline: Option<Vec<u8>>,
    /// The file with what is kept, where it is not small.
    pub spool: Option<PathBuf>,
}
