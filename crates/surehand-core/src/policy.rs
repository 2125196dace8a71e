//! Who may do what.

use crate::Caller;

/// What a caller wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// See a tool in a list. Must be decided exactly as [`Action::Run`].
    See,
    /// Run a tool.
    Run,
    /// Read what ran.
    ReadHistory,
    /// Stop a run.
    Cancel,
    /// Release or reject a run that waits for a person.
    Approve,
}

impl Action {
    /// The action's name in policy and audit.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::See => "see",
            Self::Run => "run",
            Self::ReadHistory => "read_history",
            Self::Cancel => "cancel",
            Self::Approve => "approve",
        }
    }
}

/// What it is to be done to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resource<'a> {
    /// A tool.
    Tool {
        /// The toolset that offers it.
        toolset: &'a str,
        /// Its name.
        name: &'a str,
    },
    /// The history of runs.
    History,
}

/// Yes or no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Yes.
    Allow,
    /// No.
    Deny {
        /// Why, in words for the caller.
        reason: String,
    },
}

/// The one place where permission is decided. Lists are projections of the same function.
pub trait Policy: Send + Sync {
    /// Decides. Must be quick and must not do I/O: it is asked for every call and every listed tool.
    fn authorise(&self, caller: &Caller, action: Action, resource: &Resource<'_>) -> Decision;
}
