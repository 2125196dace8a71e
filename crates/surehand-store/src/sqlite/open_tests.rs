//! Old versions, and a disk that is full.

use surehand_core::{RunEvent, RunId};

use super::*;
use crate::{ProcessIdentity, Store};

/// A database as version `version` left it.
async fn old(path: &Path, version: i64) -> SqliteConnection {
    let mut connection = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .connect()
        .await
        .unwrap();
    MIGRATOR.run_to(version, &mut connection).await.unwrap();
    connection
}

#[tokio::test]
async fn every_old_version_is_brought_up_to_date() {
    let known: Vec<i64> = MIGRATOR.iter().map(|step| step.version).collect();
    assert!(known.is_sorted() && known.len() > 1, "{known:?}");
    for version in &known {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        let mut connection = old(&path, *version).await;
        let id = RunId::generate();
        sqlx::query(
            "INSERT INTO runs (id, toolset, tool, principal, channel, arguments, command, display, status,
                 created_at, completed_at, owner_pid, owner_started, owner_boot, owner_namespace, size)
             VALUES (?1, 'runbooks', 't', 'ada', 'stdio', '{}', '[]', 'true', 'success',
                 '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:01.000Z', 1, 1, 'boot', 1, 512)",
        )
        .bind(id.as_text())
        .execute(&mut connection)
        .await
        .unwrap();
        connection.close().await.unwrap();

        let store = SqliteStore::open(dir.path(), &SqliteOptions::default())
            .await
            .unwrap();
        assert_eq!(
            store.get(id).await.unwrap().unwrap().summary.tool,
            "t",
            "from version {version}"
        );
        assert!(store.check().await.unwrap().is_empty());
        drop(store);
        let existing = SqliteStore::open_existing(dir.path(), &SqliteOptions::default())
            .await
            .unwrap();
        assert!(
            existing.unwrap().get(id).await.unwrap().is_some(),
            "from version {version}"
        );
    }
}

#[tokio::test]
async fn a_step_that_fails_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE_NAME);
    let mut connection = old(&path, 1).await;
    // What the second step wants to make is there already, with the first step's version.
    sqlx::query("CREATE TABLE chores (name TEXT)")
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
    let error = SqliteStore::open(dir.path(), &SqliteOptions::default())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("already exists"), "{error}");
    let mut connection = SqliteConnectOptions::new()
        .filename(&path)
        .connect()
        .await
        .unwrap();
    assert_eq!(version(&mut connection, &path).await.unwrap(), 1);
    let made: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema WHERE name = 'approvals'")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(made, 0, "all or nothing");
}

#[tokio::test]
async fn a_full_disk_is_told_from_other_trouble_and_passes() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path(), &SqliteOptions::default())
        .await
        .unwrap();
    // The nearest thing to a full disk: a database that may not grow (SQLITE_FULL either way).
    let limit = |pages: i64| {
        let store = &store;
        async move {
            let mut connection = store.connection().await.unwrap();
            sqlx::query(sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {pages}")))
                .execute(&mut *connection)
                .await
                .unwrap();
        }
    };
    limit(1).await;
    let id = RunId::generate();
    let event = RunEvent::Start(Box::new(surehand_core::RunStart {
        id,
        toolset: "runbooks".to_owned(),
        tool: "t".to_owned(),
        caller: surehand_core::Caller::new("ada", surehand_core::Channel::Stdio),
        arguments: serde_json::Map::new(),
        command: Vec::new(),
        display: "x".repeat(100_000),
        cwd: None,
        status: surehand_core::RunStatus::Running,
        at: jiff::Timestamp::now(),
        answer: None,
    }));
    let owner = ProcessIdentity::current();
    let error = store
        .apply(&owner, std::slice::from_ref(&event))
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    store.apply(&owner, &[event]).await.unwrap();
    assert!(store.get(id).await.unwrap().is_some());
}

#[tokio::test]
async fn the_connection_is_set_as_promised() {
    for (sync_full, expected) in [(false, 1), (true, 2)] {
        let dir = tempfile::tempdir().unwrap();
        let options = SqliteOptions {
            sync_full,
            ..SqliteOptions::default()
        };
        let store = SqliteStore::open(dir.path(), &options).await.unwrap();
        let mut connection = store.connection().await.unwrap();
        let mode: String = sqlx::query_scalar("PRAGMA journal_mode")
            .fetch_one(&mut *connection)
            .await
            .unwrap();
        assert_eq!(mode, "wal");
        for (pragma, value) in [
            ("synchronous", expected),
            ("foreign_keys", 1),
            ("auto_vacuum", 2),
            ("busy_timeout", 5_000),
        ] {
            let found: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(format!("PRAGMA {pragma}")))
                .fetch_one(&mut *connection)
                .await
                .unwrap();
            assert_eq!(found, value, "{pragma}");
        }
    }
}

#[tokio::test]
async fn a_database_whose_making_was_killed_half_way_is_opened() {
    let (dir, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    drop(
        SqliteStore::open(dir.path(), &SqliteOptions::default())
            .await
            .unwrap(),
    );
    let path = dir.path().join(FILE_NAME);
    let mut connection = SqliteConnectOptions::new()
        .filename(&path)
        .journal_mode(SqliteJournalMode::Delete)
        .pragma("cache_size", "1")
        .connect()
        .await
        .unwrap();
    for statement in [
        "BEGIN IMMEDIATE",
        "CREATE TABLE half AS SELECT randomblob(100000) AS x",
        "CREATE INDEX i ON half (x)",
    ] {
        sqlx::query(statement).execute(&mut connection).await.unwrap();
    }
    // What a SIGKILL leaves: both files as they are in the middle of the transaction.
    let journal = format!("{FILE_NAME}-journal");
    for name in [FILE_NAME, &journal] {
        std::fs::copy(dir.path().join(name), killed.path().join(name)).unwrap();
    }
    assert!(std::fs::metadata(killed.path().join(&journal)).unwrap().len() > 0);
    let store = SqliteStore::open(killed.path(), &SqliteOptions::default())
        .await
        .unwrap();
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}
