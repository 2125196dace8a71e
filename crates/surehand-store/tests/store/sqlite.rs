//! What is particular to a file: privacy, versions, damage.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::Path,
    time::Duration,
};

use sqlx::{ConnectOptions, Connection, sqlite::SqliteConnectOptions};
use surehand_core::{RunId, RunStatus, StreamName};
use surehand_store::{Fault, SqliteOptions, SqliteStore, Store, StoreError};

use crate::support::*;

async fn try_open(dir: &Path) -> Result<SqliteStore, StoreError> {
    let options = SqliteOptions {
        busy_timeout: Duration::from_millis(300),
        ..SqliteOptions::default()
    };
    SqliteStore::open(dir, &options).await
}

async fn raw(dir: &Path) -> sqlx::SqliteConnection {
    SqliteConnectOptions::new()
        .filename(dir.join("history.db"))
        .create_if_missing(true)
        .connect()
        .await
        .unwrap()
}

/// Every file in `dir`, by name and content.
fn content(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (
                entry.file_name().into_string().unwrap(),
                fs::read(entry.path()).unwrap(),
            )
        })
        .collect();
    files.sort();
    files
}

#[tokio::test]
async fn all_is_private_from_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state/surehand");
    let store = open(&state).await;
    let id = RunId::generate();
    store.apply(&me(), &[start(id)]).await.unwrap();
    for path in [dir.path().join("state"), state.clone()] {
        assert_eq!(
            fs::metadata(&path).unwrap().mode() & 0o777,
            0o700,
            "{}",
            path.display()
        );
    }
    for (name, _) in content(&state) {
        assert_eq!(
            fs::metadata(state.join(&name)).unwrap().mode() & 0o777,
            0o600,
            "{name}"
        );
    }
    assert!(state.join("history.db-wal").exists(), "write-ahead log is on");
}

#[tokio::test]
async fn what_others_can_read_is_closed_to_them() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()).await);
    let file = dir.path().join("history.db");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    drop(open(dir.path()).await);
    assert_eq!(fs::metadata(dir.path()).unwrap().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn what_others_can_write_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    fs::create_dir(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
    let error = try_open(&state).await.unwrap_err();
    assert_eq!(error.fault(), Some(Fault::NotPrivate));
    assert!(
        error
            .to_string()
            .contains("can be written by other users (mode 0777)"),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("chmod go-w"));
    assert!(content(&state).is_empty(), "nothing was made");

    fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let error = try_open(&state).await.unwrap_err();
    assert!(
        error.to_string().contains("(mode 0777)"),
        "a parent that lets others swap it: {error}"
    );
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    try_open(&state).await.unwrap();
}

#[tokio::test]
async fn another_users_directory_is_refused() {
    if !rustix::process::geteuid().is_root() {
        // Only root can give a directory away; for everybody else there is one that is root's.
        let error = try_open(Path::new("/usr")).await.unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("/usr belongs to user id 0, not to you"),
            "{error}"
        );
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    fs::create_dir(&state).unwrap();
    std::os::unix::fs::chown(&state, Some(65534), Some(65534)).unwrap();
    let error = try_open(&state).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("belongs to user id 65534, not to you (user id 0)"),
        "{error}"
    );
    // A link that another user made, in a directory where everybody may make some.
    let mine = dir.path().join("mine");
    fs::create_dir(&mine).unwrap();
    let link = dir.path().join("link");
    symlink(&mine, &link).unwrap();
    std::os::unix::fs::lchown(&link, Some(65534), Some(65534)).unwrap();
    let error = try_open(&link).await.unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("is a symbolic link that another user made"),
        "{error}"
    );
    assert!(content(&mine).is_empty());
    // A link of one's own is one's own business.
    let own = dir.path().join("own");
    symlink(&mine, &own).unwrap();
    try_open(&own).await.unwrap();
}

#[tokio::test]
async fn a_database_that_is_a_link_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (state, elsewhere) = (dir.path().join("state"), dir.path().join("precious"));
    fs::create_dir(&state).unwrap();
    fs::write(&elsewhere, "precious").unwrap();
    symlink(&elsewhere, state.join("history.db")).unwrap();
    let error = try_open(&state).await.unwrap_err();
    assert!(
        error.to_string().contains("history.db is a symbolic link"),
        "{error}"
    );
    assert_eq!(fs::read(&elsewhere).unwrap(), b"precious");
    fs::remove_file(state.join("history.db")).unwrap();
    fs::create_dir(state.join("history.db")).unwrap();
    let error = try_open(&state).await.unwrap_err();
    assert!(error.to_string().ends_with("is not a file"), "{error}");
    let error = try_open(&elsewhere).await.unwrap_err();
    assert!(error.to_string().ends_with("is not a directory"), "{error}");
}

#[tokio::test]
async fn reading_makes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    let options = SqliteOptions::default();
    assert!(
        SqliteStore::open_existing(&state, &options)
            .await
            .unwrap()
            .is_none()
    );
    assert!(!state.exists());
    fs::create_dir(&state).unwrap();
    assert!(
        SqliteStore::open_existing(&state, &options)
            .await
            .unwrap()
            .is_none()
    );
    assert!(content(&state).is_empty());
    let id = RunId::generate();
    open(&state).await.apply(&me(), &[start(id)]).await.unwrap();
    let reader = SqliteStore::open_existing(&state, &options)
        .await
        .unwrap()
        .unwrap();
    assert!(reader.get(id).await.unwrap().is_some());
}

#[tokio::test]
async fn a_newer_version_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let id = RunId::generate();
    open(dir.path()).await.apply(&me(), &[start(id)]).await.unwrap();
    let mut connection = raw(dir.path()).await;
    sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'later', 1, x'00', 0)",
    )
    .execute(&mut connection)
    .await
    .unwrap();
    connection.close().await.unwrap();
    let before = fs::read(dir.path().join("history.db")).unwrap();
    let error = try_open(dir.path()).await.unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 9999, .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("was made by a newer version of Surehand"),
        "{error}"
    );
    let existing = SqliteStore::open_existing(dir.path(), &SqliteOptions::default()).await;
    assert!(matches!(existing, Err(StoreError::Newer { .. })));
    assert_eq!(fs::read(dir.path().join("history.db")).unwrap(), before);
}

#[tokio::test]
async fn another_programs_database_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut connection = raw(dir.path()).await;
    sqlx::query("CREATE TABLE accounts (name TEXT)")
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
    let before = fs::read(dir.path().join("history.db")).unwrap();
    let error = try_open(dir.path()).await.unwrap_err();
    assert!(
        error.to_string().contains("is not a history that Surehand made"),
        "{error}"
    );
    assert_eq!(fs::read(dir.path().join("history.db")).unwrap(), before);
}

#[tokio::test]
async fn a_changed_schema_step_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()).await);
    let mut connection = raw(dir.path()).await;
    sqlx::query("UPDATE _sqlx_migrations SET checksum = x'00' WHERE version = 1")
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
    assert_eq!(
        try_open(dir.path()).await.unwrap_err().fault(),
        Some(Fault::Foreign)
    );
}

#[tokio::test]
async fn a_damaged_file_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("history.db");
    fs::write(
        &file,
        b"this is no database, whatever else it may be. ".repeat(200),
    )
    .unwrap();
    let before = content(dir.path());
    let error = try_open(dir.path()).await.unwrap_err();
    assert_eq!(error.fault(), Some(Fault::Damaged), "{error}");
    assert!(error.hint().unwrap().contains("move"), "{:?}", error.hint());
    assert_eq!(content(dir.path()), before);
}

#[tokio::test]
async fn damage_inside_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    for _ in 0..200 {
        ended(
            &store,
            RunId::generate(),
            "t",
            RunStatus::Success,
            jiff::Timestamp::now(),
        )
        .await;
    }
    drop(store);
    raw(dir.path()).await.close().await.unwrap();
    let file = dir.path().join("history.db");
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    for byte in &mut bytes[middle..middle + 3 * 4096] {
        *byte ^= 0x5a;
    }
    fs::write(&file, &bytes).unwrap();
    let found = match try_open(dir.path()).await {
        Ok(store) => match store.check().await {
            Ok(problems) => !problems.is_empty(),
            Err(error) => error.fault() == Some(Fault::Damaged),
        },
        Err(error) => error.fault() == Some(Fault::Damaged),
    };
    assert!(found, "half of the file is nonsense");
}

#[tokio::test]
async fn a_locked_database_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let hasty = try_open(dir.path()).await.unwrap();
    let mut other = raw(dir.path()).await;
    let held = other.begin_with("BEGIN EXCLUSIVE").await.unwrap();
    let id = RunId::generate();
    let error = hasty.apply(&me(), &[start(id)]).await.unwrap_err();
    assert_eq!(error.fault(), Some(Fault::Locked), "{error}");
    assert!(hasty.get(id).await.unwrap().is_none(), "reading goes on");
    let release = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        held.rollback().await.unwrap();
    };
    let events = [start(id)];
    let owner = me();
    let (written, ()) = tokio::join!(store.apply(&owner, &events), release);
    written.unwrap();
    assert!(hasty.get(id).await.unwrap().is_some());
}

#[tokio::test]
async fn writing_to_a_file_that_is_gone_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    fs::remove_file(dir.path().join("history.db")).unwrap();
    let error = store.apply(&me(), &[start(RunId::generate())]).await.unwrap_err();
    assert_eq!(error.fault(), Some(Fault::Moved), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_that_open_a_new_store_at_once_all_succeed() {
    for _ in 0..5 {
        let dir = tempfile::tempdir().unwrap();
        let mut openers = Vec::new();
        for _ in 0..8 {
            let dir = dir.path().to_owned();
            openers.push(tokio::spawn(async move {
                open(&dir)
                    .await
                    .apply(&me(), &[start(RunId::generate())])
                    .await
                    .unwrap();
            }));
        }
        for opener in openers {
            opener.await.unwrap();
        }
        let page = open(dir.path())
            .await
            .list(&surehand_store::RunFilter::default())
            .await
            .unwrap();
        assert_eq!(page.runs.len(), 8);
    }
}

#[tokio::test]
async fn a_change_by_another_is_noticed_and_ones_own_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (open(dir.path()).await, open(dir.path()).await);
    assert!(one.changed().await.unwrap(), "at first");
    assert!(!one.changed().await.unwrap());
    one.apply(&me(), &[start(RunId::generate())]).await.unwrap();
    assert!(!one.changed().await.unwrap());
    other.apply(&me(), &[start(RunId::generate())]).await.unwrap();
    assert!(one.changed().await.unwrap());
    assert!(!one.changed().await.unwrap());
}

#[tokio::test]
async fn the_file_shrinks_when_runs_are_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let size = async || {
        let mut connection = raw(dir.path()).await;
        sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)")
            .execute(&mut connection)
            .await
            .unwrap();
        connection.close().await.unwrap();
        fs::metadata(dir.path().join("history.db")).unwrap().len()
    };
    let store = open(dir.path()).await;
    let text = vec![b'x'; 100_000];
    let mut ids = Vec::new();
    for _ in 0..50 {
        let id = RunId::generate();
        let events = [
            start(id),
            output(id, StreamName::Stdout, &text),
            end(id, RunStatus::Success),
        ];
        store.apply(&me(), &events).await.unwrap();
        ids.push(id);
    }
    let full = size().await;
    assert!(full > 5_000_000, "{full}");
    store.delete_runs(&ids).await.unwrap();
    let empty = size().await;
    assert!(empty < 500_000, "{empty}");
}
