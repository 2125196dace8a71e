//! Runs, stores and a log to look at.

use std::{
    path::Path,
    sync::{Mutex, OnceLock},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use surehand_core::{
    ApprovalRequest, Caller, Channel, ClientInfo, RunEnd, RunEvent, RunId, RunStart, RunStatus, StreamName,
    StreamRecord,
};
use surehand_store::{ProcessIdentity, SqliteOptions, SqliteStore, Store};

pub(crate) fn me() -> ProcessIdentity {
    ProcessIdentity::current()
}

/// A process that is gone for certain: of another start of the machine.
pub(crate) fn dead() -> ProcessIdentity {
    ProcessIdentity {
        boot: "0".repeat(36),
        ..me()
    }
}

pub(crate) async fn open(dir: &Path) -> SqliteStore {
    SqliteStore::open(dir, &SqliteOptions::default()).await.unwrap()
}

/// The id of the `n`th run made at `at`.
pub(crate) fn id_at(at: Timestamp, n: u64) -> RunId {
    let ms = format!("{:012x}", at.as_millisecond());
    format!("{}-{}-7000-8000-{n:012x}", &ms[..8], &ms[8..])
        .parse()
        .unwrap()
}

pub(crate) fn arguments() -> Map<String, Value> {
    let Value::Object(arguments) = json!({"days": 30, "path": "/tmp/x y", "deep": {"list": [1, null, "ü"]}})
    else {
        unreachable!()
    };
    arguments
}

pub(crate) fn run(id: RunId) -> RunStart {
    let mut caller = Caller::new("ada", Channel::Stdio);
    caller.client = Some(ClientInfo {
        name: "claude-code".to_owned(),
        version: "2.1".to_owned(),
    });
    RunStart {
        id,
        toolset: "runbooks".to_owned(),
        tool: "cleanup".to_owned(),
        caller,
        arguments: arguments(),
        command: vec!["bash".to_owned(), "clean.sh".to_owned(), "--days=30".to_owned()],
        display: "bash clean.sh --days=30".to_owned(),
        cwd: Some("/srv".to_owned()),
        status: RunStatus::Scheduled,
        at: Timestamp::now(),
        answer: None,
    }
}

pub(crate) fn start(id: RunId) -> RunEvent {
    RunEvent::Start(Box::new(run(id)))
}

pub(crate) fn start_of(id: RunId, tool: &str, at: Timestamp) -> RunEvent {
    RunEvent::Start(Box::new(RunStart {
        tool: tool.to_owned(),
        at,
        ..run(id)
    }))
}

pub(crate) fn running(id: RunId) -> RunEvent {
    RunEvent::Running {
        id,
        at: Timestamp::now(),
    }
}

pub(crate) fn output(id: RunId, stream: StreamName, text: &[u8]) -> RunEvent {
    RunEvent::Output {
        id,
        record: StreamRecord {
            stream,
            total_bytes: text.len() as u64 + 7,
            kept_bytes: text.len() as u64,
            sha256: "ab".repeat(32),
            inline: Some(text.to_vec()),
        },
    }
}

pub(crate) fn end(id: RunId, status: RunStatus) -> RunEvent {
    end_at(id, status, Timestamp::now())
}

pub(crate) fn end_at(id: RunId, status: RunStatus, at: Timestamp) -> RunEvent {
    RunEvent::End(Box::new(RunEnd {
        id,
        at,
        status,
        exit_code: Some(0),
        signal: None,
        error: None,
        duration_ms: 42,
    }))
}

/// A whole run that took no time.
pub(crate) async fn ended(store: &dyn Store, id: RunId, tool: &str, status: RunStatus, at: Timestamp) {
    store
        .apply(&me(), &[start_of(id, tool, at), end_at(id, status, at)])
        .await
        .unwrap();
}

pub(crate) fn request(digest: &str, at: Timestamp) -> ApprovalRequest {
    ApprovalRequest {
        run: RunStart {
            status: RunStatus::PendingApproval,
            at,
            ..run(RunId::generate())
        },
        digest: digest.to_owned(),
    }
}

pub(crate) async fn status(store: &dyn Store, id: RunId) -> RunStatus {
    store.get(id).await.unwrap().unwrap().summary.status
}

pub(crate) fn secs(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

/// Until `done` says so; fails after ten seconds.
pub(crate) async fn until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    for _ in 0..500 {
        if done().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("never: {what}");
}

/// The lines that all threads of this test program logged and that name `what`.
pub(crate) fn logged(what: &Path) -> Vec<String> {
    let text = String::from_utf8_lossy(&log().lock().unwrap()).into_owned();
    let what = what.display().to_string();
    text.lines()
        .filter(|line| line.contains(&what))
        .map(str::to_owned)
        .collect()
}

/// Must be called before what is to be logged.
pub(crate) fn watch_log() {
    log();
}

fn log() -> &'static Mutex<Vec<u8>> {
    static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    static WATCHED: OnceLock<()> = OnceLock::new();
    struct Sink;
    impl std::io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            LOG.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    WATCHED.get_or_init(|| {
        tracing_subscriber::fmt()
            .with_ansi(false)
            .with_max_level(tracing::Level::INFO)
            .with_writer(|| Sink)
            .init();
    });
    &LOG
}
