//! Locks between processes: two hosts on one lock folder, and a process that is killed.

use std::{
    env,
    path::Path,
    process::{Child, Command},
    sync::Arc,
    time::{Duration, Instant},
};

use surehand_core::{CallError, Caller, Channel, Ctx};
use surehand_host::Host;
use tokio_util::sync::CancellationToken;

use crate::fakes::{Door, Fake, FakeTool, Memory, ada, builder, ok, outcome, run, tool, until, watched};

const FOLDER: &str = "LOCK_TEST_FOLDER";

async fn host_on(folder: &Path, tools: impl IntoIterator<Item = FakeTool>) -> (Host, Arc<Memory>) {
    let memory = Arc::new(Memory::default());
    let host = builder(&memory)
        .toolset(Fake::new("fake", tools))
        .lock_folder(Some(folder.join("locks")))
        .build()
        .await
        .unwrap();
    (host, memory)
}

#[tokio::test]
async fn two_hosts_on_one_folder_exclude_each_other() {
    let home = tempfile::tempdir().unwrap();
    let door = Door::new();
    let (left, _) = host_on(home.path(), [door.tool("deploy").lock("db", 1)]).await;
    let (right, _) = host_on(
        home.path(),
        [tool("report", |_| async { ok("ran") }).lock("db", 1)],
    )
    .await;
    let holding = tokio::spawn(async move { run(&left, &ada(), "deploy").await });
    door.until_arrived(1).await;
    let (cx, heard) = watched();
    let waiting = tokio::spawn(async move { run(&right, &cx, "report").await });
    until(|| !heard.lock().unwrap().is_empty()).await;
    assert_eq!(
        heard.lock().unwrap()[0].message,
        "waiting for another process (lock db)"
    );
    assert!(!waiting.is_finished());
    door.let_through(1);
    outcome(holding.await.unwrap());
    assert_eq!(outcome(waiting.await.unwrap()).joined_text(), "ran");
}

#[tokio::test]
async fn a_wait_for_another_process_can_be_withdrawn() {
    let home = tempfile::tempdir().unwrap();
    let door = Door::new();
    let (left, _) = host_on(home.path(), [door.tool("deploy").lock("db", 1)]).await;
    let (right, memory) = host_on(home.path(), [door.tool("report").lock("db", 1)]).await;
    let holding = tokio::spawn(async move { run(&left, &ada(), "deploy").await });
    door.until_arrived(1).await;
    let cancel = CancellationToken::new();
    let cx = Ctx::builder(Caller::new("ada", Channel::Stdio))
        .cancel(cancel.clone())
        .build();
    let waiting = tokio::spawn(async move { run(&right, &cx, "report").await });
    until(|| !memory.events().is_empty()).await;
    cancel.cancel();
    assert!(matches!(waiting.await.unwrap(), Err(CallError::Cancelled)));
    assert_eq!(memory.story(), ["scheduled", "cancelled"]);
    door.let_through(1);
    outcome(holding.await.unwrap());
}

#[tokio::test]
async fn a_lock_folder_that_cannot_be_used_refuses_calls_that_need_a_lock_and_no_other() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("locks"), "a file").unwrap();
    let (host, memory) = host_on(
        home.path(),
        [
            tool("destroy", |_| async { ok("ran") }).lock("db", 1),
            tool("look", |_| async { ok("ran") }),
        ],
    )
    .await;
    let refusal = run(&host, &ada(), "destroy").await.unwrap_err();
    assert!(matches!(refusal, CallError::Unavailable(_)), "{refusal:?}");
    let text = refusal.to_string();
    assert!(text.contains("destroy") && text.contains("locks"), "{text}");
    assert_eq!(memory.story(), ["scheduled", "failed"]);
    outcome(run(&host, &ada(), "look").await);
}

/// Not a test by itself: the other process of the test below.
#[tokio::test]
async fn other_process_holding_a_lock() {
    let Ok(folder) = env::var(FOLDER) else {
        return;
    };
    let folder = Path::new(&folder);
    let marker = folder.join("held");
    let (host, _) = host_on(
        folder,
        [tool("hold", move |_| {
            std::fs::write(&marker, "").unwrap();
            async {
                tokio::time::sleep(Duration::from_mins(1)).await;
                ok("done")
            }
        })
        .lock("db", 1)],
    )
    .await;
    outcome(run(&host, &ada(), "hold").await);
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It may be dead already, which is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_lock_dies_with_its_process() {
    let home = tempfile::tempdir().unwrap();
    let other = Command::new(env::current_exe().unwrap())
        .args(["locking::other_process_holding_a_lock", "--exact", "--nocapture"])
        .env(FOLDER, home.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut other = Killed(other);
    until(|| home.path().join("held").exists()).await;
    let (host, memory) = host_on(home.path(), [tool("next", |_| async { ok("ran") }).lock("db", 1)]).await;
    let waiting = tokio::spawn(async move { run(&host, &ada(), "next").await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(memory.story(), ["scheduled"]);
    other.0.kill().unwrap();
    let killed = Instant::now();
    assert_eq!(outcome(waiting.await.unwrap()).joined_text(), "ran");
    assert!(killed.elapsed() < Duration::from_secs(1));
}
