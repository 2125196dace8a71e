//! The end of the input, of the output, and of the server.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use surehand_mcp::{Ended, ServeOptions};

use crate::harness::{Client, Fake, eventually, options};

fn patient(grace: Duration) -> ServeOptions {
    ServeOptions {
        eof_grace: grace,
        ..options()
    }
}

#[tokio::test]
async fn what_was_piped_in_is_answered_and_then_it_ends() {
    let mut client = Client::new();
    for id in 0..200 {
        client.call(id, "sleep", &json!({"ms": 50})).await;
    }
    let begun = Instant::now();
    let (answers, ended) = client.rest().await;
    assert_eq!((answers.len(), ended), (200, Ended::Closed));
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "and it does not wait for nothing"
    );
}

#[tokio::test]
async fn progress_after_the_end_of_the_input_does_not_cost_the_answer() {
    let mut client = Client::new();
    let params = json!({"name": "progress", "arguments": {"n": 5, "ms": 40}, "_meta": {"progressToken": 1}});
    client
        .say(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
        .await;
    let (messages, ended) = client.rest().await;
    assert_eq!((messages.len(), ended), (6, Ended::Closed));
    assert_eq!(messages[5]["result"]["content"][0]["text"], json!("done"));
}

#[tokio::test]
async fn a_call_that_goes_on_after_the_grace_is_cancelled_and_answered() {
    let mut client = Client::with(Fake::default(), patient(Duration::from_millis(100)));
    client.call(1, "sleep", &json!({"ms": 60_000})).await;
    client.started(1).await;
    let fake = client.fake.clone();
    let begun = Instant::now();
    let (answers, ended) = client.rest().await;
    assert_eq!((answers.len(), ended), (1, Ended::Closed));
    assert_eq!(answers[0]["result"]["isError"], json!(true));
    assert!(
        answers[0]["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .starts_with("Cancelled: sleep")
    );
    assert_eq!(fake.cancelled.load(Ordering::SeqCst), 1);
    assert!(begun.elapsed() > Duration::from_millis(90) && begun.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn a_client_that_is_gone_ends_its_calls_at_once() {
    let mut client = Client::with(Fake::default(), patient(Duration::from_mins(1)));
    let params =
        json!({"name": "progress", "arguments": {"n": 1000, "ms": 20}, "_meta": {"progressToken": 1}});
    client
        .say(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
        .await;
    client.call(2, "sleep", &json!({"ms": 60_000})).await;
    client.started(2).await;
    let fake = client.fake.clone();
    // The next progress finds nobody.
    client.close_output();
    eventually(|| fake.cancelled.load(Ordering::SeqCst) == 1).await;
    assert_eq!(client.ended().await, Ended::Gone);
}

#[tokio::test]
async fn shutdown_cancels_answers_and_ends() {
    let mut client = Client::new();
    client.call(1, "sleep", &json!({"ms": 60_000})).await;
    client.started(1).await;
    client.shutdown.cancel();
    assert_eq!(client.receive().await["result"]["isError"], json!(true));
    assert_eq!(client.line().await, None);
    assert_eq!(client.ended().await, Ended::ShutDown);
}

#[tokio::test]
async fn a_call_that_heeds_nothing_does_not_hold_the_end() {
    let mut client = Client::new();
    client.call(1, "stubborn", &json!({"ms": 60_000})).await;
    client.started(1).await;
    let begun = Instant::now();
    client.shutdown.cancel();
    assert_eq!(client.ended().await, Ended::ShutDown);
    assert!(begun.elapsed() < Duration::from_secs(4));
}

#[tokio::test]
async fn dropping_the_session_cancels_its_calls() {
    let fake = std::sync::Arc::new(Fake::default());
    let (mut input, reader) = tokio::io::duplex(1 << 16);
    let (writer, _output) = tokio::io::duplex(1 << 16);
    let server = tokio::spawn(surehand_mcp::serve(fake.clone(), reader, writer, options()));
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sleep","arguments":{"ms":60000}}}"#;
    tokio::io::AsyncWriteExt::write_all(&mut input, format!("{call}\n").as_bytes())
        .await
        .unwrap();
    eventually(|| fake.started.load(Ordering::SeqCst) == 1).await;
    server.abort();
    eventually(|| fake.cancelled.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn an_idle_session_ends_with_its_input() {
    let client = Client::legacy("2025-06-18").await;
    let begun = Instant::now();
    let (rest, ended) = client.rest().await;
    assert_eq!((rest, ended), (Vec::<Value>::new(), Ended::Closed));
    assert!(begun.elapsed() < Duration::from_millis(300));
}
