//! Writing what happened to runs.

use jiff::Timestamp;
use sqlx::SqliteConnection;
use surehand_core::{PersonAnswer, RunEnd, RunEvent, RunId, RunStart, RunStatus, StreamRecord};

use super::{SqliteStore, bounded};
use crate::{ApprovalDecision, ProcessIdentity, StoreError, time::to_text};

/// What a run takes besides its texts and outputs, roughly.
const ROW_SIZE: usize = 512;

impl SqliteStore {
    pub(super) async fn apply_events(
        &self,
        owner: &ProcessIdentity,
        events: &[RunEvent],
    ) -> Result<(), StoreError> {
        let mut connection = self.connection().await?;
        let mut transaction = self.begin(&mut connection).await?;
        for event in events {
            match event {
                RunEvent::Start(start) => {
                    self.insert_run(&mut transaction, owner, start).await?;
                }
                RunEvent::Running { id, at } => self.set_running(&mut transaction, *id, *at).await?,
                RunEvent::Output { id, record } => self.insert_output(&mut transaction, *id, record).await?,
                RunEvent::End(end) => self.end_run(&mut transaction, end).await?,
            }
        }
        self.commit(transaction).await
    }

    /// A run that is there already and has not begun is one that waited for approval: it goes on.
    pub(super) async fn insert_run(
        &self,
        connection: &mut SqliteConnection,
        owner: &ProcessIdentity,
        start: &RunStart,
    ) -> Result<(), StoreError> {
        if start.status.is_final() {
            return Err(self.refused(format!("run {} starts as {}", start.id, start.status.as_str())));
        }
        let json = |error: serde_json::Error| self.refused(format!("run {}: {error}", start.id));
        let arguments = serde_json::to_string(&bounded::object(&start.arguments)).map_err(json)?;
        let command = serde_json::to_string(&bounded::words(&start.command)).map_err(json)?;
        let display = bounded::text(&start.display);
        let size = ROW_SIZE + arguments.len() + command.len() + display.len();
        let client = start.caller.client.as_ref();
        let started = (start.status == RunStatus::Running).then(|| to_text(start.at));
        sqlx::query(
            "INSERT INTO runs (id, toolset, tool, principal, channel, client_name, client_version, arguments,
                 command, display, cwd, status, created_at, started_at, owner_pid, owner_started, owner_boot,
                 owner_namespace, size)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)
             ON CONFLICT (id) DO UPDATE SET
                 toolset = excluded.toolset, tool = excluded.tool, principal = excluded.principal,
                 channel = excluded.channel, client_name = excluded.client_name,
                 client_version = excluded.client_version, arguments = excluded.arguments,
                 command = excluded.command, display = excluded.display, cwd = excluded.cwd,
                 status = excluded.status, started_at = excluded.started_at, owner_pid = excluded.owner_pid,
                 owner_started = excluded.owner_started, owner_boot = excluded.owner_boot,
                 owner_namespace = excluded.owner_namespace, size = excluded.size
             WHERE runs.started_at IS NULL AND runs.completed_at IS NULL",
        )
        .bind(start.id.as_text())
        .bind(&start.toolset)
        .bind(&start.tool)
        .bind(&start.caller.principal)
        .bind(start.caller.channel.as_str())
        .bind(client.map(|client| bounded::name(&client.name)).as_deref())
        .bind(client.map(|client| bounded::name(&client.version)).as_deref())
        .bind(arguments)
        .bind(command)
        .bind(&*display)
        .bind(&start.cwd)
        .bind(start.status.as_str())
        .bind(to_text(start.at))
        .bind(started)
        .bind(i64::from(owner.pid))
        .bind(owner.started.cast_signed())
        .bind(&owner.boot)
        .bind(owner.namespace.cast_signed())
        .bind(i64::try_from(size).unwrap_or(i64::MAX))
        .execute(&mut *connection)
        .await
        .map_err(|error| self.trouble(&error))?;
        match &start.answer {
            Some(answer) => self.insert_answer(connection, start, answer).await,
            None => Ok(()),
        }
    }

    /// An approval that was asked for and given, or denied, in one go. A yes is used up with it.
    async fn insert_answer(
        &self,
        connection: &mut SqliteConnection,
        start: &RunStart,
        answer: &PersonAnswer,
    ) -> Result<(), StoreError> {
        let decision = if answer.yes {
            ApprovalDecision::Approved
        } else {
            ApprovalDecision::Rejected
        };
        sqlx::query(
            "INSERT INTO approvals (run_id, principal, tool, digest, asked_at, decision, decided_at, decided_by,
                 taken_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?2, ?8)
             ON CONFLICT (run_id) DO NOTHING",
        )
        .bind(start.id.as_text())
        .bind(&start.caller.principal)
        .bind(&start.tool)
        .bind(&answer.digest)
        .bind(to_text(answer.asked_at))
        .bind(decision.as_str())
        .bind(to_text(answer.answered_at))
        .bind(answer.yes.then(|| to_text(answer.answered_at)))
        .execute(connection)
        .await
        .map_err(|error| self.trouble(&error))?;
        Ok(())
    }

    async fn set_running(
        &self,
        connection: &mut SqliteConnection,
        id: RunId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE runs SET status = 'running', started_at = COALESCE(started_at, ?2)
             WHERE id = ?1 AND completed_at IS NULL",
        )
        .bind(id.as_text())
        .bind(to_text(at))
        .execute(connection)
        .await
        .map_err(|error| self.trouble(&error))?;
        Ok(())
    }

    async fn insert_output(
        &self,
        connection: &mut SqliteConnection,
        id: RunId,
        record: &StreamRecord,
    ) -> Result<(), StoreError> {
        let kept = to_integer(record.kept_bytes);
        let inserted = sqlx::query(
            "INSERT INTO outputs (run_id, stream, total_bytes, kept_bytes, sha256, spooled, inline)
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE EXISTS (SELECT 1 FROM runs WHERE id = ?1)
             ON CONFLICT (run_id, stream) DO NOTHING",
        )
        .bind(id.as_text())
        .bind(record.stream.as_str())
        .bind(to_integer(record.total_bytes))
        .bind(kept)
        .bind(&record.sha256)
        .bind(record.inline.is_none())
        .bind(&record.inline)
        .execute(&mut *connection)
        .await
        .map_err(|error| self.trouble(&error))?;
        if inserted.rows_affected() == 0 {
            return Ok(());
        }
        sqlx::query("UPDATE runs SET size = size + ?2 WHERE id = ?1")
            .bind(id.as_text())
            .bind(kept)
            .execute(connection)
            .await
            .map_err(|error| self.trouble(&error))?;
        Ok(())
    }

    async fn end_run(&self, connection: &mut SqliteConnection, end: &RunEnd) -> Result<(), StoreError> {
        if !end.status.is_final() {
            return Err(self.refused(format!("run {} ends as {}", end.id, end.status.as_str())));
        }
        sqlx::query(
            "UPDATE runs SET status = ?2, completed_at = ?3, duration_ms = ?4, exit_code = ?5, signal = ?6,
                 error = ?7
             WHERE id = ?1 AND completed_at IS NULL",
        )
        .bind(end.id.as_text())
        .bind(end.status.as_str())
        .bind(to_text(end.at))
        .bind(to_integer(end.duration_ms))
        .bind(end.exit_code)
        .bind(&end.signal)
        .bind(end.error.as_deref().map(bounded::text).as_deref())
        .execute(connection)
        .await
        .map_err(|error| self.trouble(&error))?;
        Ok(())
    }
}

fn to_integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
