//! The library as a program that embeds it uses it: a manifest's toolset over a transport of its own.

use std::{fs, sync::Arc};

use serde_json::{Value, json};
use surehand_exec::{Executor, ExecutorConfig};
use surehand_mcp::{ServeOptions, serve};
use surehand_runbook::{RunbookOptions, Runbooks, load_manifest, validate_manifest};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

#[tokio::test]
async fn runbooks_are_served_over_any_transport() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runbooks.json");
    let manifest = json!({
        "version": 1,
        "runbooks": [{"name": "hello", "description": "Greets.", "script": "hello.sh", "interpreter": "sh"}]
    });
    assert!(validate_manifest(&manifest).is_empty());
    fs::write(&path, manifest.to_string()).unwrap();
    fs::write(folder.path().join("hello.sh"), "echo hello\n").unwrap();
    assert_eq!(load_manifest(&path).unwrap().runbooks.len(), 1);

    // A dry run starts no process, so this program need not be prepared to be executed again.
    let options = RunbookOptions {
        dry_run: true,
        ..RunbookOptions::default()
    };
    let runbooks = Runbooks::load(&[path], options).unwrap();
    let toolset = runbooks.toolset(Executor::new(ExecutorConfig::default()));

    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(theirs);
    let served = tokio::spawn(serve(
        Arc::clone(&toolset),
        reader,
        writer,
        ServeOptions::new("embedded", "1", "somebody"),
    ));
    let (answers, mut requests) = tokio::io::split(ours);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "hello", "arguments": {}}});
    requests.write_all(format!("{call}\n").as_bytes()).await.unwrap();
    let line = BufReader::new(answers)
        .lines()
        .next_line()
        .await
        .unwrap()
        .unwrap();
    let answer: Value = serde_json::from_str(&line).unwrap();
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("DRY RUN — hello would run:\n$ sh "), "{answer}");
    drop(requests);
    served.abort();
}

#[tokio::test]
async fn a_program_that_is_not_prepared_is_told_so() {
    let executor = Executor::new(ExecutorConfig::default());
    let run = surehand_exec::Run::new(
        surehand_exec::Command {
            program: "true".into(),
            args: Vec::new(),
            cwd: "/".into(),
            env: Vec::new(),
            stdin: surehand_exec::Stdin::Null,
            confinement: None,
        },
        surehand_exec::Limits::default(),
    );
    let refused = Box::pin(executor.run(run)).await.unwrap_err().to_string();
    assert!(refused.contains("take_over"), "{refused}");
}
