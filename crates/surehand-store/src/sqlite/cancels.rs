//! Wishes that a run be cancelled, and settling them.

use jiff::Timestamp;
use surehand_core::{RunId, RunStatus};

use super::{SqliteStore, row};
use crate::{Cancelled, StoreError, time::to_text};

impl SqliteStore {
    pub(super) async fn ask_to_cancel(
        &self,
        id: RunId,
        by: &str,
        now: Timestamp,
    ) -> Result<Cancelled, StoreError> {
        let trouble = |error: sqlx::Error| self.trouble(&error);
        let mut connection = self.connection().await?;
        let mut transaction = self.begin(&mut connection).await?;
        let found = sqlx::query("SELECT status FROM runs WHERE id = ?1")
            .bind(id.as_text())
            .fetch_optional(&mut *transaction)
            .await
            .map_err(trouble)?
            .ok_or_else(|| StoreError::NoSuchRun(id.as_text()))?;
        let status = row::status(&found).map_err(trouble)?;
        if status.is_final() {
            return Err(StoreError::AlreadyEnded { id, status });
        }
        sqlx::query(
            "UPDATE runs SET cancel_requested_at = ?2, cancel_requested_by = ?3
             WHERE id = ?1 AND cancel_requested_at IS NULL",
        )
        .bind(id.as_text())
        .bind(to_text(now))
        .bind(by)
        .execute(&mut *transaction)
        .await
        .map_err(trouble)?;
        if status != RunStatus::PendingApproval {
            self.commit(transaction).await?;
            return Ok(Cancelled::Requested);
        }
        // Nobody carries it out yet, so nobody would read the wish.
        sqlx::query(
            "UPDATE approvals SET decision = 'cancelled', decided_at = ?2, decided_by = ?3
             WHERE run_id = ?1 AND taken_at IS NULL",
        )
        .bind(id.as_text())
        .bind(to_text(now))
        .bind(by)
        .execute(&mut *transaction)
        .await
        .map_err(trouble)?;
        self.cancel_run(&mut transaction, id, &format!("cancelled by {by}"), now)
            .await?;
        self.commit(transaction).await?;
        Ok(Cancelled::Now)
    }

    pub(super) async fn cancel_run(
        &self,
        connection: &mut sqlx::SqliteConnection,
        id: RunId,
        error: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE runs SET status = 'cancelled', completed_at = ?2, error = ?3
             WHERE id = ?1 AND completed_at IS NULL",
        )
        .bind(id.as_text())
        .bind(to_text(now))
        .bind(error)
        .execute(connection)
        .await
        .map_err(|error| self.trouble(&error))?;
        Ok(())
    }

    pub(super) async fn runs_to_cancel(&self, ids: &[RunId]) -> Result<Vec<RunId>, StoreError> {
        let mut connection = self.connection().await?;
        let found: Vec<String> = sqlx::query_scalar(
            "SELECT id FROM runs WHERE completed_at IS NULL AND cancel_requested_at IS NOT NULL ORDER BY id",
        )
        .fetch_all(&mut *connection)
        .await
        .map_err(|error| self.trouble(&error))?;
        let mut wanted = self.ids(&found)?;
        wanted.retain(|id| ids.contains(id));
        Ok(wanted)
    }
}
