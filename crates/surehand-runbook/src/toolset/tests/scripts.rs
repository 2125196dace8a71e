//! What a call does with the script's file before it runs.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Fixture, call, cx, options, plan, toolset};
use crate::toolset::Runbooks;

/// So large that hashing it would take minutes in a test, and yet takes no place on disk.
const LARGE: u64 = 20 << 30;

fn grow(fixture: &Fixture, length: u64) {
    std::fs::OpenOptions::new()
        .write(true)
        .open(fixture.path("a.sh"))
        .unwrap()
        .set_len(length)
        .unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "current_thread")]
async fn a_script_that_became_something_else_is_refused_at_once() {
    let fixture = Fixture::new(json!([
        {"name": "plain"}, {"name": "asks", "confirm": true}, {"name": "shown", "dryRun": true}
    ]));
    let toolset = fixture.toolset();
    std::fs::remove_file(fixture.path("a.sh")).unwrap();
    crate::regular_file::make_pipe(&fixture.path("a.sh"));
    for (name, arguments) in [
        ("plain", json!({})),
        ("asks", json!({})),
        ("shown", json!({"dryRun": true})),
    ] {
        let refused = plan(&toolset, name, arguments).await.unwrap_err().to_string();
        assert_eq!(
            refused,
            format!(
                "Refused: {name}: the script is a named pipe, not a file: {}",
                fixture.path("a.sh").display()
            )
        );
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_pinned_script_that_becomes_a_pipe_before_the_run_is_refused() {
    let fixture = Fixture::new(json!([{"name": "t"}]));
    let digest = hex::encode(crate::script::sha256(&fixture.path("a.sh")).unwrap());
    fixture.write(json!([{"name": "t", "sha256": digest}]));
    let prepared = fixture
        .toolset()
        .prepare(&cx(), call("t", json!({})))
        .await
        .unwrap();
    std::fs::remove_file(fixture.path("a.sh")).unwrap();
    crate::regular_file::make_pipe(&fixture.path("a.sh"));
    let refused = (prepared.work)(cx()).await.unwrap_err().to_string();
    assert!(refused.contains("is a named pipe, not a file"), "{refused}");
}

#[tokio::test(flavor = "current_thread")]
async fn only_what_is_bound_to_a_scripts_bytes_reads_them() {
    let fixture = Fixture::new(json!([
        {"name": "plain", "destructive": true, "dryRun": true},
        {"name": "shown", "confirm": true, "dryRun": true},
        {"name": "asks", "confirm": true}
    ]));
    let toolset = fixture.toolset();
    grow(&fixture, LARGE);
    let begun = Instant::now();
    let before = plan(&toolset, "plain", json!({})).await.unwrap().digest;
    plan(&toolset, "shown", json!({"dryRun": true})).await.unwrap();
    // Too large to be read: bound to what is known of the file.
    let asked = plan(&toolset, "asks", json!({})).await.unwrap().digest;
    grow(&fixture, LARGE + 1);
    assert_ne!(plan(&toolset, "plain", json!({})).await.unwrap().digest, before);
    assert_ne!(plan(&toolset, "asks", json!({})).await.unwrap().digest, asked);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "current_thread")]
async fn hashing_a_large_script_keeps_nobody_waiting() {
    let fixture = Fixture::new(json!([{"name": "asks", "confirm": true}, {"name": "plain"}]));
    grow(&fixture, 64 << 20);
    let toolset = fixture.toolset();
    let slow = tokio::spawn({
        let toolset = std::sync::Arc::clone(&toolset);
        async move { plan(&toolset, "asks", json!({})).await }
    });
    tokio::task::yield_now().await;
    assert!(plan(&toolset, "plain", json!({})).await.is_ok());
    assert!(!slow.is_finished(), "it was hashed on the thread of all");
    assert!(slow.await.unwrap().is_ok());
}

#[tokio::test]
async fn a_pinned_script_that_is_too_large_is_refused() {
    let fixture = Fixture::new(json!([{"name": "t"}]));
    let digest = hex::encode(crate::script::sha256(&fixture.path("a.sh")).unwrap());
    fixture.write(json!([{"name": "t", "sha256": digest}]));
    let toolset = fixture.toolset();
    grow(&fixture, LARGE);
    let refused = plan(&toolset, "t", json!({})).await.unwrap_err().to_string();
    assert!(refused.contains("is larger than 1024 MiB"), "{refused}");
}

#[cfg(unix)]
#[tokio::test]
async fn fault_15_a_lock_is_the_same_by_whichever_link_the_manifest_was_named() {
    let runbooks: Value = json!([{"name": "wipe", "destructive": true}]);
    let fixture = Fixture::new(runbooks);
    let links = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(fixture.folder.path(), links.path().join("folder")).unwrap();
    std::os::unix::fs::symlink("runbooks.json", fixture.path("alias.json")).unwrap();
    let real = fixture.path("runbooks.json").canonicalize().unwrap();
    let shared = format!("runbook:{}:wipe", real.display());
    for path in [
        fixture.path("runbooks.json"),
        links.path().join("folder/runbooks.json"),
        fixture.path("alias.json"),
    ] {
        let runbooks = Runbooks::load(std::slice::from_ref(&path), options()).unwrap();
        let locks = plan(&toolset(&runbooks), "wipe", json!({})).await.unwrap().locks;
        let keys: Vec<&str> = locks.iter().map(|lock| lock.key.as_str()).collect();
        assert!(keys.contains(&&*shared), "{keys:?}");
        // Where a link is exchanged while calls run, they exclude each other by its own name.
        let named = format!("runbook:{}:wipe", path.display());
        assert!(keys.contains(&&*named), "{keys:?}");
        assert!(locks.iter().all(|lock| lock.limit == 1));
    }
}
