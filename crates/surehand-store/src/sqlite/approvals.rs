//! Calls that wait for a person.

use jiff::{SignedDuration, Timestamp};
use sqlx::SqliteConnection;
use surehand_core::{ApprovalRequest, RunId, RunStatus};

use super::{SqliteStore, row};
use crate::{
    APPROVAL_VALID, APPROVAL_WAIT, ApprovalDecision, ApprovalRecord, ProcessIdentity, StoreError,
    time::{before, to_text},
};

/// How far ahead the clock of whoever approved may be.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_secs(60);

impl SqliteStore {
    pub(super) async fn let_wait(
        &self,
        owner: &ProcessIdentity,
        request: &ApprovalRequest,
    ) -> Result<RunId, StoreError> {
        let run = &request.run;
        if run.status != RunStatus::PendingApproval {
            return Err(self.refused(format!(
                "run {} is to wait but is {}",
                run.id,
                run.status.as_str()
            )));
        }
        let trouble = |error: sqlx::Error| self.trouble(&error);
        let mut connection = self.connection().await?;
        let mut transaction = self.begin(&mut connection).await?;
        self.expire(&mut transaction, run.at).await?;
        let waiting: Option<String> = sqlx::query_scalar(
            "SELECT run_id FROM approvals
             WHERE principal = ?1 AND tool = ?2 AND digest = ?3 AND taken_at IS NULL
               AND (decision IS NULL OR decision = 'approved')",
        )
        .bind(&run.caller.principal)
        .bind(&run.tool)
        .bind(&request.digest)
        .fetch_optional(&mut *transaction)
        .await
        .map_err(trouble)?;
        if let Some(text) = waiting {
            let id = row::id(&text).map_err(trouble)?;
            // What has expired is to stay so.
            self.commit(transaction).await?;
            return Ok(id);
        }
        self.insert_run(&mut transaction, owner, run).await?;
        sqlx::query(
            "INSERT INTO approvals (run_id, principal, tool, digest, asked_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        )
        .bind(run.id.as_text())
        .bind(&run.caller.principal)
        .bind(&run.tool)
        .bind(&request.digest)
        .bind(to_text(run.at))
        .execute(&mut *transaction)
        .await
        .map_err(trouble)?;
        self.commit(transaction).await?;
        Ok(run.id)
    }

    pub(super) async fn take_approval(
        &self,
        owner: &ProcessIdentity,
        principal: &str,
        tool: &str,
        digest: &str,
        now: Timestamp,
    ) -> Result<Option<RunId>, StoreError> {
        let trouble = |error: sqlx::Error| self.trouble(&error);
        let latest = now.checked_add(CLOCK_SKEW).unwrap_or(now);
        let mut connection = self.connection().await?;
        let mut transaction = self.begin(&mut connection).await?;
        let taken: Option<String> = sqlx::query_scalar(
            "UPDATE approvals SET taken_at = ?4
             WHERE principal = ?1 AND tool = ?2 AND digest = ?3 AND taken_at IS NULL
               AND decision = 'approved' AND decided_at BETWEEN ?5 AND ?6
             RETURNING run_id",
        )
        .bind(principal)
        .bind(tool)
        .bind(digest)
        .bind(to_text(now))
        .bind(to_text(before(now, APPROVAL_VALID)))
        .bind(to_text(latest))
        .fetch_optional(&mut *transaction)
        .await
        .map_err(trouble)?;
        let Some(text) = taken else {
            return Ok(None);
        };
        let id = row::id(&text).map_err(trouble)?;
        let went_on = sqlx::query(
            "UPDATE runs SET status = 'scheduled', owner_pid = ?2, owner_started = ?3, owner_boot = ?4,
                 owner_namespace = ?5
             WHERE id = ?1 AND status = 'pending_approval'",
        )
        .bind(id.as_text())
        .bind(i64::from(owner.pid))
        .bind(owner.started.cast_signed())
        .bind(&owner.boot)
        .bind(owner.namespace.cast_signed())
        .execute(&mut *transaction)
        .await
        .map_err(trouble)?;
        if went_on.rows_affected() == 0 {
            return Ok(None);
        }
        self.commit(transaction).await?;
        Ok(Some(id))
    }

    pub(super) async fn say_yes(&self, id: RunId, by: &str, now: Timestamp) -> Result<(), StoreError> {
        let mut connection = self.connection().await?;
        let mut transaction = self.begin(&mut connection).await?;
        // What has expired stays expired, whatever becomes of this word.
        self.expire(&mut transaction, now).await?;
        let verdict = self
            .open_approval(&mut transaction, id)
            .await
            .and_then(|found| match found.decision {
                Some(_) => Err(StoreError::AlreadyApproved {
                    id,
                    by: found.decided_by.unwrap_or_default(),
                    at: found.decided_at.unwrap_or(found.asked_at),
                }),
                None => Ok(()),
            });
        if verdict.is_ok() {
            self.decide(&mut transaction, id, ApprovalDecision::Approved, by, None, now)
                .await?;
        }
        self.commit(transaction).await?;
        verdict
    }

    pub(super) async fn say_no(
        &self,
        id: RunId,
        by: &str,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut connection = self.connection().await?;
        let mut transaction = self.begin(&mut connection).await?;
        self.expire(&mut transaction, now).await?;
        let verdict = self.open_approval(&mut transaction, id).await;
        if verdict.is_ok() {
            self.decide(&mut transaction, id, ApprovalDecision::Rejected, by, reason, now)
                .await?;
            let error = match reason {
                Some(reason) => format!("rejected by {by}: {reason}"),
                None => format!("rejected by {by}"),
            };
            self.cancel_run(&mut transaction, id, &error, now).await?;
        }
        self.commit(transaction).await?;
        verdict.map(drop)
    }

    /// The approval of a run that waits: without a word so far, or approved and not taken up.
    async fn open_approval(
        &self,
        connection: &mut SqliteConnection,
        id: RunId,
    ) -> Result<ApprovalRecord, StoreError> {
        let trouble = |error: sqlx::Error| self.trouble(&error);
        let status = sqlx::query("SELECT status FROM runs WHERE id = ?1")
            .bind(id.as_text())
            .fetch_optional(&mut *connection)
            .await
            .map_err(trouble)?
            .as_ref()
            .map(row::status)
            .transpose()
            .map_err(trouble)?
            .ok_or_else(|| StoreError::NoSuchRun(id.as_text()))?;
        let approval = sqlx::query("SELECT * FROM approvals WHERE run_id = ?1")
            .bind(id.as_text())
            .fetch_optional(connection)
            .await
            .map_err(trouble)?
            .as_ref()
            .map(row::approval)
            .transpose()
            .map_err(trouble)?;
        match approval {
            Some(found) if found.decision == Some(ApprovalDecision::Rejected) => {
                Err(StoreError::AlreadyRejected {
                    id,
                    by: found.decided_by.unwrap_or_default(),
                    at: found.decided_at.unwrap_or(found.asked_at),
                })
            }
            Some(found) if found.decision == Some(ApprovalDecision::Expired) => {
                Err(StoreError::ApprovalExpired {
                    id,
                    asked_at: found.asked_at,
                })
            }
            Some(found) if status == RunStatus::PendingApproval => Ok(found),
            _ => Err(StoreError::NotWaiting { id, status }),
        }
    }

    async fn decide(
        &self,
        connection: &mut SqliteConnection,
        id: RunId,
        decision: ApprovalDecision,
        by: &str,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE approvals SET decision = ?2, decided_at = ?3, decided_by = ?4, reason = ?5
             WHERE run_id = ?1",
        )
        .bind(id.as_text())
        .bind(decision.as_str())
        .bind(to_text(now))
        .bind(by)
        .bind(reason)
        .execute(connection)
        .await
        .map_err(|error| self.trouble(&error))?;
        Ok(())
    }

    /// Ends calls that waited too long: for a word, or, after a yes, for being made again.
    pub(super) async fn expire(
        &self,
        connection: &mut SqliteConnection,
        now: Timestamp,
    ) -> Result<Vec<RunId>, StoreError> {
        let trouble = |error: sqlx::Error| self.trouble(&error);
        let unheard = to_text(before(now, APPROVAL_WAIT));
        let unused = to_text(before(now, APPROVAL_VALID));
        let over: Vec<(String, Option<String>)> = sqlx::query_as(
            "SELECT id, decided_by FROM runs LEFT JOIN approvals ON run_id = id
             WHERE completed_at IS NULL AND status = 'pending_approval' AND taken_at IS NULL
               AND ((decision IS NULL AND COALESCE(asked_at, created_at) <= ?1)
                    OR (decision = 'approved' AND decided_at < ?2))",
        )
        .bind(unheard)
        .bind(unused)
        .fetch_all(&mut *connection)
        .await
        .map_err(trouble)?;
        let mut ended = Vec::with_capacity(over.len());
        for (text, approver) in over {
            let id = row::id(&text).map_err(trouble)?;
            sqlx::query("UPDATE approvals SET decision = 'expired', decided_at = ?2 WHERE run_id = ?1")
                .bind(&text)
                .bind(to_text(now))
                .execute(&mut *connection)
                .await
                .map_err(trouble)?;
            let error = match approver {
                Some(approver) => {
                    format!(
                        "expired: approved by {approver}, but the call was not made again within 5 minutes"
                    )
                }
                None => "expired: nobody approved it within 24 hours".to_owned(),
            };
            self.cancel_run(&mut *connection, id, &error, now).await?;
            ended.push(id);
        }
        Ok(ended)
    }
}
