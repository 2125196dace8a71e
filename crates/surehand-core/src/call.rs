//! A call, and what it would do.

use std::{future::Future, pin::Pin};

use serde_json::{Map, Value};

use crate::{Answer, CallError, Ctx, Effects};

/// A request to use one tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool's name, as listed.
    pub tool: String,
    /// The arguments, by name, in the order in which they came.
    pub arguments: Map<String, Value>,
    /// Say what would be done instead of doing it.
    pub dry_run: bool,
}

impl Call {
    /// A call that is to be carried out.
    #[must_use]
    pub fn new(tool: impl Into<String>, arguments: Map<String, Value>) -> Self {
        Self {
            tool: tool.into(),
            arguments,
            dry_run: false,
        }
    }
}

/// Something that only so many calls may hold at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// What is locked. Equal keys are the same lock, in every process that shares a state directory.
    pub key: String,
    /// How many calls may hold it at once; at least 1.
    pub limit: u32,
}

/// What must happen before a call may be carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Confirm {
    /// Nothing.
    #[default]
    No,
    /// The caller's own person says yes.
    Person,
    /// The caller repeats the call with a one-time token. A guard against slips, not against an agent.
    Token,
}

/// What a call would do, worked out and checked but not begun.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The toolset that made it.
    pub toolset: String,
    /// The tool.
    pub tool: String,
    /// One line that says what will happen: for a process, its command line. Secrets are redacted.
    pub display: String,
    /// The exact command, one entry an argument, secrets redacted; empty where no process is started.
    pub command: Vec<String>,
    /// The working directory of that command.
    pub cwd: Option<String>,
    /// What it may do.
    pub effects: Effects,
    /// What it must hold while it runs.
    pub locks: Vec<Lock>,
    /// What must come first.
    pub confirm: Confirm,
    /// The token that the caller sent with a call under [`Confirm::Token`].
    pub token: Option<String>,
    /// The arguments as they will be used, defaults included, secrets redacted.
    pub arguments: Map<String, Value>,
    /// SHA-256, in hexadecimal, over all that decides what the call does: what an approval is bound to.
    pub digest: String,
    /// Nothing will be done; needs no lock and no confirmation.
    pub dry_run: bool,
}

/// The work of a prepared call.
pub type Work =
    Box<dyn FnOnce(Ctx) -> Pin<Box<dyn Future<Output = Result<Answer, CallError>> + Send>> + Send>;

/// A call that was checked, and will do exactly what its plan says.
pub struct Prepared {
    /// What it will do.
    pub plan: Plan,
    /// Does it.
    pub work: Work,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared")
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}
