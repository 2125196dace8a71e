//! Forgetting old runs.

use jiff::{SignedDuration, Timestamp};
use surehand_core::RunId;

use super::SqliteStore;
use crate::{
    RetentionLimits, StoreError,
    time::{before, least_id, to_text},
};

/// Pages given back to the system with each batch of deleted runs (4 KiB each).
const VACUUM: &str = "PRAGMA incremental_vacuum(2000)";

impl SqliteStore {
    pub(super) async fn claim_chore(
        &self,
        name: &str,
        every: SignedDuration,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut connection = self.connection().await?;
        let mut transaction = self.begin(&mut connection).await?;
        // A time ahead of ours comes from a clock that was put back since: it must not stop the chore.
        let claimed = sqlx::query(
            "INSERT INTO chores (name, done_at) VALUES (?1, ?2)
             ON CONFLICT (name) DO UPDATE SET done_at = excluded.done_at
             WHERE chores.done_at <= ?3 OR chores.done_at > ?2",
        )
        .bind(name)
        .bind(to_text(now))
        .bind(to_text(before(now, every)))
        .execute(&mut *transaction)
        .await
        .map_err(|error| self.trouble(&error))?;
        self.commit(transaction).await?;
        Ok(claimed.rows_affected() > 0)
    }

    pub(super) async fn runs_to_prune(
        &self,
        limits: &RetentionLimits,
        max: u32,
        now: Timestamp,
    ) -> Result<Vec<RunId>, StoreError> {
        let trouble = |error: sqlx::Error| self.trouble(&error);
        let cutoff = before(now, limits.age);
        let mut connection = self.connection().await?;
        // A run's id is no later than its end: the bound keeps the walk off everything younger.
        let aged: Vec<String> = sqlx::query_scalar(
            "SELECT id FROM runs WHERE id < ?1 AND completed_at < ?2 ORDER BY id LIMIT ?3",
        )
        .bind(least_id(cutoff))
        .bind(to_text(cutoff))
        .bind(i64::from(max))
        .fetch_all(&mut *connection)
        .await
        .map_err(trouble)?;
        if !aged.is_empty() {
            return self.ids(&aged);
        }

        // `total` would overflow only beyond what a disk can hold; it is a float then, never an error.
        let total: f64 = sqlx::query_scalar("SELECT total(size) FROM runs")
            .fetch_one(&mut *connection)
            .await
            .map_err(trouble)?;
        #[allow(clippy::cast_precision_loss, reason = "a limit need not be exact to the byte")]
        let mut excess = total - limits.bytes as f64;
        if excess <= 0.0 {
            return Ok(Vec::new());
        }
        let oldest: Vec<(String, i64)> =
            sqlx::query_as("SELECT id, size FROM runs WHERE completed_at IS NOT NULL ORDER BY id LIMIT ?1")
                .bind(i64::from(max))
                .fetch_all(&mut *connection)
                .await
                .map_err(trouble)?;
        let mut ids = Vec::new();
        for (id, size) in oldest {
            if excess <= 0.0 {
                break;
            }
            #[allow(clippy::cast_precision_loss, reason = "as above")]
            {
                excess -= size as f64;
            }
            ids.push(id);
        }
        self.ids(&ids)
    }

    pub(super) async fn delete_ended(&self, ids: &[RunId]) -> Result<(), StoreError> {
        let trouble = |error: sqlx::Error| self.trouble(&error);
        let mut connection = self.connection().await?;
        let mut transaction = self.begin(&mut connection).await?;
        for id in ids {
            sqlx::query("DELETE FROM runs WHERE id = ?1 AND completed_at IS NOT NULL")
                .bind(id.as_text())
                .execute(&mut *transaction)
                .await
                .map_err(trouble)?;
        }
        self.commit(transaction).await?;
        sqlx::query(VACUUM)
            .execute(&mut *connection)
            .await
            .map_err(trouble)?;
        Ok(())
    }

    pub(super) async fn without_row(&self, ids: &[RunId]) -> Result<Vec<RunId>, StoreError> {
        let mut connection = self.connection().await?;
        let mut unknown = Vec::new();
        for id in ids {
            let there: bool = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM runs WHERE id = ?1)")
                .bind(id.as_text())
                .fetch_one(&mut *connection)
                .await
                .map_err(|error| self.trouble(&error))?;
            if !there {
                unknown.push(*id);
            }
        }
        Ok(unknown)
    }
}
