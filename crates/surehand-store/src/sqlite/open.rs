//! Opening a database: whose it is, which version made it, bringing it up to date.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicI64},
    time::{Duration, Instant},
};

use sqlx::{
    ConnectOptions, Connection, SqliteConnection,
    migrate::{MigrateError, Migrator},
    sqlite::{SqliteAutoVacuum, SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};
use tokio::sync::Mutex;

use super::{SqliteOptions, SqliteStore, UNKNOWN_VERSION};
use crate::{StoreError, private};

/// Every version that the schema ever had.
pub(super) static MIGRATOR: Migrator = sqlx::migrate!("./migrations");

/// After a burst, the write-ahead log is cut back to so many bytes.
const WAL_BYTES: &str = "16777216";
const FILE_NAME: &str = "history.db";
/// Turning a new database to WAL cannot wait for others that do the same; it is tried again after this.
const RETRY: Duration = Duration::from_millis(20);

impl SqliteStore {
    /// Opens the history in the state directory `dir`, and makes what is not there.
    ///
    /// # Errors
    /// [`StoreError::NotPrivate`], [`StoreError::Damaged`], [`StoreError::Newer`], [`StoreError::Foreign`]:
    /// the file is left as it is. [`StoreError::Locked`], [`StoreError::ReadOnly`], [`StoreError::Full`],
    /// [`StoreError::Io`].
    pub async fn open(dir: &Path, options: &SqliteOptions) -> Result<Self, StoreError> {
        let dir = absolute(dir)?;
        private::ensure_directory(&dir).map_err(|error| readable_only(&dir, error))?;
        let path = dir.join(FILE_NAME);
        private::ensure_file(&path).map_err(|error| readable_only(&path, error))?;
        Self::open_file(&dir, path, options).await
    }

    /// Opens the history in the state directory `dir`; None where there is none.
    ///
    /// # Errors
    /// As [`SqliteStore::open`].
    pub async fn open_existing(dir: &Path, options: &SqliteOptions) -> Result<Option<Self>, StoreError> {
        let dir = absolute(dir)?;
        let path = dir.join(FILE_NAME);
        if !private::check_directory(&dir)? || !path.try_exists().map_err(|error| io(&path, &error))? {
            return Ok(None);
        }
        private::ensure_file(&path).map_err(|error| readable_only(&path, error))?;
        Self::open_file(&dir, path, options).await.map(Some)
    }

    async fn open_file(dir: &Path, path: PathBuf, options: &SqliteOptions) -> Result<Self, StoreError> {
        let identity = FileIdentity::of(&path);
        let deadline = Instant::now() + options.busy_timeout;
        let connection = loop {
            match connect(&path, options).await {
                Err(StoreError::Locked { .. }) if Instant::now() < deadline => {
                    tokio::time::sleep(RETRY).await;
                }
                Err(error) => return Err(error),
                Ok(connection) => break connection,
            }
        };
        Ok(Self {
            folders: dir.join("runs"),
            identity,
            path,
            connection: Mutex::new(connection),
            options: options.clone(),
            broken: AtomicBool::new(false),
            data_version: AtomicI64::new(UNKNOWN_VERSION),
        })
    }
}

pub(super) async fn connect(path: &Path, options: &SqliteOptions) -> Result<SqliteConnection, StoreError> {
    let trouble = |error: sqlx::Error| StoreError::from_sqlx(path, &error);
    let base = SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(options.busy_timeout)
        .disable_statement_logging();

    // First without any right to write, so that what is not understood stays as it is. Where a process was killed while
    // it made the database, SQLite has to take back what was begun before anything can be read.
    let unfinished = has_rollback_journal(path);
    let mut looking = base
        .clone()
        .read_only(!unfinished)
        .connect()
        .await
        .map_err(trouble)?;
    let version = version(&mut looking, path).await;
    let closed = looking.close().await;
    let version = version?;
    closed.map_err(trouble)?;

    let synchronous = if options.sync_full {
        SqliteSynchronous::Full
    } else {
        SqliteSynchronous::Normal
    };
    let mut connection = base
        .auto_vacuum(SqliteAutoVacuum::Incremental)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(synchronous)
        .foreign_keys(true)
        .pragma("journal_size_limit", WAL_BYTES)
        .connect()
        .await
        .map_err(trouble)?;
    if version != latest() {
        migrate(&mut connection, path).await?;
    }
    Ok(connection)
}

/// Whether there is a journal to roll back. In WAL mode, that is from the second start on, there never is.
fn has_rollback_journal(path: &Path) -> bool {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-journal");
    std::fs::metadata(journal).is_ok_and(|found| found.len() > 0)
}

/// The schema version; 0 for an empty database.
async fn version(connection: &mut SqliteConnection, path: &Path) -> Result<i64, StoreError> {
    let trouble = |error: sqlx::Error| StoreError::from_sqlx(path, &error);
    let tables: Vec<String> = sqlx::query_scalar("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .fetch_all(&mut *connection)
        .await
        .map_err(trouble)?;
    if tables.is_empty() {
        return Ok(0);
    }
    let foreign = |detail: &str| StoreError::Foreign {
        path: path.to_owned(),
        detail: detail.to_owned(),
    };
    if !tables.iter().any(|name| name == "_sqlx_migrations") {
        return Err(foreign("it holds tables of another program"));
    }
    let applied: Vec<(i64, Vec<u8>)> =
        sqlx::query_as("SELECT version, checksum FROM _sqlx_migrations ORDER BY version")
            .fetch_all(&mut *connection)
            .await
            .map_err(trouble)?;
    let known = latest();
    for (version, checksum) in &applied {
        let Some(ours) = MIGRATOR.iter().find(|ours| ours.version == *version) else {
            return Err(if *version > known {
                let found = applied.last().map_or(*version, |(last, _)| *last);
                StoreError::Newer {
                    path: path.to_owned(),
                    found,
                    known,
                }
            } else {
                foreign("it has a schema that no version of Surehand had")
            });
        };
        if *ours.checksum != **checksum {
            return Err(foreign(
                "it has a schema of the same number that is not this program's",
            ));
        }
    }
    Ok(applied.last().map_or(0, |(version, _)| *version))
}

/// All steps or none, and one process at a time.
async fn migrate(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let trouble = |error: sqlx::Error| StoreError::from_sqlx(path, &error);
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(trouble)?;
    MIGRATOR
        .run_direct(None, &mut *transaction, false)
        .await
        .map_err(|error| match error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => trouble(error),
            // Another process brought it further than this version knows, after it was looked at.
            other => StoreError::Foreign {
                path: path.to_owned(),
                detail: other.to_string(),
            },
        })?;
    transaction.commit().await.map_err(trouble)
}

fn latest() -> i64 {
    MIGRATOR.iter().map(|step| step.version).max().unwrap_or(0)
}

fn absolute(dir: &Path) -> Result<PathBuf, StoreError> {
    std::path::absolute(dir).map_err(|error| io(dir, &error))
}

fn io(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Io {
        path: path.to_owned(),
        detail: error.to_string(),
    }
}

/// A directory that is private but cannot be written is another matter than one that is not private.
fn readable_only(path: &Path, error: private::PrivacyError) -> StoreError {
    match error {
        private::PrivacyError::Io { detail, .. } => StoreError::ReadOnly {
            path: path.to_owned(),
            detail,
        },
        other => StoreError::NotPrivate(other),
    }
}

/// Tells a file from another one that took its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    #[cfg(unix)]
    device_and_inode: (u64, u64),
}

impl FileIdentity {
    /// None where there is no such file.
    #[cfg(unix)]
    pub(crate) fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let found = std::fs::metadata(path).ok()?;
        Some(Self {
            device_and_inode: (found.dev(), found.ino()),
        })
    }

    /// None where there is no such file. An open file cannot be replaced here.
    #[cfg(not(unix))]
    pub(crate) fn of(path: &Path) -> Option<Self> {
        path.exists().then_some(Self {})
    }
}

#[cfg(test)]
#[path = "open_tests.rs"]
mod tests;
