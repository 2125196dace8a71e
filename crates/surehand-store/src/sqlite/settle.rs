//! Ending what nobody else will end.

use std::collections::HashMap;

use jiff::Timestamp;
use sqlx::Row;
use surehand_core::{RunId, RunStatus};

use super::{SqliteStore, row};
use crate::{
    APPROVAL_WAIT, Liveness, ProcessIdentity, StoreError,
    time::{before, to_text},
};

const INTERRUPTED: &str = "interrupted: the serving process ended";

impl SqliteStore {
    pub(super) async fn end_what_is_lost(&self, now: Timestamp) -> Result<Vec<RunId>, StoreError> {
        let (lost, expired) = self.candidates(now).await?;
        if lost.is_empty() && !expired {
            return Ok(Vec::new());
        }
        let mut connection = self.connection().await?;
        let mut transaction = self.begin(&mut connection).await?;
        let mut ended = self.expire(&mut transaction, now).await?;
        for (id, owner) in lost {
            // Unless it was taken over, or ended by another reader, in the meantime.
            let done = sqlx::query(
                "UPDATE runs SET status = 'failed', completed_at = ?2, error = ?3
                 WHERE id = ?1 AND completed_at IS NULL AND status <> 'pending_approval'
                   AND owner_pid = ?4 AND owner_started = ?5 AND owner_boot = ?6 AND owner_namespace = ?7",
            )
            .bind(id.as_text())
            .bind(to_text(now))
            .bind(INTERRUPTED)
            .bind(i64::from(owner.pid))
            .bind(owner.started.cast_signed())
            .bind(&owner.boot)
            .bind(owner.namespace.cast_signed())
            .execute(&mut *transaction)
            .await
            .map_err(|error| self.trouble(&error))?;
            if done.rows_affected() > 0 {
                ended.push(id);
            }
        }
        self.commit(transaction).await?;
        Ok(ended)
    }

    /// Runs whose process is dead, and whether any approval may have expired. Reads only.
    async fn candidates(&self, now: Timestamp) -> Result<(Vec<(RunId, ProcessIdentity)>, bool), StoreError> {
        let trouble = |error: sqlx::Error| self.trouble(&error);
        let mut connection = self.connection().await?;
        let unfinished = sqlx::query(
            "SELECT id, status, owner_pid, owner_started, owner_boot, owner_namespace
             FROM runs WHERE completed_at IS NULL",
        )
        .fetch_all(&mut *connection)
        .await
        .map_err(trouble)?;
        drop(connection);

        let mut lost = Vec::new();
        let mut waiting = false;
        let mut known: HashMap<ProcessIdentity, Liveness> = HashMap::new();
        for found in &unfinished {
            if row::status(found).map_err(trouble)? == RunStatus::PendingApproval {
                waiting = true;
                continue;
            }
            let owner = row::owner(found).map_err(trouble)?;
            let liveness = *known.entry(owner.clone()).or_insert_with(|| owner.liveness());
            if liveness == Liveness::Dead {
                let id = row::id(found.try_get("id").map_err(trouble)?).map_err(trouble)?;
                lost.push((id, owner));
            }
        }
        let expired = waiting && self.any_expired(now).await?;
        Ok((lost, expired))
    }

    async fn any_expired(&self, now: Timestamp) -> Result<bool, StoreError> {
        let mut connection = self.connection().await?;
        sqlx::query_scalar(
            "SELECT EXISTS (
                 SELECT 1 FROM runs LEFT JOIN approvals ON run_id = id
                 WHERE completed_at IS NULL AND status = 'pending_approval' AND taken_at IS NULL
                   AND ((decision IS NULL AND COALESCE(asked_at, created_at) <= ?1)
                        OR (decision = 'approved' AND decided_at < ?2)))",
        )
        .bind(to_text(before(now, APPROVAL_WAIT)))
        .bind(to_text(before(now, crate::APPROVAL_VALID)))
        .fetch_one(&mut *connection)
        .await
        .map_err(|error| self.trouble(&error))
    }
}
