//! Several processes, and their deaths. This test program runs itself again in the roles below.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use surehand_core::{Recorder, RunId, RunStatus, StreamName};
use surehand_store::{FlushError, History, HistoryConfig, RunFilter, SqliteOptions, SqliteStore, Store};

use crate::support::*;

const LONG: Duration = Duration::from_secs(30);
const ROLE: &str = "STORE_TEST_ROLE";
const DIR: &str = "STORE_TEST_DIR";

fn in_role(role: &str, dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "processes::plays_a_role",
            "--exact",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(ROLE, role)
        .env(DIR, dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
    command
}

/// What a child said, line by line, without the test runner's own words.
fn said(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| line.split_once("SAYS ").map(|(_, said)| said.to_owned()))
}

#[test]
#[ignore = "played by the children of other tests"]
fn plays_a_role() {
    let (Ok(role), Ok(dir)) = (std::env::var(ROLE), std::env::var(DIR)) else {
        return;
    };
    let dir = Path::new(&dir);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        match role.as_str() {
            "records until killed" => {
                let history = History::start(HistoryConfig::new(dir));
                loop {
                    let id = RunId::generate();
                    history.record(start(id));
                    history.record(running(id));
                    history.flush(LONG).await.unwrap();
                    println!("SAYS {id}");
                    // Some end, some are caught in the middle.
                    if id.as_text().ends_with(['0', '1', '2', '3']) {
                        history.record(end(id, RunStatus::Success));
                    }
                }
            }
            "writes a thousand runs" => {
                let history = History::start(HistoryConfig::new(dir));
                for n in 0..1_000 {
                    let id = RunId::generate();
                    history.record(start(id));
                    history.record(running(id));
                    history.record(output(id, StreamName::Stdout, b"hello"));
                    history.record(end(id, RunStatus::Success));
                    if n % 10 == 0 {
                        history.flush(LONG).await.unwrap();
                    }
                }
                history.flush(LONG).await.unwrap();
                println!("SAYS done");
            }
            "cannot write" => {
                watch_log();
                let history = History::start(HistoryConfig::new(dir));
                let begun = Instant::now();
                let id = RunId::generate();
                history.record(start(id));
                history.record(end(id, RunStatus::Success));
                println!(
                    "SAYS recorded in time: {}",
                    begun.elapsed() < Duration::from_millis(100)
                );
                println!(
                    "SAYS {:?}",
                    history.flush(Duration::from_secs(1)).await == Err(FlushError::Failing)
                );
                println!("SAYS {:?}", history.run_folder(id));
                for line in logged(dir) {
                    println!("SAYS {line}");
                }
                if let Err(error) = SqliteStore::open_existing(dir, &SqliteOptions::default()).await {
                    println!("SAYS reader: {error}");
                }
            }
            other => panic!("no such role: {other}"),
        }
    });
}

#[tokio::test]
async fn a_killed_process_loses_nothing_that_was_flushed_and_leaves_nothing_running() {
    for _ in 0..5 {
        let dir = tempfile::tempdir().unwrap();
        let mut child = in_role("records until killed", dir.path()).spawn().unwrap();
        let mut lines = said(&mut child);
        let mut flushed: Vec<RunId> = lines
            .by_ref()
            .take(20)
            .map(|line| line.parse().unwrap())
            .collect();
        let store = open(dir.path()).await;
        assert!(
            store.settle(Timestamp::now()).await.unwrap().is_empty(),
            "it lives"
        );
        child.kill().unwrap(); // SIGKILL
        flushed.extend(lines.map(|line| line.parse::<RunId>().unwrap()));
        // It is not reaped: soon a zombie, and then its runs are over.
        let filter = RunFilter {
            statuses: vec![RunStatus::Running, RunStatus::Scheduled],
            ..RunFilter::default()
        };
        until("nothing is shown as running", async || {
            store.list(&filter).await.unwrap().runs.is_empty()
        })
        .await;
        let mut interrupted = 0;
        for id in flushed {
            let run = store
                .get(id)
                .await
                .unwrap()
                .expect("what was flushed is there")
                .summary;
            if run.status == RunStatus::Failed {
                assert_eq!(
                    run.error.as_deref(),
                    Some("interrupted: the serving process ended")
                );
                interrupted += 1;
            } else {
                assert_eq!(run.status, RunStatus::Success);
            }
        }
        assert!(interrupted > 0);
        assert!(store.check().await.unwrap().is_empty());
        child.wait().unwrap();
    }
}

#[tokio::test]
async fn processes_that_write_at_once_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut children: Vec<Child> = (0..3)
        .map(|_| in_role("writes a thousand runs", dir.path()).spawn().unwrap())
        .collect();
    let own = History::start(HistoryConfig::new(dir.path()));
    for _ in 0..1_000 {
        let id = RunId::generate();
        own.record(start(id));
        own.record(end(id, RunStatus::Success));
    }
    own.flush(LONG).await.unwrap();
    for child in &mut children {
        assert_eq!(said(child).collect::<Vec<_>>(), ["done"]);
        assert!(child.wait().unwrap().success());
    }
    let store = open(dir.path()).await;
    let mut count = 0;
    let mut before = None;
    loop {
        let filter = RunFilter {
            statuses: vec![RunStatus::Success],
            before,
            limit: 1_000,
            ..RunFilter::default()
        };
        let page = store.list(&filter).await.unwrap();
        count += page.runs.len();
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(count, 4_000);
    assert!(store.check().await.unwrap().is_empty());
}

/// As a user without rights: root may write anywhere.
#[test]
fn a_directory_that_cannot_be_written_stops_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    fs::create_dir(&state).unwrap();
    let mut command = in_role("cannot write", &state);
    if rustix::process::geteuid().is_root() {
        // The test program itself may lie where only root can read.
        let copy = dir.path().join("test-program");
        fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
        std::os::unix::fs::chown(&state, Some(65534), Some(65534)).unwrap();
        make_readable(dir.path(), 0o755);
        make_readable(&copy, 0o755);
        let arguments: Vec<_> = command.get_args().map(std::ffi::OsStr::to_owned).collect();
        command = Command::new(&copy);
        command
            .args(arguments)
            .env(ROLE, "cannot write")
            .env(DIR, &state)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .uid(65534)
            .gid(65534);
    }
    make_readable(&state, 0o500);
    let mut child = command.spawn().unwrap();
    let lines: Vec<String> = said(&mut child).collect();
    assert!(child.wait().unwrap().success());
    make_readable(&state, 0o700);
    assert_eq!(lines[..3], ["recorded in time: true", "true", "None"]);
    assert!(lines[3..].len() <= 2, "each kind is told once: {lines:?}");
    assert!(
        lines[3..].iter().any(|line| line.contains("may not be written")),
        "{lines:?}"
    );
    assert!(
        lines[3..].iter().any(|line| line.contains("hint=")),
        "what to do: {lines:?}"
    );
    assert_eq!(fs::read_dir(&state).unwrap().count(), 0);
}

fn make_readable(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
