//! The history as a serving process uses it.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use jiff::{SignedDuration, Timestamp};
use sqlx::{ConnectOptions, Connection, sqlite::SqliteConnectOptions};
use surehand_core::{Approvals, NoRecorder, Recorder, RunId, RunStatus, StreamName};
use surehand_store::{FlushError, History, HistoryConfig, RunFilter, SqliteStore, Store};

use crate::support::*;

const LONG: Duration = Duration::from_secs(20);

fn history(dir: &Path) -> History {
    watch_log();
    History::start(HistoryConfig::new(dir))
}

async fn reader(dir: &Path) -> SqliteStore {
    SqliteStore::open_existing(dir, &surehand_store::SqliteOptions::default())
        .await
        .unwrap()
        .unwrap()
}

#[tokio::test]
async fn nothing_is_made_before_something_happens() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    let history = history(&state);
    history.flush(LONG).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!state.exists());
    let id = RunId::generate();
    history.record(start(id));
    history.flush(LONG).await.unwrap();
    assert_eq!(status(&reader(&state).await, id).await, RunStatus::Scheduled);
    assert_eq!(NoRecorder.run_folder(id), None);
}

#[tokio::test]
async fn all_that_was_recorded_is_written_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let history = history(dir.path());
    let ids: Vec<RunId> = (0..3_000).map(|_| RunId::generate()).collect();
    for id in &ids {
        history.record(start(*id));
        history.record(running(*id));
        history.record(output(*id, StreamName::Stdout, b"hello"));
        history.record(end(*id, RunStatus::Success));
    }
    history.flush(LONG).await.unwrap();
    let store = reader(dir.path()).await;
    let mut seen = Vec::new();
    let mut before = None;
    loop {
        let filter = RunFilter {
            before,
            limit: 1_000,
            statuses: vec![RunStatus::Success],
            ..RunFilter::default()
        };
        let page = store.list(&filter).await.unwrap();
        seen.extend(page.runs.iter().map(|run| run.id));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    seen.reverse();
    assert_eq!(seen, ids);
}

#[tokio::test]
async fn recording_costs_the_caller_nothing_while_the_store_is_locked() {
    let dir = tempfile::tempdir().unwrap();
    let history = history(dir.path());
    let first = RunId::generate();
    history.record(start(first));
    history.flush(LONG).await.unwrap();
    let mut other = SqliteConnectOptions::new()
        .filename(dir.path().join("history.db"))
        .connect()
        .await
        .unwrap();
    let held = other.begin_with("BEGIN EXCLUSIVE").await.unwrap();
    let begun = Instant::now();
    for _ in 0..1_000 {
        history.record(running(first));
    }
    history.record(end(first, RunStatus::Success));
    assert!(
        begun.elapsed() < Duration::from_millis(200),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(
        history.flush(Duration::from_millis(200)).await,
        Err(FlushError::Timeout)
    );
    let refused = history.take("ada", "cleanup", "d").await.unwrap_err();
    assert!(
        refused.to_string().contains("is locked by another process"),
        "{refused}"
    );
    held.rollback().await.unwrap();
    history.flush(LONG).await.unwrap();
    assert_eq!(status(&reader(dir.path()).await, first).await, RunStatus::Success);
    assert_eq!(
        logged(dir.path()),
        Vec::<String>::new(),
        "a short lock is nothing to tell"
    );
}

#[tokio::test]
async fn a_damaged_store_turns_history_off_and_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("history.db");
    fs::write(&file, b"nonsense ".repeat(1_000)).unwrap();
    let history = history(dir.path());
    let id = RunId::generate();
    for _ in 0..10 {
        history.record(start(id));
    }
    let Err(FlushError::Off(reason)) = history.flush(LONG).await else {
        panic!()
    };
    assert!(reason.contains("is damaged"), "{reason}");
    assert_eq!(history.is_off(), Some(reason));
    history.record(end(id, RunStatus::Success));
    assert_eq!(history.run_folder(id), None);
    assert!(
        history.take("ada", "cleanup", "d").await.is_err(),
        "an approval cannot be found: refused"
    );
    assert!(history.ask(request("d", Timestamp::now())).await.is_err());
    assert_eq!(fs::read(&file).unwrap(), b"nonsense ".repeat(1_000));
    let told = logged(dir.path());
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("ERROR") && told[0].contains("calls go on") && told[0].contains("move"),
        "{told:?}"
    );
}

#[tokio::test]
async fn an_unsafe_directory_turns_history_off() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    fs::create_dir(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
    let history = history(&state);
    assert_eq!(
        history.run_folder(RunId::generate()),
        None,
        "before anything is written there"
    );
    assert!(
        history
            .is_off()
            .unwrap()
            .contains("can be written by other users")
    );
    assert_eq!(fs::read_dir(&state).unwrap().count(), 0);
    assert_eq!(logged(&state).len(), 1);
}

#[tokio::test]
async fn a_deleted_store_is_begun_anew() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    let history = history(&state);
    history.record(start(RunId::generate()));
    history.flush(LONG).await.unwrap();
    fs::remove_dir_all(&state).unwrap();
    let id = RunId::generate();
    history.record(start(id));
    history.flush(LONG).await.unwrap();
    assert_eq!(status(&reader(&state).await, id).await, RunStatus::Scheduled);
    assert_eq!(logged(&state).len(), 1, "{:?}", logged(&state));
}

#[tokio::test]
async fn an_entry_that_makes_no_sense_costs_only_itself() {
    let dir = tempfile::tempdir().unwrap();
    let history = history(dir.path());
    let (bad, good) = (RunId::generate(), RunId::generate());
    history.record(start(bad));
    history.record(end(bad, RunStatus::Running));
    history.record(start(good));
    history.record(end(good, RunStatus::Success));
    history.flush(LONG).await.unwrap();
    let store = reader(dir.path()).await;
    assert_eq!(status(&store, bad).await, RunStatus::Scheduled);
    assert_eq!(status(&store, good).await, RunStatus::Success);
    assert!(logged(dir.path())[0].contains("this entry is lost"));
}

#[tokio::test]
async fn the_folders_are_private() {
    use std::os::unix::fs::MetadataExt;
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    let history = history(&state);
    let id = RunId::generate();
    assert_eq!(
        history.run_folder(id),
        Some(state.join("runs").join(id.as_text()))
    );
    for path in [&state, &state.join("runs")] {
        assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, 0o700);
    }
}

#[tokio::test]
async fn a_wish_to_cancel_is_told_once() {
    let dir = tempfile::tempdir().unwrap();
    let history = history(dir.path());
    let told = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&told);
    history.on_cancel(Arc::new(move |id| into.lock().unwrap().push(id)));
    let (one, other) = (RunId::generate(), RunId::generate());
    history.record(start(one));
    history.record(start(other));
    history.flush(LONG).await.unwrap();
    let store = reader(dir.path()).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(told.lock().unwrap().is_empty());
    let asked = Instant::now();
    store.request_cancel(one, "ada", Timestamp::now()).await.unwrap();
    until("the callback is called", async || {
        !told.lock().unwrap().is_empty()
    })
    .await;
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    store.request_cancel(one, "bob", Timestamp::now()).await.unwrap();
    // Whatever else is written makes it look again.
    store.apply(&me(), &[start(RunId::generate())]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(*told.lock().unwrap(), [one]);
    history.record(end(one, RunStatus::Cancelled));
    history.record(end(other, RunStatus::Success));
    history.flush(LONG).await.unwrap();
    assert_eq!(status(&store, one).await, RunStatus::Cancelled);
}

/// The wish comes between the taking of a yes and the start of the run: the run is not this process's yet.
#[tokio::test]
async fn a_wish_that_comes_before_the_start_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let history = history(dir.path());
    let told = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&told);
    history.on_cancel(Arc::new(move |id| into.lock().unwrap().push(id)));
    let running = RunId::generate();
    history.record(start(running));
    let waiting = history.ask(request("d", Timestamp::now())).await.unwrap();
    let store = reader(dir.path()).await;
    store.approve(waiting, "bob", Timestamp::now()).await.unwrap();
    assert_eq!(history.take("ada", "cleanup", "d").await.unwrap(), Some(waiting));
    store
        .request_cancel(waiting, "eve", Timestamp::now())
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    history.record(start(waiting));
    until("the callback is called", async || {
        !told.lock().unwrap().is_empty()
    })
    .await;
    assert_eq!(*told.lock().unwrap(), [waiting]);
}

#[tokio::test]
async fn a_callback_that_panics_costs_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let history = history(dir.path());
    history.on_cancel(Arc::new(|_| panic!("on purpose")));
    let id = RunId::generate();
    history.record(start(id));
    history.flush(LONG).await.unwrap();
    let store = reader(dir.path()).await;
    store.request_cancel(id, "ada", Timestamp::now()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(600)).await;
    history.record(end(id, RunStatus::Cancelled));
    history.flush(LONG).await.unwrap();
    assert_eq!(status(&store, id).await, RunStatus::Cancelled);
}

#[tokio::test]
async fn an_approval_goes_from_hand_to_hand() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (history(dir.path()), history(dir.path()));
    let id = one.ask(request("d", Timestamp::now())).await.unwrap();
    assert_eq!(other.ask(request("d", Timestamp::now())).await.unwrap(), id);
    assert_eq!(one.take("ada", "cleanup", "d").await.unwrap(), None);
    let store = reader(dir.path()).await;
    store.approve(id, "bob", Timestamp::now()).await.unwrap();
    let (first, second) = tokio::join!(one.take("ada", "cleanup", "d"), other.take("ada", "cleanup", "d"));
    let won: Vec<RunId> = [first.unwrap(), second.unwrap()].into_iter().flatten().collect();
    assert_eq!(won, [id]);
    one.record(start(id));
    one.record(end(id, RunStatus::Success));
    one.flush(LONG).await.unwrap();
    assert_eq!(status(&store, id).await, RunStatus::Success);
}

#[tokio::test]
async fn what_is_old_is_forgotten_with_its_folder() {
    watch_log();
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let now = Timestamp::now();
    let days = |n: i64| SignedDuration::from_hours(24 * n);
    let mut old = Vec::new();
    for n in 0..250 {
        let id = id_at(now - days(40), n);
        ended(&store, id, "t", RunStatus::Success, now - days(40)).await;
        old.push(id);
    }
    let young = id_at(now - days(20), 0);
    ended(&store, young, "t", RunStatus::Success, now - days(20)).await;
    let unfinished = id_at(now - days(50), 0);
    store
        .apply(&me(), &[start_of(unfinished, "t", now - days(50))])
        .await
        .unwrap();
    let orphan = id_at(now - days(50), 1);
    let strange = store.run_folder(young).with_file_name("notes");
    for folder in [old[0], young, unfinished, orphan]
        .map(|id| store.run_folder(id))
        .iter()
        .chain([&strange])
    {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("stdout"), "x").unwrap();
        let long_ago = std::time::SystemTime::now() - Duration::from_hours(50 * 24);
        fs::File::open(folder).unwrap().set_modified(long_ago).unwrap();
    }
    let history = history(dir.path());
    history.record(start(RunId::generate()));
    history.flush(LONG).await.unwrap();
    until("the orphan is gone", async || !store.run_folder(orphan).exists()).await;
    assert_eq!(store.unknown(&old).await.unwrap().len(), 250);
    assert!(!store.run_folder(old[0]).exists());
    assert!(store.unknown(&[young, unfinished]).await.unwrap().is_empty());
    assert!(store.run_folder(young).join("stdout").exists());
    assert!(store.run_folder(unfinished).join("stdout").exists());
    assert!(strange.exists(), "not a run's");
    assert_eq!(status(&store, unfinished).await, RunStatus::Scheduled);
}

#[tokio::test]
async fn the_last_handle_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let history = history(dir.path());
    let id = RunId::generate();
    for _ in 0..100 {
        history.record(start(RunId::generate()));
    }
    history.record(start(id));
    drop(history);
    until("all is written", async || {
        match SqliteStore::open_existing(dir.path(), &surehand_store::SqliteOptions::default()).await {
            Ok(Some(store)) => store.get(id).await.is_ok_and(|found| found.is_some()),
            _ => false,
        }
    })
    .await;
}
