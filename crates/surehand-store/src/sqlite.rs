//! A history in a file of `SQLite`.

mod approvals;
mod bounded;
mod cancels;
mod events;
mod open;
mod prune;
mod read;
mod row;
mod settle;

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicI64, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use sqlx::{Connection, SqliteConnection, Transaction};
use surehand_core::{ApprovalRequest, RunEvent, RunId, StreamName};
use tokio::sync::{Mutex, MutexGuard};

use crate::{
    Cancelled, Fault, Output, Page, ProcessIdentity, RetentionLimits, RunFilter, RunRecord, Store, StoreError,
};

pub(crate) use open::FileIdentity;

/// No version that the database gives.
const UNKNOWN_VERSION: i64 = -1;

/// How to open a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqliteOptions {
    /// Wait for the disk at each commit. Without it, what is committed survives the death of every process,
    /// but a power cut may lose the last moments.
    pub sync_full: bool,
    /// How long to wait for another process that writes.
    pub busy_timeout: Duration,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            sync_full: false,
            busy_timeout: Duration::from_secs(5),
        }
    }
}

/// The history in `history.db` of a state directory, through one connection.
#[derive(Debug)]
pub struct SqliteStore {
    folders: PathBuf,
    path: PathBuf,
    options: SqliteOptions,
    identity: Option<FileIdentity>,
    connection: Mutex<SqliteConnection>,
    /// The connection failed and is to be replaced before it is used again.
    broken: AtomicBool,
    data_version: AtomicI64,
}

impl SqliteStore {
    /// The database file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    async fn connection(&self) -> Result<MutexGuard<'_, SqliteConnection>, StoreError> {
        let mut connection = self.connection.lock().await;
        if self.broken.load(Ordering::Relaxed) {
            *connection = open::connect(&self.path, &self.options).await?;
            self.data_version.store(UNKNOWN_VERSION, Ordering::Relaxed);
            self.broken.store(false, Ordering::Relaxed);
        }
        Ok(connection)
    }

    /// After a full disk, for example, the database has ended the transaction by itself, which the driver
    /// does not notice: it would take every later statement for a part of it.
    fn trouble(&self, error: &sqlx::Error) -> StoreError {
        let error = StoreError::from_sqlx(&self.path, error);
        if error.fault() != Some(Fault::Locked) {
            self.broken.store(true, Ordering::Relaxed);
        }
        error
    }

    fn refused(&self, detail: impl Into<String>) -> StoreError {
        StoreError::Refused {
            path: self.path.clone(),
            detail: detail.into(),
        }
    }

    /// Writes to a file that nobody can find any more would be lost without a word.
    fn require_in_place(&self) -> Result<(), StoreError> {
        if self.identity == FileIdentity::of(&self.path) {
            Ok(())
        } else {
            Err(StoreError::Moved {
                path: self.path.clone(),
            })
        }
    }

    /// Begins to write. Taking the write lock at once, rather than at the first write, is what makes waiting
    /// for other processes work (<https://www.sqlite.org/rescode.html#busy_snapshot>).
    async fn begin<'c>(
        &self,
        connection: &'c mut SqliteConnection,
    ) -> Result<Transaction<'c, sqlx::Sqlite>, StoreError> {
        self.require_in_place()?;
        connection
            .begin_with("BEGIN IMMEDIATE")
            .await
            .map_err(|error| self.trouble(&error))
    }

    async fn commit(&self, transaction: Transaction<'_, sqlx::Sqlite>) -> Result<(), StoreError> {
        transaction.commit().await.map_err(|error| self.trouble(&error))
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn apply(&self, owner: &ProcessIdentity, events: &[RunEvent]) -> Result<(), StoreError> {
        self.apply_events(owner, events).await
    }

    async fn list(&self, filter: &RunFilter) -> Result<Page, StoreError> {
        self.settle(Timestamp::now()).await?;
        self.page(filter).await
    }

    async fn get(&self, id: RunId) -> Result<Option<RunRecord>, StoreError> {
        self.settle(Timestamp::now()).await?;
        self.record(id).await
    }

    async fn find(&self, prefix: &str) -> Result<RunRecord, StoreError> {
        self.settle(Timestamp::now()).await?;
        self.find_by_prefix(prefix).await
    }

    async fn output(&self, id: RunId, stream: StreamName) -> Result<Option<Output>, StoreError> {
        self.read_output(id, stream).await
    }

    fn run_folder(&self, id: RunId) -> PathBuf {
        self.folders.join(id.as_text())
    }

    async fn request_cancel(&self, id: RunId, by: &str, now: Timestamp) -> Result<Cancelled, StoreError> {
        self.settle(now).await?;
        self.ask_to_cancel(id, by, now).await
    }

    async fn pending_cancels(&self, ids: &[RunId]) -> Result<Vec<RunId>, StoreError> {
        self.runs_to_cancel(ids).await
    }

    async fn changed(&self) -> Result<bool, StoreError> {
        let mut connection = self.connection().await?;
        let version: i64 = sqlx::query_scalar("PRAGMA data_version")
            .fetch_one(&mut *connection)
            .await
            .map_err(|error| self.trouble(&error))?;
        Ok(self.data_version.swap(version, Ordering::Relaxed) != version)
    }

    async fn ask(&self, owner: &ProcessIdentity, request: &ApprovalRequest) -> Result<RunId, StoreError> {
        self.let_wait(owner, request).await
    }

    async fn take(
        &self,
        owner: &ProcessIdentity,
        principal: &str,
        tool: &str,
        digest: &str,
        now: Timestamp,
    ) -> Result<Option<RunId>, StoreError> {
        self.take_approval(owner, principal, tool, digest, now).await
    }

    async fn approve(&self, id: RunId, by: &str, now: Timestamp) -> Result<(), StoreError> {
        self.say_yes(id, by, now).await
    }

    async fn reject(
        &self,
        id: RunId,
        by: &str,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.say_no(id, by, reason, now).await
    }

    async fn settle(&self, now: Timestamp) -> Result<Vec<RunId>, StoreError> {
        self.end_what_is_lost(now).await
    }

    async fn claim_pruning(&self, every: SignedDuration, now: Timestamp) -> Result<bool, StoreError> {
        self.claim_chore("prune", every, now).await
    }

    async fn prunable(
        &self,
        limits: &RetentionLimits,
        max: u32,
        now: Timestamp,
    ) -> Result<Vec<RunId>, StoreError> {
        self.runs_to_prune(limits, max, now).await
    }

    async fn delete_runs(&self, ids: &[RunId]) -> Result<(), StoreError> {
        self.delete_ended(ids).await
    }

    async fn unknown(&self, ids: &[RunId]) -> Result<Vec<RunId>, StoreError> {
        self.without_row(ids).await
    }

    async fn check(&self) -> Result<Vec<String>, StoreError> {
        self.look_through().await
    }
}
