//! Calls that wait for a person who is not reached through the client.

use async_trait::async_trait;

use crate::{RunId, RunStart};

/// A call that is to wait.
#[derive(Debug, Clone)]
pub struct ApprovalRequest {
    /// The run as it will be recorded, with status [`crate::RunStatus::PendingApproval`].
    pub run: RunStart,
    /// What the approval is bound to (see [`crate::Plan::digest`]).
    pub digest: String,
}

/// Approvals cannot be kept or looked up. The call must then be refused.
#[derive(Debug, Clone, thiserror::Error)]
#[error("approvals are not available: {0}")]
pub struct ApprovalsError(pub String);

/// Where calls wait for a person's word.
#[async_trait]
pub trait Approvals: Send + Sync {
    /// Lets a call wait. Asking again for the same principal, tool and digest gives the id of the run
    /// that already waits.
    async fn ask(&self, request: ApprovalRequest) -> Result<RunId, ApprovalsError>;

    /// Takes a person's yes for exactly this principal, tool and digest, if there is one that is not older
    /// than five minutes. A yes is taken once.
    async fn take(&self, principal: &str, tool: &str, digest: &str) -> Result<Option<RunId>, ApprovalsError>;
}
