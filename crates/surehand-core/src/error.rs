//! Why a call was not carried out.

use crate::Decision;

/// So many problems are told; who makes more has other worries.
const MOST_PROBLEMS: usize = 50;

/// A call whose arguments do not fit. The model that made it can repair it, so every problem is named.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct Refusal {
    /// The tool that was called.
    pub tool: String,
    /// What is wrong, one entry each, for example `s must match ^[a-z]+$`.
    pub problems: Vec<String>,
}

impl Refusal {
    /// A refusal with one problem.
    #[must_use]
    pub fn new(tool: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            tool: tool.into(),
            problems: vec![problem.into()],
        }
    }

    fn text(&self) -> String {
        let shown = self.problems.iter().take(MOST_PROBLEMS);
        let mut lines: Vec<String> = shown
            .map(|problem| format!("Refused: {}: {problem}", self.tool))
            .collect();
        if let Some(more) = self
            .problems
            .len()
            .checked_sub(MOST_PROBLEMS)
            .filter(|more| *more > 0)
        {
            lines.push(format!("Refused: {}: ... and {more} more problems", self.tool));
        }
        lines.join("\n")
    }
}

/// Why a call did not lead to an [`crate::Outcome`].
#[derive(Debug, Clone, thiserror::Error)]
pub enum CallError {
    /// No tool of that name is offered to this caller. A protocol error, not a tool result.
    #[error("unknown tool {name:?}{}", nearest.as_ref().map(|n| format!("; did you mean {n:?}?")).unwrap_or_default())]
    UnknownTool {
        /// The name that was called.
        name: String,
        /// The closest name that is offered.
        nearest: Option<String>,
    },
    /// The arguments do not fit the tool.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Policy says no.
    #[error("not allowed: {reason}")]
    Denied {
        /// Why, in words for the caller.
        reason: String,
    },
    /// The tool exists and the call is well formed, but it cannot be carried out now.
    #[error("{0}")]
    Unavailable(String),
    /// The caller withdrew the call.
    #[error("cancelled")]
    Cancelled,
    /// Surehand itself failed.
    #[error("internal error: {0}")]
    Internal(String),
}

impl CallError {
    /// The error for a decision that is not to allow.
    #[must_use]
    pub fn denied(decision: Decision) -> Option<Self> {
        match decision {
            Decision::Allow => None,
            Decision::Deny { reason } => Some(Self::Denied { reason }),
        }
    }
}
