//! Withdrawn requests.

use std::sync::atomic::Ordering;

use serde_json::json;

use crate::harness::{Client, eventually};

fn cancel(id: i64) -> String {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "x"}})
        .to_string()
}

#[tokio::test]
async fn a_withdrawn_call_ends_and_is_not_answered() {
    let mut client = Client::legacy("2025-11-25").await;
    client.call(1, "sleep", &json!({"ms": 60_000})).await;
    client.started(1).await;
    client.send(&cancel(1)).await;
    eventually(|| client.fake.cancelled.load(Ordering::SeqCst) == 1).await;
    client.assert_alive().await;
    // The id is free again.
    client.call(1, "echo", &json!({})).await;
    assert_eq!(client.receive().await["result"]["isError"], json!(false));
}

#[tokio::test]
async fn a_call_withdrawn_in_the_same_breath_is_not_answered() {
    let mut client = Client::legacy("2025-11-25").await;
    for _ in 0..50 {
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sleep","arguments":{"ms":60000}}}"#;
        client.send(&format!("{call}\n{}", cancel(1))).await;
        client.assert_alive().await;
        eventually(|| {
            client.fake.cancelled.load(Ordering::SeqCst) == client.fake.started.load(Ordering::SeqCst)
        })
        .await;
        // Until it has ended its id is taken; a call under it would be refused.
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn withdrawing_what_is_not_there_changes_nothing() {
    let mut client = Client::new();
    client.call(1, "echo", &json!({})).await;
    client.receive().await;
    client.send(&cancel(1)).await;
    client.send(&cancel(99)).await;
    client.call(1, "sleep", &json!({"ms": 20})).await;
    assert_eq!(
        client.receive().await["result"]["content"][0]["text"],
        json!("slept")
    );
}

#[tokio::test]
async fn one_of_many_is_withdrawn_and_the_others_go_on() {
    let mut client = Client::new();
    for id in 0..20 {
        client.call(id, "sleep", &json!({"ms": 300})).await;
    }
    client.started(20).await;
    client.send(&cancel(7)).await;
    let mut answered: Vec<i64> = Vec::new();
    for _ in 0..19 {
        answered.push(client.receive().await["id"].as_i64().unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, (0..20).filter(|id| *id != 7).collect::<Vec<_>>());
    assert_eq!(client.fake.cancelled.load(Ordering::SeqCst), 1);
    client.assert_alive().await;
}
